//! Keeps the tasks of finished jobs in memory within bounds: beyond, those that ended first are in the database alone.

use std::collections::VecDeque;

use crate::model::{FactNumber, JobId, Now};

use super::engine::Engine;
use super::limits::Limits;

/// Finished jobs with their tasks, oldest first.
#[derive(Debug, Default)]
pub(super) struct WholeJobs {
    jobs: VecDeque<(JobId, u64)>,
    /// Their tasks, by [`Limits::weight`].
    tasks: u64,
    /// When to look next, while there are too many.
    due_mono_ms: Option<u64>,
}

/// From finding that there are too many to the next look, ms: their ends must be durable before.
const PAUSE_MS: u64 = 1_000;

// === impl WholeJobs ===

impl WholeJobs {
    /// When [`Engine::retire_when_due`] has something to do.
    pub(super) fn due_mono_ms(&self) -> Option<u64> {
        self.due_mono_ms
    }
}

// === impl Engine: retirement ===

impl Engine {
    /// A job with all its tasks is over.
    pub(super) fn keep_whole(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let weight = Limits::weight(&job.spec);
        self.whole_jobs.jobs.push_back((id, weight));
        self.whole_jobs.tasks += weight;
    }

    /// After each step: there may be too many now.
    pub(super) fn note_too_many_whole(&mut self, now: Now) {
        if self.whole_jobs.due_mono_ms.is_none() && self.whole_jobs.tasks > self.config.limits.max_finished_tasks {
            self.whole_jobs.due_mono_ms = Some(now.mono_ms + PAUSE_MS);
        }
    }

    /// Drops tasks of finished jobs whose end is durable and of which nobody has to hear any more.
    pub(super) fn retire_when_due(&mut self, durable: FactNumber, now: Now) {
        if self.whole_jobs.due_mono_ms.is_none_or(|due_mono_ms| now.mono_ms < due_mono_ms) {
            return;
        }
        self.whole_jobs.due_mono_ms = None;
        let most = self.config.limits.max_finished_tasks;
        let mut waiting = VecDeque::new();
        while self.whole_jobs.tasks > most {
            let Some((id, weight)) = self.whole_jobs.jobs.pop_front() else { break };
            let is_owed = self.kill_debts.contains_key(&id);
            match self.jobs.get_mut(id) {
                Some(job) if is_owed || job.last_fact > durable || !job.can_retire_tasks() => {
                    waiting.push_back((id, weight));
                    continue;
                }
                Some(job) => job.retire_tasks(&mut self.interner, &self.config.limits.counters),
                // It was forgotten meanwhile.
                None => {}
            }
            self.whole_jobs.tasks = self.whole_jobs.tasks.saturating_sub(weight);
        }
        waiting.append(&mut self.whole_jobs.jobs);
        self.whole_jobs.jobs = waiting;
        self.note_too_many_whole(now);
    }
}
