//! What the jobs of a class have cost.

use std::collections::VecDeque;

use crate::model::PerKind;

use super::constraint_config::HistoryConfig;
use super::{Costs, DeadlineSpec, KnownCosts};

/// What the last jobs of a class have cost, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct CostHistory {
    jobs: VecDeque<KnownCosts>,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        Self { enabled: true, min_samples: 3, alpha_millionths: 300_000 }
    }
}

impl CostHistory {
    pub(crate) const MAX_JOBS: usize = 20;

    pub(crate) fn add(&mut self, costs: KnownCosts) {
        while self.jobs.len() >= Self::MAX_JOBS {
            self.jobs.pop_front();
        }
        self.jobs.push_back(costs);
    }

    /// What the next job will cost. Of tasks the most that any job has: a deadline is kept on the slowest node. Of copies
    /// and output the mean, in which the last jobs weigh more.
    pub(crate) fn learned(&self, config: &HistoryConfig) -> KnownCosts {
        if !config.enabled {
            return KnownCosts::default();
        }
        let known = |cost: fn(&KnownCosts) -> Option<u64>| {
            let costs: Vec<u64> = self.jobs.iter().filter_map(cost).collect();
            (costs.len() >= config.min_samples.max(1) as usize).then_some(costs)
        };
        let most = |cost| known(cost).and_then(|costs| costs.into_iter().max());
        let mean = |cost| known(cost).and_then(|costs| smoothed(&costs, config.alpha_millionths));
        KnownCosts {
            map_us_per_mb: most(|costs| costs.map_us_per_mb),
            reduce_us_per_mb: most(|costs| costs.reduce_us_per_mb),
            copy_us_per_mb: mean(|costs| costs.copy_us_per_mb),
            filter_millionths: mean(|costs| costs.filter_millionths),
        }
    }
}

/// The mean in which each number has this weight, and what was before it the rest; rounded up.
fn smoothed(numbers: &[u64], alpha_millionths: u64) -> Option<u64> {
    let alpha = alpha_millionths.min(ONE);
    let next = |old: u64, new: u64| {
        let sum = u128::from(new) * u128::from(alpha) + u128::from(old) * u128::from(ONE - alpha);
        // A mean lies between its parts.
        u64::try_from(sum.div_ceil(ONE.into())).unwrap_or(u64::MAX)
    };
    numbers.iter().copied().reduce(next)
}

/// Longest name of any part of a class, bytes.
const MAX_BYTES: usize = 256;

/// Jobs that are expected to cost the same: those of a user that have the same name, but for digits, and the same code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobClass {
    pub(crate) user: String,
    /// Their name without digits.
    pub(crate) name: String,
    /// The class that maps, or empty.
    pub(crate) mapper: String,
    /// The class that reduces, or empty.
    pub(crate) reducer: String,
}

impl JobClass {
    /// The class of a job with that name and those classes of code. Long texts are cut.
    pub(crate) fn new(user: &str, name: &str, code: &PerKind<Option<String>>) -> Self {
        let named = |text: &Option<String>| cut(text.as_deref().unwrap_or_default());
        let digitless: String = name.chars().filter(|character| !character.is_ascii_digit()).collect();
        Self { user: user.to_owned(), name: cut(&digitless), mapper: named(&code.map), reducer: named(&code.reduce) }
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_BYTES)].to_owned()
}

/// The ratio 1, in millionths.
const ONE: u64 = 1_000_000;

/// What is believed of a job's costs, beside what it states. It stays with the job: jobs that end later change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobEstimate {
    /// By the jobs of its class before it.
    pub(crate) history: KnownCosts,
    /// By its own first maps, where nothing else is known: of one MB of input, microseconds.
    #[serde(default)]
    pub(crate) first_maps_us_per_mb: Option<u64>,
    /// The time of its slowest map once its promise was over and it still ran, whatever else is known, microseconds.
    #[serde(default)]
    pub(crate) slowest_map_us: Option<u64>,
}

impl JobEstimate {
    /// What the job costs where it states nothing.
    pub(crate) fn costs(&self, default: &Costs) -> Costs {
        let history = &self.history;
        let map = history.map_us_per_mb.or(self.first_maps_us_per_mb);
        Costs {
            map_us_per_mb: map.unwrap_or(default.map_us_per_mb),
            reduce_us_per_mb: history.reduce_us_per_mb.unwrap_or(default.reduce_us_per_mb),
            copy_us_per_mb: history.copy_us_per_mb.unwrap_or(default.copy_us_per_mb),
            filter_millionths: history.filter_millionths.unwrap_or(default.filter_millionths),
        }
    }

    /// Whether its first maps shall show what maps cost: neither the job nor history says.
    pub(crate) fn awaits_first_maps(&self, stated: &DeadlineSpec) -> bool {
        stated.map.is_none() && self.history.map_us_per_mb.is_none() && self.first_maps_us_per_mb.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(map_us_per_mb: u64, filter_millionths: Option<u64>) -> KnownCosts {
        KnownCosts { map_us_per_mb: Some(map_us_per_mb), filter_millionths, ..KnownCosts::default() }
    }

    fn history(jobs: &[KnownCosts]) -> CostHistory {
        let mut history = CostHistory::default();
        jobs.iter().for_each(|job| history.add(*job));
        history
    }

    #[test]
    fn tasks_cost_the_most_of_any_job_and_the_rest_the_smoothed_mean() {
        let history = history(&[costs(50, Some(100)), costs(90, Some(200)), costs(70, Some(100)), costs(60, None)]);
        let learned = history.learned(&HistoryConfig::default());
        // 100, then 0.3 * 200 + 0.7 * 100 = 130, then 0.3 * 100 + 0.7 * 130 = 121.
        assert_eq!(learned, costs(90, Some(121)));
        let four = HistoryConfig { min_samples: 4, ..HistoryConfig::default() };
        assert_eq!(history.learned(&four), costs(90, None), "the ratio of three is known");
        assert!(history.learned(&HistoryConfig { min_samples: 5, ..four }).is_empty());
        assert!(history.learned(&HistoryConfig { enabled: false, ..four }).is_empty());
    }

    #[test]
    fn a_slow_job_counts_for_twenty_jobs() {
        let mut history = history(&[costs(900, None)]);
        for _ in 1..CostHistory::MAX_JOBS {
            history.add(costs(10, None));
        }
        assert_eq!(history.learned(&HistoryConfig::default()).map_us_per_mb, Some(900));
        history.add(costs(10, None));
        assert_eq!(history.learned(&HistoryConfig::default()).map_us_per_mb, Some(10));
    }
}
