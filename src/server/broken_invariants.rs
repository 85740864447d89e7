//! Broken invariants since the daemon started: counted, logged once for each place, shown by health.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::BrokenInvariant;

/// What the engine has reported. Cheap to clone, for any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct BrokenInvariants(Arc<Mutex<Reported>>);

#[derive(Debug, Default)]
struct Reported {
    violations: u64,
    /// File, line and column.
    logged: BTreeSet<(&'static str, u32, u32)>,
    /// Place and text of the first.
    first: Option<String>,
}

impl BrokenInvariants {
    /// Counts a report; logs its place unless that is logged already.
    pub(super) fn add(&self, broken: &BrokenInvariant) {
        let BrokenInvariant { place, text, times } = broken;
        let mut reported = self.reported();
        reported.violations = reported.violations.saturating_add(*times);
        if reported.logged.insert((place.file(), place.line(), place.column())) {
            let (file, line) = (place.file(), place.line());
            tracing::error!(
                "a bug broke an invariant at {file}:{line}: {text}; further ones of this place are only counted \
                 (jobtracker_invariant_violations_total)"
            );
            reported.first.get_or_insert_with(|| format!("{file}:{line}: {text}"));
        }
    }

    /// How many there were.
    pub(super) fn violations(&self) -> u64 {
        self.reported().violations
    }

    /// The line for health, if there were any.
    pub(super) fn complaint(&self) -> Option<String> {
        let reported = self.reported();
        let first = reported.first.as_ref()?;
        Some(format!("invariants of the program are broken: {} times, first at {first}", reported.violations))
    }

    fn reported(&self) -> MutexGuard<'_, Reported> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    #[test]
    fn each_place_is_logged_once_and_every_violation_counted() {
        let all = BrokenInvariants::default();
        assert_eq!((all.violations(), all.complaint()), (0, None));
        let place = Location::caller();
        let broken = |text: &str, times| BrokenInvariant { place, text: text.to_owned(), times };
        all.add(&broken("queue q has -1", 1));
        all.add(&broken("queue q has -2", 5));
        assert_eq!(all.reported().logged.len(), 1);
        let file = place.file();
        let expected =
            format!("invariants of the program are broken: 6 times, first at {file}:{}: queue q has -1", place.line());
        assert_eq!((all.violations(), all.complaint()), (6, Some(expected)));
    }
}
