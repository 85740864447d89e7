//! Costs of jobs: what the ticks have laid on each of the charges of its queue.
//!
//! Invariant: with those of applications they sum to what queues were charged, exactly. A job that leaves memory before
//! what it has held is charged keeps its cost until it is.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::mapreduce::Job;
use crate::market::{LaidCharge, Meter, SlotHolder, Tick};
use crate::model::{Credits, JobId, PerKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCost {
    pub job: JobId,
    pub cost: Credits,
    /// What it has held in intervals that were charged, slot-milliseconds.
    pub slot_ms: PerKind<u64>,
    /// Slots that it was charged for before charges went by time, summed over intervals.
    pub sampled_slots: PerKind<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct JobCosts {
    /// Looked up, never iterated.
    costs: FxHashMap<JobId, JobCost>,
    /// Those that have left memory and may still be charged.
    leaving: BTreeSet<JobId>,
}

impl JobCost {
    fn nothing(job: JobId) -> Self {
        let (slot_ms, sampled_slots) = (PerKind::default(), PerKind::default());
        JobCost { job, cost: Credits::ZERO, slot_ms, sampled_slots }
    }

    fn add(&mut self, charge: &LaidCharge) {
        // No overflow: no job costs more than its queue ever had, far below the range.
        self.cost = Credits::from_units(self.cost.units() + charge.amount.units());
        let PerKind { map, reduce } = charge.slot_ms.slots();
        self.slot_ms = PerKind::new(self.slot_ms.map.saturating_add(map), self.slot_ms.reduce.saturating_add(reduce));
    }
}

impl JobCosts {
    /// Adds a new job, if an account pays for it.
    pub(crate) fn open(&mut self, job: &Job) {
        if job.spec.payer().is_some() {
            self.costs.insert(job.id, JobCost::nothing(job.id));
        }
    }

    pub(crate) fn reopen(&mut self, job: &Job, cost: Option<JobCost>) {
        self.open(job);
        if let Some((known, cost)) = self.costs.get_mut(&job.id).zip(cost) {
            *known = cost;
        }
    }

    /// Restores a job that completed before a restart, with its cost.
    pub(crate) fn restore_completed(&mut self, job: JobId, cost: Option<JobCost>) {
        self.costs.insert(job, cost.unwrap_or(JobCost::nothing(job)));
    }

    /// Restores the cost of a job that is not in memory and will be charged at the next tick.
    pub(crate) fn restore_leaving(&mut self, cost: JobCost) {
        self.leaving.insert(cost.job);
        self.costs.insert(cost.job, cost);
    }

    /// Removes a job that leaves memory: while the market rules, once no tick will charge it any more.
    pub(crate) fn forget(&mut self, job: &Job, is_ruling: bool) {
        if is_ruling {
            self.leaving.insert(job.id);
        } else {
            self.costs.remove(&job.id);
        }
    }

    pub(crate) fn of(&self, job: &Job) -> Option<&JobCost> {
        self.costs.get(&job.id)
    }

    /// What a job has cost, units, and what it has held for that, slot-milliseconds.
    pub(crate) fn used_by(&self, job: JobId) -> (i128, PerKind<u64>) {
        self.costs.get(&job).map_or_else(Default::default, |cost| (cost.cost.units(), cost.slot_ms))
    }

    /// Adds what a tick has laid on jobs. Returns the charged ones.
    pub(crate) fn charge(&mut self, tick: &Tick, meter: &Meter) -> Vec<JobCost> {
        let mut charged = Vec::new();
        for charge in &tick.laid {
            let SlotHolder::Job(job) = charge.holder else { continue };
            let cost = self.costs.entry(job).or_insert_with(|| JobCost::nothing(job));
            cost.add(charge);
            charged.push(*cost);
        }
        self.leaving.retain(|job| {
            let may_be_charged = meter.may_charge(SlotHolder::Job(*job));
            if !may_be_charged {
                self.costs.remove(job);
            }
            may_be_charged
        });
        charged
    }

    /// No tick charges any more: another scheduler rules.
    pub(crate) fn forget_leaving(&mut self) {
        for job in std::mem::take(&mut self.leaving) {
            self.costs.remove(&job);
        }
    }
}
