//! An attempt on a fake tracker.

use crate::model::{AttemptId, AttemptState, Kind};
use crate::wire::Task;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Work,
    /// Cleaning up after an attempt.
    TaskCleanup,
    /// Setting up or cleaning up its job.
    Housekeeping,
}

/// What happens to an attempt until the next heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptStep {
    Wait,
    Advance,
    /// It throws.
    Fail,
    /// Its process ends, and what it left must be removed.
    FailUnclean,
    /// It is ended from outside, and what it left must be removed.
    DieUnclean,
    /// It is ended from outside before it left anything.
    Die,
}

/// An attempt, with what its driver keeps about it.
#[derive(Clone, Debug)]
pub struct FakeAttempt<T = ()> {
    pub id: AttemptId,
    pub role: Role,
    /// Slots that it holds, by its launch.
    pub slots: u32,
    pub state: AttemptState,
    /// As the last heartbeat reported it, which may be older than its state: an unanswered heartbeat is sent again unchanged.
    pub reported: Option<AttemptState>,
    /// The JobTracker has permitted it to commit.
    pub may_commit: bool,
    /// What its driver keeps about it.
    pub plan: T,
}

impl<T> FakeAttempt<T> {
    /// The attempt that a launch begins.
    pub(crate) fn launched(task: &Task, plan: T) -> Self {
        let role = match () {
            () if task.task_cleanup => Role::TaskCleanup,
            () if task.is_ordinary() => Role::Work,
            () => Role::Housekeeping,
        };
        Self {
            id: task.status.attempt,
            role,
            slots: task.num_slots.unsigned_abs(),
            state: task.status.state,
            reported: None,
            may_commit: false,
            plan,
        }
    }

    pub const fn kind(&self) -> Kind {
        self.id.task.kind
    }

    /// Whether its process was seen to run.
    pub fn has_begun(&self) -> bool {
        self.state != AttemptState::Unassigned
    }

    /// Whether its tracker reports it again after an answer. Such attempts hold slots.
    pub fn is_kept(&self) -> bool {
        !self.ends_with(self.state)
    }

    /// Whether it is a map whose output reduces may fetch.
    pub fn is_output(&self) -> bool {
        self.state == AttemptState::Succeeded && self.role == Role::Work && self.kind() == Kind::Map
    }

    pub(crate) fn is_end_reported(&self) -> bool {
        self.reported.is_some_and(|state| self.ends_with(state))
    }

    /// Whether it is over in a state: what must be cleaned up is, for the attempt that left it.
    fn ends_with(&self, state: AttemptState) -> bool {
        match state {
            AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed => true,
            AttemptState::FailedUnclean | AttemptState::KilledUnclean => self.role != Role::TaskCleanup,
            AttemptState::Running | AttemptState::Unassigned | AttemptState::CommitPending => false,
        }
    }

    /// Goes one state further. Only reduces have output to commit: maps of jobs without reduces are taken to have none.
    pub fn advance(&mut self, step: AttemptStep) {
        use AttemptState as S;
        self.state = match (self.state, step) {
            (state, AttemptStep::Wait) => state,
            // What cleans up after an attempt comes to that attempt's end.
            (S::FailedUnclean, _) if self.role == Role::TaskCleanup => S::Failed,
            (S::KilledUnclean, _) if self.role == Role::TaskCleanup => S::Killed,
            (S::Unassigned, AttemptStep::Advance) => S::Running,
            (S::Running, AttemptStep::Advance) if self.role == Role::Work && self.kind() == Kind::Reduce => {
                S::CommitPending
            }
            (S::Running, AttemptStep::Advance) => S::Succeeded,
            (S::CommitPending, AttemptStep::Advance) if self.may_commit => S::Succeeded,
            (S::Unassigned | S::Running | S::CommitPending, AttemptStep::Fail) => S::Failed,
            (S::Running | S::CommitPending, AttemptStep::FailUnclean) => S::FailedUnclean,
            (S::Running | S::CommitPending, AttemptStep::DieUnclean) => S::KilledUnclean,
            (S::Unassigned, AttemptStep::FailUnclean | AttemptStep::DieUnclean) => S::Killed,
            (S::Unassigned | S::Running | S::CommitPending, AttemptStep::Die) => S::Killed,
            (state, _) => state,
        };
    }

    /// Ends as a stock tracker ends an attempt that it is ordered to kill.
    pub(crate) fn kill(&mut self) {
        use AttemptState as S;
        self.state = match self.state {
            S::Running | S::CommitPending if self.role == Role::Work => S::KilledUnclean,
            S::Unassigned | S::Running | S::CommitPending | S::KilledUnclean => S::Killed,
            S::FailedUnclean => S::Failed,
            ended @ (S::Succeeded | S::Failed | S::Killed) => ended,
        };
    }
}
