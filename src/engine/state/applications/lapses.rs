//! When programs that were granted containers have called last, and when those that they have not launched lapse.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ApplicationId, FactNumber, Now};

/// Shortest silence after which containers that are not launched lapse, ms.
const LEAST_PATIENCE_MS: u64 = 2_000;
/// The same after a restart, which forgets how long calls waited.
pub(super) const RESTORED_WAIT_MS: u64 = 30_000;

/// When programs have called, and when their containers that are not launched lapse. Times are of the monotonic clock, ms.
#[derive(Debug, Default)]
pub(super) struct Lapses {
    calls: BTreeMap<ApplicationId, LastCall>,
    /// Programs that have been granted something since they were last found to hold nothing.
    due: BTreeSet<(u64, ApplicationId)>,
    /// Those of them that have been silent for too long: what they hold lapses once others wait.
    overdue: BTreeSet<ApplicationId>,
}

#[derive(Clone, Copy, Debug)]
struct LastCall {
    /// When it was answered, or will be at the latest.
    ends_ms: u64,
    /// How long it may be silent then.
    patience_ms: u64,
    /// When what it holds lapses; none: it was granted nothing.
    due_ms: Option<u64>,
}

impl Lapses {
    /// A program calls, and is answered at `ends_ms` at the latest.
    pub(super) fn on_call(&mut self, id: ApplicationId, ends_ms: u64, wait_ms: u64) {
        let patience_ms = wait_ms.saturating_mul(2).max(LEAST_PATIENCE_MS);
        let holds = self.calls.get(&id).is_some_and(|call| call.due_ms.is_some());
        self.forget(id);
        self.calls.insert(id, LastCall { ends_ms, patience_ms, due_ms: None });
        if holds {
            self.arm(id, ends_ms);
        }
    }

    pub(super) fn on_answer(&mut self, id: ApplicationId, now_ms: u64) {
        let Some(call) = self.calls.get(&id).copied() else { return };
        self.on_call(id, now_ms.min(call.ends_ms), call.patience_ms / 2);
    }

    /// A program is granted a container that it has to launch.
    pub(super) fn on_grant(&mut self, id: ApplicationId, now_ms: u64) {
        if self.calls.get(&id).is_some_and(|call| call.due_ms.is_none()) {
            self.arm(id, now_ms);
        }
    }

    fn arm(&mut self, id: ApplicationId, from_ms: u64) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let due_ms = call.ends_ms.max(from_ms).saturating_add(call.patience_ms);
        call.due_ms = Some(due_ms);
        self.due.insert((due_ms, id));
    }

    pub(super) fn forget(&mut self, id: ApplicationId) {
        if let Some(due_ms) = self.calls.remove(&id).and_then(|call| call.due_ms) {
            self.due.remove(&(due_ms, id));
        }
        self.overdue.remove(&id);
    }

    pub(super) fn disarm(&mut self, id: ApplicationId) {
        if let Some(due_ms) = self.calls.get_mut(&id).and_then(|call| call.due_ms.take()) {
            self.due.remove(&(due_ms, id));
        }
        self.overdue.remove(&id);
    }

    /// When the next program has been silent for too long; `u64::MAX`: never.
    pub(super) fn next_due_ms(&self) -> u64 {
        self.due.first().map_or(u64::MAX, |(due_ms, _)| *due_ms)
    }

    /// Moves programs that have been silent for too long among those whose containers lapse.
    pub(super) fn pass(&mut self, now_ms: u64) {
        while let Some(&(due_ms, id)) = self.due.first().filter(|(due_ms, _)| *due_ms <= now_ms) {
            self.due.remove(&(due_ms, id));
            self.overdue.insert(id);
        }
    }

    /// When what a program holds lapses where others wait; none: it has not to launch anything.
    pub(super) fn due_ms(&self, id: ApplicationId) -> Option<u64> {
        self.calls.get(&id)?.due_ms
    }

    pub(super) fn patience_ms(&self, id: ApplicationId) -> u64 {
        self.calls.get(&id).map_or(LEAST_PATIENCE_MS, |call| call.patience_ms)
    }

    pub(super) fn overdue(&self) -> impl Iterator<Item = ApplicationId> {
        self.overdue.iter().copied()
    }

    /// Programs that have been granted something since they were last found to hold nothing.
    pub(super) fn holders(&self) -> impl Iterator<Item = ApplicationId> {
        self.calls.iter().filter(|(_, call)| call.due_ms.is_some()).map(|(id, _)| *id)
    }
}

/// Between two looks at the store, ms: longer than programs pause before they send a call again.
const LOOK_MS: u64 = 5_000;

/// Doubt whether applications had a chance to call: while the store cannot write their calls are refused, which is no silence of theirs.
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

    const ID: ApplicationId = ApplicationId::new(1, 1);

    #[test]
    fn a_program_is_silent_twice_its_wait_after_its_call_was_answered_or_its_grant() {
        let mut lapses = Lapses::default();
        lapses.on_call(ID, 10_000, 5_000);
        assert_eq!(lapses.next_due_ms(), u64::MAX, "it holds nothing");
        lapses.on_grant(ID, 7_000);
        assert_eq!(lapses.next_due_ms(), 20_000);
        lapses.on_answer(ID, 7_000);
        assert_eq!((lapses.next_due_ms(), lapses.due_ms(ID)), (17_000, Some(17_000)));
        lapses.on_call(ID, 8_000, 0);
        assert_eq!(lapses.next_due_ms(), 10_000, "at least two seconds");
        lapses.pass(9_999);
        assert!(lapses.overdue.is_empty());
        lapses.pass(10_000);
        assert!(lapses.overdue.contains(&ID) && lapses.next_due_ms() == u64::MAX);
        lapses.on_call(ID, 11_000, 0);
        assert!(lapses.overdue.is_empty() && lapses.next_due_ms() == 13_000, "it called in time");
        lapses.forget(ID);
        assert_eq!(lapses.next_due_ms(), u64::MAX);
    }

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
