//! Order by deficit, as the proposal and Hadoop 0.19 had it (`mapred.fairscheduler.ordering` is `deficit`): a job that
//! got less than its share for a while comes first.

use std::cmp::Reverse;

use crate::model::{Kind, PartsPerMillion, PerKind};

use super::allocations::PoolNode;
use super::share::FairShare;
use super::update::{JobFacts, JobStanding};

/// Slot-milliseconds that a job got less than its share, in millionths; negative: more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deficit(pub(super) i128);

/// What a runnable job asks for when minimums are dealt or slots are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JobClaim {
    pub(super) demand: u32,
    pub(super) weight: PartsPerMillion,
    pub(super) deficit: Deficit,
}

impl Deficit {
    /// Adds the time since the last update, with the share and the running tasks of that update.
    pub(super) fn advance(&mut self, share: FairShare, running: u32, elapsed_ms: u64) {
        let missing = i128::from(share.0) - i128::from(FairShare::of_slots(running).0);
        self.0 = self.0.saturating_add(missing.saturating_mul(i128::from(elapsed_ms)));
    }

    /// Slot-milliseconds, the fraction dropped.
    pub(super) fn whole_slot_ms(self) -> i64 {
        Self(self.0 / i128::from(PartsPerMillion::ONE.0)).narrow()
    }

    /// The same in 64 bits, saturating.
    pub(super) fn narrow(self) -> i64 {
        i64::try_from(self.0).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX })
    }
}

/// Deals the minimum of a pool to its runnable jobs: by weight, rounded down, as long as that gives something; then
/// once rounded up, the heaviest first and the largest deficit before others.
pub(super) fn deal_minimum(jobs: &[JobClaim], min: u32) -> Vec<u32> {
    let mut dealt = vec![0_u32; jobs.len()];
    let mut left = min;
    while left > 0 {
        let mut needy: Vec<usize> = (0..jobs.len()).filter(|&job| jobs[job].demand > dealt[job]).collect();
        let total: u128 = needy.iter().map(|&job| u128::from(jobs[job].weight.0)).sum();
        if total == 0 {
            break;
        }
        let before = left;
        let weighted = |job: usize| u128::from(before) * u128::from(jobs[job].weight.0);
        for &job in &needy {
            left -= deal(&mut dealt[job], &jobs[job], left, weighted(job) / total);
        }
        if left == before {
            needy.sort_by_key(|&job| Reverse((jobs[job].weight, jobs[job].deficit)));
            for job in needy {
                left -= deal(&mut dealt[job], &jobs[job], left, weighted(job).div_ceil(total));
            }
            break;
        }
    }
    dealt
}

/// Gives a job its part of what is left, as far as it needs it; returns what it was given.
fn deal(dealt: &mut u32, job: &JobClaim, left: u32, part: u128) -> u32 {
    let given = u32::try_from(part).unwrap_or(u32::MAX).min(left).min(job.demand.saturating_sub(*dealt));
    *dealt += given;
    given
}

/// Divides slots among jobs (weight, minimum dealt) by weight; a job whose minimum is larger gets that.
pub(super) fn job_shares(jobs: &[(PartsPerMillion, u32)], slots: u32) -> Vec<FairShare> {
    let mut shares = vec![FairShare::default(); jobs.len()];
    let mut left = FairShare::of_slots(slots).0;
    let mut undecided: Vec<usize> = (0..jobs.len()).collect();
    loop {
        let total: u128 = undecided.iter().map(|&job| u128::from(jobs[job].0.0)).sum();
        let by_weight = |job: usize| {
            let share = (u128::from(left) * u128::from(jobs[job].0.0)).checked_div(total).unwrap_or(0);
            FairShare(u64::try_from(share).unwrap_or(u64::MAX))
        };
        let (larger, rest): (Vec<usize>, Vec<usize>) =
            undecided.iter().partition(|&&job| FairShare::of_slots(jobs[job].1) > by_weight(job));
        if larger.is_empty() {
            undecided.iter().for_each(|&job| shares[job] = by_weight(job));
            return shares;
        }
        for job in larger {
            shares[job] = FairShare::of_slots(jobs[job].1);
            left = left.saturating_sub(shares[job].0);
        }
        undecided = rest;
    }
}

/// What a job has under the order by deficit, of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JobDeficit {
    pub(super) deficit: Deficit,
    pub(super) min: u32,
    /// Its fair share at the last update.
    share: FairShare,
    /// Its running tasks at the last update.
    running: u32,
}

impl JobDeficit {
    /// Adds the time since the last update.
    pub(super) fn advance(&mut self, elapsed_ms: u64) {
        self.deficit.advance(self.share, self.running, elapsed_ms);
    }
}

/// Deals minimums and divides slots among the jobs that run; each is given with its running tasks.
pub(super) fn divide_by_deficit(
    pools: &[PoolNode],
    jobs: &[JobFacts<'_>],
    standings: &mut [JobStanding],
    deficits: &mut [(PerKind<JobDeficit>, PerKind<u32>)],
    slots: PerKind<u32>,
) {
    for kind in Kind::ALL {
        let mut members = vec![Vec::new(); pools.len()];
        for (index, (job, standing)) in jobs.iter().zip(&*standings).enumerate() {
            deficits[index].0[kind].min = 0;
            if standing.is_admitted && job.is_running {
                members[job.pool].push(index);
            }
        }
        for (node, members) in pools.iter().zip(&members) {
            let claim = |&job: &usize| JobClaim {
                demand: standings[job].demand[kind],
                weight: standings[job].weight[kind],
                deficit: deficits[job].0[kind].deficit,
            };
            let claims: Vec<JobClaim> = members.iter().map(claim).collect();
            for (&job, min) in members.iter().zip(deal_minimum(&claims, node.settings.min[kind])) {
                deficits[job].0[kind].min = min;
            }
        }
        let running: Vec<usize> = members.into_iter().flatten().collect();
        let claim = |&job: &usize| (standings[job].weight[kind], deficits[job].0[kind].min);
        let claims: Vec<(PartsPerMillion, u32)> = running.iter().map(claim).collect();
        standings.iter_mut().for_each(|standing| standing.share[kind] = FairShare::default());
        for (&job, share) in running.iter().zip(job_shares(&claims, slots[kind])) {
            standings[job].share[kind] = share;
        }
        for ((deficit, running), standing) in deficits.iter_mut().zip(&*standings) {
            deficit[kind].share = standing.share[kind];
            deficit[kind].running = running[kind];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u64 = 1_000_000;

    fn job(demand: u32, weight_millionths: u64, deficit: i128) -> JobClaim {
        JobClaim { demand, weight: PartsPerMillion(weight_millionths), deficit: Deficit(deficit) }
    }

    #[test]
    fn the_example_of_the_proposal() {
        let shares = job_shares(&[(PartsPerMillion::ONE, 0); 3], 4);
        assert_eq!(shares, [FairShare(1_333_333); 3]);
        let after_a_second = |running| {
            let mut deficit = Deficit::default();
            deficit.advance(shares[0], running, 1_000);
            deficit.0 / i128::from(ONE)
        };
        assert_eq!((after_a_second(0), after_a_second(4)), (1_333, -2_666));
    }

    #[test]
    fn a_minimum_above_the_share_leaves_the_pot() {
        let jobs = [(PartsPerMillion(ONE), 6), (PartsPerMillion(ONE), 1), (PartsPerMillion(3 * ONE), 0)];
        assert_eq!(job_shares(&jobs, 10), [FairShare(6_000_000), FairShare(1_000_000), FairShare(3_000_000)]);
        assert_eq!(job_shares(&[(PartsPerMillion(0), 0)], 10), [FairShare(0)]);
        assert_eq!(job_shares(&[], 10), []);
    }

    #[test]
    fn a_minimum_is_dealt_by_weight_and_need() {
        assert_eq!(deal_minimum(&[job(9, ONE, 0), job(9, ONE, 0)], 4), [2, 2]);
        assert_eq!(deal_minimum(&[job(9, 3 * ONE, 0), job(9, ONE, 0)], 4), [3, 1]);
        assert_eq!(deal_minimum(&[job(1, ONE, 0), job(9, ONE, 0)], 6), [1, 5]);
        assert_eq!(deal_minimum(&[job(1, ONE, 0), job(2, ONE, 0)], 9), [1, 2]);
    }

    #[test]
    fn a_rest_goes_to_the_heaviest_and_then_to_the_largest_deficit() {
        assert_eq!(deal_minimum(&[job(9, ONE, 0), job(9, ONE, 5), job(9, ONE, 9)], 2), [0, 1, 1]);
        assert_eq!(deal_minimum(&[job(9, ONE, 9), job(9, ONE + 1, 0), job(9, ONE, 0)], 1), [0, 1, 0]);
        assert_eq!(deal_minimum(&[job(9, 0, 9)], 1), [0]);
    }
}
