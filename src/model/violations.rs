//! Invariants that are checked while the program runs.
//!
//! A build with debug assertions (tests, the profile `sim`) panics at the first broken one. A release collects them in the part of the
//! state that checks, and the engine reports them with the effects of the step: pure rooms count nothing globally and write no log.

use std::panic::Location;

/// An invariant that did not hold: a bug, whatever the input was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInvariant {
    /// The check in the source.
    pub(crate) place: &'static Location<'static>,
    /// What was found the first time.
    pub(crate) text: String,
    /// How often, since the last report.
    pub(crate) times: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Violations {
    /// By place; nothing is allocated while all invariants hold.
    found: Vec<BrokenInvariant>,
    #[cfg(test)]
    never_panics: bool,
}

/// Most places in one report.
const MAX_PLACES: usize = 16;

impl Violations {
    /// Checks an invariant; `text` says what was found instead, with the culprit.
    #[track_caller]
    #[inline]
    pub(crate) fn check(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.add(text());
        }
    }

    /// Records a broken invariant; a build with debug assertions panics.
    #[track_caller]
    #[cold]
    pub(crate) fn add(&mut self, text: String) {
        #[cfg(test)]
        let panics = !self.never_panics;
        #[cfg(not(test))]
        let panics = cfg!(debug_assertions);
        if panics {
            #[expect(clippy::panic, reason = "the purpose of debug assertions")]
            {
                panic!("broken invariant: {text}");
            }
        }
        self.merge(BrokenInvariant { place: Location::caller(), text, times: 1 });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Removes and returns what was found, by place in order of the first occurrence.
    pub(crate) fn take(&mut self) -> Vec<BrokenInvariant> {
        std::mem::take(&mut self.found)
    }

    /// Takes over what another part of the state found.
    pub(crate) fn append(&mut self, other: &mut Violations) {
        other.found.drain(..).for_each(|broken| self.merge(broken));
    }

    fn merge(&mut self, broken: BrokenInvariant) {
        let is_full = self.found.len() >= MAX_PLACES;
        let known = self.found.iter().position(|known| known.place == broken.place);
        // More places than a reader can use are counted with the last.
        match known.or_else(|| is_full.then_some(MAX_PLACES - 1)).and_then(|known| self.found.get_mut(known)) {
            Some(known) => known.times += broken.times,
            None => self.found.push(broken),
        }
    }
}

#[cfg(test)]
impl Violations {
    /// Collects as a release does.
    pub(crate) fn counting() -> Self {
        Self { never_panics: true, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "broken invariant: app 7 runs on no node")]
    fn a_debug_build_stops_at_the_first() {
        Violations::default().check(false, || "app 7 runs on no node".to_owned());
    }

    #[test]
    fn a_release_counts_by_place_and_keeps_the_first_text() {
        let mut violations = Violations::counting();
        violations.check(true, || unreachable!("it holds"));
        assert!(violations.is_empty());
        let line = line!() + 2;
        for number in 1..=3 {
            violations.check(false, || format!("number {number}"));
        }
        let mut all = Violations::counting();
        all.append(&mut violations);
        all.append(&mut violations);
        let found = all.take();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].place.line(), &*found[0].text, found[0].times), (line, "number 1", 3));
        assert!(found[0].place.file().ends_with("src/model/violations.rs"), "{}", found[0].place);
        assert!(all.is_empty());
    }

    #[test]
    fn the_number_of_places_is_bounded() {
        let mut violations = Violations::counting();
        let known = BrokenInvariant { place: Location::caller(), text: String::new(), times: 1 };
        violations.found = vec![known; MAX_PLACES];
        violations.add("one more".to_owned());
        assert_eq!(violations.found.len(), MAX_PLACES);
        assert_eq!(violations.found.iter().map(|broken| broken.times).sum::<u64>(), MAX_PLACES as u64 + 1);
    }
}
