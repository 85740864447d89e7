//! The periodic update: which jobs may run, what they demand and weigh, and the fair shares of jobs and pools (1.2.1
//! `FairScheduler.update`).
//!
//! A heartbeat uses running counts of its own moment beside demands and weights of the last update.

use rustc_hash::FxHashMap;

use crate::model::{Kind, PartsPerMillion, PerKind};

use super::allocations::{Allocations, PoolNode, SchedulingMode, with_ancestors};
use super::share::{FairShare, ShareClaim, fair_shares};
use super::weight::WeightRule;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunningLimit {
    OfUser {
        limit: u32,
    },
    /// That of its pool, or of one around it.
    OfPool {
        pool: usize,
        limit: u32,
    },
}

/// Counts of one round over all jobs, which are to be asked for in order of priority, start and id.
#[derive(Debug)]
pub(crate) struct RunningLimits<'a> {
    allocations: &'a Allocations,
    pools: &'a [PoolNode],
    // Looked up, never iterated.
    by_user: FxHashMap<&'a str, u32>,
    by_pool: Vec<u32>,
}

impl<'a> RunningLimits<'a> {
    /// No job counts yet.
    pub(crate) fn new(allocations: &'a Allocations, pools: &'a [PoolNode]) -> Self {
        Self { allocations, pools, by_user: FxHashMap::default(), by_pool: vec![0; pools.len()] }
    }

    /// Admits one more job of the user, which is set up or waits for that, to the pool. It counts if so; a job that one
    /// limit keeps out counts against no other.
    pub(crate) fn admit(&mut self, user: &'a str, pool: usize) -> Result<(), RunningLimit> {
        let reached = |count: u32, max: Option<u32>| max.filter(|max| count >= *max);
        let of_user = self.by_user.entry(user).or_default();
        if let Some(limit) = reached(*of_user, self.allocations.max_running_jobs_of_user(user)) {
            return Err(RunningLimit::OfUser { limit });
        }
        for pool in with_ancestors(self.pools, pool) {
            if let Some(limit) = reached(self.by_pool[pool], self.pools[pool].settings.max_running_jobs) {
                return Err(RunningLimit::OfPool { pool, limit });
            }
        }
        *of_user += 1;
        with_ancestors(self.pools, pool).for_each(|pool| self.by_pool[pool] += 1);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct JobFacts<'a> {
    /// Index of its pool, one without children.
    pub(crate) pool: usize,
    pub(crate) user: &'a str,
    pub(crate) priority: u8,
    pub(crate) age_ms: u64,
    /// Whether it is set up; else it waits for that.
    pub(crate) is_running: bool,
    /// Whether no node could run it: it takes no place among the running jobs.
    pub(crate) is_stuck: bool,
    /// Whether it is paused: it is not admitted, and takes no such place once none of its attempts runs.
    pub(crate) is_paused: bool,
    /// Slots that it could use: running attempts, waiting tasks and attempts that may be started beside a running one.
    pub(crate) could_use: PerKind<u32>,
    /// Most slots (`mapred.fairscheduler.job.max.maps`, `.reduces`); none = no limit.
    pub(crate) max: PerKind<Option<u32>>,
}

/// A job after an update. Default: one that may not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobStanding {
    pub(crate) is_admitted: bool,
    /// Whether it is admitted and was set up: it gets tasks.
    pub(crate) is_runnable: bool,
    /// The limit that does not.
    pub(crate) refused_by: Option<RunningLimit>,
    pub(crate) demand: PerKind<u32>,
    pub(crate) weight: PerKind<PartsPerMillion>,
    /// Its fair share; zero in a FIFO pool.
    pub(crate) share: PerKind<FairShare>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolStanding {
    /// Demand of its jobs, up to its maximum.
    pub(crate) demand: PerKind<u32>,
    pub(crate) share: PerKind<FairShare>,
}

/// All jobs and pools after an update, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) jobs: Vec<JobStanding>,
    pub(crate) pools: Vec<PoolStanding>,
}

impl Update {
    /// Computes all of it. `jobs` are in order of priority, start and id; `slots` are those of the cluster.
    pub(crate) fn compute(
        allocations: &Allocations,
        pools: &[PoolNode],
        jobs: &[JobFacts<'_>],
        rule: &WeightRule,
        slots: PerKind<u32>,
    ) -> Self {
        let mut limits = RunningLimits::new(allocations, pools);
        let after = jobs.iter().map(|job| {
            let refused_by = if job.takes_a_place() { limits.admit(job.user, job.pool).err() } else { None };
            job.standing(refused_by, rule)
        });
        let jobs_after = after.collect();
        let mut update = Self { jobs: jobs_after, pools: vec![PoolStanding::default(); pools.len()] };
        let (members, children) = (members(pools, jobs), children(pools));
        for kind in Kind::ALL {
            update.sum_demands(kind, pools, jobs);
            update.divide(kind, pools, &children.top, FairShare::of_slots(slots[kind]));
            for (pool, node) in pools.iter().enumerate() {
                let share = update.pools[pool].share[kind];
                update.divide(kind, pools, &children.of_pool[pool], share);
                if node.settings.mode == SchedulingMode::Fair {
                    update.divide_among_jobs(kind, &members[pool], share);
                }
            }
        }
        update
    }

    fn sum_demands(&mut self, kind: Kind, pools: &[PoolNode], jobs: &[JobFacts<'_>]) {
        for (job, standing) in jobs.iter().zip(&self.jobs) {
            let demand = &mut self.pools[job.pool].demand[kind];
            *demand = demand.saturating_add(standing.demand[kind]);
        }
        for (pool, node) in pools.iter().enumerate().rev() {
            let demand = self.pools[pool].demand[kind].min(node.settings.max[kind].unwrap_or(u32::MAX));
            self.pools[pool].demand[kind] = demand;
            if let Some(parent) = node.parent {
                let of_parent = &mut self.pools[parent].demand[kind];
                *of_parent = of_parent.saturating_add(demand);
            }
        }
    }

    fn divide(&mut self, kind: Kind, pools: &[PoolNode], siblings: &[usize], total: FairShare) {
        let claim = |&pool: &usize| {
            let settings = &pools[pool].settings;
            ShareClaim { demand: self.pools[pool].demand[kind], min: settings.min[kind], weight: settings.weight }
        };
        let claims: Vec<ShareClaim> = siblings.iter().map(claim).collect();
        for (&pool, share) in siblings.iter().zip(fair_shares(&claims, total)) {
            self.pools[pool].share[kind] = share;
        }
    }

    fn divide_among_jobs(&mut self, kind: Kind, members: &[usize], total: FairShare) {
        let claim = |&job: &usize| {
            let JobStanding { demand, weight, .. } = self.jobs[job];
            ShareClaim { demand: demand[kind], min: 0, weight: weight[kind] }
        };
        let claims: Vec<ShareClaim> = members.iter().map(claim).collect();
        for (&job, share) in members.iter().zip(fair_shares(&claims, total)) {
            self.jobs[job].share[kind] = share;
        }
    }
}

/// Indices of pools below each pool and at the top.
struct Children {
    top: Vec<usize>,
    of_pool: Vec<Vec<usize>>,
}

fn children(pools: &[PoolNode]) -> Children {
    let mut children = Children { top: Vec::new(), of_pool: vec![Vec::new(); pools.len()] };
    for (pool, node) in pools.iter().enumerate() {
        match node.parent {
            Some(parent) => children.of_pool[parent].push(pool),
            None => children.top.push(pool),
        }
    }
    children
}

fn members(pools: &[PoolNode], jobs: &[JobFacts<'_>]) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); pools.len()];
    jobs.iter().enumerate().for_each(|(index, job)| members[job.pool].push(index));
    members
}

impl JobFacts<'_> {
    /// Whether it counts as running for limits. One that is paused could use no more than it holds.
    fn takes_a_place(&self) -> bool {
        !self.is_stuck && (!self.is_paused || self.could_use != PerKind::default())
    }

    pub(super) fn standing(&self, refused_by: Option<RunningLimit>, rule: &WeightRule) -> JobStanding {
        let is_admitted = refused_by.is_none() && !self.is_paused;
        let one = PerKind::new(PartsPerMillion::ONE, PartsPerMillion::ONE);
        if !is_admitted || !self.is_running {
            return JobStanding { is_admitted, refused_by, weight: one, ..JobStanding::default() };
        }
        let demand = |kind: Kind| self.could_use[kind].min(self.max[kind].unwrap_or(u32::MAX));
        let demand = PerKind::new(demand(Kind::Map), demand(Kind::Reduce));
        let weight = |kind: Kind| rule.weight(demand[kind], self.priority, self.age_ms);
        let weight = PerKind::new(weight(Kind::Map), weight(Kind::Reduce));
        JobStanding { is_admitted, is_runnable: true, refused_by, demand, weight, share: PerKind::default() }
    }
}

#[cfg(test)]
#[path = "tests/update.rs"]
mod tests;
