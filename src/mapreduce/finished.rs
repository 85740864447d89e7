//! Jobs that were over before a restart: status and counters stay, their tasks are in the database alone.

use std::sync::Arc;

use crate::scheduler::{AppId, Kind};
use crate::wire::Counters;

use super::job::{Job, JobState, Outcome};
use super::{CounterValues, FinishedJob, SplitTable, TaskState};

/// What is left of a job's tasks.
#[derive(Clone, Debug)]
pub(super) struct Remains {
    counters: Option<CounterValues>,
}

// === impl Remains ===

impl Remains {
    /// The final counters, which were within the limits of the job's end.
    pub(super) fn counters(&self) -> Counters {
        self.counters.as_ref().map(CounterValues::to_counters).unwrap_or_default()
    }
}

// === impl Job: over before a restart ===

impl Job {
    /// A job as it was when it was over. `app` is a name that no other job has; the scheduler need not know it.
    pub fn over_before(finished: FinishedJob, app: AppId) -> Self {
        let FinishedJob { id, spec, submit_ms, priority, has_run, outcome, finish_ms, failure_info, counters } =
            finished;
        let mut job = Job::without_tasks(id, app, spec, Arc::new(SplitTable::default()), submit_ms);
        job.priority = priority;
        if has_run {
            job.enter(JobState::Running);
            job.setup.map.state = TaskState::Complete(0);
            job.setup.map.recompute_progress();
        }
        job.enter(JobState::Over(outcome));
        if outcome == Outcome::Succeeded {
            job.finished = job.total();
            Kind::ALL.into_iter().for_each(|kind| job.fill_progress(kind));
        }
        job.finish_ms = finish_ms;
        job.failure_info = failure_info;
        job.remains = Some(Box::new(Remains { counters }));
        job
    }

    /// Whether its tasks and events are in the database alone.
    pub fn is_without_tasks(&self) -> bool {
        self.remains.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::JobSpec;
    use crate::wire::{JobId, Priority, RunState};

    fn finished(outcome: Outcome, has_run: bool) -> Job {
        let job = FinishedJob {
            id: "job_1_0001".parse::<JobId>().unwrap(),
            spec: Arc::new(JobSpec::for_test("alice", "default", 3, 1)),
            submit_ms: 5,
            priority: Priority::Low,
            has_run,
            outcome,
            finish_ms: 9,
            failure_info: if outcome == Outcome::Succeeded { String::new() } else { "why".into() },
            counters: None,
        };
        Job::over_before(job, AppId::new(1))
    }

    #[test]
    fn its_status_is_that_of_its_end() {
        let status = finished(Outcome::Succeeded, true).status(false);
        let progress = [status.setup_progress, status.map_progress, status.reduce_progress, status.cleanup_progress];
        assert_eq!((status.run_state, progress, status.priority), (RunState::Succeeded, [1.0; 4], Priority::Low));
        let status = finished(Outcome::Killed, false).status(false);
        assert_eq!((status.run_state, status.setup_progress, &*status.failure_info), (RunState::Killed, 0.0, "why"));
    }

    #[test]
    fn of_its_tasks_it_tells_nothing() {
        let job = finished(Outcome::Failed, true);
        assert!(job.is_over() && job.is_without_tasks());
        assert!(job.task_reports(Kind::Map).is_empty() && job.setup_reports().is_empty());
        assert!(job.completion_events(0, 10).is_empty());
        assert!(job.counters(&Default::default()).unwrap().groups.is_empty());
    }
}
