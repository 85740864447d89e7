//! What the jobs of a class have cost.

use std::collections::VecDeque;

use super::KnownCosts;

/// How costs are learned from jobs that have run (`mapred.constraint-scheduler.history.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    pub(crate) enabled: bool,
    /// Jobs of which a cost must be known before it counts.
    pub(crate) min_samples: u32,
    /// Weight of the last job in the mean, millionths.
    pub(crate) alpha_millionths: u64,
}

/// What the last jobs of a class have cost, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct CostHistory {
    jobs: VecDeque<KnownCosts>,
}

/// The ratio 1, in millionths.
const ONE: u64 = 1_000_000;

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
