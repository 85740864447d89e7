//! What was launched and how it ended since the start, of all queues and of each, for display (1.2.1 `JobTrackerInstrumentation`).

use std::collections::BTreeMap;

use crate::mapreduce::{AttemptRole, Job, JobFact};
use crate::model::{AttemptState, PerKind, RunState};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    pub(crate) launched: PerKind<u64>,
    pub(crate) completed: PerKind<u64>,
    pub(crate) failed: PerKind<u64>,
    pub(crate) killed: PerKind<u64>,
    /// Jobs submitted, succeeded, failed, killed.
    pub(crate) jobs: [u64; 4],
}

/// The same of all queues and of each.
#[derive(Debug, Default)]
pub(crate) struct AttemptTallies {
    all: AttemptCounts,
    by_queue: BTreeMap<String, AttemptCounts>,
}

const MOST_QUEUES: usize = 10_000;

impl AttemptTallies {
    pub(crate) fn count(&mut self, fact: &JobFact, job: &Job) {
        self.all.count(fact, job);
        let queue = &job.spec.queue;
        if let Some(counts) = self.by_queue.get_mut(queue) {
            counts.count(fact, job);
        } else if self.by_queue.len() < MOST_QUEUES {
            self.by_queue.entry(queue.clone()).or_default().count(fact, job);
        }
    }

    pub(crate) fn all(&self) -> &AttemptCounts {
        &self.all
    }

    pub(crate) fn of_queue(&self, queue: &str) -> AttemptCounts {
        self.by_queue.get(queue).cloned().unwrap_or_default()
    }
}

impl AttemptCounts {
    fn count(&mut self, fact: &JobFact, job: &Job) {
        match fact {
            JobFact::Accepted(_) => self.jobs[0] += 1,
            JobFact::Ended { state: RunState::Succeeded, .. } => self.jobs[1] += 1,
            JobFact::Ended { state: RunState::Failed, .. } => self.jobs[2] += 1,
            JobFact::Ended { .. } => self.jobs[3] += 1,
            JobFact::AttemptLaunched { attempt, role: AttemptRole::Work, .. } => self.launched[attempt.task.kind] += 1,
            JobFact::AttemptEnded(ended) if job.is_work(ended.attempt.task) => {
                let counts = match ended.state {
                    AttemptState::Succeeded => &mut self.completed,
                    AttemptState::Failed => &mut self.failed,
                    AttemptState::Killed => &mut self.killed,
                    _ => return,
                };
                counts[ended.attempt.task.kind] += 1;
            }
            _ => {}
        }
    }
}
