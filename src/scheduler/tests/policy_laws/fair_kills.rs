//! Laws of the Fair scheduler's preemption, against a count of what each pool still holds: kills newest first, none in
//! a pool that is down to its share, no more than wanted.

use std::cmp::Reverse;

use proptest::prelude::*;

use crate::scheduler::fair::share::FairShare;
use crate::scheduler::fair::victims::{FairPreemptionRound, PoolSlots, VictimCandidate};

const POOLS: usize = 6;

/// Attempts (pool, start, slots), named in this order from 0, in pools at the top and one level below.
fn round() -> impl Strategy<Value = FairPreemptionRound<usize>> {
    let pool = (0u64..12_000_000, any::<prop::sample::Index>(), any::<bool>());
    let attempt = (0..POOLS, 0i64..20, prop_oneof![4 => Just(1u32), 1 => 2u32..4]);
    let (pools, attempts) = (prop::collection::vec(pool, POOLS), prop::collection::vec(attempt, 0..40));
    (pools, attempts, 0u32..20, 0u32..5, 0u32..4).prop_map(|(pools, attempts, wanted, releasing, unlisted)| {
        let candidate =
            |(attempt, (pool, start_wall_ms, slots))| VictimCandidate { pool, start_wall_ms, slots, attempt };
        let attempts: Vec<VictimCandidate<usize>> = attempts.into_iter().enumerate().map(candidate).collect();
        let parent = |number: usize, place: &prop::sample::Index| (number >= POOLS / 2).then(|| place.index(POOLS / 2));
        let pool = |(number, (share, place, is_inner)): (usize, &(u64, prop::sample::Index, bool))| PoolSlots {
            // Some attempts are not listed: no tracker has reported them yet.
            retained: unlisted,
            share: FairShare(*share),
            parent: parent(number, place).filter(|_| *is_inner),
        };
        let mut pools: Vec<PoolSlots> = pools.iter().enumerate().map(pool).collect();
        for candidate in &attempts {
            pools[candidate.pool].retained += candidate.slots;
        }
        for number in 0..POOLS {
            let PoolSlots { retained, parent, .. } = pools[number];
            if let Some(parent) = parent {
                pools[parent].retained += retained;
            }
        }
        FairPreemptionRound { wanted, releasing, pools, attempts }
    })
}

fn path(round: &FairPreemptionRound<usize>, pool: usize) -> impl Iterator<Item = usize> {
    std::iter::once(pool).chain(round.pools[pool].parent)
}

/// Whether a pool and those that contain it hold more than their shares, once these attempts are gone.
fn is_above_share(round: &FairPreemptionRound<usize>, pool: usize, gone: &[usize]) -> bool {
    let lost = |pool: usize| -> u32 {
        let attempts = gone.iter().map(|&attempt| &round.attempts[attempt]);
        attempts
            .filter(|candidate| path(round, candidate.pool).any(|of| of == pool))
            .map(|candidate| candidate.slots)
            .sum()
    };
    path(round, pool).all(|pool| {
        let PoolSlots { retained, share, .. } = round.pools[pool];
        u64::from(retained - lost(pool)) * 1_000_000 > share.0
    })
}

fn check(round: &FairPreemptionRound<usize>, victims: &[usize]) {
    let age = |attempt: usize| (round.attempts[attempt].start_wall_ms, attempt);
    assert!(victims.is_sorted_by(|one, next| age(*one) > age(*next)), "{victims:?} are not newest first");
    let slots = |victims: &[usize]| victims.iter().map(|&victim| round.attempts[victim].slots).sum::<u32>();
    let missing = round.wanted.saturating_sub(round.releasing);
    if let [before @ .., last] = victims {
        assert!(slots(before) < missing, "{last} dies for {missing} slots, which {before:?} give");
    }
    for (turn, &victim) in victims.iter().enumerate() {
        let pool = round.attempts[victim].pool;
        assert!(is_above_share(round, pool, &victims[..turn]), "{victim} dies in {pool}, which is down to its share");
    }
    let mut spared: Vec<usize> = (0..round.attempts.len()).filter(|attempt| !victims.contains(attempt)).collect();
    spared.sort_by_key(|&attempt| Reverse(age(attempt)));
    for attempt in spared {
        let turn = victims.partition_point(|&victim| age(victim) > age(attempt));
        let is_spared = slots(&victims[..turn]) >= missing
            || !is_above_share(round, round.attempts[attempt].pool, &victims[..turn]);
        assert!(is_spared, "{attempt} lives, and {:?} die before {missing} slots are given", &victims[turn..]);
    }
}

proptest! {
    #[test]
    fn the_newest_die_of_pools_above_their_shares_and_no_more_than_wanted(round in round()) {
        check(&round, &round.clone().select_victims());
    }
}
