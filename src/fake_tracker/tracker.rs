//! The tracker: its next heartbeat, and what an answer does to it.

use std::collections::BTreeSet;

use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind};
use crate::wire::{
    Action, HealthStatus, HeartbeatRequest, HeartbeatResponse, ResourceStatus, Task, TaskStatus, TaskTrackerStatus,
    Text,
};

use super::attempt::{FakeAttempt, Role};

/// A tracker whose driver keeps a `T` about each attempt.
#[derive(Clone, Debug)]
pub struct FakeTracker<T = ()> {
    /// As heartbeats name it.
    pub name: String,
    /// As heartbeats name it.
    pub host: String,
    /// Where heartbeats say that map output is served.
    pub http_port: i32,
    pub slots: PerKind<u32>,
    pub resources: ResourceStatus,
    /// Attempts that it runs, or whose end it has not reported yet.
    pub attempts: Vec<FakeAttempt<T>>,
    /// Maps whose output it holds.
    pub outputs: BTreeSet<AttemptId>,
    /// A heartbeat that must be sent again, unchanged, before anything else.
    pub unanswered: Option<HeartbeatRequest>,
    /// Of the last answer; -1 before the first.
    pub response_id: i16,
    /// Whether an answer has come since the last start or re-registration.
    pub is_registered: bool,
    /// Whether no answer has come since its process started.
    pub is_restarted: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Obeyed {
    /// Attempts that it launched, in its order.
    pub launched: Vec<(AttemptId, Role)>,
    /// Parts of jobs whose success the JobTracker now knows.
    pub succeeded: u64,
    /// It had to drop everything and register again.
    pub is_reinit: bool,
}

impl<T> FakeTracker<T> {
    /// A tracker that has not called yet, on a machine that reports nothing of itself.
    pub fn new(name: impl Into<String>, host: impl Into<String>, slots: PerKind<u32>) -> Self {
        Self {
            name: name.into(),
            host: host.into(),
            http_port: 50_060,
            slots,
            resources: ResourceStatus::of_space(-1),
            attempts: Vec::new(),
            outputs: BTreeSet::new(),
            unanswered: None,
            response_id: -1,
            is_registered: false,
            is_restarted: true,
        }
    }

    /// One of the name, the host, the slots and the machine that a heartbeat states, that has not called yet.
    pub fn of_status(status: &TaskTrackerStatus) -> Self {
        let slots = PerKind::new(status.max_map_slots.cast_unsigned(), status.max_reduce_slots.cast_unsigned());
        let resources = status.resources.clone();
        Self { http_port: status.http_port, resources, ..Self::new(&*status.name, &*status.host, slots) }
    }

    /// Ends the process and everything it had; another one takes its place under the same name.
    pub fn restart(&mut self) {
        self.lose_everything();
        self.is_restarted = true;
        self.response_id = -1;
    }

    pub(crate) fn busy(&self, kind: Kind) -> u32 {
        let holders = self.attempts.iter().filter(|attempt| attempt.kind() == kind && attempt.is_kept());
        holders.map(|attempt| attempt.slots).sum()
    }

    pub fn has_room(&self) -> bool {
        Kind::ALL.iter().any(|kind| self.busy(*kind) < self.slots[*kind])
    }

    pub fn attempt_mut(&mut self, id: AttemptId) -> Option<&mut FakeAttempt<T>> {
        self.attempts.iter_mut().find(|attempt| attempt.id == id)
    }

    /// What may commit does so at once.
    pub(crate) fn commit_permitted(&mut self) {
        let permitted =
            |attempt: &&mut FakeAttempt<T>| attempt.may_commit && attempt.state == AttemptState::CommitPending;
        self.attempts.iter_mut().filter(permitted).for_each(|attempt| attempt.state = AttemptState::Succeeded);
    }

    /// A heartbeat with these reports, which must have one of each attempt as it is.
    pub fn request(&mut self, reports: Vec<TaskStatus>) -> HeartbeatRequest {
        self.attempts.iter_mut().for_each(|attempt| attempt.reported = Some(attempt.state));
        HeartbeatRequest {
            status: TaskTrackerStatus {
                name: self.name.as_str().into(),
                host: self.host.as_str().into(),
                http_port: self.http_port,
                task_failures: 0,
                dir_failures: 0,
                max_map_slots: self.slots.map.cast_signed(),
                max_reduce_slots: self.slots.reduce.cast_signed(),
                resources: self.resources.clone(),
                tasks: reports,
                health: HealthStatus { healthy: true, report: Text::default(), last_reported_ms: 0 },
            },
            restarted: self.is_restarted,
            initial_contact: !self.is_registered,
            accept_new_tasks: self.has_room(),
            response_id: self.response_id,
        }
    }

    /// Whether an answer is the next one, or orders to register again, which may come at any time.
    pub(crate) fn expects(&self, answer: &HeartbeatResponse) -> bool {
        answer.response_id == self.response_id.wrapping_add(1) || answer.actions.contains(&Action::ReinitTracker)
    }

    /// Does what an answer says; `plan` makes what the driver keeps about a launched task.
    pub fn obey(&mut self, answer: &HeartbeatResponse, mut plan: impl FnMut(&Task) -> T) -> Obeyed {
        let mut obeyed = Obeyed::default();
        self.acknowledge(answer.response_id, &mut obeyed);
        for action in &answer.actions {
            match action {
                Action::LaunchTask(task) => {
                    let attempt = FakeAttempt::launched(task, plan(task));
                    obeyed.launched.push((attempt.id, attempt.role));
                    self.attempts.push(attempt);
                }
                Action::KillTask(id) => {
                    self.outputs.remove(id);
                    self.attempts.iter_mut().filter(|attempt| attempt.id == *id).for_each(FakeAttempt::kill);
                }
                Action::KillJob(job) => self.forget_job(*job),
                Action::CommitTask(id) => {
                    self.attempts
                        .iter_mut()
                        .filter(|attempt| attempt.id == *id)
                        .for_each(|attempt| attempt.may_commit = true);
                }
                Action::ReinitTracker => {
                    obeyed.is_reinit = true;
                    self.lose_everything();
                }
            }
        }
        obeyed
    }

    /// The answer shows that the last heartbeat was received: ends are not reported again.
    fn acknowledge(&mut self, response_id: i16, obeyed: &mut Obeyed) {
        self.unanswered = None;
        self.is_registered = true;
        self.is_restarted = false;
        self.response_id = response_id;
        for attempt in self.attempts.extract_if(.., |attempt| attempt.is_end_reported()) {
            if attempt.state == AttemptState::Succeeded && attempt.role == Role::Work {
                obeyed.succeeded += 1;
            }
            if attempt.is_output() {
                self.outputs.insert(attempt.id);
            }
        }
    }

    fn forget_job(&mut self, job: JobId) {
        self.attempts.retain(|attempt| attempt.id.task.job != job);
        self.outputs.retain(|id| id.task.job != job);
    }

    fn lose_everything(&mut self) {
        self.attempts.clear();
        self.outputs.clear();
        self.unanswered = None;
        self.is_registered = false;
    }
}
