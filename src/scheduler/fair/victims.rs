//! Which attempts die so that starving pools get slots (1.2.1 `FairScheduler.preemptTasks`).
//!
//! Here slots that are being released already count as given; the original chooses their attempts again, and newer ones beside them.

use std::cmp::Reverse;

use super::share::FairShare;

/// One round for one kind of slot. `A` names an attempt and breaks ties, the highest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FairPreemptionRound<A> {
    /// Slots that all starving pools want.
    pub(crate) wanted: u32,
    /// Slots that are being released by attempts whose end is ordered.
    pub(crate) releasing: u32,
    pub(crate) pools: Vec<PoolSlots>,
    /// Running attempts of which a tracker has reported something.
    pub(crate) attempts: Vec<VictimCandidate<A>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSlots {
    /// Its running tasks, without those whose end is ordered.
    pub(crate) retained: u32,
    pub(crate) share: FairShare,
    pub(crate) parent: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VictimCandidate<A> {
    pub(crate) pool: usize,
    /// When it started, by its tracker's clock, ms.
    pub(crate) start_wall_ms: i64,
    pub(crate) slots: u32,
    pub(crate) attempt: A,
}

impl<A: Copy + Ord> FairPreemptionRound<A> {
    /// The attempts to kill, newest first; only of pools that hold more than their fair share when it is their turn, as
    /// do all that contain them.
    pub(crate) fn select_victims(mut self) -> Vec<A> {
        let mut missing = self.wanted.saturating_sub(self.releasing);
        self.attempts.sort_unstable_by_key(|candidate| Reverse((candidate.start_wall_ms, candidate.attempt)));
        let mut victims = Vec::new();
        for candidate in std::mem::take(&mut self.attempts) {
            if missing == 0 {
                break;
            }
            let path: Vec<usize> = self.path(candidate.pool).collect();
            if path.iter().all(|&pool| self.pools[pool].is_above_share()) {
                for pool in path {
                    let pool = &mut self.pools[pool];
                    pool.retained = pool.retained.saturating_sub(candidate.slots);
                }
                missing = missing.saturating_sub(candidate.slots);
                victims.push(candidate.attempt);
            }
        }
        victims
    }

    fn path(&self, pool: usize) -> impl Iterator<Item = usize> {
        let parent = |pool: &usize| self.pools[*pool].parent.filter(|parent| parent < pool);
        std::iter::successors(Some(pool).filter(|pool| *pool < self.pools.len()), parent)
    }
}

impl PoolSlots {
    fn is_above_share(&self) -> bool {
        FairShare::of_slots(self.retained) > self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(retained: u32, share_millionths: u64) -> PoolSlots {
        PoolSlots { retained, share: FairShare(share_millionths), parent: None }
    }

    /// Attempts (pool, start), named in this order from 0.
    fn round(wanted: u32, pools: &[PoolSlots], attempts: &[(usize, i64)]) -> FairPreemptionRound<usize> {
        let candidate = |(attempt, &(pool, start_wall_ms))| VictimCandidate { pool, start_wall_ms, slots: 1, attempt };
        let attempts = attempts.iter().enumerate().map(candidate).collect();
        FairPreemptionRound { wanted, releasing: 0, pools: pools.to_vec(), attempts }
    }

    #[test]
    fn row_16_the_newest_die() {
        let round = round(2, &[pool(4, 2_000_000)], &[(0, 1), (0, 1), (0, 2), (0, 2)]);
        assert_eq!(round.select_victims(), [3, 2]);
    }

    #[test]
    fn row_18_a_pool_keeps_its_share() {
        let mut attempts = vec![(0, 1); 6];
        attempts.extend([(1, 5), (1, 5)]);
        let round = round(2, &[pool(6, 2_666_666), pool(2, 2_666_666)], &attempts);
        assert_eq!(round.select_victims(), [5, 4]);
    }

    #[test]
    fn row_19_no_pool_drops_below_its_share_for_another() {
        let attempts = [(0, 1), (0, 2), (0, 9), (1, 3), (1, 4), (1, 5)];
        assert_eq!(round(2, &[pool(3, 2_000_000); 2], &attempts).select_victims(), [2, 5]);
        assert_eq!(round(9, &[pool(3, 2_000_000); 2], &attempts).select_victims(), [2, 5]);
    }

    #[test]
    fn a_pool_in_a_pool_loses_nothing_that_its_parent_is_due() {
        let parent = pool(3, 2_000_000);
        let child = PoolSlots { parent: Some(0), ..pool(3, 0) };
        assert_eq!(round(9, &[parent, child], &[(1, 1), (1, 2), (1, 3)]).select_victims(), [2]);
    }

    #[test]
    fn slots_on_their_way_count_as_given() {
        let all = round(2, &[pool(3, 0)], &[(0, 1), (0, 2), (0, 3)]);
        let victims = |releasing| FairPreemptionRound { releasing, ..all.clone() }.select_victims();
        assert_eq!([0, 1, 2, 3].map(victims), [vec![2, 1], vec![2], vec![], vec![]]);
    }

    #[test]
    fn an_attempt_of_many_slots_gives_them_all() {
        let mut round = round(3, &[pool(6, 2_000_000)], &[(0, 1), (0, 2), (0, 3)]);
        round.attempts.iter_mut().for_each(|candidate| candidate.slots = 2);
        assert_eq!(round.select_victims(), [2, 1]);
    }
}
