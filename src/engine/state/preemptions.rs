//! Ordered preemptions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{AttemptId, JobId};

use super::decision::Decision;

#[derive(Debug, Default)]
pub(crate) struct Preemptions {
    /// Attempts chosen for preemption, whose trackers have no order yet; some may have ended.
    pub(crate) victims: BTreeMap<AttemptId, Decision>,
    /// The last round that preempted attempts, for each job in memory.
    last_by_job: BTreeMap<JobId, LastPreemption>,
}

/// The last round that preempted attempts of a job.
#[derive(Clone, Debug)]
pub(crate) struct LastPreemption {
    /// When, epoch ms.
    pub(crate) at_ms: i64,
    pub(crate) attempts: u32,
    /// Victims of the job in all rounds so far.
    pub(crate) so_far: u64,
    /// Queues that were below their quota, with the number of missing slots.
    pub(crate) short: Arc<BTreeMap<String, u32>>,
}

impl Preemptions {
    /// Records a round's victims for the jobs they belong to.
    pub(crate) fn record_round(
        &mut self,
        victims: impl Iterator<Item = AttemptId>,
        short: BTreeMap<String, u32>,
        at_ms: i64,
    ) {
        let mut hit: BTreeMap<JobId, u32> = BTreeMap::new();
        victims.for_each(|id| *hit.entry(id.task.job).or_default() += 1);
        let short = Arc::new(short);
        for (job, attempts) in hit {
            let so_far = self.last_of(job).map_or(0, |last| last.so_far) + u64::from(attempts);
            self.last_by_job.insert(job, LastPreemption { at_ms, attempts, so_far, short: short.clone() });
        }
    }

    /// The last round that preempted attempts of a job.
    pub(crate) fn last_of(&self, job: JobId) -> Option<&LastPreemption> {
        self.last_by_job.get(&job)
    }

    /// Drops the records of a job that leaves memory.
    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.last_by_job.remove(&job);
    }
}
