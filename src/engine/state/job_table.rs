//! All jobs in memory.

use std::sync::Arc;

use crate::mapreduce::{Job, JobGrants, JobOutcome, JobState, Jobs, NodeRegistry};
use crate::model::{FactNumber, JobId, Now, Violations};
use crate::scheduler::AppId;

use super::cost_histories::CostHistories;
use super::finished_jobs::{FinishedJobs, Retirement};
use super::limits::Limits;
use super::live_jobs::LiveJobs;

/// Jobs by id and by app: each is in [`Self::live`] until [`Self::finish`], then in [`Self::finished`] until
/// [`Self::remove`].
#[derive(Debug, Default)]
pub(crate) struct JobTable {
    jobs: Jobs,
    pub(crate) live: LiveJobs,
    pub(crate) finished: FinishedJobs,
    pub(crate) cost_histories: CostHistories,
}

impl JobTable {
    /// No jobs yet, after those of an earlier run.
    pub(crate) fn with_histories(cost_histories: CostHistories) -> Self {
        Self { cost_histories, ..Self::default() }
    }

    /// The id of the next job at the scheduler.
    pub(crate) fn next_app_id(&mut self) -> AppId {
        self.jobs.next_app_id()
    }

    pub(crate) fn insert_live(&mut self, job: Job) {
        self.live.insert(&job);
        self.jobs.insert(job);
    }

    /// Adds a job that completed before a restart.
    pub(crate) fn insert_finished(&mut self, job: Job) {
        self.finished.restore(job.id);
        self.jobs.insert(job);
    }

    /// Moves a job that has just completed to the finished ones and returns how it ended.
    pub(crate) fn finish(&mut self, id: JobId, violations: &mut Violations) -> Option<JobOutcome> {
        let job = self.jobs.get(id)?;
        let JobState::Over(outcome) = job.state() else { return None };
        self.live.remove(job, violations);
        self.finished.insert(id, Limits::weight(&job.spec));
        Some(outcome)
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<Box<Job>> {
        self.jobs.remove(id)
    }

    /// Drops tasks of finished jobs, beyond `most`, whose end is durable and that have no pending KILL_JOB.
    pub(crate) fn retire_when_due(
        &mut self,
        most: u64,
        durable: FactNumber,
        now: Now,
        violations: &mut Violations,
        mut drop_tasks: impl FnMut(&mut Job),
    ) {
        let Self { jobs, finished, .. } = self;
        finished.retire_when_due(most, now, violations, |id, finished| match jobs.get_mut(id) {
            Some(job) if finished.has_pending_kill_job(id) || job.last_fact > durable || !job.can_retire_tasks() => {
                Retirement::Wait
            }
            Some(job) => {
                drop_tasks(job);
                Retirement::Done
            }
            // The job was forgotten meanwhile.
            None => Retirement::Done,
        });
    }
}

impl JobTable {
    /// Moves an unfinished job to another queue, by the fact of that number.
    pub(crate) fn move_to_queue(&mut self, id: JobId, queue: &str, fact: FactNumber, violations: &mut Violations) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        self.live.remove(job, violations);
        let spec = Arc::make_mut(&mut job.spec);
        // The account that pays for it stays the same.
        spec.is_signed = Some(spec.payer().is_some());
        queue.clone_into(&mut spec.queue);
        job.last_fact = fact;
        self.live.insert(job);
    }
}

impl JobTable {
    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(id)
    }

    /// A job, by its id at the scheduler.
    pub(crate) fn by_app(&self, app: AppId) -> Option<&Job> {
        self.jobs.by_app(app)
    }

    pub(crate) fn by_app_mut(&mut self, app: AppId) -> Option<&mut Job> {
        self.jobs.by_app_mut(app)
    }

    /// All jobs, live or finished, by id. For queries, never for a heartbeat.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.jobs.iter()
    }

    pub(crate) fn all(&self) -> &Jobs {
        &self.jobs
    }

    /// The jobs as a source of grants for one heartbeat.
    pub(crate) fn grant_source<'a>(
        &'a mut self,
        nodes: &'a NodeRegistry,
        now: Now,
        violations: &'a mut Violations,
    ) -> JobGrants<'a> {
        self.jobs.grant_source(nodes, now, violations)
    }
}

impl JobTable {
    /// Compares the sums over unfinished jobs with a recount.
    pub(crate) fn check_live(&self, violations: &mut Violations) {
        self.live.check(self.jobs.iter().filter(|job| !job.is_over()), violations);
    }
}
