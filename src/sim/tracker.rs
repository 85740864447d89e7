//! A simulated TaskTracker with the protocol of a stock one: it reports, applies answers, and repeats an unanswered heartbeat.

use std::collections::BTreeMap;

use crate::engine::HeartbeatAnswer;
use crate::fake_tracker::{FakeTracker, Role};
use crate::model::{AttemptId, AttemptState, PerKind};
use crate::wire::{HeartbeatRequest, ResourceStatus, TaskStatus};

use super::attempt::{self, AttemptPlan, FaultModel};
use super::containers::SimWorker;
use super::daemon_run::LateAnswer;
use super::plan::TrackerPlan;
use super::random::Random;

/// A tracker's current process; a restart replaces it under the same name.
#[derive(Debug)]
pub(super) struct SimTracker {
    pub(super) fake: FakeTracker<AttemptPlan>,
    pub(super) random: Random,
    pub(super) connection: u64,
    /// The interval of the last answer, ms.
    pub(super) interval_ms: u64,
    pub(super) delayed_answer: Option<LateAnswer<HeartbeatAnswer>>,
    /// Its attempts have continued while it was silent.
    pub(super) is_behind: bool,
    /// The run of the JobTracker that answered last.
    pub(super) last_daemon_run: u64,
    /// When its last heartbeat was received, by the world's clock, ms.
    pub(super) last_call_mono_ms: u64,
    pub(super) is_healthy: bool,
    pub(super) refuses_work: bool,
    /// Free disk space, bytes; none: not reported.
    pub(super) free_disk_bytes: Option<i64>,
    /// Its containers; none: it is a stock tracker.
    pub(super) worker: Option<SimWorker>,
    /// Attempts that it ran by its last report, with their slots, without task-cleanups.
    pub(super) at_work: BTreeMap<AttemptId, u32>,
    /// Its last report may not have been taken in: it said what one before had said, or was the first to a restarted JobTracker.
    pub(super) has_repeated: bool,
}

/// Longest pause between heartbeats that a tracker follows, ms.
const LONGEST_PAUSE_MS: u64 = 60_000;

impl SimTracker {
    pub(super) fn new(plan: &TrackerPlan, random: Random, connection: u64) -> Self {
        Self {
            fake: FakeTracker::new(plan.name.as_str(), plan.host.as_str(), plan.slots),
            random,
            connection,
            interval_ms: 100,
            delayed_answer: None,
            is_behind: false,
            last_daemon_run: 0,
            last_call_mono_ms: 0,
            is_healthy: true,
            refuses_work: false,
            free_disk_bytes: None,
            worker: None,
            at_work: BTreeMap::new(),
            has_repeated: false,
        }
    }

    /// Its process ends and another takes its place, under the same name.
    pub(super) fn restart(&mut self, connection: u64) {
        self.connection = connection;
        self.delayed_answer = None;
        self.at_work.clear();
        self.fake.restart();
        if let Some(worker) = &mut self.worker {
            worker.restart();
        }
    }

    /// Builds the next heartbeat, or repeats the unanswered one.
    pub(super) fn request(&mut self, now_mono_ms: u64, wall_ms: i64) -> HeartbeatRequest {
        if let Some(request) = &self.fake.unanswered {
            return request.clone();
        }
        // Only a tracker that could not connect passes several states between two heartbeats.
        let states = if std::mem::take(&mut self.is_behind) { 3 } else { 1 };
        for attempt in &mut self.fake.attempts {
            (0..states).for_each(|_| attempt::advance(attempt, now_mono_ms));
        }
        let reports = self.fake.attempts.iter().map(|attempt| attempt::report(attempt, now_mono_ms, wall_ms));
        self.fake.resources = ResourceStatus::of_space(self.free_disk_bytes.unwrap_or(-1));
        let mut request = self.fake.request(reports.collect());
        request.restarted = request.initial_contact;
        request.accept_new_tasks &= !self.refuses_work;
        request.status.health.healthy = self.is_healthy;
        request.status.health.report = match &self.worker {
            _ if !self.is_healthy => "it is ill".into(),
            Some(worker) => worker.fake.health_report().as_str().into(),
            None => "".into(),
        };
        request
    }

    /// Slots of a stock tracker in which attempts were at work by its last report and have neither ended by themselves nor are
    /// at work by this one.
    pub(super) fn count_killed(&mut self, request: &HeartbeatRequest) -> PerKind<u32> {
        let works = |report: &&TaskStatus| {
            matches!(report.state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
        };
        let reports = &request.status.tasks;
        let at_work = reports.iter().filter(works).map(|report| (report.attempt, report.num_slots.unsigned_abs()));
        let before = std::mem::replace(&mut self.at_work, at_work.collect());
        let mut killed = PerKind::default();
        if self.worker.is_some() || request.initial_contact {
            return killed;
        }
        for (attempt, slots) in before {
            let report = reports.iter().find(|report| report.attempt == attempt);
            if report.is_none_or(|report| matches!(report.state, AttemptState::Killed | AttemptState::KilledUnclean)) {
                killed[attempt.task.kind] += slots;
            }
        }
        killed
    }

    /// Applies an answer and returns its launches without task-cleanups; the error names what no JobTracker may answer.
    pub(super) fn apply_answer(
        &mut self,
        answer: &HeartbeatAnswer,
        now_mono_ms: u64,
        model: FaultModel<'_>,
    ) -> Result<Vec<AttemptId>, String> {
        let response = &*answer.response().map_err(|error| error.to_string())?;
        if !self.fake.expects(response) {
            return Err(format!("answer {} follows answer {}", response.response_id, self.fake.response_id));
        }
        self.interval_ms = u64::try_from(response.interval_ms).unwrap_or(0).clamp(1, LONGEST_PAUSE_MS);
        self.fake.attempts.iter_mut().for_each(attempt::acknowledge);
        let was_registered = self.fake.is_registered;
        let launched = self.fake.obey(response, |task| AttemptPlan::new(task, now_mono_ms, model)).launched;
        if let Some(worker) = self.worker.as_mut().filter(|_| !was_registered || !self.fake.is_registered) {
            worker.lose_connection();
        }
        self.check_launches(&launched)?;
        self.fake.commit_permitted();
        let ordinary = launched.into_iter().filter(|(_, role)| *role != Role::TaskCleanup);
        Ok(ordinary.map(|(id, _)| id).collect())
    }

    /// Each launched attempt is new to the tracker and finds a slot.
    fn check_launches(&self, launched: &[(AttemptId, Role)]) -> Result<(), String> {
        for (id, _) in launched {
            if self.fake.attempts.iter().filter(|attempt| attempt.id == *id).count() > 1 {
                return Err(format!("{id} is launched where it runs already"));
            }
            let kind = id.task.kind;
            if self.fake.busy(kind) > self.fake.slots[kind] {
                return Err(format!(
                    "{id} finds no slot on {}: all {} are in use",
                    self.fake.name, self.fake.slots[kind]
                ));
            }
        }
        Ok(())
    }

    /// Whether it runs an attempt, has completed it, or keeps its output.
    pub(super) fn has(&self, id: AttemptId) -> bool {
        self.fake.outputs.contains(&id)
            || self.fake.attempts.iter().any(|attempt| attempt.id == id && attempt::is_work_to_lose(attempt))
    }
}
