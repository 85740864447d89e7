//! A hash of everything that was decided, so that two runs can be compared (law 7).

use crate::engine::{Fact, HeartbeatAnswer, Reply, SubmissionReply};
use crate::mapreduce::JobFact;
use crate::market::{LedgerAccount, LedgerEntry, MarketFact};
use crate::model::{AttemptId, JobId};
use crate::sim::random::mixed;
use crate::wire::Action;

/// A running hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Digest(u64);

// === impl Digest ===

impl Digest {
    pub(super) fn value(self) -> u64 {
        self.0
    }

    fn word(&mut self, word: u64) {
        self.0 = mixed(self.0.rotate_left(7) ^ word);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn units(&mut self, units: i128) {
        self.word(units as u64);
        self.word((units >> 64) as u64);
    }

    fn job(&mut self, id: JobId) {
        self.word(u64::from(id.number.cast_unsigned()));
    }

    fn attempt(&mut self, id: AttemptId) {
        self.job(id.task.job);
        self.word(u64::from(id.task.number.cast_unsigned()) << 32 | u64::from(id.number.cast_unsigned()));
        self.word(id.task.kind as u64);
    }

    pub(super) fn reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Done => self.word(1),
            Reply::Heartbeat(HeartbeatAnswer::Encoded(body)) => self.bytes(body),
            Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => {
                let is_reinit = response.actions.contains(&Action::ReinitTracker);
                self.word(u64::from(response.response_id.cast_unsigned()) << 32 | u64::from(is_reinit));
                self.word(u64::from(response.interval_ms.cast_unsigned()));
            }
            Reply::JobId(id) => self.job(*id),
            Reply::Submission(SubmissionReply::ReadFiles) => self.word(2),
            Reply::Submission(SubmissionReply::WriteSystemDir { token_file, .. }) => self.bytes(token_file),
            Reply::Submission(SubmissionReply::Accepted(status)) => self.job(status.id),
            Reply::Token(token) => self.bytes(&token.identifier),
            Reply::Time(time_ms) => self.word(time_ms.cast_unsigned()),
            Reply::Boolean(value) => self.word(3 + u64::from(*value)),
            // Seldom enough for the text.
            Reply::Market(answer) => self.bytes(format!("{answer:?}").as_bytes()),
            Reply::Refused(refusal) => self.bytes(refusal.to_string().as_bytes()),
            Reply::Switch(reply) => self.bytes(format!("{reply:?}").as_bytes()),
            Reply::Application(answer) => self.bytes(format!("{answer:?}").as_bytes()),
            Reply::Beat(reply) => self.bytes(format!("{reply:?}").as_bytes()),
        }
    }

    pub(super) fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::RunStarted { start_ms, .. } => self.word(start_ms.cast_unsigned()),
            Fact::LaunchAnswer { tracker, answer, .. } => {
                self.bytes(tracker.as_bytes());
                self.bytes(answer);
            }
            Fact::TrackerForgotten { tracker } => self.bytes(tracker.as_bytes()),
            // Decides nothing.
            Fact::TrackerCame { .. } | Fact::TrackerWent { .. } => {}
            Fact::WorkerDrained(drain) => self.bytes(drain.worker.as_bytes()),
            Fact::Delegation(change) => self.bytes(format!("{change:?}").as_bytes()),
            Fact::WorkerResumed { worker } => self.bytes(worker.as_bytes()),
            Fact::KillJobPending { job, trackers } => {
                self.job(*job);
                self.word(trackers.len() as u64);
            }
            Fact::KillJobAcknowledged { job, tracker } => {
                self.job(*job);
                self.bytes(tracker.as_bytes());
            }
            Fact::SchedulerChosen { choice, moved } => {
                self.bytes(choice.class.as_bytes());
                for (job, queue) in moved {
                    self.job(*job);
                    self.bytes(queue.as_bytes());
                }
            }
            Fact::CostsLearned(costs) => {
                self.bytes(costs.class.user.as_bytes());
                self.word(costs.last_end_ms.cast_unsigned());
            }
            Fact::HistoryWritten { path, .. } => self.bytes(path.as_bytes()),
            Fact::CostsForgotten(class) => self.bytes(class.user.as_bytes()),
            Fact::Applications(changes) => self.bytes(format!("{changes:?}").as_bytes()),
            Fact::Market(fact) => self.market_fact(fact),
            Fact::JobsCharged { tick, jobs } => {
                self.word(*tick);
                for charged in jobs {
                    self.job(charged.job);
                    self.units(charged.cost.units());
                }
            }
            Fact::Job(fact) => self.job_fact(fact),
        }
    }

    fn job_fact(&mut self, fact: &JobFact) {
        self.job(fact.job());
        match fact {
            JobFact::Accepted(accepted) => self.word(accepted.order),
            JobFact::Running { at_ms, .. } => self.word(at_ms.cast_unsigned()),
            JobFact::Ending { outcome, reason, .. } => {
                self.word(*outcome as u64);
                self.bytes(reason.as_bytes());
            }
            JobFact::Ended { state, failure_info, finish_ms, .. } => {
                self.word(*state as u64);
                self.bytes(failure_info.as_bytes());
                self.word(finish_ms.cast_unsigned());
            }
            JobFact::PoolSet { pool, .. } => self.bytes(pool.as_bytes()),
            JobFact::DeadlineSet { deadline, .. } => {
                let due_us = deadline.spec.as_ref().map_or(0, |spec| spec.due_us(0));
                self.word(due_us.cast_unsigned());
                self.word(deadline.maps.unwrap_or_default().into());
            }
            JobFact::Estimated { estimate, .. } => {
                self.word(estimate.history.map_us_per_mb.unwrap_or_default());
                self.word(estimate.first_maps_us_per_mb.unwrap_or_default());
            }
            JobFact::Priority { priority, .. } => self.word(*priority as u64),
            JobFact::Restarted { first_attempt, .. } | JobFact::AttemptBlockSkipped { first_attempt, .. } => {
                self.word(i64::from(*first_attempt).cast_unsigned());
            }
            JobFact::AttemptLaunched { attempt, role, tracker, .. } => {
                self.attempt(*attempt);
                self.word(*role as u64);
                self.bytes(tracker.as_bytes());
            }
            JobFact::AttemptEnded(ended) => {
                self.attempt(ended.attempt);
                self.word(ended.state as u64);
                self.bytes(ended.diagnostics.as_bytes());
            }
            JobFact::AttemptReported { attempt, failed_fetches, .. } => {
                self.attempt(*attempt);
                self.word(failed_fetches.len() as u64);
            }
            JobFact::AttemptKillRequested { attempt, request } => {
                self.attempt(*attempt);
                self.word(*request as u64);
            }
            JobFact::CommitGranted { attempt } | JobFact::TaskCleanupLost { attempt } => self.attempt(*attempt),
            JobFact::CompletionEvent { event, .. } => {
                self.attempt(event.attempt);
                self.word(event.status as u64);
            }
        }
    }

    fn market_fact(&mut self, fact: &MarketFact) {
        match fact {
            MarketFact::Account { queue, balance, rate } => {
                self.bytes(queue.as_str().as_bytes());
                self.units(balance.units());
                self.units(rate.units());
            }
            MarketFact::AccountRemoved { queue } => self.bytes(queue.as_str().as_bytes()),
            MarketFact::OrderSet { order, .. } => {
                self.job(order.job);
                self.word(order.deadline_ms.cast_unsigned());
                self.units(order.max_rate.units());
            }
            MarketFact::OrderEnded { job, end, .. } => {
                self.job(*job);
                self.word(*end as u64);
            }
            MarketFact::AllowanceSet { queue, allowance } => {
                self.bytes(queue.as_str().as_bytes());
                self.units(allowance.credits.units());
                self.word(allowance.periods);
                self.word(allowance.due_ms.cast_unsigned());
            }
            MarketFact::AllowanceEnded { queue } => self.bytes(queue.as_str().as_bytes()),
            MarketFact::Ledger(entry) => self.entry(entry),
            MarketFact::Stamp(stamp) => {
                self.bytes(stamp.user.as_bytes());
                self.word(stamp.timestamp_ms.cast_unsigned());
                self.word(u64::from(stamp.uses));
            }
            MarketFact::Tick(tick) => {
                self.word(tick.number);
                self.units(tick.price.units());
                self.word(tick.wall_ms.cast_unsigned());
                tick.charges().for_each(|entry| self.entry(&entry));
                for (queue, interval) in tick.intervals() {
                    self.bytes(queue.as_str().as_bytes());
                    self.units(interval.share.rate().units());
                    self.word(u64::from(interval.quota.map) << 32 | u64::from(interval.quota.reduce));
                    // As before containers where there are none.
                    if interval.quota.container > 0 {
                        self.word(u64::from(interval.quota.container));
                    }
                    self.word(interval.used);
                    self.word(interval.pending);
                }
            }
        }
    }

    fn entry(&mut self, entry: &LedgerEntry) {
        self.word(entry.number);
        self.units(entry.amount.units());
        for side in [&entry.debit, &entry.credit] {
            match side {
                LedgerAccount::Queue(queue) => self.bytes(queue.as_str().as_bytes()),
                LedgerAccount::Issued => self.word(1),
                LedgerAccount::Revenue => self.word(2),
            }
        }
    }
}
