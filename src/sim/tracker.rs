//! A simulated TaskTracker, as a stock one speaks: it reports, obeys, and repeats a heartbeat that was not answered.

use std::collections::BTreeSet;

use crate::engine::HeartbeatAnswer;
use crate::model::{AttemptId, Kind, PerKind};
use crate::wire::{
    Action, Decode, HealthStatus, HeartbeatRequest, HeartbeatResponse, Reader, ResourceStatus, Task, TaskTrackerStatus,
};

use super::attempt::{SimAttempt, Weather};
use super::daemon_run::DelayedAnswer;
use super::plan::TrackerPlan;
use super::random::Random;

/// A tracker's process, or the place where one may be started.
#[derive(Debug)]
pub(super) struct SimTracker {
    pub(super) name: String,
    pub(super) host: String,
    pub(super) slots: PerKind<u32>,
    pub(super) random: Random,
    pub(super) connection: u64,
    /// What the last answer asked for, ms.
    pub(super) interval_ms: u64,
    pub(super) attempts: Vec<SimAttempt>,
    /// A request whose answer was lost: it comes again, unchanged, before anything else.
    pub(super) unanswered: Option<HeartbeatRequest>,
    /// The answer to it, which waits for the store.
    pub(super) held: Option<DelayedAnswer<HeartbeatAnswer>>,
    /// Its attempts have continued while it was silent.
    pub(super) is_behind: bool,
    /// The run of the JobTracker whose answer came last.
    pub(super) known_to: u64,
    /// When its last call was received, by the world's clock, ms.
    pub(super) heard_mono_ms: u64,
    /// Maps whose output lies there.
    pub(super) outputs: BTreeSet<AttemptId>,
    pub(super) is_healthy: bool,
    pub(super) refuses_work: bool,
    /// Free room on its disk, bytes; none = it does not tell.
    pub(super) free_disk_bytes: Option<i64>,
    response_id: i16,
    is_registered: bool,
}

/// What an answer did to a tracker.
#[derive(Debug, Default)]
pub(super) struct Obeyed {
    /// What it has been given, but for task-cleanups.
    pub(super) launched: Vec<AttemptId>,
}

/// Longest pause between heartbeats that a tracker follows, ms.
const LONGEST_PAUSE_MS: u64 = 60_000;

// === impl SimTracker ===

impl SimTracker {
    pub(super) fn new(plan: &TrackerPlan, random: Random, connection: u64) -> Self {
        Self {
            name: plan.name.clone(),
            host: plan.host.clone(),
            slots: plan.slots,
            random,
            connection,
            interval_ms: 100,
            attempts: Vec::new(),
            unanswered: None,
            held: None,
            is_behind: false,
            known_to: 0,
            heard_mono_ms: 0,
            outputs: BTreeSet::new(),
            is_healthy: true,
            refuses_work: false,
            free_disk_bytes: None,
            response_id: -1,
            is_registered: false,
        }
    }

    /// Its process ends and another takes its place, under the same name.
    pub(super) fn restart(&mut self, connection: u64) {
        self.connection = connection;
        self.attempts.clear();
        self.outputs.clear();
        self.unanswered = None;
        self.held = None;
        self.is_registered = false;
        self.response_id = -1;
    }

    /// Slots of a kind that its attempts hold.
    pub(super) fn busy(&self, kind: Kind) -> u32 {
        self.attempts.iter().filter(|attempt| attempt.id.task.kind == kind && attempt.is_kept()).count() as u32
    }

    /// The heartbeat that it sends now.
    pub(super) fn request(&mut self, now_mono_ms: u64, wall_ms: i64) -> HeartbeatRequest {
        if let Some(request) = &self.unanswered {
            return request.clone();
        }
        // Only a tracker that was away has seen each state.
        let states = if std::mem::take(&mut self.is_behind) { 3 } else { 1 };
        for attempt in &mut self.attempts {
            (0..states).for_each(|_| attempt.advance(now_mono_ms));
        }
        let is_free = Kind::ALL.iter().any(|kind| self.busy(*kind) < self.slots[*kind]);
        HeartbeatRequest {
            status: TaskTrackerStatus {
                name: self.name.as_str().into(),
                host: self.host.as_str().into(),
                http_port: 50_060,
                task_failures: 0,
                dir_failures: 0,
                max_map_slots: self.slots.map as i32,
                max_reduce_slots: self.slots.reduce as i32,
                resources: ResourceStatus::of_space(self.free_disk_bytes.unwrap_or(-1)),
                tasks: self.attempts.iter().map(|attempt| attempt.report(now_mono_ms, wall_ms)).collect(),
                health: HealthStatus {
                    healthy: self.is_healthy,
                    report: if self.is_healthy { "".into() } else { "it is ill".into() },
                    last_reported_ms: 0,
                },
            },
            restarted: !self.is_registered,
            initial_contact: !self.is_registered,
            accept_new_tasks: is_free && !self.refuses_work,
            response_id: self.response_id,
        }
    }

    /// Does what an answer says; the error names what no JobTracker may answer.
    pub(super) fn obey(
        &mut self,
        answer: &HeartbeatAnswer,
        now_mono_ms: u64,
        weather: Weather<'_>,
    ) -> Result<Obeyed, String> {
        let decoded;
        let response = match answer {
            HeartbeatAnswer::Fresh(response) => response,
            HeartbeatAnswer::Encoded(body) => {
                decoded = HeartbeatResponse::decode(&mut Reader::new(body)).map_err(|error| error.to_string())?;
                &decoded
            }
        };
        let mut obeyed = Obeyed::default();
        let is_reinit = response.actions.contains(&Action::ReinitTracker);
        if !is_reinit && response.response_id != self.response_id.wrapping_add(1) {
            return Err(format!("answer {} follows answer {}", response.response_id, self.response_id));
        }
        self.unanswered = None;
        self.is_registered = true;
        self.response_id = response.response_id;
        self.interval_ms = u64::try_from(response.interval_ms).unwrap_or(0).clamp(1, LONGEST_PAUSE_MS);
        let outputs = self.attempts.iter().filter(|attempt| attempt.is_output()).map(|attempt| attempt.id);
        self.outputs.extend(outputs);
        self.attempts.retain(SimAttempt::is_kept);
        self.attempts.iter_mut().for_each(SimAttempt::acknowledge);
        for action in &response.actions {
            match action {
                Action::LaunchTask(task) => self.launch(task, &mut obeyed, now_mono_ms, weather)?,
                Action::KillTask(id) => {
                    self.attempts.iter_mut().filter(|attempt| attempt.id == *id).for_each(SimAttempt::kill);
                }
                Action::KillJob(job) => {
                    self.attempts.retain(|attempt| attempt.id.task.job != *job);
                    self.outputs.retain(|id| id.task.job != *job);
                }
                Action::CommitTask(id) => {
                    self.attempts.iter_mut().filter(|attempt| attempt.id == *id).for_each(SimAttempt::commit);
                }
                Action::ReinitTracker => {
                    self.attempts.clear();
                    self.outputs.clear();
                    self.is_registered = false;
                }
            }
        }
        Ok(obeyed)
    }

    fn launch(
        &mut self,
        task: &Task,
        obeyed: &mut Obeyed,
        now_mono_ms: u64,
        weather: Weather<'_>,
    ) -> Result<(), String> {
        let id = task.status.attempt;
        if self.attempts.iter().any(|attempt| attempt.id == id) {
            return Err(format!("{id} is launched where it runs already"));
        }
        let kind = id.task.kind;
        self.attempts.push(SimAttempt::new(task, now_mono_ms, weather));
        if !task.task_cleanup {
            obeyed.launched.push(id);
        }
        if self.busy(kind) > self.slots[kind] {
            return Err(format!("{id} finds no slot on {}: all {} are in use", self.name, self.slots[kind]));
        }
        Ok(())
    }
}

// === impl SimTracker: what it really has ===

impl SimTracker {
    /// Whether it is at work on an attempt, has done it, or keeps its output.
    pub(super) fn has(&self, id: AttemptId) -> bool {
        self.outputs.contains(&id) || self.attempts.iter().any(|attempt| attempt.id == id && attempt.is_worth())
    }
}
