//! The containers of this worker by their ids, and how far each is. One thread changes it; all others send it events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::api::{BeatContainer, BeatContainerState, ContainerEnd, ContainerKill, ReportedUse};
use crate::model::{AttemptId, Capability, ContainerExit, ContainerId};
use crate::supervisor::process_tree::TreeUse;

use super::control::{ContainerControl, KillWish};

/// What becomes of a container, as the thread that runs it reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContainerEvent {
    Started {
        /// The process, or that of its supervisor.
        pid: u32,
        /// The worker's wall clock, epoch ms.
        started_ms: i64,
    },
    Measured(TreeUse),
    /// Nothing of it is left.
    Ended(ContainerEnd),
}

pub(crate) type ContainerMessage = (ContainerId, ContainerEvent);

/// The containers that the daemon has not noted the end of.
#[derive(Debug, Default)]
pub(crate) struct TrackedContainers {
    containers: BTreeMap<ContainerId, TrackedContainer>,
    /// Number of the last change of a state; counts from 1.
    last_change: u64,
    last_end: u64,
    /// What attempts of tasks use, as it was last reported or is to be.
    attempts: BTreeMap<AttemptId, TreeUse>,
    /// Number of the last change of that.
    attempts_changed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchedContainer {
    pub(crate) id: ContainerId,
    pub(crate) capability: Capability,
    /// The worker's health when it came: [`super::super::node_health::NodeHealth::wave`].
    pub(crate) wave: u64,
    /// Its own time between TERM and KILL.
    pub(crate) grace: Duration,
}

#[derive(Debug)]
struct TrackedContainer {
    state: BeatContainerState,
    control: Arc<ContainerControl>,
    capability: Capability,
    wave: u64,
    grace: Duration,
    /// The number of its last change.
    changed: u64,
    /// What it used when that was last reported, or is to be.
    used: TreeUse,
    /// The number of the change by which that is.
    used_changed: u64,
}

/// Smallest step of memory that is reported, bytes; a sixteenth of it where that is more.
const MEMORY_STEP_BYTES: u64 = 4 << 20;
/// Smallest step of CPU time that is reported, ms.
const CPU_STEP_MS: u64 = 500;

/// Whether use has moved by a step.
pub(crate) fn has_moved(before: TreeUse, now: TreeUse) -> bool {
    now.resident_bytes.abs_diff(before.resident_bytes) >= MEMORY_STEP_BYTES.max(before.resident_bytes / 16)
        || now.cpu_ms.abs_diff(before.cpu_ms) >= CPU_STEP_MS
}

/// As a beat says it.
pub(crate) fn reported_use(id: String, used: TreeUse) -> ReportedUse {
    ReportedUse { id, memory_mb: used.resident_bytes.div_ceil(1 << 20).into(), cpu_ms: used.cpu_ms.into() }
}

/// The state after an event; none: the event comes too late to change it.
fn next_state(state: &BeatContainerState, event: ContainerEvent) -> Option<BeatContainerState> {
    use BeatContainerState::{Ended, Launching, Running};
    match (state, event) {
        (Launching, ContainerEvent::Started { pid, started_ms }) => Some(Running { pid, started_ms }),
        (Launching | Running { .. }, ContainerEvent::Ended(end)) => Some(Ended(end)),
        (_, ContainerEvent::Measured(_)) => None,
        (Running { .. } | Ended(_), ContainerEvent::Started { .. }) | (Ended(_), ContainerEvent::Ended(_)) => None,
    }
}

impl TrackedContainers {
    /// Takes a container that is launched; `false`: it is here already.
    pub(crate) fn launch(&mut self, launched: LaunchedContainer, control: Arc<ContainerControl>) -> bool {
        let LaunchedContainer { id, capability, wave, grace } = launched;
        if self.containers.contains_key(&id) {
            return false;
        }
        self.last_change += 1;
        let state = BeatContainerState::Launching;
        let used = TreeUse::default();
        let changed = self.last_change;
        self.containers
            .insert(id, TrackedContainer { state, control, capability, wave, grace, changed, used, used_changed: 0 });
        true
    }

    pub(crate) fn has(&self, id: ContainerId) -> bool {
        self.containers.contains_key(&id)
    }

    /// Changes the state of a container by an event.
    pub(crate) fn apply(&mut self, (id, event): ContainerMessage) {
        let Some(container) = self.containers.get_mut(&id) else { return };
        if let ContainerEvent::Measured(used) = event {
            if !container.has_ended() && has_moved(container.used, used) {
                self.last_change += 1;
                (container.used, container.used_changed) = (used, self.last_change);
            }
            return;
        }
        if let Some(state) = next_state(&container.state, event) {
            self.last_change += 1;
            (container.state, container.changed) = (state, self.last_change);
            if container.has_ended() {
                self.last_end = self.last_change;
            }
        }
    }

    /// Passes a kill on; one of a container that is not here, or has ended, changes nothing.
    pub(crate) fn kill(&self, kill: ContainerKill) {
        if let Some(container) = self.containers.get(&kill.id) {
            container.control.kill(kill.into());
        }
    }

    /// Ends all containers, each with its own grace, `most` at most; returns the longest.
    pub(crate) fn kill_all(&self, exit: ContainerExit, diagnostics: &str, most: Duration) -> Duration {
        let live = self.containers.values().filter(|container| !container.has_ended());
        live.map(|container| {
            let grace = container.grace.min(most);
            container.control.kill(KillWish { exit, diagnostics: diagnostics.to_owned(), grace });
            grace
        })
        .max()
        .unwrap_or_default()
    }

    /// Forgets a container whose end was noted; `false`: there is none.
    pub(crate) fn forget(&mut self, id: ContainerId) -> bool {
        let has_ended = self.containers.get(&id).is_some_and(TrackedContainer::has_ended);
        has_ended && self.containers.remove(&id).is_some()
    }

    /// What a beat says: the containers whose states have changed after the change of that number, 0: all; and those that have
    /// ended, until their ends are noted.
    pub(crate) fn to_report(&self, change: u64) -> Vec<BeatContainer> {
        let is_news = |container: &TrackedContainer| container.changed > change || container.has_ended();
        let changed = self.containers.iter().filter(|(_, container)| is_news(container));
        changed.map(|(id, container)| BeatContainer { id: *id, state: container.state.clone() }).collect()
    }

    /// What live containers use whose use has moved by a step after the change of that number.
    pub(crate) fn used_since(&self, change: u64) -> Vec<ReportedUse> {
        let moved = self.containers.iter().filter(|(_, one)| one.used_changed > change && !one.has_ended());
        moved.map(|(id, container)| reported_use(id.to_string(), container.used)).collect()
    }

    /// Takes what the running attempts of tasks use.
    pub(crate) fn measure_attempts(&mut self, attempts: BTreeMap<AttemptId, TreeUse>) {
        let is_same_list = attempts.len() == self.attempts.len();
        let is_near =
            |(id, used): (&AttemptId, &TreeUse)| self.attempts.get(id).is_some_and(|old| !has_moved(*old, *used));
        if !is_same_list || !attempts.iter().all(is_near) {
            self.last_change += 1;
            (self.attempts, self.attempts_changed) = (attempts, self.last_change);
        }
    }

    /// What attempts use, if that has moved by a step after the change of that number.
    pub(crate) fn attempts_since(&self, change: u64) -> Option<Vec<ReportedUse>> {
        let report = || self.attempts.iter().map(|(id, used)| reported_use(id.to_string(), *used)).collect();
        (self.attempts_changed > change).then(report)
    }

    /// Containers whose processes run, with the first of them.
    pub(crate) fn running(&self) -> Vec<(ContainerId, u32)> {
        let pid_of = |container: &TrackedContainer| match container.state {
            BeatContainerState::Running { pid, .. } => Some(pid),
            BeatContainerState::Launching | BeatContainerState::Ended(_) => None,
        };
        self.containers.iter().filter_map(|(id, container)| Some((*id, pid_of(container)?))).collect()
    }

    /// A container whose end says that the worker could not start it, though it was not to be killed: what it may use, and its wave.
    pub(crate) fn failed_start(&self, id: ContainerId, end: &ContainerEnd) -> Option<(Capability, u64)> {
        let is_of_worker = matches!(end.exit, ContainerExit::ABORTED | ContainerExit::DISKS_FAILED);
        let container = self.containers.get(&id).filter(|container| !container.has_ended())?;
        let is_own = is_of_worker && end.started_ms.is_none() && container.control.wish().is_none();
        is_own.then_some((container.capability, container.wave))
    }

    /// Of what is declared, how much the containers hold whose processes run, parts in a thousand.
    pub(crate) fn running_permille(&self, declared: Capability) -> u32 {
        let is_running = |one: &&TrackedContainer| matches!(one.state, BeatContainerState::Running { .. });
        let (memory_mb, vcores) = self.containers.values().filter(is_running).fold((0_u64, 0_u64), |sum, one| {
            (sum.0 + u64::from(one.capability.memory_mb), sum.1 + u64::from(one.capability.vcores))
        });
        let part = |held: u64, all: u32| (held * 1000).div_ceil(u64::from(all.max(1)));
        u32::try_from(part(memory_mb, declared.memory_mb).max(part(vcores, declared.vcores))).unwrap_or(u32::MAX)
    }

    /// The number of the last change; 0 before the first.
    pub(crate) fn last_change(&self) -> u64 {
        self.last_change
    }

    /// The number of the last change that was an end; 0 before the first.
    pub(crate) fn last_end(&self) -> u64 {
        self.last_end
    }

    /// Whether there is none, not even one whose end was not noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    /// How many have not ended.
    pub(crate) fn live_count(&self) -> usize {
        self.containers.values().filter(|container| !container.has_ended()).count()
    }
}

impl TrackedContainer {
    fn has_ended(&self) -> bool {
        matches!(self.state, BeatContainerState::Ended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ApplicationId;

    fn id(number: u64) -> ContainerId {
        ApplicationId::new(5, 1).container(1, number)
    }

    fn launched(number: u64, grace_s: u64) -> LaunchedContainer {
        let (capability, grace) = (Capability::new(512, 1), Duration::from_secs(grace_s));
        LaunchedContainer { id: id(number), capability, wave: 0, grace }
    }

    #[test]
    fn what_runs_is_a_part_of_what_is_declared() {
        let (mut table, control) = table_with(1);
        let declared = Capability::new(4_096, 4);
        assert_eq!(table.running_permille(declared), 0, "nothing has started");
        table.apply((id(1), ContainerEvent::Started { pid: 7, started_ms: 1 }));
        assert_eq!(table.running_permille(declared), 250);
        assert_eq!(table.running_permille(Capability::new(1_024, 4)), 500);
        table.apply((id(1), ContainerEvent::Ended(end(0))));
        assert!(table.launch(launched(3, 0), control.clone()));
        assert_eq!(table.failed_start(id(3), &end(-100)), Some((Capability::new(512, 1), 0)));
        assert_eq!(table.failed_start(id(3), &end(-1000)), None, "it is at fault itself");
        control.kill(KillWish { exit: ContainerExit::ABORTED, diagnostics: String::new(), grace: Duration::ZERO });
        assert_eq!(table.failed_start(id(3), &end(-100)), None, "it was killed");
        assert_eq!((table.running_permille(declared), table.failed_start(id(1), &end(-100))), (0, None));
    }

    fn end(exit: i32) -> ContainerEnd {
        let (exit, diagnostics) = (ContainerExit(exit), String::new());
        ContainerEnd { exit, diagnostics, started_ms: None, ended_ms: 2, peak_memory_mb: 0, cpu_ms: 0 }
    }

    fn table_with(number: u64) -> (TrackedContainers, Arc<ContainerControl>) {
        let (mut table, control) = (TrackedContainers::default(), Arc::new(ContainerControl::new().unwrap()));
        assert!(table.launch(launched(number, number), control.clone()));
        (table, control)
    }

    #[test]
    fn a_launch_is_done_once_and_an_end_is_final_until_it_is_noted() {
        let (mut table, control) = table_with(1);
        assert!(!table.launch(launched(1, 0), control.clone()));
        assert!(!table.forget(id(1)), "it has not ended");
        table.apply((id(1), ContainerEvent::Ended(end(3))));
        table.apply((id(1), ContainerEvent::Started { pid: 7, started_ms: 1 }));
        table.apply((id(1), ContainerEvent::Ended(end(0))));
        table.apply((id(2), ContainerEvent::Ended(end(0))));
        let all = table.to_report(table.last_change());
        assert_eq!(all, [BeatContainer { id: id(1), state: BeatContainerState::Ended(end(3)) }]);
        assert!(table.forget(id(1)) && !table.forget(id(1)) && !table.has(id(1)));
    }

    #[test]
    fn changes_are_counted_so_that_each_is_reported_until_it_was_answered() {
        let (mut table, control) = table_with(1);
        let first = table.last_change();
        assert!(table.to_report(first).is_empty());
        assert!(table.launch(launched(2, 0), control));
        table.apply((id(1), ContainerEvent::Started { pid: 7, started_ms: 1 }));
        let ids = |change| table.to_report(change).iter().map(|container| container.id).collect::<Vec<_>>();
        assert_eq!((ids(first), ids(first + 1)), (vec![id(1), id(2)], vec![id(1)]));
        assert_eq!(table.live_count(), 2);
    }

    #[test]
    fn what_a_container_uses_is_reported_when_it_has_moved_by_a_step() {
        let (mut table, _) = table_with(1);
        table.apply((id(1), ContainerEvent::Started { pid: 7, started_ms: 1 }));
        assert_eq!(table.running(), [(id(1), 7)]);
        let mut measure = |mb: u64, cpu_ms: u64| {
            let before = table.last_change();
            table.apply((id(1), ContainerEvent::Measured(TreeUse { resident_bytes: mb << 20, cpu_ms })));
            table
                .used_since(before)
                .iter()
                .map(|used| (used.memory_mb.as_u64(), used.cpu_ms.as_u64()))
                .collect::<Vec<_>>()
        };
        assert_eq!(measure(3, 10), []);
        assert_eq!(measure(208, 20), [(Some(208), Some(20))]);
        assert_eq!(measure(215, 30), [], "less than a sixteenth");
        assert_eq!(measure(215, 850), [(Some(215), Some(850))]);
        assert_eq!(table.used_since(0).len(), 1, "until it was answered");
        table.apply((id(1), ContainerEvent::Ended(end(0))));
        assert_eq!(table.used_since(0), [], "its end says all");
    }

    #[test]
    fn a_kill_reaches_only_its_container_and_all_are_ended_with_their_own_bounded_grace() {
        let (mut table, first) = table_with(1);
        let second = Arc::new(ContainerControl::new().unwrap());
        table.launch(launched(2, 9), second.clone());
        let exit = ContainerExit::KILLED_BY_OWNER;
        table.kill(ContainerKill { id: id(2), exit, diagnostics: "asked".to_owned(), grace_ms: 50 });
        table.kill(ContainerKill { id: id(3), exit, diagnostics: "asked".to_owned(), grace_ms: 0 });
        assert_eq!(first.wish(), None);
        let wish = KillWish { exit, diagnostics: "asked".to_owned(), grace: Duration::from_millis(50) };
        assert_eq!(second.wish(), Some(wish.clone()));
        assert_eq!(table.kill_all(ContainerExit::ABORTED, "stops", Duration::from_secs(7)), Duration::from_secs(7));
        assert_eq!(first.wish().unwrap().grace, Duration::from_secs(1));
        assert_eq!(second.wish(), Some(wish), "the first reason, and less time");
    }
}
