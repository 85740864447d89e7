//! Loss of trackers (1.2.1 `JobTracker.lostTaskTracker`, `ExpireTrackers`), also of those that a new one on the same machine
//! says it has cleared up after: killed ones, whose names do not come again since their ports were chosen by the system.

use core::net::IpAddr;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::{Fact, LogLevel, Tracker};
use crate::mapreduce::{Attempt, AttemptRole, TaskState};
use crate::model::{AttemptId, AttemptState, FactNumber, JobId, Now, TrackerId};
use crate::wire::HeartbeatRequest;

/// Most names that count in one heartbeat.
const MAX_REPLACED: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(super) enum Departure<'a> {
    /// It is gone, for this reason.
    Lost(&'a str),
    /// It has ended by itself, and said so.
    SignedOff,
}

impl Engine {
    /// Loses trackers that were silent for the expiry interval; checks three times an interval, as 1.2.1. A tracker
    /// whose answer waits for a fact after `durable` is not silent.
    pub(super) fn expire_trackers_when_due(&mut self, durable: FactNumber, now: Now) {
        if now.mono_ms < self.trackers.next_expiry_mono_ms {
            return;
        }
        self.trackers.next_expiry_mono_ms = now.mono_ms + (self.config.tracker_expiry_ms / 3).max(1);
        let expiry_ms = self.config.tracker_expiry_ms;
        self.trackers.for_each_mut(|tracker| {
            if tracker.answer_waits_for > durable {
                tracker.last_seen_mono_ms = now.mono_ms;
            }
        });
        let silent = |last: u64| now.mono_ms.saturating_sub(last) > expiry_ms;
        let lost = self.trackers.iter().filter(|tracker| silent(tracker.last_seen_mono_ms));
        let lost: Vec<TrackerId> = lost.map(|tracker| tracker.id).collect();
        for id in lost {
            let why = format!("silent for too long (mapred.tasktracker.expiry.interval = {expiry_ms} ms)");
            self.lose_tracker(id, &why, now);
            self.record_job_facts();
        }
        self.expire_launches(durable, now);
        self.expire_presences(now);
    }

    /// Trackers of an earlier run that had time to come again and have not are gone since that run.
    fn expire_presences(&mut self, now: Now) {
        if now.mono_ms.saturating_sub(self.run.start.mono_ms) <= self.config.tracker_expiry_ms {
            return;
        }
        let mut presences = std::mem::take(&mut self.trackers.presences);
        for tracker in presences.take_absent(|tracker| self.trackers.id_of(tracker).is_some()) {
            self.outbox.record(Fact::TrackerWent { tracker, at_ms: self.run.start.wall_ms });
        }
        self.trackers.presences = presences;
        self.rounds.close_resumed_interval(&self.trackers.presences);
    }

    /// Removes a tracker that is gone, and ends or restarts its attempts.
    pub(in crate::engine) fn lose_tracker(&mut self, id: TrackerId, why: &str, now: Now) {
        self.remove_tracker(id, Departure::Lost(why), now);
    }

    /// Removes a tracker, and ends or restarts its attempts.
    pub(super) fn remove_tracker(&mut self, id: TrackerId, departure: Departure<'_>, now: Now) {
        let Some(tracker) = self.trackers.remove(id, &mut self.outbox.violations) else { return };
        let name = &tracker.name;
        let (level, line) = match departure {
            Departure::Lost(why) => (LogLevel::Warning, format!("lost {name}: {why}")),
            Departure::SignedOff => (LogLevel::Info, format!("{name} signed off")),
        };
        self.outbox.log_line(level, line);
        // The node stays registered until the events about its attempts are written: they contain its address.
        let mut affected: BTreeSet<JobId> = BTreeSet::new();
        for attempt in &tracker.attempts {
            if self.lose_attempt(*attempt, name, now) {
                affected.insert(attempt.task.job);
            }
        }
        // An orderly end says nothing about the host.
        if matches!(departure, Departure::Lost(_)) {
            self.charge_loss(&tracker, &affected);
        }
        self.forget_unknown_attempts(name, &tracker.unknown_attempts, now);
        // Its pending KILL_JOBs are void: should it reconnect, it is reinitialised.
        for job in &tracker.kill_jobs {
            self.acknowledge_kill_job(*job, id, name);
        }
        if self.trackers.presences.go(name) {
            let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
            let at_ms = now.wall_ms.saturating_sub_unsigned(silent_ms);
            self.outbox.record(Fact::TrackerWent { tracker: name.clone(), at_ms });
        }
        self.rounds.close_resumed_interval(&self.trackers.presences);
        if tracker.has_launch_answer {
            self.outbox.record(Fact::TrackerForgotten { tracker: name.clone() });
        }
        self.applications.lose_worker(name, now);
        let info = self.cluster.nodes.remove(id);
        self.cluster.scheduler.remove_node(id);
        if let Some(info) = info {
            self.cluster.scheduler.topology_mut().release(info.host);
        }
    }

    /// Records one failure on the host for each job that lost an attempt or output.
    fn charge_loss(&mut self, tracker: &Tracker, affected: &BTreeSet<JobId>) {
        let Some(host) = self.cluster.nodes.get(tracker.id).map(|info| info.host) else { return };
        for id in affected {
            if let Some(job) = self.jobs.get_mut(*id).filter(|job| !job.is_over()) {
                job.record_host_failure(host, &self.cluster.nodes, &mut self.cluster.housekeeping);
            }
        }
    }

    /// Ends or restarts an attempt of a lost tracker. Returns whether the job loses anything.
    fn lose_attempt(&mut self, id: AttemptId, tracker: &Arc<str>, now: Now) -> bool {
        let Some(job) = self.jobs.get_mut(id.task.job) else { return false };
        let Some(key) = job.key_of(id.task) else { return false };
        let Some(attempt) = job.attempt(key, id.number) else { return false };
        let state = match attempt.state {
            // Map output is lost with the tracker; without reduces the output is in the file system.
            AttemptState::Succeeded if job.needs_output(key) => AttemptState::Killed,
            AttemptState::Succeeded => return false,
            AttemptState::Running | AttemptState::CommitPending
                if attempt.role == AttemptRole::Work && !job.is_over_or_ending() =>
            {
                AttemptState::KilledUnclean
            }
            // Its task-cleanup was running there: another tracker runs it again.
            AttemptState::FailedUnclean | AttemptState::KilledUnclean => {
                job.on_task_cleanup_lost(key, id.number, &mut self.cluster.job_context(&mut self.outbox, now));
                return true;
            }
            _ => AttemptState::Killed,
        };
        job.end_without_report(
            key,
            id.number,
            state,
            &Attempt::lost_tracker_text(tracker),
            &mut self.cluster.job_context(&mut self.outbox, now),
        );
        true
    }

    /// Fails an attempt by decision of the engine. If that fails the task, its tracker is ordered to drop the attempt,
    /// as in
    /// 1.2.1; otherwise the order follows the tracker's next report of it, or the end of the job.
    pub(super) fn fail_attempt(&mut self, id: AttemptId, why: &str, now: Now) {
        let Some(job) = self.jobs.get_mut(id.task.job) else { return };
        let Some(key) = job.key_of(id.task) else { return };
        let Some(attempt) = job.attempt(key, id.number) else { return };
        if matches!(attempt.state, AttemptState::Failed | AttemptState::Killed) {
            return;
        }
        let tracker_id = attempt.cleanup_tracker.unwrap_or(attempt.tracker);
        job.end_without_report(
            key,
            id.number,
            AttemptState::Failed,
            why,
            &mut self.cluster.job_context(&mut self.outbox, now),
        );
        let Some(tracker) = self.trackers.get_mut(tracker_id) else { return };
        tracker.attempts.remove(&id);
        if matches!(job.task(key).state, TaskState::Failed | TaskState::Killed) && !job.is_over() {
            tracker.kill_tasks.push(id);
        }
    }

    /// Fails attempts that were launched longer ago than the expiry interval and that no report shows as started. The
    /// time restarts for those whose answer waits for a fact after `durable`.
    pub(super) fn expire_launches(&mut self, durable: FactNumber, now: Now) {
        let held = self.trackers.iter().filter(|tracker| tracker.answer_waits_for > durable);
        let held: BTreeSet<TrackerId> = held.map(|tracker| tracker.id).collect();
        if !held.is_empty() {
            let launching: Vec<_> = self.launching.iter().collect();
            for attempt in launching {
                if self.launched_on(attempt).is_some_and(|tracker| held.contains(&tracker)) {
                    self.launching.insert(attempt, now.mono_ms);
                }
            }
        }
        let before_mono_ms = now.mono_ms.saturating_sub(self.config.tracker_expiry_ms);
        while let Some(attempt) = self.launching.pop_before(before_mono_ms) {
            if self.launched_on(attempt).is_some() {
                self.outbox.log_line(
                    LogLevel::Warning,
                    format!("{attempt} was launched, but its tracker has never reported it"),
                );
                self.fail_attempt(attempt, "Error launching task", now);
                self.record_job_facts();
            }
        }
    }

    /// The id of the registered tracker that has not started an attempt, or its task-cleanup.
    fn launched_on(&self, id: AttemptId) -> Option<TrackerId> {
        let job = self.jobs.get(id.task.job).filter(|job| !job.is_over())?;
        let attempt = job.attempt(job.key_of(id.task)?, id.number)?;
        let tracker = match attempt.cleanup_tracker {
            None if attempt.is_active() => attempt.tracker,
            cleanup => cleanup?,
        };
        (!attempt.started && self.cluster.nodes.get(tracker).is_some()).then_some(tracker)
    }

    /// Loses the trackers that the sender has cleared up after. It is believed as far as it could be one of them: on the same
    /// host, from the same address as far as that is known, and only if their connection is gone.
    /// Returns whether there were any.
    pub(super) fn lose_replaced_trackers(
        &mut self,
        request: &HeartbeatRequest,
        address: Option<IpAddr>,
        now: Now,
    ) -> bool {
        let host = &*request.status.host;
        let names = request.replaced_trackers().take(MAX_REPLACED);
        let known = names.filter(|name| **name != *request.status.name).filter_map(|name| self.trackers.named(name));
        let gone = known.filter(|tracker| {
            let is_from_there = tracker.address.is_none() || tracker.address == address;
            !self.trackers.is_connected(tracker) && &*tracker.host == host && is_from_there
        });
        let gone: Vec<TrackerId> = gone.map(|tracker| tracker.id).collect();
        for &id in &gone {
            let why = format!("{} has cleared up after it", request.status.name);
            self.lose_tracker(id, &why, now);
            self.record_job_facts();
        }
        !gone.is_empty()
    }
}
