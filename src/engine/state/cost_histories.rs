//! What jobs have cost, by class.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::scheduler::constraint::{CostHistory, HistoryConfig, JobClass, KnownCosts};

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

    /// Forgets a class where there are too many.
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
