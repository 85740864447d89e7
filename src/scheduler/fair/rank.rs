//! The order of pools, and of jobs in a fair pool, when a slot is free (1.2.1 `SchedulingAlgorithms.FairShareComparator`).
//!
//! Uses the running tasks of this moment and exact fractions, not the fair shares.

use std::num::NonZeroU64;

use crate::model::PartsPerMillion;
use crate::scheduler::key::Ratio;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RankStanding {
    pub(super) running: u32,
    pub(super) demand: u32,
    /// Its minimum; zero for jobs.
    pub(super) min: u32,
    pub(super) weight: PartsPerMillion,
}

/// A place in the order: the smaller is served first. Ties are the caller's to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) class: RankClass,
    /// Orders within the class.
    pub(super) ratio: Ratio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RankClass {
    /// Below its minimum, or its demand where that is less; by the part of it that runs.
    Needy,
    /// By running tasks to weight.
    Satisfied,
    /// Of weight zero: only what no other wants, by running tasks. Never takes excess.
    Excess,
}

impl RankStanding {
    pub(super) fn rank(&self) -> Rank {
        let least = self.min.min(self.demand);
        let rank = |class, whole| Rank { class, ratio: Ratio::new(self.running.into(), whole) };
        if let Some(least) = NonZeroU64::new(least.into()).filter(|_| self.running < least) {
            return rank(RankClass::Needy, least);
        }
        match NonZeroU64::new(self.weight.0) {
            Some(weight) => rank(RankClass::Satisfied, weight),
            None => rank(RankClass::Excess, NonZeroU64::MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(running: u32, demand: u32, min: u32, weight_millionths: u64) -> Rank {
        RankStanding { running, demand, min, weight: PartsPerMillion(weight_millionths) }.rank()
    }

    const ONE: u64 = 1_000_000;

    #[test]
    fn needy_ones_come_first_by_the_part_of_their_minimum() {
        assert!(rank(3, 9, 4, ONE) < rank(0, 9, 0, ONE));
        assert!(rank(1, 9, 4, ONE) < rank(1, 9, 3, ONE));
        assert_eq!(rank(1, 9, 2, ONE), rank(2, 9, 4, ONE));
    }

    #[test]
    fn a_minimum_beyond_the_demand_counts_up_to_the_demand() {
        assert_eq!(rank(1, 1, 4, ONE).class, RankClass::Satisfied);
        assert_eq!(rank(1, 2, 4, ONE), rank(2, 4, 4, ONE));
    }

    #[test]
    fn satisfied_ones_go_by_running_tasks_to_weight_exactly() {
        assert!(rank(1, 9, 0, 2 * ONE) < rank(1, 9, 0, ONE));
        assert_eq!(rank(2, 9, 0, 2 * ONE), rank(1, 9, 0, ONE));
        assert_eq!(rank(3, 9, 0, 300_000), rank(1, 9, 0, 100_000));
        assert!(rank(u32::MAX - 1, 0, 0, u64::MAX) < rank(u32::MAX, 0, 0, u64::MAX));
    }

    #[test]
    fn weight_zero_gets_its_minimum_and_then_comes_last() {
        assert!(rank(1, 9, 2, 0) < rank(0, 9, 0, ONE));
        assert!(rank(2, 9, 2, 0) > rank(5_000, 9_000, 0, 1));
        assert!(rank(2, 9, 2, 0) < rank(3, 9, 2, 0));
    }
}
