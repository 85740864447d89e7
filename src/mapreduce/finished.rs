//! Jobs whose tasks are only in the database: those that ended before a restart, and finished ones whose tasks leave memory.

use std::sync::Arc;

use crate::model::{AttemptState as S, CounterLimits, Kind, Now, PerKind, Violations};
use crate::scheduler::AppId;

use super::finished_summary::FinishedSummary;
use super::job::Job;
use super::job_state::{JobOutcome, JobState};
use super::{CounterInterner, FinishedJob, SplitTable, StoredJob, TaskState, TrackerLocations};

impl Job {
    /// A job as it was at its end. `app` is an id that no other job has; the scheduler need not know it.
    pub(crate) fn from_finished(finished: FinishedJob, app: AppId) -> Self {
        let FinishedJob { id, spec, submit_ms, priority, has_run, outcome, finish_ms, failure_info, counters } =
            finished;
        let mut job = Job::without_tasks(id, app, spec, Arc::new(SplitTable::default()), submit_ms);
        job.priority = priority;
        if has_run {
            job.enter_state(JobState::Prep);
            job.enter_state(JobState::Running);
            job.setup.map.state = TaskState::Complete(0);
            job.setup.map.recompute_progress();
        }
        job.enter_state(JobState::Over(outcome));
        if outcome == JobOutcome::Succeeded {
            job.finished = job.total();
            Kind::ALL.into_iter().for_each(|kind| job.fill_progress(kind));
        }
        job.finish_ms = finish_ms;
        job.failure_info = failure_info;
        job.finished_summary = Some(Box::new(FinishedSummary { counters }));
        job
    }

    /// A finished job with its tasks, for queries only.
    pub(crate) fn from_stored(mut stored: StoredJob) -> Self {
        // Attempts that were live when the job ended were purged with it.
        for attempt in &mut stored.attempts {
            attempt.state = match attempt.state {
                S::Unassigned | S::Running | S::CommitPending | S::KilledUnclean => S::Killed,
                S::FailedUnclean => S::Failed,
                ended => ended,
            };
        }
        // No scheduler knows it.
        let mut job = Job::accepted(&stored.accepted, AppId::new(0));
        job.make_tasks();
        let now = Now { mono_ms: 0, wall_ms: 0 };
        job.load_rows(stored, &TrackerLocations::new(), now, &mut Violations::default());
        job
    }

    pub(crate) fn is_without_tasks(&self) -> bool {
        self.finished_summary.is_some()
    }

    /// Whether its tasks are not needed any more: it is over and none of them holds a slot.
    pub(crate) fn can_retire_tasks(&self) -> bool {
        let holds = |kind: Kind| {
            let of_job = [&self.setup[kind], &self.cleanup[kind]].into_iter();
            of_job.flat_map(|task| &task.attempts).any(|attempt| attempt.holds_slot)
        };
        self.is_over() && Kind::ALL.into_iter().all(|kind| self.slot_holders[kind].is_empty() && !holds(kind))
    }

    /// Drops tasks, events and splits; keeps status and counters. From now on tasks are only in the database.
    pub(crate) fn retire_tasks(&mut self, interner: &mut CounterInterner, limits: &CounterLimits) {
        if self.is_without_tasks() || !self.can_retire_tasks() {
            return;
        }
        let counters = self.counters(limits).unwrap_or_default();
        self.finished_summary = Some(Box::new(FinishedSummary::of(interner.intern(&(&counters).into()))));
        self.work = PerKind::default();
        self.events = Vec::new();
        self.counter_sums = PerKind::default();
        self.splits = Arc::new(SplitTable::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::JobSpec;
    use crate::model::{JobId, Priority, RunState};

    fn finished(outcome: JobOutcome, has_run: bool) -> Job {
        let job = FinishedJob {
            id: "job_1_0001".parse::<JobId>().unwrap(),
            spec: Arc::new(JobSpec::with_defaults("alice", "default", 3, 1)),
            submit_ms: 5,
            priority: Priority::Low,
            has_run,
            outcome,
            finish_ms: 9,
            failure_info: if outcome == JobOutcome::Succeeded { String::new() } else { "why".into() },
            counters: None,
        };
        Job::from_finished(job, AppId::new(1))
    }

    #[test]
    fn its_status_is_that_of_its_end() {
        let status = finished(JobOutcome::Succeeded, true).status(false);
        let progress = [status.setup_progress, status.map_progress, status.reduce_progress, status.cleanup_progress];
        assert_eq!((status.run_state, progress, status.priority), (RunState::Succeeded, [1.0; 4], Priority::Low));
        let status = finished(JobOutcome::Killed, false).status(false);
        assert_eq!((status.run_state, status.setup_progress, &*status.failure_info), (RunState::Killed, 0.0, "why"));
    }

    #[test]
    fn it_has_no_task_reports() {
        let job = finished(JobOutcome::Failed, true);
        assert!(job.is_over() && job.is_without_tasks());
        assert!(job.task_reports(Kind::Map).is_empty() && job.setup_reports().is_empty());
        assert!(job.completion_events(0, 10).is_empty());
        assert!(job.counters(&Default::default()).unwrap().groups.is_empty());
    }
}
