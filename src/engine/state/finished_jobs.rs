//! Finished jobs: their order, tasks that stay in memory, pending KILL_JOBs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::{EndNotification, JobId, Now, TrackerId, Violations, lower};

/// Delay before retirement, ms: the ends of the jobs must be durable by then.
const RETIREMENT_PAUSE_MS: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct FinishedJobs {
    /// Oldest first.
    order: VecDeque<JobId>,
    /// Those with tasks in memory, oldest first, each with its weight by [`Limits::weight`](super::limits::Limits::weight).
    retained: VecDeque<(JobId, u64)>,
    /// Sum of the weights of `retained`.
    retained_tasks: u64,
    /// When to retire next, while there are too many tasks; ms of the monotonic clock.
    retirement_due_mono_ms: Option<u64>,
    pending_kill_jobs: BTreeMap<JobId, PendingKillJob>,
    withheld_ends: BTreeMap<JobId, WithheldEnd>,
}

/// The end of a job that is not reported yet.
#[derive(Debug, Default)]
struct WithheldEnd {
    notification: Option<EndNotification>,
    /// Forget the job once it is reported.
    forget_when_reported: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedEnd {
    pub(crate) notification: Option<EndNotification>,
    pub(crate) forget: bool,
}

/// Trackers that have not acknowledged KILL_JOB of a completed job.
#[derive(Debug, Default)]
struct PendingKillJob {
    trackers: BTreeSet<TrackerId>,
    /// Forget the job once all have acknowledged.
    forget_when_acknowledged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KillJobDone {
    pub(crate) forget: bool,
}

/// What to do with the oldest job whose tasks are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retirement {
    Done,
    Wait,
}

impl FinishedJobs {
    pub(crate) fn insert(&mut self, id: JobId, weight: u64) {
        self.order.push_back(id);
        self.retained.push_back((id, weight));
        self.retained_tasks += weight;
    }

    /// Adds a job that completed before a restart: its tasks are in the store alone.
    pub(crate) fn restore(&mut self, id: JobId) {
        self.order.push_back(id);
    }

    /// Removes the oldest jobs beyond `most` and returns those to forget now; others follow their last KILL_JOB.
    pub(crate) fn pop_beyond(&mut self, most: usize) -> Vec<JobId> {
        let count = self.order.len().saturating_sub(most);
        let mut forgotten = Vec::new();
        for oldest in self.order.drain(..count) {
            match (self.pending_kill_jobs.get_mut(&oldest), self.withheld_ends.get_mut(&oldest)) {
                (Some(pending), _) => pending.forget_when_acknowledged = true,
                (None, Some(withheld)) => withheld.forget_when_reported = true,
                (None, None) => forgotten.push(oldest),
            }
        }
        forgotten
    }

    /// Keeps the end of a job that has just completed from being reported, with what announces it.
    pub(crate) fn withhold_end(&mut self, id: JobId, notification: Option<EndNotification>) {
        self.withheld_ends.insert(id, WithheldEnd { notification, forget_when_reported: false });
    }

    /// The end of a job may be reported; none if it is already.
    pub(crate) fn report_end(&mut self, id: JobId) -> Option<ReportedEnd> {
        let WithheldEnd { notification, forget_when_reported } = self.withheld_ends.remove(&id)?;
        Some(ReportedEnd { notification, forget: forget_when_reported })
    }

    /// These trackers must acknowledge KILL_JOB of a job that has just completed.
    pub(crate) fn expect_kill_job(&mut self, id: JobId, trackers: impl IntoIterator<Item = TrackerId>) {
        self.pending_kill_jobs.entry(id).or_default().trackers.extend(trackers);
    }

    /// A tracker has acknowledged KILL_JOB, or is lost. Returns the end of waiting for it, if this was the last one.
    pub(crate) fn acknowledge_kill_job(&mut self, id: JobId, tracker: TrackerId) -> Option<KillJobDone> {
        let pending = self.pending_kill_jobs.get_mut(&id)?;
        pending.trackers.remove(&tracker);
        if !pending.trackers.is_empty() {
            return None;
        }
        let mut forget = pending.forget_when_acknowledged;
        self.pending_kill_jobs.remove(&id);
        if let Some(withheld) = self.withheld_ends.get_mut(&id) {
            withheld.forget_when_reported = std::mem::take(&mut forget);
        }
        Some(KillJobDone { forget })
    }

    pub(crate) fn has_pending_kill_job(&self, id: JobId) -> bool {
        self.pending_kill_jobs.contains_key(&id)
    }

    pub(crate) fn pending_kill_jobs(&self) -> impl ExactSizeIterator<Item = JobId> {
        self.pending_kill_jobs.keys().copied()
    }

    /// Schedules retirement if more tasks than `most` are in memory; called after each step.
    pub(crate) fn schedule_retirement(&mut self, most: u64, now: Now) {
        if self.retirement_due_mono_ms.is_none() && self.retained_tasks > most {
            self.retirement_due_mono_ms = Some(now.mono_ms + RETIREMENT_PAUSE_MS);
        }
    }

    /// When retirement is due, ms of the monotonic clock.
    pub(crate) fn retirement_due_mono_ms(&self) -> Option<u64> {
        self.retirement_due_mono_ms
    }

    /// Asks `retire` to drop the tasks of the oldest jobs until at most `most` are in memory.
    pub(crate) fn retire_when_due(
        &mut self,
        most: u64,
        now: Now,
        violations: &mut Violations,
        mut retire: impl FnMut(JobId, &Self) -> Retirement,
    ) {
        if self.retirement_due_mono_ms.is_none_or(|due_mono_ms| now.mono_ms < due_mono_ms) {
            return;
        }
        self.retirement_due_mono_ms = None;
        let mut waiting = VecDeque::new();
        while self.retained_tasks > most {
            let Some((id, weight)) = self.retained.pop_front() else { break };
            match retire(id, self) {
                Retirement::Wait => waiting.push_back((id, weight)),
                Retirement::Done => lower(&mut self.retained_tasks, weight, violations),
            }
        }
        waiting.append(&mut self.retained);
        self.retained = waiting;
        self.schedule_retirement(most, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: i32) -> JobId {
        JobId { number, .."job_1_0001".parse().unwrap() }
    }

    #[test]
    fn a_job_with_a_pending_kill_is_forgotten_after_its_last_acknowledgement() {
        let mut finished = FinishedJobs::default();
        let tracker = TrackerId::NONE.next();
        (1..=3).for_each(|number| finished.insert(job(number), 1));
        finished.expect_kill_job(job(1), [tracker]);
        assert_eq!(finished.pop_beyond(1), [job(2)]);
        assert_eq!(finished.acknowledge_kill_job(job(1), tracker), Some(KillJobDone { forget: true }));
        assert_eq!(finished.acknowledge_kill_job(job(1), tracker), None);
    }

    #[test]
    fn the_oldest_that_may_retire_do() {
        let mut finished = FinishedJobs::default();
        let now = |mono_ms| Now { mono_ms, wall_ms: 0 };
        (1..=4).for_each(|number| finished.insert(job(number), 10));
        finished.schedule_retirement(20, now(0));
        let mut retired = Vec::new();
        let mut retire = |id: JobId, _: &FinishedJobs| match id == job(1) {
            true => Retirement::Wait,
            false => {
                retired.push(id);
                Retirement::Done
            }
        };
        let mut violations = Violations::default();
        finished.retire_when_due(20, now(RETIREMENT_PAUSE_MS - 1), &mut violations, &mut retire);
        finished.retire_when_due(20, now(RETIREMENT_PAUSE_MS), &mut violations, &mut retire);
        assert_eq!(retired, [job(2), job(3)]);
        assert_eq!((finished.retained_tasks, finished.retained.len(), finished.retirement_due_mono_ms), (20, 2, None));
    }
}
