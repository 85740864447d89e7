//! The pools that exist: settings, place among siblings, and what the last update found.

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind};
use crate::scheduler::GroupId;

use super::allocations::Allocations;
use super::pool_detail::{PoolDetail, StarvedTimes};
use super::pool_tree::{PoolNode, with_ancestors};
use super::rank::Standing;
use super::starvation::{Entitlement, StarvationClocks, StarvationTimeouts};
use super::update::PoolStanding;

/// All pools, each after the one that contains it. None is ever removed.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pools: Vec<Pool>,
    nodes: Vec<PoolNode>,
    // Looked up, never iterated.
    by_group: FxHashMap<GroupId, usize>,
    by_name: FxHashMap<String, usize>,
}

#[derive(Debug)]
struct Pool {
    group: GroupId,
    name: String,
    /// Place of the name among all names.
    name_rank: i64,
    standing: PoolStanding,
    clocks: PerKind<StarvationClocks>,
}

// === impl Pools ===

impl Pools {
    /// Adds the pool of a group that was opened now, or finds the one of that name, whose group was closed.
    pub(super) fn open(&mut self, group: GroupId, name: &str, allocations: &Allocations, now_ms: u64) {
        if let Some(&index) = self.by_name.get(name) {
            self.pools[index].group = group;
            self.by_group.insert(group, index);
            return;
        }
        let parent = allocations.pools.get(name).and_then(|pool| self.by_name.get(pool.parent.as_deref()?).copied());
        let (index, clocks) = (self.pools.len(), StarvationClocks::new(now_ms));
        self.nodes.push(PoolNode { parent, settings: allocations.settings(name) });
        self.pools.push(Pool {
            group,
            name: name.to_owned(),
            name_rank: 0,
            standing: PoolStanding::default(),
            clocks: PerKind::new(clocks, clocks),
        });
        self.by_group.insert(group, index);
        self.by_name.insert(name.to_owned(), index);
        self.rank_names();
    }

    fn rank_names(&mut self) {
        let mut by_name: Vec<usize> = (0..self.pools.len()).collect();
        by_name.sort_unstable_by(|&left, &right| self.pools[left].name.cmp(&self.pools[right].name));
        for (name_rank, pool) in (0..).zip(by_name) {
            self.pools[pool].name_rank = name_rank;
        }
    }

    pub(super) fn index(&self, group: GroupId) -> Option<usize> {
        self.by_group.get(&group).copied()
    }

    pub(super) fn nodes(&self) -> &[PoolNode] {
        &self.nodes
    }

    pub(super) fn name_rank(&self, pool: usize) -> i64 {
        self.pools[pool].name_rank
    }

    /// The pool and those that contain it, with their groups.
    pub(super) fn path(&self, pool: usize) -> impl Iterator<Item = (GroupId, &PoolNode)> {
        with_ancestors(&self.nodes, pool).map(|pool| (self.pools[pool].group, &self.nodes[pool]))
    }

    /// The place of a pool with so many running tasks.
    pub(super) fn standing(&self, pool: usize, kind: Kind, running: u32) -> Standing {
        let settings = &self.nodes[pool].settings;
        let demand = self.pools[pool].standing.demand[kind];
        Standing { running, demand, min: settings.min[kind], weight: settings.weight }
    }

    /// The name of a pool.
    pub(super) fn name(&self, pool: usize) -> &str {
        &self.pools[pool].name
    }

    /// Its numbers at this moment, for pages; with its clocks if pools preempt.
    pub(super) fn detail(&self, pool: usize, preempts: bool, now_ms: u64) -> PoolDetail {
        let Pool { standing: PoolStanding { demand, share }, clocks, .. } = self.pools[pool];
        let starved = |kind: Kind| StarvedTimes {
            since_min_ms: clocks[kind].since_min_ms(now_ms),
            since_half_share_ms: clocks[kind].since_half_share_ms(now_ms),
        };
        let starved = preempts.then(|| PerKind::new(starved(Kind::Map), starved(Kind::Reduce)));
        PoolDetail { settings: self.nodes[pool].settings, demand, share, starved }
    }

    /// Demand of all pools at the last update.
    pub(super) fn total_demand(&self) -> PerKind<u64> {
        let top = || self.nodes.iter().zip(&self.pools).filter(|(node, _)| node.parent.is_none());
        let sum = |kind: Kind| top().map(|(_, pool)| u64::from(pool.standing.demand[kind])).sum();
        PerKind::new(sum(Kind::Map), sum(Kind::Reduce))
    }

    /// Takes over the standings of an update.
    pub(super) fn set_standings(&mut self, standings: Vec<PoolStanding>) {
        self.pools.iter_mut().zip(standings).for_each(|(pool, standing)| pool.standing = standing);
    }

    /// Sets the clocks of all pools by what they hold now.
    pub(super) fn update_clocks(&mut self, running: impl Fn(GroupId) -> PerKind<u32>, now_ms: u64) {
        for pool in 0..self.pools.len() {
            let running = running(self.pools[pool].group);
            for kind in Kind::ALL {
                let entitlement = self.entitlement(pool, kind, running[kind]);
                self.pools[pool].clocks[kind].update(&entitlement, now_ms);
            }
        }
    }

    /// Whether a pool has had less maps than it is due for longer than its timeouts.
    pub(super) fn is_starving(&self, pool: usize, allocations: &Allocations, now_ms: u64) -> bool {
        let timeouts = StarvationTimeouts {
            min_share_ms: self.nodes[pool].settings.min_share_timeout_ms,
            fair_share_ms: allocations.fair_share_timeout_ms,
        };
        self.pools[pool].clocks.map.is_starving(timeouts, now_ms)
    }

    fn entitlement(&self, pool: usize, kind: Kind, running: u32) -> Entitlement {
        let PoolStanding { demand, share } = self.pools[pool].standing;
        Entitlement { running, demand: demand[kind], min: self.nodes[pool].settings.min[kind], share: share[kind] }
    }
}
