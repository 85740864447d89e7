//! Jobs that ended before a restart: status and counters stay in memory, their tasks only in the database.

use std::sync::Arc;

use crate::model::{AttemptState as S, Kind, Now, Violations};
use crate::scheduler::AppId;

use super::finished_summary::FinishedSummary;
use super::job::Job;
use super::job_state::{JobOutcome, JobState};
use super::{FinishedJob, SplitTable, StoredJob, TaskState, TrackerLocations};

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

    /// Whether its tasks and events are only in the database.
    pub(crate) fn is_without_tasks(&self) -> bool {
        self.finished_summary.is_some()
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
