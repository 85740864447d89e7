//! The heartbeat: admission of the tracker, its reports, the answer (1.2.1 `JobTracker.heartbeat`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::core::{Engine, HeartbeatAnswer, Reply, Wait};
use crate::engine::state::{Fact, HeartbeatSender, LastAnswer, LogLevel, ReportFreshness, Tracker};
use crate::mapreduce::{AttemptOrder, Job, Launch, ReportResult};
use crate::model::{AttemptId, AttemptState, FactNumber, JobId, Kind, Now, PerKind, PerPool, TrackerId};
use crate::scheduler::AppId;
use crate::wire::{Action, HeartbeatRequest, HeartbeatResponse, TaskStatus};

use super::assignment::Assignment;
use super::orders::{Orders, UnknownAttempts};
use super::registration::holds_slot;
use super::tracker_loss::Departure;
use super::tracker_recovery::{RecoveryStep, deduplicate_diagnostics};

/// Interval for a tracker that exceeds the limit of trackers, ms; it is unknown then and is reinitialised.
const FULL_INTERVAL_MS: i32 = 10_000;

/// Unknown attempts of a tracker, beyond twice its slots, that it is ordered to drop. Further ones are ignored until it
/// reports fewer.
const UNKNOWN_ATTEMPTS_BESIDE_SLOTS: usize = 100;

/// Interval in the answer to a tracker that has signed off, ms; it calls no more.
const LAST_INTERVAL_MS: i32 = 10_000;

/// What becomes of a heartbeat: an answer at once, or its reports are processed.
enum HeartbeatAdmission {
    Answer(HeartbeatAnswer, Wait),
    Process(AdmittedHeartbeat),
}

/// A tracker whose heartbeat is to be processed.
struct AdmittedHeartbeat {
    id: TrackerId,
    freshness: ReportFreshness,
    /// Another process under the same name was registered until now.
    is_successor: bool,
    /// It has cleared up after other trackers, which were registered until now.
    has_replaced: bool,
}

impl AdmittedHeartbeat {
    /// A tracker that takes no other's place.
    fn of(id: TrackerId, freshness: ReportFreshness) -> Self {
        Self { id, freshness, is_successor: false, has_replaced: false }
    }
}

impl Engine {
    pub(super) fn on_heartbeat(
        &mut self,
        request: HeartbeatRequest,
        sender: HeartbeatSender,
        now: Now,
    ) -> (Reply, Wait) {
        self.tallies.heartbeats += 1;
        // The only look-up of its name.
        let known = self.trackers.id_of(&request.status.name);
        if let Some(refusal) = self.refuse_tracker(known, &request, sender.connection, now) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        if request.initial_contact && known.is_none() && !self.make_room_for_tracker(sender.connection, now) {
            // No `DisallowedTaskTrackerException`: it would end the tracker, which may be an honest one in a flood.
            let text = format!(
                "cannot register {}: {} TaskTrackers are registered, which is the limit; it will retry",
                request.status.name,
                self.trackers.len()
            );
            self.outbox.log_line(LogLevel::Warning, text);
            let answer = idle_answer(request.response_id.wrapping_add(1), FULL_INTERVAL_MS);
            return (Reply::Heartbeat(HeartbeatAnswer::Fresh(answer)), Wait::Nothing);
        }
        self.update_host_faults(&request, now);
        match self.admit_tracker(known, &request, sender, now) {
            HeartbeatAdmission::Answer(answer, wait) => (Reply::Heartbeat(answer), wait),
            HeartbeatAdmission::Process(admitted) => self.process_heartbeat(admitted, request, sender, now),
        }
    }

    /// Registers a new tracker, recovers one after a restart, or resends a lost answer.
    fn admit_tracker(
        &mut self,
        known: Option<TrackerId>,
        request: &HeartbeatRequest,
        sender: HeartbeatSender,
        now: Now,
    ) -> HeartbeatAdmission {
        let (not_recovering, maybe_stale) = (ReportFreshness::NotRecovering, ReportFreshness::MaybeStale);
        if request.initial_contact {
            let has_replaced = self.lose_replaced_trackers(request, sender.address, now);
            if let Some(predecessor) = known {
                self.lose_tracker(predecessor, "registered again", now);
            }
            let id = self.register(&request.status);
            let is_successor = known.is_some();
            if !is_successor {
                self.warn_of_namesake(id, now);
            }
            return HeartbeatAdmission::Process(AdmittedHeartbeat {
                id,
                freshness: not_recovering,
                is_successor,
                has_replaced,
            });
        }
        let Some(id) = known else {
            return match self.accept_foreign_tracker(request, now) {
                Some(id) => HeartbeatAdmission::Process(AdmittedHeartbeat::of(id, maybe_stale)),
                // Wait until its loss is durable: a crash that undid the loss would miss the attempts that it forgets
                // now.
                None => HeartbeatAdmission::Answer(reinit(request.response_id), Wait::All),
            };
        };
        let freshness = match self.recover_tracker(id, request, sender, now) {
            RecoveryStep::RepeatAnswer(answer) => return HeartbeatAdmission::Answer(answer, Wait::Nothing),
            RecoveryStep::Process(freshness) => freshness,
        };
        if let Some(tracker) = self.trackers.get_mut(id).filter(|tracker| tracker.response_id != request.response_id) {
            // The last answer was lost.
            tracker.last_seen_mono_ms = now.mono_ms;
            if matches!(tracker.last_answer, LastAnswer::Encoded(_)) {
                tracker.answer_waits_for = self.outbox.last_fact();
            }
            return HeartbeatAdmission::Answer(tracker.repeat_answer(), Wait::For(tracker.answer_waits_for));
        }
        HeartbeatAdmission::Process(AdmittedHeartbeat::of(id, freshness))
    }

    fn process_heartbeat(
        &mut self,
        admitted: AdmittedHeartbeat,
        request: HeartbeatRequest,
        sender: HeartbeatSender,
        now: Now,
    ) -> (Reply, Wait) {
        let AdmittedHeartbeat { id, freshness, is_successor, has_replaced } = admitted;
        self.update_status(id, &request, sender, now);
        if let Some(tracker) = self.trackers.get_mut(id).filter(|_| request.initial_contact && !is_successor) {
            tracker.is_introduced = true;
        }
        self.count_killed_slots(id, &request.status.tasks, self.unknown_attempts_allowed(id));
        self.acknowledge_kill_jobs(id);
        // Its free slots are unknown before its first fresh report.
        let is_known = freshness != ReportFreshness::MaybeStale;
        let is_drained = self.trackers.get(id).is_some_and(|tracker| tracker.is_drained);
        let offers = request.accept_new_tasks && request.status.health.healthy && !is_drained;
        let accepts = offers && !self.is_in_safe_mode() && is_known && !self.awaits_bag(id);
        let reported = freshness.reported_attempts(&request.status.tasks);
        let mut orders = self.process_reports(id, request.status.tasks, freshness, now);
        if freshness == ReportFreshness::FirstFresh {
            self.kill_missing_attempts(id, &reported, now);
        }
        // After the reports: they may have added attempts that were found running, which its word has already.
        if let Some(PerKind { map, reduce }) = self.trackers.get(id).map(|tracker| tracker.busy) {
            self.cluster.scheduler.set_said_in_use(id, map.saturating_add(reduce));
        }
        // The attempts of earlier processes are lost without any report.
        orders.must_be_durable |= is_successor || has_replaced;
        if self.record_job_facts() {
            // They made room, and this tracker may set up what begins now.
            self.begin_jobs(now);
        }
        let answer = self.answer(id, request.response_id.wrapping_add(1), accepts, orders, now);
        // Slots are granted first; containers begin by a beat of their own.
        self.offer_to_containers(id, now);
        answer
    }

    /// Whether containers of an earlier run live on a tracker whose worker has not said since what it has for them and tasks
    /// together: what is free beside them is not known. No look-up by name for stock trackers.
    fn awaits_bag(&self, id: TrackerId) -> bool {
        let is_builtin = self.cluster.nodes.get(id).is_some_and(|info| info.streaming_only);
        is_builtin
            && self.cluster.scheduler.slot_room(id).is_none()
            && self.trackers.get(id).is_some_and(|tracker| self.applications.containers_on(&tracker.name) > 0)
    }

    /// Most unknown attempts that are processed in one heartbeat of a tracker.
    fn unknown_attempts_allowed(&self, id: TrackerId) -> usize {
        let slots = self.trackers.get(id).map(|tracker| tracker.slots).unwrap_or_default();
        2 * (slots.map as usize + slots.reduce as usize) + UNKNOWN_ATTEMPTS_BESIDE_SLOTS
    }

    /// Acknowledges the KILL_JOBs of the last answer, which the tracker has received.
    fn acknowledge_kill_jobs(&mut self, id: TrackerId) {
        let Some(tracker) = self.trackers.get_mut(id).filter(|tracker| !tracker.kill_jobs_sent.is_empty()) else {
            return;
        };
        let (sent, name) = (std::mem::take(&mut tracker.kill_jobs_sent), tracker.name.clone());
        for job in &sent {
            tracker.kill_jobs.remove(job);
        }
        for job in sent {
            self.acknowledge_kill_job(job, id, &name);
        }
    }

    pub(super) fn process_reports(
        &mut self,
        id: TrackerId,
        reports: Vec<TaskStatus>,
        freshness: ReportFreshness,
        now: Now,
    ) -> Orders {
        let mut orders = Orders::default();
        let mut ending: Vec<JobId> = Vec::new();
        let is_in_safe_mode = self.is_in_safe_mode();
        let mut at_work = BTreeSet::new();
        let mut ended = BTreeSet::new();
        let mut unknown_attempts = UnknownAttempts::new(self.unknown_attempts_allowed(id));
        for mut report in reports {
            if is_in_safe_mode && report.state == AttemptState::Failed {
                // In safe mode a failure counts as a kill (1.2.1 `TaskInProgress.updateStatus`).
                report.state = AttemptState::Killed;
            }
            let attempt = report.attempt;
            let live = holds_slot(&report) || report.state == AttemptState::CommitPending;
            // Ignore a second report of one attempt in the same heartbeat.
            if !(if live { at_work.insert(attempt) } else { ended.insert(attempt) }) {
                continue;
            }
            let Some(job) = self.jobs.get_mut(attempt.task.job) else {
                if !self.is_expected(attempt.task.job) && orders.forget_jobs.len() < unknown_attempts.allowed {
                    orders.forget_jobs.insert(attempt.task.job);
                }
                if live {
                    self.drop_unknown_attempt(id, attempt, &mut unknown_attempts, &mut orders);
                }
                continue;
            };
            let known = job.key_of(attempt.task).filter(|key| job.attempt(*key, attempt.number).is_some());
            let Some(key) = known else {
                if live {
                    self.drop_unknown_attempt(id, attempt, &mut unknown_attempts, &mut orders);
                }
                continue;
            };
            deduplicate_diagnostics(job, key, &mut report, freshness);
            let was_ending = job.is_over_or_ending();
            let has_succeeded = |job: &Job| {
                job.attempt(key, attempt.number).is_some_and(|attempt| attempt.state == AttemptState::Succeeded)
            };
            let had_succeeded = has_succeeded(job);
            let reported = job.apply_report(key, report, id, &mut self.cluster.job_context(&mut self.outbox, now));
            if job.is_over_or_ending() && !was_ending {
                ending.push(attempt.task.job);
            }
            if !had_succeeded
                && has_succeeded(job)
                && let Some(tracker) = self.trackers.get_mut(id)
            {
                tracker.task_windows.count_success(now.mono_ms);
            }
            self.carry_out_report(id, attempt, reported, &mut orders, now);
        }
        if let Some(line) = self.trackers.get(id).and_then(|tracker| unknown_attempts.log_text(&tracker.name)) {
            self.outbox.log_line(LogLevel::Warning, line);
        }
        self.forget_finished_unknown_attempts(id, &at_work);
        for job in ending {
            self.refresh_orders(id, job, &mut orders, now);
        }
        orders
    }

    /// Carries out what a report on an attempt has led to.
    fn carry_out_report(
        &mut self,
        id: TrackerId,
        attempt: AttemptId,
        reported: ReportResult,
        orders: &mut Orders,
        now: Now,
    ) {
        orders.must_be_durable |= reported.must_be_durable;
        if reported.started {
            self.launching.remove(attempt);
        }
        match reported.order {
            Some(AttemptOrder::Kill) => orders.kill_tasks.push(attempt),
            Some(AttemptOrder::Commit) => orders.commits.push(attempt),
            None => {}
        }
        if reported.has_left_node
            && let Some(tracker) = self.trackers.get_mut(id)
        {
            tracker.attempts.remove(&attempt);
        }
        for map in reported.unfetchable {
            self.fail_attempt(map, "Too many fetch-failures", now);
        }
    }

    /// Recomputes the orders for a job that began to end during this heartbeat: earlier ones are out of date.
    fn refresh_orders(&mut self, tracker: TrackerId, id: JobId, orders: &mut Orders, now: Now) {
        orders.commits.retain(|attempt| attempt.task.job != id);
        let (Some(tracker), Some(job)) = (self.trackers.get(tracker), self.jobs.get_mut(id)) else { return };
        let killed: BTreeSet<AttemptId> =
            orders.kill_tasks.iter().filter(|attempt| attempt.task.job == id).copied().collect();
        for attempt in tracker.attempts_of(id) {
            let Some(key) = job.key_of(attempt.task) else { continue };
            match job.order_for_tracker(key, attempt.number, &mut self.cluster.job_context(&mut self.outbox, now)) {
                Some(AttemptOrder::Kill) if !killed.contains(&attempt) => orders.kill_tasks.push(attempt),
                Some(AttemptOrder::Commit) => orders.commits.push(attempt),
                _ => {}
            }
        }
    }

    fn answer(
        &mut self,
        id: TrackerId,
        response_id: i16,
        accepts: bool,
        mut orders: Orders,
        now: Now,
    ) -> (Reply, Wait) {
        if let Some(tracker) = self.trackers.get_mut(id) {
            orders.kill_tasks.append(&mut tracker.kill_tasks);
        }
        let Assignment { launches, tasks } = match accepts {
            true => self.assign_tasks(id, now),
            false => Assignment::default(),
        };
        let launched = !tasks.is_empty();
        let mut actions: Vec<Action> = Vec::with_capacity(tasks.len() + orders.kill_tasks.len() + orders.commits.len());
        actions.extend(tasks.into_iter().map(|task| Action::LaunchTask(Box::new(task))));
        actions.extend(orders.kill_tasks.into_iter().map(Action::KillTask));
        let interval_ms = self.next_interval_ms(id);
        let rereads_events = self.trackers.get(id).is_some_and(|tracker| tracker.rereads_events);
        let recovered_jobs = if rereads_events { self.restarted_jobs() } else { Vec::new() };
        let Some(tracker) = self.trackers.get_mut(id) else {
            return (Reply::Heartbeat(reinit(response_id.wrapping_sub(1))), Wait::Nothing);
        };
        tracker.kill_jobs_sent = tracker.kill_jobs.iter().copied().collect();
        let unknown = orders.forget_jobs.iter().filter(|job| !tracker.kill_jobs.contains(job));
        actions.extend(tracker.kill_jobs_sent.iter().chain(unknown).map(|job| Action::KillJob(*job)));
        actions.extend(orders.commits.into_iter().map(Action::CommitTask));
        tracker.response_id = response_id;
        tracker.rereads_events = false;
        if actions.is_empty() && recovered_jobs.is_empty() {
            tracker.last_answer = LastAnswer::Idle(interval_ms);
            let wait = if orders.must_be_durable { Wait::All } else { Wait::Nothing };
            tracker.answer_waits_for =
                if orders.must_be_durable { self.outbox.last_fact() } else { FactNumber::default() };
            return (Reply::Heartbeat(HeartbeatAnswer::Fresh(idle_answer(response_id, interval_ms))), wait);
        }
        let response = HeartbeatResponse { response_id, interval_ms, actions, recovered_jobs };
        let body: Arc<[u8]> = response.encode_body().into();
        tracker.last_answer = LastAnswer::Encoded(body.clone());
        if launched {
            self.record_launches(&launches, id, response_id, &body, now);
        }
        if let Some(tracker) = self.trackers.get_mut(id) {
            tracker.has_launch_answer |= launched;
            tracker.answer_waits_for = self.outbox.last_fact();
        }
        (Reply::Heartbeat(HeartbeatAnswer::Encoded(body)), Wait::All)
    }

    fn record_launches(
        &mut self,
        launches: &[(AppId, Launch)],
        id: TrackerId,
        response_id: i16,
        answer: &Arc<[u8]>,
        now: Now,
    ) {
        let Some(tracker) = self.trackers.get_mut(id) else { return };
        let name = tracker.name.clone();
        if !launches.is_empty() {
            tracker.task_windows.count_given(launches.len(), now.mono_ms);
        }
        for (app, launch) in launches {
            let Some(job) = self.jobs.by_app(*app) else { continue };
            tracker.attempts.insert(launch.attempt);
            self.launching.insert(launch.attempt, now.mono_ms);
            self.outbox.job_facts.push(job.launch_fact(launch, name.clone(), response_id, now.wall_ms));
        }
        if !launches.is_empty() {
            self.trackers.mark_run(id);
        }
        self.record_job_facts();
        self.outbox.record(Fact::LaunchAnswer { tracker: name, response_id, answer: answer.clone() });
    }

    fn next_interval_ms(&self, id: TrackerId) -> i32 {
        let has_attempts = self.trackers.get(id).is_some_and(|tracker| !tracker.attempts.is_empty());
        let totals = self.cluster.scheduler.totals();
        let has_waiting = totals.waiting != PerPool::default()
            || !self.cluster.housekeeping.setup.is_empty()
            || !self.cluster.housekeeping.cleanup.is_empty()
            || Kind::ALL.iter().any(|kind| !self.cluster.housekeeping.task_cleanup[*kind].is_empty());
        self.config.heartbeat.interval_ms(self.trackers.len(), !has_attempts && !has_waiting)
    }

    /// Processes the last heartbeat of a tracker, which reports that nothing runs on it any more, and removes it: so its work
    /// starts elsewhere at once, not after the expiry interval. The built-in worker sends one when it ends; no stock tracker
    /// does. Whether it has received the last answer does not matter: it reports what has ended, and what it does not report
    /// is gone with it.
    pub(super) fn on_sign_off(&mut self, request: HeartbeatRequest, connection: u64, now: Now) -> (Reply, Wait) {
        self.tallies.heartbeats += 1;
        let known = self.trackers.id_of(&request.status.name);
        if let Some(refusal) = self.refuse_tracker(known, &request, connection, now) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        let answer = idle_answer(request.response_id.wrapping_add(1), LAST_INTERVAL_MS);
        if let Some(id) = known {
            // Its orders would find nothing there.
            let _ = self.process_reports(id, request.status.tasks, ReportFreshness::NotRecovering, now);
            self.remove_tracker(id, Departure::SignedOff, now);
            if self.record_job_facts() {
                // They made room.
                self.begin_jobs(now);
            }
        }
        // A crash that undid the loss would wait for the tracker; it says it only once.
        (Reply::Heartbeat(HeartbeatAnswer::Fresh(answer)), Wait::All)
    }
}

impl Tracker {
    /// The last answer, unchanged.
    fn repeat_answer(&self) -> HeartbeatAnswer {
        match &self.last_answer {
            LastAnswer::Idle(interval_ms) => HeartbeatAnswer::Fresh(idle_answer(self.response_id, *interval_ms)),
            LastAnswer::Encoded(body) => HeartbeatAnswer::Encoded(body.clone()),
        }
    }
}

/// The answer that reinitialises an unknown tracker, with the response id of its request.
fn reinit(response_id: i16) -> HeartbeatAnswer {
    HeartbeatAnswer::Fresh(HeartbeatResponse {
        response_id,
        interval_ms: 300,
        actions: vec![Action::ReinitTracker],
        recovered_jobs: Vec::new(),
    })
}

/// An answer with nothing to do.
pub(super) fn idle_answer(response_id: i16, interval_ms: i32) -> HeartbeatResponse {
    HeartbeatResponse { response_id, interval_ms, actions: Vec::new(), recovered_jobs: Vec::new() }
}
