//! The scheduler's state: groups, nodes, apps. Demand and usage are in `demand`, grants in `assign`.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Now, PerKind, PerPool, Pool, TrackerId, Violations, lower, raise};

use super::app::App;
#[cfg(test)]
use super::capacity::CapacityConfig;
use super::change::{Change, Moves, UsageChange};
use super::choosy_apps::ChoosyApps;
use super::constraint::{AppDeadline, ConstraintConfig, JobPlan, TimedWork, WhatIf};
use super::container::state::GrantingState;
use super::fair::allocations::Allocations;
#[cfg(test)]
use super::fair::options::FairOptions;
use super::group::Groups;
use super::key::{FirstApp, GroupKey};
use super::node::{EndedReservation, Node};
use super::order::{AppOrder, GroupTree};
use super::policy::{AppDetail, AppRefusal, LaunchRules, NewApp, Policy, PolicyView};
use super::task_nodes::{TaskNode, TaskNodes};
use super::{
    Allocation, AppId, AppSize, AppSpec, FifoOptions, GroupBusy, GroupId, HostId, PolicyOptions, Topology, Totals,
};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddAppError {
    #[error("{app}: {group} is not open")]
    GroupNotOpen { app: AppId, group: GroupId },
    #[error("{0} exists already")]
    Exists(AppId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupUsage<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: GroupId,
    pub(crate) held: PerKind<u32>,
    /// Tasks neither done nor running, by [`Scheduler::set_pending`].
    pub(crate) pending: u64,
}

/// Grants slots under one policy at a time.
///
/// Unknown ids have no effect: an attempt may outlive its node.
pub struct Scheduler {
    pub(super) policy: Box<dyn Policy>,
    pub(super) topology: Topology,
    pub(super) groups: Groups,
    // Maps are iterated only for sums, so their order cannot matter.
    pub(super) apps: FxHashMap<AppId, App>,
    pub(super) nodes: FxHashMap<TrackerId, Node>,
    pub(super) nodes_by_host: FxHashMap<HostId, u32>,
    last_node: TrackerId,
    pub(super) to_begin: BTreeSet<AppId>,
    pub(super) orders: PerPool<AppOrder>,
    /// Apps that a limit keeps out of the order, by the group below the root that they are in.
    pub(super) parked_apps: PerPool<BTreeSet<(GroupId, AppId)>>,
    pub(super) totals: Totals,
    pub(super) containers: GrantingState,
    pub(super) task_nodes: TaskNodes,
    pub(super) choosy: ChoosyApps,
    /// When it is worked out again which apps no node could run, ms on the monotonic clock.
    pub(super) fits_due_mono_ms: u64,
    /// Requests of the policy; empty between two calls.
    pub(super) moves: Moves,
    pub(super) ended_reservations: Vec<EndedReservation>,
    /// Changes of usage since they were last taken; none: they are not logged.
    pub(super) usage_log: Option<Vec<UsageChange>>,
    pub(super) violations: Violations,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("policy", &self.policy).field("totals", &self.totals).finish_non_exhaustive()
    }
}

pub(super) fn orders_for(policy: &dyn Policy) -> PerPool<AppOrder> {
    let order = || match policy.sorts_at_fixed_moments() {
        true => AppOrder::sorted_at_fixed_moments(),
        false => AppOrder::default(),
    };
    PerPool::new(order(), order(), order())
}

/// The tree of groups with their keys for one pool, as the policy computes them.
pub(super) struct KeyedGroups<'a> {
    pub(super) policy: &'a dyn Policy,
    pub(super) groups: &'a Groups,
    pub(super) pool: Pool,
}

impl GroupTree for KeyedGroups<'_> {
    fn parent_of(&self, group: GroupId) -> Option<GroupId> {
        self.groups.get(group)?.parent
    }

    /// The root has no siblings, so any key does.
    fn key_of(&self, id: GroupId, first: FirstApp) -> GroupKey {
        self.groups.get(id).map_or(GroupKey::default(), |group| self.policy.group_key(id, group, self.pool, first))
    }
}

impl Scheduler {
    pub fn new(options: PolicyOptions) -> Self {
        Self::with_policy(options.build())
    }

    pub fn fifo(options: FifoOptions) -> Self {
        Self::new(PolicyOptions::Fifo(options))
    }

    #[cfg(test)]
    pub(crate) fn capacity(config: CapacityConfig, is_compatible: bool) -> Self {
        Self::new(PolicyOptions::Capacity { config: Arc::new(config), is_compatible })
    }

    #[cfg(test)]
    pub(crate) fn fair(options: FairOptions, allocations: Allocations) -> Self {
        Self::new(PolicyOptions::Fair { options, allocations: Arc::new(allocations) })
    }

    pub fn constraint(config: ConstraintConfig) -> Self {
        Self::new(PolicyOptions::Constraint(config))
    }

    pub fn dynamic() -> Self {
        Self::new(PolicyOptions::Dynamic)
    }

    pub(super) fn with_policy(policy: Box<dyn Policy>) -> Self {
        Self {
            orders: orders_for(&*policy),
            policy,
            topology: Topology::default(),
            groups: Groups::default(),
            apps: FxHashMap::default(),
            nodes: FxHashMap::default(),
            nodes_by_host: FxHashMap::default(),
            last_node: TrackerId::NONE,
            to_begin: BTreeSet::new(),
            parked_apps: PerPool::default(),
            totals: Totals::default(),
            containers: GrantingState::default(),
            task_nodes: TaskNodes::default(),
            choosy: ChoosyApps::default(),
            fits_due_mono_ms: 0,
            moves: Moves::default(),
            ended_reservations: Vec::new(),
            usage_log: None,
            violations: Violations::default(),
        }
    }

    pub(crate) fn launch_rules(&self) -> LaunchRules {
        self.policy.launch_rules()
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Opens a group below the root, or finds the one that is open under this name.
    pub fn open_group(&mut self, name: &str) -> GroupId {
        if let Some(group) = self.groups.by_name(name) {
            self.groups.set_temporary(group, false);
            return group;
        }
        let group = self.groups.open(name);
        self.notify(&Change::GroupOpened(group));
        group
    }

    /// Replaces the pools of the Fair scheduler, none of which moves in the tree. No effect under another policy.
    pub(crate) fn set_pools(&mut self, allocations: &Arc<Allocations>) {
        self.policy.set_pools(allocations);
        self.moves.all = true;
        self.moves.wake_below.push(GroupId::ROOT);
        self.carry_out_moves();
    }

    /// Opens a group in another one, or finds the one that is open under this name, wherever it is. None when the parent is not open.
    pub(crate) fn open_group_under(&mut self, parent: GroupId, name: &str) -> Option<GroupId> {
        if let Some(group) = self.groups.by_name(name) {
            return Some(group);
        }
        let group = self.groups.open_under(parent, name)?;
        self.notify(&Change::GroupOpened(group));
        Some(group)
    }

    /// Closes a group and all groups in it.
    pub(crate) fn close_group(&mut self, group: GroupId) -> Result<(), GroupBusy> {
        self.groups.close(group)?.into_iter().for_each(|closed| self.forget_group(closed));
        Ok(())
    }

    pub(super) fn forget_group(&mut self, group: GroupId) {
        Pool::ALL.into_iter().for_each(|pool| self.orders[pool].forget(group));
        self.notify(&Change::GroupClosed(group));
    }

    pub(crate) fn group(&self, name: &str) -> Option<GroupId> {
        self.groups.by_name(name)
    }

    /// Whether an app is in the group, also a removed one that still holds slots.
    pub(crate) fn has_apps(&self, group: GroupId) -> bool {
        self.groups.app_count(group) > 0
    }

    pub(crate) fn group_name(&self, group: GroupId) -> Option<&str> {
        self.groups.name(group)
    }

    /// Sets what each group has bought; a group that is not named has bought nothing. No effect unless the policy is the market.
    pub fn set_allocations(&mut self, allocations: &[(GroupId, Allocation)]) {
        let changed = self.policy.set_allocations(allocations);
        // Sorting all again is cheaper than moving many one by one.
        if changed.len() > allocations.len() / 8 {
            self.rekey_groups();
            return;
        }
        for group in changed {
            Pool::ALL.into_iter().for_each(|pool| self.rekey(group, pool));
        }
    }

    pub(crate) fn group_usages(&self) -> impl Iterator<Item = GroupUsage<'_>> {
        self.groups.iter().map(|(name, id, group)| GroupUsage {
            name,
            id,
            held: group.held.slots(),
            pending: group.pending.map + group.pending.reduce,
        })
    }

    pub(crate) fn usage(&self, group: GroupId) -> PerKind<u32> {
        self.groups.held(group).slots()
    }

    pub(crate) fn waiting(&self, group: GroupId) -> PerKind<u32> {
        self.groups.waiting(group).slots().narrow()
    }

    /// Adds a node. Its slots count at once; it gets tasks when a [`NodeOffer`](super::NodeOffer) names it.
    pub fn add_node(&mut self, host: HostId, slots: PerKind<u32>) -> TrackerId {
        let mut id = self.last_node.next();
        while id == TrackerId::NONE || self.nodes.contains_key(&id) {
            id = id.next();
        }
        self.last_node = id;
        let mut node = Node::new(host);
        raise(&mut self.totals.nodes, 1_u32, &mut self.violations);
        node.set_slots(slots, &mut self.totals, &mut self.violations);
        self.nodes.insert(id, node);
        self.task_nodes.set(id, TaskNode { host, slots, is_streaming_only: false, room_bytes: None });
        self.count_node_up(host);
        self.notify(&Change::ClusterSlots);
        id
    }

    /// Sets the slots of a node. Zero keeps a blacklisted node out of the load that is spread.
    pub(crate) fn set_slots(&mut self, id: TrackerId, slots: PerKind<u32>) {
        let Some(node) = self.nodes.get_mut(&id).filter(|node| node.slots != slots) else { return };
        node.set_slots(slots, &mut self.totals, &mut self.violations);
        self.task_nodes.change(id, |node| node.slots = slots);
        for kind in Kind::ALL {
            if slots[kind] == 0 {
                self.end_reservation(id, kind);
            }
        }
        self.count_bag(id);
        self.notify(&Change::ClusterSlots);
    }

    /// Sets the host of a node after its host moved to another rack and got another id.
    pub(crate) fn move_node(&mut self, id: TrackerId, host: HostId) {
        if let Some(node) = self.nodes.get_mut(&id) {
            let before = std::mem::replace(&mut node.host, host);
            self.task_nodes.change(id, |node| node.host = host);
            self.count_node_down(before);
            self.count_node_up(host);
            self.update_room(id);
        }
    }

    /// Removes a node. Its attempts count as running until each is removed by [`Self::remove_running`].
    pub(crate) fn remove_node(&mut self, id: TrackerId) {
        self.end_reservations_of_node(id);
        self.forget_room(id);
        self.task_nodes.remove(id);
        if let Some(node) = self.nodes.remove(&id) {
            node.subtract_from(&mut self.totals, &mut self.violations);
            self.count_node_down(node.host);
            self.notify(&Change::ClusterSlots);
        }
        self.notify(&Change::NodeRemoved(id));
    }

    pub(crate) fn free_slots_on(&self, id: TrackerId, kind: Kind) -> u32 {
        self.nodes.get(&id).map_or(0, |node| node.slots[kind].saturating_sub(node.in_use(kind)))
    }

    /// Setup or cleanup attempts take slots, charged to no app and no group.
    pub(crate) fn occupy_slots(&mut self, id: TrackerId, kind: Kind, slots: u32) {
        if let Some(node) = self.nodes.get_mut(&id) {
            raise(&mut node.occupied[kind], slots, &mut self.violations);
            node.say_more(slots);
            raise(&mut self.totals.occupied[kind], slots, &mut self.violations);
            if node.bag.is_some() {
                self.end_setup_earmark(id);
                self.update_room(id);
            }
        }
    }

    /// Setup or cleanup attempts release their slots.
    pub(crate) fn release_slots(&mut self, id: TrackerId, kind: Kind, slots: u32) {
        if let Some(node) = self.nodes.get_mut(&id) {
            lower(&mut node.occupied[kind], slots, &mut self.violations);
            lower(&mut self.totals.occupied[kind], slots, &mut self.violations);
            if node.bag.is_some() {
                self.update_room(id);
            }
        }
    }

    /// Sums over the cluster.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// [`Self::totals`], computed from all nodes and apps: for tests and checks, since it is slow.
    pub(crate) fn recount(&self) -> Totals {
        let mut totals = Totals::default();
        // Any order gives the same sum.
        self.nodes.values().for_each(|node| node.add_to(&mut totals, self.slot_size()));
        totals.hosts = self.nodes.values().map(|node| node.host).collect::<BTreeSet<HostId>>().len() as u64;
        for app in self.apps.values() {
            for pool in Pool::ALL {
                totals.running[pool] += u64::from(app.running[pool]);
                totals.held[pool] += u64::from(app.held[pool]);
                totals.waiting[pool] += app.waiting(pool);
            }
        }
        totals
    }

    /// Whether the policy accepts an app now. Apps that were accepted before a restart are added without this check.
    ///
    /// # Errors
    /// The limit that refuses it.
    pub fn check_new_app(&self, app: &NewApp<'_>) -> Result<Option<JobPlan>, AppRefusal> {
        self.policy.check_new_app(app, &self.view())
    }

    /// What the policy may see.
    pub(super) fn view(&self) -> PolicyView<'_> {
        let Self { groups, totals, apps, nodes, .. } = self;
        PolicyView { groups, totals, apps, nodes }
    }

    /// Adds an app, without demand. It waits for [`Self::begin_apps`] or [`Self::resume_app`].
    ///
    /// # Errors
    /// When its id is taken or its group is not open; nothing has changed then.
    pub fn add_app(&mut self, spec: AppSpec) -> Result<(), AddAppError> {
        if self.apps.contains_key(&spec.id) {
            return Err(AddAppError::Exists(spec.id));
        }
        let (id, group) = (spec.id, spec.group);
        if self.groups.get(group).is_none() {
            return Err(AddAppError::GroupNotOpen { app: id, group });
        }
        self.to_begin.insert(id);
        self.apps.insert(id, App::new(spec));
        self.list_if_choosy(id);
        self.enter_home(id);
        self.notify(&Change::AppAdded(id));
        Ok(())
    }

    /// Changes the priority of an app: 0 (`VERY_HIGH`) to 4 (`VERY_LOW`).
    pub(crate) fn set_priority(&mut self, id: AppId, priority: u8) {
        let before = self.apps.get_mut(&id).map(|app| std::mem::replace(&mut app.spec.priority, priority));
        self.notify(&Change::Priority { app: id, before: before.unwrap_or(priority), priority });
        self.rekey_app(id);
    }

    /// Sets the slots that tasks of an app hold if granted from now on; running attempts keep theirs.
    pub(crate) fn set_slots_per_task(&mut self, id: AppId, slots: PerKind<NonZeroU32>) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.spec.slots_per_task = slots;
        }
        self.list_if_choosy(id);
        [Pool::Map, Pool::Reduce].into_iter().for_each(|pool| self.update_slots_of_next(id, pool));
    }

    /// Sets the part of the trackers that must pass an app over before it gets a far map, millionths
    /// (`mapreduce.job.locality.wait.factor`); 1 is the default, by which the policy decides alone.
    pub(crate) fn set_locality_wait(&mut self, id: AppId, millionths: u64) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.locality_wait_millionths = millionths;
        }
    }

    /// Sets most attempts of an app at a time, a limit that the Fair scheduler keeps; none = no limit.
    pub(crate) fn set_max_running(&mut self, id: AppId, max_running: PerKind<Option<u32>>) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.max_running = max_running;
        }
    }

    /// Sets the deadline of an app, which the constraint scheduler keeps; none = none.
    pub fn set_deadline(&mut self, id: AppId, deadline: Option<AppDeadline>) {
        if let Some(app) = self.apps.get_mut(&id).filter(|app| app.deadline != deadline) {
            app.deadline = deadline;
            self.notify(&Change::Deadline(id));
        }
    }

    /// What keeps another deadline of an app, whose refusal has that name.
    pub(crate) fn check_deadline(
        &self,
        id: AppId,
        name: &str,
        deadline: &AppDeadline,
        now: Now,
    ) -> Result<Option<JobPlan>, AppRefusal> {
        let Some(app) = self.apps.get(&id) else { return Ok(None) };
        self.policy.check_deadline(app, name, deadline, now, &self.view())
    }

    pub(crate) fn what_if(&self, timed: &TimedWork) -> Option<WhatIf> {
        self.policy.what_if(timed, &self.view())
    }

    /// Whether an app still has maps to run when the slots promised for them are no more.
    pub(crate) fn is_promise_over(&self, id: AppId) -> bool {
        self.apps.get(&id).is_some_and(|app| match self.policy.app_detail(app) {
            AppDetail::Due(detail) => detail.is_promise_over,
            _ => false,
        })
    }

    pub(crate) fn take_missed(&mut self) -> Vec<AppId> {
        self.policy.take_missed()
    }

    pub fn set_size(&mut self, id: AppId, size: AppSize) {
        let was_asked = self.is_asked_idle(id);
        if let Some(app) = self.apps.get_mut(&id).filter(|app| !app.draining || app.is_kept) {
            app.size = size;
        }
        match (was_asked, self.is_asked_idle(id)) {
            (false, true) => self.enqueue_idle(id),
            (true, false) => self.dequeue_idle(id),
            _ => {}
        }
        self.notify(&Change::Size { app: id, size });
    }

    pub(crate) fn app_running(&self, id: AppId) -> PerKind<u32> {
        self.apps.get(&id).map_or(PerKind::default(), |app| app.running.slots())
    }

    pub(crate) fn app_usage(&self, id: AppId) -> PerKind<u32> {
        self.apps.get(&id).map_or(PerKind::default(), |app| app.held.slots())
    }

    /// Opens a group below the root that closes with its last app, or finds the one that is open under this name.
    pub(crate) fn open_temporary_group(&mut self, name: &str) -> GroupId {
        if let Some(group) = self.groups.by_name(name) {
            return group;
        }
        let group = self.open_group(name);
        self.groups.set_temporary(group, true);
        group
    }

    /// Lets a group close with its last app, at once if it has none.
    pub(crate) fn make_temporary(&mut self, group: GroupId) {
        self.groups.set_temporary(group, true);
        self.close_if_temporary(group);
    }

    pub(super) fn close_if_temporary(&mut self, group: GroupId) {
        if self.groups.is_over(group) {
            // It has no apps.
            let _ = self.close_group(group);
        }
    }

    pub(super) fn count_node_up(&mut self, host: HostId) {
        let nodes = self.nodes_by_host.entry(host).or_default();
        if *nodes == 0 {
            raise(&mut self.totals.hosts, 1_u32, &mut self.violations);
        }
        raise(nodes, 1_u32, &mut self.violations);
    }

    pub(super) fn count_node_down(&mut self, host: HostId) {
        let Some(nodes) = self.nodes_by_host.get_mut(&host) else { return };
        lower(nodes, 1_u32, &mut self.violations);
        if *nodes == 0 {
            self.nodes_by_host.remove(&host);
            lower(&mut self.totals.hosts, 1_u32, &mut self.violations);
        }
    }
}
