//! One event: what it is decides which function handles it.

use crate::engine::core::{Engine, Event, Handled, Reply, Step, Wait};
use crate::engine::state::{Effect, Fact, HeartbeatSender, LogLevel};
use crate::model::{FactNumber, Now};

use super::job_requests::refuse_unsigned;
use super::registration::tracker_error_line;

impl Engine {
    pub fn step(&mut self, event: Event, now: Now) -> Step {
        let audited = self.audited(&event);
        self.follow_wall_clock(now);
        let (reply, wait) = self.handle(event, now);
        let decision = audited.and_then(|audited| self.audit(audited, &reply, now));
        self.begin_jobs(now);
        self.charge_reservations(now);
        self.record_job_facts();
        self.settle_applications(now);
        self.meter_held_slots(now);
        self.cancel_tokens_of_jobs(now);
        // What was so already is no decision, but for files, which are no facts.
        self.outbox.decide(decision.filter(|decision| decision.is_about_files() || self.outbox.has_facts()));
        self.jobs.finished.schedule_retirement(self.config.limits.max_finished_tasks, now);
        let wait_for = match wait {
            Wait::Nothing => FactNumber::default(),
            Wait::All => self.outbox.last_fact(),
            Wait::For(fact) => fact,
        };
        self.report_invariants();
        self.send_event_lines(now);
        let effects = self.outbox.take_effects();
        let is_final = effects.iter().any(Effect::needs_facts);
        let effects_wait_for = if is_final { self.outbox.last_fact() } else { FactNumber::default() };
        let (first_fact, facts) = self.outbox.take_facts();
        Step { reply, wait_for, effects, effects_wait_for, facts, first_fact }
    }

    fn handle(&mut self, event: Event, now: Now) -> (Reply, Wait) {
        match event {
            Event::Heartbeat { request, connection, .. } if request.signs_off() => {
                self.on_sign_off(request, connection, now)
            }
            Event::Heartbeat { request, connection, address } => {
                self.on_heartbeat(request, HeartbeatSender { connection, address }, now)
            }
            Event::ConnectionClosed { connection } => {
                self.trackers.close_connection(connection);
                (Reply::Done, Wait::Nothing)
            }
            Event::ConnectionsInherited { connections } => self.on_connections_inherited(connections, now),
            Event::TrackerError { tracker, class, message } => {
                self.outbox.log_line(LogLevel::Warning, tracker_error_line(&tracker, class.as_deref(), &message));
                (Reply::Done, Wait::Nothing)
            }
            Event::RunEnds => {
                self.prove_held_slots(now);
                (Reply::Done, Wait::Nothing)
            }
            Event::RackResolved { host, rack } => self.on_rack_resolved(&host, &rack, now),
            Event::NewJobId { owner } => or_refused(self.new_job_id(owner)),
            Event::UnusedIdFound { id, owner } => self.on_unused_id_found(id, owner),
            Event::JobIdsInherited { ids } => self.on_job_ids_inherited(ids),
            Event::SubmissionRequested { id, caller } => or_refused(self.on_submission_requested(id, &caller)),
            Event::SubmissionRead(read) => or_refused(self.on_submission_read(*read, now)),
            Event::SystemDirWritten { id } => or_refused(self.on_system_dir_written(id, now)),
            Event::SubmissionAbandoned { id } => {
                self.submissions.remove(id);
                (Reply::Done, Wait::Nothing)
            }
            Event::ForeignJobFound(found) => or_refused(self.on_foreign_job_found(*found, now)),
            Event::HistoryWritten { id, path } => {
                self.outbox.record(Fact::HistoryWritten { job: id, path, at_ms: now.wall_ms });
                (Reply::Done, Wait::Nothing)
            }
            Event::UserCopySettled { id } => {
                self.report_end(id);
                (Reply::Done, Wait::Nothing)
            }
            Event::EndNotified { id } => {
                self.outbox.record(Fact::EndNotified { job: id });
                (Reply::Done, Wait::Nothing)
            }
            Event::ForeignJobNotFound { id } => self.on_foreign_job_not_found(id),
            Event::KillJob { id, caller } => or_refused(self.kill_job(id, &caller, now)),
            Event::KillJobAsFirstCall { id, caller } => or_refused(self.kill_job_as_first_call(id, &caller, now)),
            Event::KillTask { id, fail, caller } => or_refused(self.kill_task(id, fail, &caller)),
            Event::SetJobPriority { id, priority, caller } => or_refused(self.set_job_priority(id, &priority, &caller)),
            Event::SetDeadline { id, change, caller } => or_refused(self.set_deadline(id, change, &caller, now)),
            Event::SetPool { id, pool, caller } => or_refused(self.set_pool(id, &pool, &caller, now)),
            Event::UnsignedChange { verb, job, caller } => refuse_unsigned(verb, job, &caller),
            Event::AllocationsRead { allocations } => self.on_allocations_read(allocations, now),
            Event::TopUpsFound { top_ups } => self.on_top_ups_found(&top_ups, now),
            Event::FileSystemWatched { is_away } => self.on_file_system_watched(is_away),
            Event::Delegation(request) => self.on_delegation_request(*request, now),
            Event::SetSafeMode { on, caller } => self.set_safe_mode(on, &caller),
            Event::DrainWorker { worker, is_on, caller } => self.on_drain_worker(&worker, is_on, &caller, now),
            Event::Pause { target, is_on, caller } => or_refused(self.on_pause(&target, is_on, &caller, now)),
            Event::HostsRead { hosts, caller } => or_refused(self.on_hosts_read(hosts, &caller, now)),
            Event::QueuesRead { queues, policy, caller } => {
                or_refused(self.on_queues_read(queues, policy, &caller, now))
            }
            Event::ConfigurationRead { queues, policy, hosts, .. } => {
                or_refused(self.on_configuration_read(queues, policy, hosts, now))
            }
            Event::SchedulerWished(wish) => self.on_scheduler_wished(wish, now),
            Event::WishWithdrawn => self.on_wish_withdrawn(),
            Event::Market(request) => self.handle_market_request(*request, now),
            Event::JobRequest { request, groups } => self.on_job_request(*request, groups, now),
            Event::Application(request) => self.on_application_request(*request, now),
            Event::WorkerBeat(beat) => self.on_worker_beat(beat, now),
            Event::Timer { durable } => {
                // Before the update: what was paid counts in its tick.
                self.pay_allowances_when_due(now);
                self.refresh_avoided_hosts();
                self.update_policy_when_due(now);
                // After the update: preemption uses the new quotas.
                self.preempt_when_due(now);
                self.expire_trackers_when_due(durable, now);
                self.retire_when_due(durable, now);
                self.check_stragglers_when_due(now);
                self.end_delegation_tokens_when_due(now);
                self.applications.expire_when_due(durable, self.outbox.last_fact(), now);
                (Reply::Done, Wait::Nothing)
            }
        }
    }

    /// When the next [`Event::Timer`] is due, ms of the monotonic clock.
    pub fn next_timer_ms(&self) -> Option<u64> {
        let housekeeping = &self.cluster.housekeeping;
        let stragglers = housekeeping.straggler_checks.first().map_or(u64::MAX, |(due_mono_ms, _)| *due_mono_ms);
        let retirement = self.jobs.finished.retirement_due_mono_ms().unwrap_or(u64::MAX);
        let rounds = self.rounds.due_mono_ms().min(self.next_allowance_mono_ms());
        let rounds = rounds.min(self.applications.next_due_mono_ms());
        let rounds = rounds.min(self.delegation.due_mono_ms().unwrap_or(u64::MAX));
        Some(rounds.min(self.trackers.next_expiry_mono_ms).min(stragglers).min(retirement))
    }

    /// Renews what the policy decides by, when that is due.
    pub(super) fn update_policy_when_due(&mut self, now: Now) {
        let is_due = match self.config.policy.is_market() {
            // What lies beyond an interval is not charged: each is as long as the others.
            true => self.rounds.update.begin_spaced_when_due(now),
            false => self.rounds.update.begin_when_due(now),
        };
        if is_due {
            self.rounds.resumed_end_mono_ms = None;
            self.tick_policy(now);
            self.kill_missed_jobs(now);
            self.tick_market(now);
            self.grant_wish(now);
            self.log_update(now);
        }
    }

    /// Runs a round of preemption, when one is due.
    pub(super) fn preempt_when_due(&mut self, now: Now) {
        let is_due = self.rounds.begin_preemption_when_due(self.config.policy.is_market(), now);
        // Nothing is killed in safe mode.
        if is_due && !self.is_in_safe_mode() {
            self.preempt(now);
        }
    }
}

fn or_refused(handled: Handled) -> (Reply, Wait) {
    handled.unwrap_or_else(|refusal| (Reply::Refused(refusal), Wait::Nothing))
}
