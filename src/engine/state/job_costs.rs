//! Costs of jobs: what the ticks have laid on each of the charges of its queue, and what jobs of each class have cost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::mapreduce::Job;
use crate::market::{LaidCharge, Meter, SlotHolder, Tick};
use crate::model::{Credits, JobId, PerKind};
use crate::scheduler::constraint::{CostHistory, HistoryConfig, JobClass, KnownCosts};

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

/// What the last jobs of a class have cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCosts {
    pub(crate) class: Arc<JobClass>,
    /// When its last job ended, epoch ms.
    pub(crate) last_end_ms: i64,
    pub(crate) history: Arc<CostHistory>,
}

/// What jobs have cost, by class. Users can invent any number of classes: those whose last job ended first are forgotten.
#[derive(Debug, Default)]
pub(crate) struct CostHistories {
    by_class: BTreeMap<Arc<JobClass>, ClassCosts>,
    by_last_end: BTreeSet<(i64, Arc<JobClass>)>,
}

impl CostHistories {
    pub(crate) const MAX_CLASSES: usize = 10_000;

    pub(crate) fn restored(all: Vec<ClassCosts>) -> Self {
        let mut histories = Self::default();
        all.into_iter().for_each(|costs| histories.set(costs));
        histories
    }

    pub(crate) fn learned(&self, class: &JobClass, config: &HistoryConfig) -> KnownCosts {
        self.by_class.get(class).map(|costs| costs.history.learned(config)).unwrap_or_default()
    }

    /// Adds a job that has just ended; returns its class as it is now.
    pub(crate) fn add(&mut self, class: JobClass, costs: KnownCosts, end_ms: i64) -> ClassCosts {
        let before = self.by_class.get(&class);
        let mut history = before.map(|before| CostHistory::clone(&before.history)).unwrap_or_default();
        history.add(costs);
        let class = before.map_or_else(|| Arc::new(class), |before| before.class.clone());
        let costs = ClassCosts { class, last_end_ms: end_ms, history: Arc::new(history) };
        self.set(costs.clone());
        costs
    }

    pub(crate) fn forget_oldest(&mut self) -> Option<Arc<JobClass>> {
        if self.by_class.len() <= Self::MAX_CLASSES {
            return None;
        }
        let (_, class) = self.by_last_end.pop_first()?;
        self.by_class.remove(&class);
        Some(class)
    }

    fn set(&mut self, costs: ClassCosts) {
        let class = costs.class.clone();
        self.by_last_end.insert((costs.last_end_ms, class.clone()));
        if let Some(before) = self.by_class.insert(class.clone(), costs)
            && before.last_end_ms != self.by_class.get(&class).map_or(0, |costs| costs.last_end_ms)
        {
            self.by_last_end.remove(&(before.last_end_ms, class));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PerKind;

    fn class(name: &str) -> JobClass {
        JobClass::new("alice", name, &PerKind::default())
    }

    fn maps(us_per_mb: u64) -> KnownCosts {
        KnownCosts { map_us_per_mb: Some(us_per_mb), ..KnownCosts::default() }
    }

    #[test]
    fn jobs_whose_names_differ_in_digits_are_of_one_class() {
        let mut histories = CostHistories::default();
        for day in 1..=3 {
            histories.add(class(&format!("daily 2026-11-0{day}")), maps(10 * day), 0);
        }
        let config = HistoryConfig::default();
        assert_eq!(histories.learned(&class("daily 2026-12-31"), &config), maps(30));
        assert_eq!(histories.learned(&class("hourly 2026-12-31"), &config), KnownCosts::default());
    }

    #[test]
    fn the_class_whose_last_job_ended_first_is_forgotten() {
        let mut histories = CostHistories::default();
        let names: Vec<String> = (0..=CostHistories::MAX_CLASSES)
            .map(|number| {
                std::iter::repeat_n('x', number / 100).chain(std::iter::repeat_n('y', number % 100)).collect()
            })
            .collect();
        let mut forgotten = Vec::new();
        for (name, end_ms) in names.iter().zip(0..) {
            // The first one's last job ends after the second one's.
            histories.add(class(name), maps(1), end_ms);
            if end_ms == 1 {
                histories.add(class(&names[0]), maps(1), 2);
            }
            forgotten.extend(histories.forget_oldest());
        }
        let forgotten: Vec<&str> = forgotten.iter().map(|class| &*class.name).collect();
        assert_eq!(forgotten, [&names[1]]);
        assert_eq!(histories.by_class.len(), histories.by_last_end.len());
    }
}
