//! Which trackers the store believes to be there, and with how many slots.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::PerKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    pub(crate) tracker: Arc<str>,
    pub(crate) host: Arc<str>,
    /// Slots that count: none while it is unhealthy.
    pub(crate) slots: PerKind<u32>,
}

/// What the store believes, so that only news are recorded.
#[derive(Debug, Default)]
pub(crate) struct Presences {
    by_tracker: BTreeMap<Arc<str>, Presence>,
    /// Those of an earlier run that have not come again yet.
    absent: BTreeSet<Arc<str>>,
}

impl Presences {
    pub(crate) fn restored(presences: Vec<Presence>) -> Self {
        let absent = presences.iter().map(|presence| Arc::clone(&presence.tracker)).collect();
        let by_tracker = presences.into_iter().map(|presence| (Arc::clone(&presence.tracker), presence));
        Self { by_tracker: by_tracker.collect(), absent }
    }

    /// A tracker is there; returns whether that is news.
    pub(crate) fn come(&mut self, presence: &Presence) -> bool {
        self.absent.remove(&presence.tracker);
        let was = self.by_tracker.insert(Arc::clone(&presence.tracker), presence.clone());
        was.as_ref() != Some(presence)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_tracker.keys()
    }

    /// A tracker is gone; returns whether that is news.
    pub(crate) fn go(&mut self, tracker: &str) -> bool {
        self.absent.remove(tracker);
        self.by_tracker.remove(tracker).is_some()
    }

    /// Whether none of an earlier run is still to come again.
    pub(crate) fn have_all_come(&self) -> bool {
        self.absent.is_empty()
    }

    /// Forgets those of an earlier run that are not `there` now, and returns them; called once their time is over.
    pub(crate) fn take_absent(&mut self, is_there: impl Fn(&str) -> bool) -> Vec<Arc<str>> {
        if std::mem::take(&mut self.absent).is_empty() {
            return Vec::new();
        }
        self.by_tracker.extract_if(.., |tracker, _| !is_there(tracker)).map(|(tracker, _)| tracker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(tracker: &str, maps: u32) -> Presence {
        Presence { tracker: tracker.into(), host: "h".into(), slots: PerKind::new(maps, 1) }
    }

    #[test]
    fn only_news_are_recorded() {
        let mut presences = Presences::restored(vec![presence("a", 2), presence("b", 2)]);
        assert!(!presences.come(&presence("a", 2)));
        assert!(presences.come(&presence("a", 3)));
        assert!(presences.come(&presence("c", 1)));
        assert!(!presences.have_all_come(), "b is still to come");
        assert_eq!(presences.take_absent(|tracker| tracker != "b"), ["b".into()]);
        assert_eq!(presences.take_absent(|_| false), []);
        assert!(presences.go("a"));
        assert!(!presences.go("a"));
    }
}
