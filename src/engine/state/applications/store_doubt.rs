//! Doubt whether applications had a chance to call: while the store cannot write, their calls are refused, which is no
//! silence of theirs.

use crate::model::{FactNumber, Now};

/// Between two looks at the store, ms: longer than programs pause before they send a call again.
const LOOK_MS: u64 = 5_000;

/// That something is due while facts wait for the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoreDoubt {
    /// The last fact when something was due; none: the store has written it since, and programs have time to call.
    fact: Option<FactNumber>,
    /// When the next look is due, ms of the monotonic clock.
    pub(super) next_mono_ms: u64,
}

impl StoreDoubt {
    /// What is left of a doubt when something is due; none: it is to be believed.
    pub(super) fn next(before: Option<Self>, durable: FactNumber, last: FactNumber, now: Now) -> Option<Self> {
        let look_again = |fact| Some(Self { fact, next_mono_ms: now.mono_ms.saturating_add(LOOK_MS) });
        match before {
            None if durable >= last => None,
            None => look_again(Some(last)),
            Some(doubt) if now.mono_ms < doubt.next_mono_ms => Some(doubt),
            Some(Self { fact: Some(fact), .. }) if durable < fact => look_again(Some(fact)),
            Some(Self { fact: Some(_), .. }) => look_again(None),
            Some(Self { fact: None, .. }) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_ends_some_time_after_the_store_has_written() {
        let at = |mono_ms| Now { mono_ms, wall_ms: 0 };
        let (before, last) = (FactNumber(6), FactNumber(7));
        assert_eq!(StoreDoubt::next(None, last, last, at(0)), None, "nothing waits");
        let mut doubt = StoreDoubt::next(None, before, last, at(0));
        assert_eq!(doubt.unwrap().next_mono_ms, LOOK_MS);
        // A disk that is full for long.
        for look in 1..100 {
            doubt = StoreDoubt::next(doubt, before, FactNumber(9), at(look * LOOK_MS));
            assert_eq!(doubt.unwrap().next_mono_ms, (look + 1) * LOOK_MS);
        }
        doubt = StoreDoubt::next(doubt, last, FactNumber(9), at(100 * LOOK_MS));
        assert_eq!(StoreDoubt::next(doubt, last, FactNumber(9), at(100 * LOOK_MS + 1)), doubt, "programs have time");
        assert_eq!(StoreDoubt::next(doubt, last, FactNumber(9), at(101 * LOOK_MS)), None, "new facts always wait");
    }
}
