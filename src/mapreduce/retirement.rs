//! Drops the tasks of finished jobs from memory; they stay in the database, as those of jobs that ended before a
//! restart.

use std::sync::Arc;

use crate::model::{CounterLimits, Kind, PerKind};

use super::finished_summary::FinishedSummary;
use super::job::Job;
use super::{CounterInterner, SplitTable};

impl Job {
    /// Whether its tasks are not needed any more: it is over and none of them holds a slot.
    pub(crate) fn can_retire_tasks(&self) -> bool {
        let holds = |kind: Kind| {
            let of_job = [&self.setup[kind], &self.cleanup[kind]].into_iter();
            of_job.flat_map(|task| &task.attempts).any(|attempt| attempt.holds_slot)
        };
        self.is_over() && Kind::ALL.into_iter().all(|kind| self.slot_holders[kind].is_empty() && !holds(kind))
    }

    /// Drops tasks, events and splits; keeps status and counters. From now on tasks are only in the database.
    pub(crate) fn retire_tasks(&mut self, interner: &mut CounterInterner, limits: &CounterLimits) {
        if self.is_without_tasks() || !self.can_retire_tasks() {
            return;
        }
        let counters = self.counters(limits).unwrap_or_default();
        self.finished_summary = Some(Box::new(FinishedSummary::of(interner.intern(&(&counters).into()))));
        self.work = PerKind::default();
        self.events = Vec::new();
        self.counter_sums = PerKind::default();
        self.splits = Arc::new(SplitTable::default());
    }
}
