//! Retirement of finished jobs: beyond a limit, the oldest ones keep their tasks in the store alone.

use std::collections::VecDeque;

use crate::model::{FactNumber, JobId, Now, lower};

use super::engine::Engine;
use super::limits::Limits;

/// Delay before retirement, ms: the ends of the jobs must be durable by then.
const PAUSE_MS: u64 = 1_000;

// === impl Engine: retirement ===

impl Engine {
    /// Adds a completed job, whose tasks stay in memory.
    pub(super) fn retain_tasks(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let weight = Limits::weight(&job.spec);
        self.retained_jobs.jobs.push_back((id, weight));
        self.retained_jobs.tasks += weight;
    }

    /// Schedules retirement if there are too many tasks; called after each step.
    pub(super) fn schedule_retirement(&mut self, now: Now) {
        if self.retained_jobs.due_mono_ms.is_none() && self.retained_jobs.tasks > self.config.limits.max_finished_tasks
        {
            self.retained_jobs.due_mono_ms = Some(now.mono_ms + PAUSE_MS);
        }
    }

    /// Drops tasks of finished jobs whose end is durable and that have no pending KILL_JOB.
    pub(super) fn retire_when_due(&mut self, durable: FactNumber, now: Now) {
        if self.retained_jobs.due_mono_ms.is_none_or(|due_mono_ms| now.mono_ms < due_mono_ms) {
            return;
        }
        self.retained_jobs.due_mono_ms = None;
        let most = self.config.limits.max_finished_tasks;
        let mut waiting = VecDeque::new();
        while self.retained_jobs.tasks > most {
            let Some((id, weight)) = self.retained_jobs.jobs.pop_front() else { break };
            let has_pending_kill = self.pending_kill_jobs.contains_key(&id);
            match self.jobs.get_mut(id) {
                Some(job) if has_pending_kill || job.last_fact > durable || !job.can_retire_tasks() => {
                    waiting.push_back((id, weight));
                    continue;
                }
                Some(job) => job.retire_tasks(&mut self.interner, &self.config.limits.counters),
                // The job was forgotten meanwhile.
                None => {}
            }
            lower(&mut self.retained_jobs.tasks, weight, &mut self.invariants.violations);
        }
        waiting.append(&mut self.retained_jobs.jobs);
        self.retained_jobs.jobs = waiting;
        self.schedule_retirement(now);
    }
}
