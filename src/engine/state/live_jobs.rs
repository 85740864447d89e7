//! Unfinished jobs, with their sums.

use std::collections::{BTreeMap, BTreeSet};

use crate::mapreduce::{Job, JobState};
use crate::model::JobId;

use super::limits::Limits;
use super::live_bytes::LiveBytes;

/// Unfinished jobs by queue. [`Self::insert`] and [`Self::remove`] update all sums together.
#[derive(Debug, Default)]
pub struct LiveJobs {
    /// No entry for queues without any.
    by_queue: BTreeMap<String, BTreeSet<JobId>>,
    count: u64,
    /// Those that have left PREP.
    running: BTreeSet<JobId>,
    /// Their tasks, by [`Limits::weight`].
    tasks: u64,
    /// Their memory beside tasks.
    bytes: LiveBytes,
}

// === impl LiveJobs ===

impl LiveJobs {
    /// Adds an unfinished job.
    pub fn insert(&mut self, job: &Job) {
        self.by_queue.entry(job.spec.queue.clone()).or_default().insert(job.id);
        self.count += 1;
        self.tasks += Limits::weight(&job.spec);
        self.bytes.add(&job.spec.user, job.bytes);
        if job.state() == JobState::Running {
            self.running.insert(job.id);
        }
    }

    /// Removes a completed job. No effect on others.
    pub fn remove(&mut self, job: &Job) {
        self.running.remove(&job.id);
        let Some(of_queue) = self.by_queue.get_mut(&job.spec.queue) else { return };
        if of_queue.remove(&job.id) {
            self.count = self.count.saturating_sub(1);
            self.tasks = self.tasks.saturating_sub(Limits::weight(&job.spec));
            self.bytes.remove(&job.spec.user, job.bytes);
        }
        if of_queue.is_empty() {
            self.by_queue.remove(&job.spec.queue);
        }
    }

    /// Records that a job has left PREP.
    pub fn mark_running(&mut self, id: JobId) {
        self.running.insert(id);
    }

    /// By queue; no entry for queues without any.
    pub fn by_queue(&self) -> &BTreeMap<String, BTreeSet<JobId>> {
        &self.by_queue
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many have left PREP.
    pub fn running(&self) -> u64 {
        self.running.len() as u64
    }

    /// Their tasks, by [`Limits::weight`].
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Their memory beside tasks.
    pub fn bytes(&self) -> &LiveBytes {
        &self.bytes
    }
}
