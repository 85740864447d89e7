//! The part of the periodic update that the order by deficit needs: minimums and shares of jobs instead of pools.

use crate::model::{Kind, PartsPerMillion, PerKind};

use super::deficit::{Deficit, JobClaim, deal_minimum, job_shares};
use super::pool_tree::PoolNode;
use super::share::Share;
use super::update::{JobFacts, JobStanding};

/// What a job has under the order by deficit, of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JobDeficit {
    pub(super) deficit: Deficit,
    /// Its part of its pool's minimum.
    pub(super) min: u32,
    /// Its fair share at the last update.
    share: Share,
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
        standings.iter_mut().for_each(|standing| standing.share[kind] = Share::default());
        for (&job, share) in running.iter().zip(job_shares(&claims, slots[kind])) {
            standings[job].share[kind] = share;
        }
        for ((deficit, running), standing) in deficits.iter_mut().zip(&*standings) {
            deficit[kind].share = standing.share[kind];
            deficit[kind].running = running[kind];
        }
    }
}
