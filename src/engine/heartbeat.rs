//! The heartbeat: admission of the tracker, its reports, the answer (1.2.1 `JobTracker.heartbeat`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::AttemptOrder;
use crate::model::{AttemptId, AttemptState, FactNumber, JobId, Kind, Now, PerKind};
use crate::scheduler::NodeId;
use crate::wire::{Action, HeartbeatRequest, HeartbeatResponse, TaskStatus};

use super::engine::{Engine, Wait, job_context};
use super::orders::{Orders, UnknownAttempts};
use super::registration::holds_slot;
use super::tracker::{LastAnswer, ReportFreshness, Tracker};
use super::tracker_recovery::{RecoveryStep, deduplicate_diagnostics};
use super::{Fact, HeartbeatAnswer, LogLevel, Reply};

/// Interval for a tracker that exceeds the limit of trackers, ms; it is unknown then and is reinitialised.
const FULL_INTERVAL_MS: i32 = 10_000;
/// Unknown attempts of a tracker, beyond twice its slots, that it is ordered to drop. Further ones are ignored until it
/// reports fewer.
const UNKNOWN_ATTEMPTS_BESIDE_SLOTS: usize = 100;

// === impl Engine: heartbeats ===

impl Engine {
    pub(super) fn heartbeat(&mut self, request: HeartbeatRequest, connection: u64, now: Now) -> (Reply, Wait) {
        self.tallies.heartbeats += 1;
        if let Some(refusal) = self.refuse_tracker(&request, connection, now) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        if request.initial_contact
            && !self.trackers.contains_key(&*request.status.name)
            && !self.has_room_for_trackers()
        {
            // No `DisallowedTaskTrackerException`: it would end the tracker, which may be an honest one in a flood.
            let text = format!(
                "cannot register {}: {} TaskTrackers are registered, which is the limit; it will retry",
                request.status.name,
                self.trackers.len()
            );
            self.log_line(LogLevel::Warning, text);
            let answer = Tracker::idle_answer(request.response_id.wrapping_add(1), FULL_INTERVAL_MS);
            return (Reply::Heartbeat(HeartbeatAnswer::Fresh(answer)), Wait::Nothing);
        }
        self.update_host_faults(&request, now);
        let mut is_successor = false;
        let freshness = match self.recover_tracker(&request, connection, now) {
            RecoveryStep::RepeatAnswer(answer) => return (Reply::Heartbeat(answer), Wait::Nothing),
            RecoveryStep::Process(freshness) => freshness,
        };
        let name = &*request.status.name;
        match self.trackers.get_mut(name) {
            // Wait until its loss is durable: a crash that undid the loss would miss the attempts that it forgets now.
            None if !request.initial_contact => return (Reply::Heartbeat(reinit(request.response_id)), Wait::All),
            Some(tracker) if !request.initial_contact && tracker.response_id != request.response_id => {
                // The last answer was lost.
                tracker.last_seen_mono_ms = now.mono_ms;
                if matches!(tracker.last_answer, LastAnswer::Encoded(_)) {
                    tracker.answer_waits_for = self.log.last();
                }
                return (Reply::Heartbeat(tracker.repeat_answer()), Wait::For(tracker.answer_waits_for));
            }
            Some(_) if request.initial_contact => {
                let name: Arc<str> = name.into();
                self.lose_tracker(&name, "registered again", now);
                is_successor = true;
            }
            _ => {}
        }
        if request.initial_contact {
            self.register(&request.status);
        }
        let name = self.update_status(&request, connection, now);
        if request.initial_contact && !is_successor {
            self.mark_introduced(&name);
        }
        self.acknowledge_kill_jobs(&name);
        let node = self.trackers.get(&name).map(|tracker| tracker.node);
        let Some(node) = node else { return (Reply::Heartbeat(reinit(request.response_id)), Wait::Nothing) };
        // Its free slots are unknown before its first fresh report.
        let is_known = freshness != ReportFreshness::MaybeStale;
        let accepts = request.accept_new_tasks && request.status.health.healthy && !self.is_in_safe_mode() && is_known;
        let reported = freshness.reported_attempts(&request.status.tasks);
        let mut orders = self.process_reports(&name, node, request.status.tasks, freshness, now);
        if freshness == ReportFreshness::FirstFresh {
            self.fail_missing_attempts(&name, node, &reported, now);
        }
        // The attempts of its previous process are lost without any report.
        orders.must_be_durable |= is_successor;
        self.record_job_facts();
        self.answer(&name, node, request.response_id.wrapping_add(1), accepts, orders, now)
    }

    /// Most unknown attempts that are processed in one heartbeat of a tracker.
    fn unknown_attempts_allowed(&self, name: &Arc<str>) -> usize {
        let slots = self.trackers.get(name).map(|tracker| tracker.slots).unwrap_or_default();
        2 * (slots.map as usize + slots.reduce as usize) + UNKNOWN_ATTEMPTS_BESIDE_SLOTS
    }

    /// Acknowledges the KILL_JOBs of the last answer, which the tracker has received.
    fn acknowledge_kill_jobs(&mut self, name: &Arc<str>) {
        let Some(tracker) = self.trackers.get_mut(name) else { return };
        let sent = std::mem::take(&mut tracker.kill_jobs_sent);
        for job in &sent {
            tracker.kill_jobs.remove(job);
        }
        for job in sent {
            self.acknowledge_kill_job(job, name);
        }
    }

    fn process_reports(
        &mut self,
        name: &Arc<str>,
        node: NodeId,
        reports: Vec<TaskStatus>,
        freshness: ReportFreshness,
        now: Now,
    ) -> Orders {
        let mut orders = Orders::default();
        let mut ending: Vec<JobId> = Vec::new();
        let is_in_safe_mode = self.is_in_safe_mode();
        let mut at_work = BTreeSet::new();
        let mut ended = BTreeSet::new();
        let mut unknown_attempts = UnknownAttempts::new(self.unknown_attempts_allowed(name));
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
                    self.drop_unknown_attempt(name, attempt, &mut unknown_attempts, &mut orders);
                }
                continue;
            };
            let known = job.key_of(attempt.task).filter(|key| job.attempt(*key, attempt.number).is_some());
            let Some(key) = known else {
                if live {
                    self.drop_unknown_attempt(name, attempt, &mut unknown_attempts, &mut orders);
                }
                continue;
            };
            deduplicate_diagnostics(job, key, &mut report, freshness);
            let was_ending = job.is_over_or_ending();
            let reported = job.apply_report(key, report, node, &mut job_context!(self, now));
            if job.is_over_or_ending() && !was_ending {
                ending.push(attempt.task.job);
            }
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
                && let Some(tracker) = self.trackers.get_mut(name)
            {
                tracker.attempts.remove(&attempt);
            }
            for map in reported.unfetchable {
                self.fail_attempt(map, "Too many fetch-failures", now);
            }
        }
        if let Some(line) = unknown_attempts.log_text(name) {
            self.log_line(LogLevel::Warning, line);
        }
        self.forget_finished_unknown_attempts(name, &at_work);
        for job in ending {
            self.refresh_orders(name, job, &mut orders, now);
        }
        orders
    }

    /// Recomputes the orders for a job that began to end during this heartbeat: earlier ones are out of date.
    fn refresh_orders(&mut self, name: &Arc<str>, id: JobId, orders: &mut Orders, now: Now) {
        orders.commits.retain(|attempt| attempt.task.job != id);
        let (Some(tracker), Some(job)) = (self.trackers.get(name), self.jobs.get_mut(id)) else { return };
        let first = id.task(Kind::Map, i32::MIN).attempt(i32::MIN);
        let last = id.task(Kind::Reduce, i32::MAX).attempt(i32::MAX);
        let killed: BTreeSet<AttemptId> =
            orders.kill_tasks.iter().filter(|attempt| attempt.task.job == id).copied().collect();
        for attempt in tracker.attempts.range(first..=last) {
            let Some(key) = job.key_of(attempt.task) else { continue };
            match job.order_for_tracker(key, attempt.number, &mut job_context!(self, now)) {
                Some(AttemptOrder::Kill) if !killed.contains(attempt) => orders.kill_tasks.push(*attempt),
                Some(AttemptOrder::Commit) => orders.commits.push(*attempt),
                _ => {}
            }
        }
    }

    /// Assigns tasks and builds the answer.
    fn answer(
        &mut self,
        name: &Arc<str>,
        node: NodeId,
        response_id: i16,
        accepts: bool,
        mut orders: Orders,
        now: Now,
    ) -> (Reply, Wait) {
        if let Some(tracker) = self.trackers.get_mut(name) {
            orders.kill_tasks.append(&mut tracker.kill_tasks);
        }
        let launches = if accepts { self.assign_tasks(name, node, now) } else { Vec::new() };
        let launched = !launches.is_empty();
        let mut actions: Vec<Action> =
            Vec::with_capacity(launches.len() + orders.kill_tasks.len() + orders.commits.len());
        actions.extend(launches.into_iter().map(|task| Action::LaunchTask(Box::new(task))));
        actions.extend(orders.kill_tasks.into_iter().map(Action::KillTask));
        let interval_ms = self.next_interval_ms(name);
        let rereads_events = self.trackers.get(name).is_some_and(|tracker| tracker.rereads_events);
        let recovered_jobs = if rereads_events { self.restarted_jobs() } else { Vec::new() };
        let Some(tracker) = self.trackers.get_mut(name) else {
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
            tracker.answer_waits_for = if orders.must_be_durable { self.log.last() } else { FactNumber::default() };
            return (Reply::Heartbeat(HeartbeatAnswer::Fresh(Tracker::idle_answer(response_id, interval_ms))), wait);
        }
        let response = HeartbeatResponse { response_id, interval_ms, actions, recovered_jobs };
        let body: Arc<[u8]> = response.encode_body().into();
        tracker.last_answer = LastAnswer::Encoded(body.clone());
        if launched {
            self.record_launches(name, response_id, &body, now);
        }
        if let Some(tracker) = self.trackers.get_mut(name) {
            tracker.has_launch_answer |= launched;
            tracker.answer_waits_for = self.log.last();
        }
        (Reply::Heartbeat(HeartbeatAnswer::Encoded(body)), Wait::All)
    }

    fn record_launches(&mut self, name: &Arc<str>, response_id: i16, answer: &Arc<[u8]>, now: Now) {
        for (fact, tracker_attempt) in self.launch_facts(name, response_id, now) {
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.attempts.insert(tracker_attempt);
            }
            self.launching.insert(tracker_attempt, now.mono_ms);
            self.job_facts.push(fact);
        }
        self.record_job_facts();
        self.log.push(Fact::LaunchAnswer { tracker: name.clone(), response_id, answer: answer.clone() });
    }

    fn next_interval_ms(&self, name: &Arc<str>) -> i32 {
        let has_attempts = self.trackers.get(name).is_some_and(|tracker| !tracker.attempts.is_empty());
        let totals = self.scheduler.totals();
        let has_waiting = totals.waiting != PerKind::default()
            || !self.housekeeping.setup.is_empty()
            || !self.housekeeping.cleanup.is_empty()
            || Kind::ALL.iter().any(|kind| !self.housekeeping.task_cleanup[*kind].is_empty());
        self.config.heartbeat.interval_ms(self.trackers.len(), !has_attempts && !has_waiting)
    }
}

// === impl Tracker ===

impl Tracker {
    /// The last answer, unchanged.
    fn repeat_answer(&self) -> HeartbeatAnswer {
        match &self.last_answer {
            LastAnswer::Idle(interval_ms) => {
                HeartbeatAnswer::Fresh(Tracker::idle_answer(self.response_id, *interval_ms))
            }
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
