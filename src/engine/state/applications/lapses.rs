//! Silent holders: a program that was granted containers and does not call while others wait loses those that it has not
//! launched.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::applications::UnlaunchedHold;
use crate::model::{ApplicationId, ContainerExit, ContainerId, Now};

use super::application::Application;
use super::container::Container;
use super::table::Applications;

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

// === impl Lapses ===

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

    /// Its call is answered now.
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

    /// Forgets a program.
    pub(super) fn forget(&mut self, id: ApplicationId) {
        if let Some(due_ms) = self.calls.remove(&id).and_then(|call| call.due_ms) {
            self.due.remove(&(due_ms, id));
        }
        self.overdue.remove(&id);
    }

    /// What a program held has lapsed.
    fn disarm(&mut self, id: ApplicationId) {
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
}

// === impl Application ===

impl Application {
    /// Live containers that are not launched, the oldest first.
    fn unlaunched(&self) -> impl Iterator<Item = &Container> {
        self.counts.unlaunched.iter().filter_map(|number| self.containers.get(number))
    }
}

// === impl Applications ===

impl Applications {
    /// Programs that have been silent for too long with containers to launch.
    pub fn silent_holders(&self) -> impl Iterator<Item = ApplicationId> {
        self.lapses.overdue.iter().copied()
    }

    /// Takes back what a silent program has not launched, since others wait. It gets nothing more until it calls.
    pub fn lapse_unlaunched(&mut self, id: ApplicationId, now: Now) {
        let patience_ms = self.lapses.calls.get(&id).map_or(LEAST_PATIENCE_MS, |call| call.patience_ms);
        self.lapses.disarm(id);
        let Some(silent) = self.get(id) else { return };
        let unlaunched: Vec<ContainerId> = silent.unlaunched().map(|container| container.id).collect();
        if unlaunched.is_empty() {
            return;
        }
        for container in unlaunched {
            let diagnostics =
                format!("not launched, and its application has not called for {patience_ms} ms while others wait");
            self.end_without_report(container, ContainerExit::ABORTED, diagnostics, now);
        }
        self.withhold(id);
    }

    /// What an application holds without having launched it; none: nothing.
    pub fn unlaunched_of(&self, application: &Application, now: Now) -> Option<UnlaunchedHold> {
        let slot = self.settings.slot;
        let first = application.unlaunched().next()?;
        let expires_ms = first.granted_ms.saturating_add_unsigned(self.settings.launch_expiry_ms);
        let lapses_ms = self
            .lapses
            .due_ms(application.id())
            .map(|due_ms| now.wall_ms.saturating_add_unsigned(due_ms.saturating_sub(now.mono_ms)));
        Some(UnlaunchedHold {
            applications: 1,
            containers: application.counts.unlaunched.len() as u64,
            slots: application.unlaunched().map(|one| u64::from(one.request.capability.slots(slot))).sum(),
            until: lapses_ms.map_or(expires_ms, |lapses_ms| lapses_ms.min(expires_ms)),
        })
    }

    /// What all but an application hold without having launched it; none: nothing. O(programs that hold something).
    pub fn unlaunched_of_others(&self, than: Option<ApplicationId>, now: Now) -> Option<UnlaunchedHold> {
        let holders = self.lapses.calls.iter().filter(|(id, call)| Some(**id) != than && call.due_ms.is_some());
        let held = holders.filter_map(|(id, _)| self.unlaunched_of(self.get(*id)?, now));
        held.reduce(|sum, one| UnlaunchedHold {
            applications: sum.applications + one.applications,
            containers: sum.containers + one.containers,
            slots: sum.slots + one.slots,
            until: sum.until.max(one.until),
        })
    }

    /// What a program was granted has lapsed: it gets nothing more until it calls.
    pub(super) fn withhold(&mut self, id: ApplicationId) {
        if self.get(id).is_some_and(|one| one.has_program() && !one.is_over()) {
            self.restand(id, |standing| standing.has_lapsed = true);
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
}
