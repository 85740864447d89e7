//! Counts of applications and containers, for metrics: they decide nothing.

use crate::api::applications::{ApplicationState, ContainerState};
use crate::model::ContainerExit;

use super::container::Container;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndClass {
    /// With 0.
    Succeeded,
    /// With another code of its own, or by a signal of others.
    Failed,
    NotStarted,
    /// Released, not launched in time, or its node was lost.
    Aborted,
    /// For a disk that is full or broken.
    Disk,
    Preempted,
    Memory,
    /// By its owner or an administrator.
    Killed,
    ApplicationOver,
    Log,
    TimeLimit,
}

/// Counts of applications and containers. Those of a time are of the time since the daemon started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationTallies {
    pub submitted: u64,
    /// Applications that are not over: ACCEPTED, RUNNING.
    pub unfinished: [u64; 2],
    /// Applications that ended: FINISHED, FAILED, KILLED.
    pub ended: [u64; 3],
    pub granted: u64,
    /// Live containers: not launched, LAUNCHING, RUNNING.
    pub live: [u64; 3],
    /// Containers that ended, in the order of [`EndClass::ALL`].
    pub container_ends: [u64; EndClass::ALL.len()],
    pub held_memory_mb: u64,
    pub held_vcores: u64,
    pub beats: u64,
}

impl EndClass {
    pub(crate) const ALL: [Self; 11] = [
        Self::Succeeded,
        Self::Failed,
        Self::NotStarted,
        Self::Aborted,
        Self::Disk,
        Self::Preempted,
        Self::Memory,
        Self::Killed,
        Self::ApplicationOver,
        Self::Log,
        Self::TimeLimit,
    ];

    #[must_use]
    pub(crate) const fn of(exit: ContainerExit) -> Self {
        match exit {
            ContainerExit::SUCCESS => Self::Succeeded,
            ContainerExit::INVALID => Self::NotStarted,
            ContainerExit::ABORTED => Self::Aborted,
            ContainerExit::DISKS_FAILED | ContainerExit::OUTPUT_LOST => Self::Disk,
            ContainerExit::PREEMPTED => Self::Preempted,
            ContainerExit::KILLED_EXCEEDED_MEMORY | ContainerExit(-103) => Self::Memory,
            ContainerExit::KILLED_BY_OWNER | ContainerExit::KILLED_BY_ADMINISTRATOR => Self::Killed,
            ContainerExit::KILLED_AFTER_APPLICATION => Self::ApplicationOver,
            ContainerExit::KILLED_FOR_LOGS => Self::Log,
            ContainerExit::TIME_LIMIT => Self::TimeLimit,
            _ => Self::Failed,
        }
    }

    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::NotStarted => "not_started",
            Self::Aborted => "aborted",
            Self::Disk => "disk",
            Self::Preempted => "preempted",
            Self::Memory => "memory",
            Self::Killed => "killed",
            Self::ApplicationOver => "application_over",
            Self::Log => "log",
            Self::TimeLimit => "time_limit",
        }
    }
}

impl ApplicationTallies {
    /// An application has come into this state, from that one; none: it is new here.
    pub(crate) fn count_state(&mut self, before: Option<ApplicationState>, after: ApplicationState) {
        if before == Some(after) {
            return;
        }
        if let Some(at) = before.and_then(unfinished) {
            self.unfinished[at] = self.unfinished[at].saturating_sub(1);
        }
        match (unfinished(after), after) {
            (Some(at), _) => self.unfinished[at] += 1,
            // One of an earlier run ended then.
            (None, _) if before.is_none() => {}
            (None, ApplicationState::Finished) => self.ended[0] += 1,
            (None, ApplicationState::Failed) => self.ended[1] += 1,
            (None, _) => self.ended[2] += 1,
        }
    }

    /// A container is like this now, and was like that; none: it is new here.
    pub(crate) fn count_container(&mut self, before: Option<&Container>, after: &Container) {
        if let Some(at) = before.and_then(|before| live(before.state)) {
            self.live[at] = self.live[at].saturating_sub(1);
        }
        let capability = after.request.capability;
        let (memory_mb, vcores) = (u64::from(capability.memory_mb), u64::from(capability.vcores));
        let was_live = before.is_some_and(Container::is_live);
        match live(after.state) {
            Some(at) => {
                self.live[at] += 1;
                if !was_live {
                    self.held_memory_mb += memory_mb;
                    self.held_vcores += vcores;
                }
            }
            None if was_live => {
                self.held_memory_mb = self.held_memory_mb.saturating_sub(memory_mb);
                self.held_vcores = self.held_vcores.saturating_sub(vcores);
                let class = EndClass::of(after.exit()) as usize;
                if let Some(count) = self.container_ends.get_mut(class) {
                    *count += 1;
                }
            }
            None => {}
        }
    }
}

fn unfinished(state: ApplicationState) -> Option<usize> {
    match state {
        ApplicationState::Accepted => Some(0),
        ApplicationState::Running => Some(1),
        ApplicationState::Finished | ApplicationState::Failed | ApplicationState::Killed => None,
    }
}

fn live(state: ContainerState) -> Option<usize> {
    match state {
        ContainerState::Allocated | ContainerState::Acquired => Some(0),
        ContainerState::Launching => Some(1),
        ContainerState::Running => Some(2),
        ContainerState::Complete => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exit_status_has_one_class_and_each_class_its_place() {
        for (at, class) in EndClass::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, at);
        }
        let classes = [0, 1, 137, -1000, -100, -101, -102, -103, -104, -105, -106, -107, -109, -200, -201, -999]
            .map(|exit| EndClass::of(ContainerExit(exit)).name());
        assert_eq!(
            classes.join(" "),
            "succeeded failed failed not_started aborted disk preempted memory memory killed \
                                       killed application_over log time_limit disk failed"
        );
    }
}
