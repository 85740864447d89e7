//! Which jobs may run: limits on the running jobs of users and pools (1.2.1 `FairScheduler.updateRunnability`).

use rustc_hash::FxHashMap;

use super::allocations::{Allocations, PoolNode, with_ancestors};

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
