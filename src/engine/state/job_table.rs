//! All jobs in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::mapreduce::{Job, JobGrants, JobOutcome, JobState, Jobs, NodeRegistry};
use crate::model::{FactNumber, JobId, Now, Violations, lower};
use crate::scheduler::AppId;

use super::finished_jobs::{FinishedJobs, Retirement};
use super::job_costs::CostHistories;
use super::limits::Limits;
use super::live_bytes::LiveBytes;

/// Jobs by id and by app: each is in [`Self::live`] until [`Self::finish`], then in [`Self::finished`] until [`Self::remove`].
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

    pub(crate) fn next_app_id(&mut self) -> AppId {
        self.jobs.next_app_id()
    }

    pub(crate) fn insert_live(&mut self, job: Job) {
        self.live.insert(&job);
        self.jobs.insert(job);
    }

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

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(id)
    }

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

    pub(crate) fn grant_source<'a>(
        &'a mut self,
        nodes: &'a NodeRegistry,
        now: Now,
        violations: &'a mut Violations,
    ) -> JobGrants<'a> {
        self.jobs.grant_source(nodes, now, violations)
    }

    pub(crate) fn check_live(&self, violations: &mut Violations) {
        self.live.check(self.jobs.iter().filter(|job| !job.is_over()), violations);
    }
}

/// Unfinished jobs by queue. [`Self::insert`] and [`Self::remove`] update all sums together.
#[derive(Debug, Default)]
pub(crate) struct LiveJobs {
    /// No entry for queues without any.
    by_queue: BTreeMap<String, BTreeSet<JobId>>,
    count: u64,
    /// Those that have left PREP.
    running: BTreeSet<JobId>,
    /// Their tasks, by [`Limits::weight`].
    tasks: u64,
    bytes: LiveBytes,
}

impl LiveJobs {
    pub(crate) fn insert(&mut self, job: &Job) {
        self.by_queue.entry(job.spec.queue.clone()).or_default().insert(job.id);
        self.count += 1;
        self.tasks += Limits::weight(&job.spec);
        self.bytes.add(&job.spec.user, job.bytes);
        if job.state() == JobState::Running {
            self.running.insert(job.id);
        }
    }

    pub(crate) fn remove(&mut self, job: &Job, violations: &mut Violations) {
        self.running.remove(&job.id);
        let Some(of_queue) = self.by_queue.get_mut(&job.spec.queue) else { return };
        if of_queue.remove(&job.id) {
            lower(&mut self.count, 1_u32, violations);
            lower(&mut self.tasks, Limits::weight(&job.spec), violations);
            self.bytes.remove(&job.spec.user, job.bytes, violations);
        }
        if of_queue.is_empty() {
            self.by_queue.remove(&job.spec.queue);
        }
    }

    pub(crate) fn mark_running(&mut self, id: JobId) {
        self.running.insert(id);
    }

    /// By queue; no entry for queues without any.
    pub(crate) fn by_queue(&self) -> &BTreeMap<String, BTreeSet<JobId>> {
        &self.by_queue
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn running(&self) -> u64 {
        self.running.len() as u64
    }

    /// Those that have left PREP, from the one after this on.
    pub(crate) fn running_after(&self, after: Option<JobId>) -> impl Iterator<Item = JobId> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.running.range((from, Bound::Unbounded)).copied()
    }

    /// Their tasks, by [`Limits::weight`].
    pub(crate) fn tasks(&self) -> u64 {
        self.tasks
    }

    pub(crate) fn bytes(&self) -> &LiveBytes {
        &self.bytes
    }

    /// Compares the sums with `unfinished`, all jobs that should be here.
    pub(crate) fn check<'a>(&self, unfinished: impl Iterator<Item = &'a Job>, violations: &mut Violations) {
        let unfinished: BTreeMap<JobId, &Job> = unfinished.map(|job| (job.id, job)).collect();
        let (kept, counted) = (self.count, unfinished.len() as u64);
        violations.check(kept == counted, || format!("{counted} jobs are unfinished, {kept} are counted"));
        let listed: usize = self.by_queue.values().map(BTreeSet::len).sum();
        violations.check(listed as u64 == counted, || format!("{counted} jobs are unfinished, {listed} are in queues"));
        let tasks: u64 = unfinished.values().map(|job| Limits::weight(&job.spec)).sum();
        violations
            .check(self.tasks == tasks, || format!("unfinished jobs have {tasks} tasks, {} are counted", self.tasks));
        for id in &self.running {
            violations.check(unfinished.contains_key(id), || format!("{id} counts as running and is not unfinished"));
        }
    }
}
