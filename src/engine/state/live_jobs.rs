//! Unfinished jobs, with their sums.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::mapreduce::{Job, JobState};
use crate::model::{JobId, Violations, lower};

use super::limits::Limits;
use super::live_bytes::LiveBytes;

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

    /// Removes a completed job. No effect on others.
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

    /// How many have left PREP.
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
}

impl LiveJobs {
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
