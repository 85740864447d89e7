//! The pools that are open: settings, place among siblings, and what the last update found.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind};
use crate::scheduler::group::Group;
use crate::scheduler::policy::PolicyView;
use crate::scheduler::{AppId, GroupId};

use super::allocations::{Allocations, PoolNode, PoolSettings, with_ancestors};
use super::leftovers::LeftoverAttempts;
use super::pool_detail::{PoolDetail, StarvedTimes};
use super::rank::RankStanding;
use super::starvation::{Entitlement, StarvationClocks, StarvationTimeouts, WantedSlots};
use super::update::PoolStanding;

/// All open pools by index, each after the one that contains it; the index of a closed one is used again.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pools: Vec<TrackedPool>,
    nodes: Vec<PoolNode>,
    // Looked up, never iterated.
    by_group: FxHashMap<GroupId, usize>,
    by_name: BTreeMap<String, usize>,
    closed: BTreeSet<usize>,
    leftovers: LeftoverAttempts,
}

#[derive(Debug)]
struct TrackedPool {
    /// None: it is closed.
    group: Option<GroupId>,
    name: String,
    name_rank: i64,
    standing: PoolStanding,
    clocks: PerKind<StarvationClocks>,
}

/// Distance of ranks that leaves room for names between them.
const RANK_STEP: i64 = 1 << 32;

impl Pools {
    pub(super) fn open(&mut self, group: GroupId, name: &str, allocations: &Allocations, now_ms: u64) {
        let parent = allocations.pools.get(name).and_then(|pool| self.by_name.get(pool.parent.as_deref()?).copied());
        let node = PoolNode { parent, settings: allocations.settings(name) };
        let index = self.place(group, name, node, now_ms);
        self.by_name.insert(name.to_owned(), index);
        self.rank_name(index);
    }

    /// Adds the part of a pool that is for its own jobs, beside the pools in it.
    pub(super) fn open_own_part(&mut self, group: GroupId, parent: GroupId, now_ms: u64) {
        let Some(parent) = self.index(parent) else { return };
        let settings = PoolSettings { mode: self.nodes[parent].settings.mode, ..PoolSettings::default() };
        let name = self.pools[parent].name.clone();
        let index = self.place(group, &name, PoolNode { parent: Some(parent), settings }, now_ms);
        self.pools[index].name_rank = i64::MIN;
    }

    fn place(&mut self, group: GroupId, name: &str, node: PoolNode, now_ms: u64) -> usize {
        let clocks = StarvationClocks::new(now_ms);
        let pool = TrackedPool {
            group: Some(group),
            name: name.to_owned(),
            name_rank: 0,
            standing: PoolStanding::default(),
            clocks: PerKind::new(clocks, clocks),
        };
        let first = node.parent.map_or(0, |parent| parent + 1);
        let index = match self.closed.range(first..).next().copied() {
            Some(index) => {
                self.closed.remove(&index);
                (self.pools[index], self.nodes[index]) = (pool, node);
                index
            }
            None => {
                self.pools.push(pool);
                self.nodes.push(node);
                self.pools.len() - 1
            }
        };
        self.by_group.insert(group, index);
        index
    }

    pub(super) fn close(&mut self, group: GroupId) {
        let Some(index) = self.by_group.remove(&group) else { return };
        let pool = &mut self.pools[index];
        pool.group = None;
        pool.standing = PoolStanding::default();
        if self.by_name.get(&pool.name) == Some(&index) {
            self.by_name.remove(&pool.name);
        }
        self.nodes[index] = PoolNode::default();
        self.closed.insert(index);
    }

    /// Takes over the settings of an edited file whose tree is the same.
    pub(super) fn renew_settings(&mut self, allocations: &Allocations) {
        for &pool in self.by_name.values() {
            self.nodes[pool].settings = allocations.settings(&self.pools[pool].name);
        }
        for pool in 0..self.nodes.len() {
            // Own parts follow the pools that they are in.
            if let Some(parent) = self.nodes[pool].parent.filter(|_| self.pools[pool].name_rank == i64::MIN) {
                self.nodes[pool].settings.mode = self.nodes[parent].settings.mode;
            }
        }
    }

    /// Gives a new name its rank; where there is none left, all names get new ones.
    fn rank_name(&mut self, index: usize) {
        let name = &self.pools[index].name;
        let rank = |place: Option<(&String, &usize)>| place.map(|(_, pool)| self.pools[*pool].name_rank);
        let before = rank(self.by_name.range::<String, _>(..name).next_back());
        let after = rank(self.by_name.range::<String, _>(name..).nth(1));
        self.pools[index].name_rank = match (before, after) {
            (None, None) => 0,
            (Some(before), None) => before + RANK_STEP,
            (None, Some(after)) => after - RANK_STEP,
            (Some(before), Some(after)) if after - before > 1 => before + (after - before) / 2,
            (Some(_), Some(_)) => {
                for (rank, &pool) in (0..).zip(self.by_name.values()) {
                    self.pools[pool].name_rank = rank * RANK_STEP;
                }
                return;
            }
        };
    }

    pub(super) fn index(&self, group: GroupId) -> Option<usize> {
        self.by_group.get(&group).copied()
    }

    pub(super) fn group(&self, pool: usize) -> Option<GroupId> {
        self.pools[pool].group
    }

    pub(super) fn nodes(&self) -> &[PoolNode] {
        &self.nodes
    }

    /// The name of a pool; of an own part that of the pool.
    pub(super) fn name(&self, pool: usize) -> &str {
        &self.pools[pool].name
    }

    pub(super) fn name_rank(&self, pool: usize) -> i64 {
        self.pools[pool].name_rank
    }

    pub(super) fn path(&self, pool: usize) -> impl Iterator<Item = (usize, GroupId, &PoolNode)> {
        with_ancestors(&self.nodes, pool).filter_map(|pool| Some((pool, self.pools[pool].group?, &self.nodes[pool])))
    }

    pub(super) fn running(&self, pool: usize, group: &Group) -> PerKind<u32> {
        self.leftovers.count_in(pool, group.running.slots())
    }

    pub(super) fn running_of_all(&self, kind: Kind, running: u64) -> u64 {
        self.leftovers.count(kind, running)
    }

    /// A job of a pool has ended with so many attempts, which count until [`Self::forget_job`].
    pub(super) fn leave_over(&mut self, app: AppId, pool: usize, running: PerKind<u32>) {
        self.leftovers.add(app, with_ancestors(&self.nodes, pool).collect(), running);
    }

    pub(super) fn forget_job(&mut self, app: AppId) {
        self.leftovers.forget(app);
    }

    pub(super) fn renew_leftover(&mut self, app: AppId, held: Option<PerKind<u32>>) {
        self.leftovers.set_held(app, held.unwrap_or_default());
    }

    pub(super) fn standing(&self, pool: usize, kind: Kind, running: u32) -> RankStanding {
        let settings = &self.nodes[pool].settings;
        let demand = self.pools[pool].standing.demand[kind];
        RankStanding { running, demand, min: settings.min[kind], weight: settings.weight }
    }

    pub(super) fn last_standing(&self, pool: usize) -> PoolStanding {
        self.pools[pool].standing
    }

    /// Its numbers at this moment, for pages; with its clocks if pools preempt.
    pub(super) fn detail(&self, pool: usize, preempts: bool, now_ms: u64) -> PoolDetail {
        let TrackedPool { standing: PoolStanding { demand, share }, clocks, .. } = self.pools[pool];
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

    /// Adds the demand of a job that starts between two updates, as far as the maximums of its pools let it.
    pub(super) fn add_demand(&mut self, pool: usize, demand: PerKind<u32>) {
        let path: Vec<usize> = with_ancestors(&self.nodes, pool).collect();
        for kind in Kind::ALL {
            let mut more = demand[kind];
            for &pool in &path {
                let before = self.pools[pool].standing.demand[kind];
                let max = self.nodes[pool].settings.max[kind].unwrap_or(u32::MAX);
                let after = before.saturating_add(more).min(max.max(before));
                self.pools[pool].standing.demand[kind] = after;
                more = after - before;
            }
        }
    }

    pub(super) fn set_standings(&mut self, standings: Vec<PoolStanding>) {
        self.pools.iter_mut().zip(standings).for_each(|(pool, standing)| pool.standing = standing);
    }

    /// Sets the clocks of all pools by what they hold now.
    pub(super) fn update_clocks(&mut self, view: &PolicyView<'_>, now_ms: u64) {
        for pool in 0..self.pools.len() {
            let Some(group) = self.pools[pool].group.and_then(|group| view.group(group)) else { continue };
            let running = self.running(pool, group);
            for kind in Kind::ALL {
                let entitlement = self.entitlement(pool, kind, running[kind]);
                self.pools[pool].clocks[kind].update(&entitlement, now_ms);
            }
        }
    }

    /// Whether a pool has had less maps than it is due for longer than its timeouts.
    pub(super) fn is_starving(&self, pool: usize, allocations: &Allocations, now_ms: u64) -> bool {
        self.pools[pool].clocks.map.is_starving(self.timeouts(pool, allocations), now_ms)
    }

    pub(super) fn wanted(
        &self,
        pool: usize,
        kind: Kind,
        running: u32,
        allocations: &Allocations,
        now_ms: u64,
    ) -> WantedSlots {
        let entitlement = self.entitlement(pool, kind, running);
        self.pools[pool].clocks[kind].wanted(&entitlement, self.timeouts(pool, allocations), now_ms)
    }

    fn timeouts(&self, pool: usize, allocations: &Allocations) -> StarvationTimeouts {
        StarvationTimeouts {
            min_share_ms: self.nodes[pool].settings.min_share_timeout_ms,
            fair_share_ms: allocations.fair_share_timeout_ms,
        }
    }

    fn entitlement(&self, pool: usize, kind: Kind, running: u32) -> Entitlement {
        let PoolStanding { demand, share } = self.pools[pool].standing;
        Entitlement { running, demand: demand[kind], min: self.nodes[pool].settings.min[kind], share: share[kind] }
    }
}
