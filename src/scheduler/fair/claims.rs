//! What pools claim in a round of preemption (1.2.1 `FairScheduler.preemptTasksIfNecessary`).

use crate::model::Kind;
use crate::scheduler::view::View;

use super::policy::Fair;
use super::pool_claims::{PoolClaim, PoolClaims};

impl Fair {
    pub(super) fn claims(&self, kind: Kind, now_ms: u64, view: &View<'_>) -> PoolClaims {
        let nodes = self.pools.nodes();
        let mut claims = PoolClaims::default();
        let mut of_children = vec![0_u32; nodes.len()];
        for pool in (0..nodes.len()).rev() {
            let Some(group) = self.pools.group(pool) else { continue };
            let running = view.group(group).map_or(0, |group| self.pools.running(pool, group)[kind]);
            let wanted = self.pools.wanted(pool, kind, running, &self.allocations, now_ms);
            // A pool and the pools in it may starve for the same slots.
            let slots = wanted.slots().max(of_children[pool]);
            match nodes[pool].parent {
                Some(parent) => of_children[parent] = of_children[parent].saturating_add(slots),
                None => claims.wanted = claims.wanted.saturating_add(slots),
            }
            let parent = nodes[pool].parent.and_then(|parent| self.pools.group(parent));
            let share = self.pools.last_standing(pool).share[kind];
            claims.pools.push(PoolClaim { group, parent, name: self.pools.name(pool).to_owned(), share, wanted });
        }
        claims.pools.reverse();
        claims
    }
}
