//! What a policy decides. The scheduler holds all demand and usage; a policy orders, limits and refuses.
//!
//! A heartbeat, slot by slot: [`Policy::next_kind`] chooses the kind; the first app in the order is reviewed
//! ([`Policy::review`]) and, if permitted, asked for a task ([`GrantSource`](super::GrantSource)). Then the policy is
//! notified ([`Policy::on_change`]), as of everything else that it may count.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Now, OrderClass, PerKind, PerPool, Pool, TrackerId, Violations};

use super::app::App;
use super::capacity::{CapacityConfig, QueueDetail, QueuedJobDetail, RefusedJob};
use super::change::{Change, Reaction};
use super::constraint::{AppDeadline, DeadlineDetail, DeadlineState, JobPlan, RejectedJob, TimedWork, WhatIf};
use super::fair::allocations::Allocations;
use super::fair::pool_detail::{PoolDetail, PooledJobDetail};
use super::fair::starvation::PoolClaims;
use super::group::{Group, Groups};
use super::key::{AppKey, FirstApp, GroupKey};
use super::node::{Node, Totals};
use super::preemption::SlotClaim;
use super::{AppId, AppSpec, GroupId, Level};

/// Most apps without a task for the node that one heartbeat may try, for each kind. Once the budget is used up, the
/// node's next heartbeats traverse all apps in a fixed order, each resuming where the last one stopped. So an app
/// behind any number of refusing apps is tried eventually.
pub(crate) const SKIP_BUDGET: u32 = 100;

/// What a queue has bought for the current interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Slots it is entitled to; those for containers beside what maps and reduces leave of theirs (resource requests, section 10: q_x).
    pub quota: PerPool<u32>,
    /// Its effective spending rate in the smallest unit of money; zero: unfunded, whatever its quota.
    pub rate_units: i128,
}

impl Allocation {
    /// The quota; without payment it is void.
    #[must_use]
    pub(crate) fn paid(self) -> PerPool<u32> {
        if self.rate_units > 0 { self.quota } else { PerPool::default() }
    }

    /// Whether it is more than what a queue holds and waits for: containers may use what maps and reduces leave of theirs.
    pub(super) fn sells_more_than(self, left: PerPool<u64>) -> bool {
        let narrow = |slots: u64| u32::try_from(slots).unwrap_or(u32::MAX);
        let tasks = PerKind::new(narrow(left.map), narrow(left.reduce));
        u64::from(self.quota.left_for_containers(tasks)) > left.container
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// With all other apps, whatever their groups.
    Root,
    /// With the apps of its group, which has no child groups.
    Group,
    /// In a child of its group that has this name among the children: the user's part of a queue, or the part of a pool that belongs to no
    /// pool inside it. The child exists while apps are in it, has sums of its own, and is not listed among the groups.
    Child(Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeartbeatLimits {
    pub(super) limit: u32,
    /// Most tasks after an off-switch one; none: it limits nothing.
    pub(super) after_off_switch: Option<u32>,
    pub(super) only_app: Option<AppId>,
    pub(super) skip_budget: u32,
}

/// What a policy demands of its caller for tasks that it does not grant. The default demands nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchRules {
    /// A heartbeat launches at most one setup or cleanup, and no other task with it.
    pub(crate) is_housekeeping_alone: bool,
    /// A task that failed on some hosts may wait for any other, even for one without slots of its kind.
    pub(crate) counts_all_hosts: bool,
    /// Heartbeats of nodes without a free slot are offered too: the policy measures time by heartbeats.
    pub(crate) offers_full_nodes: bool,
}

/// An order of groups and apps, limits on a heartbeat, and reasons to refuse.
pub(super) trait Policy: fmt::Debug + Send {
    /// Whether an app may be added now, and what keeps its deadline; by default all may.
    fn check_new_app(&self, _app: &NewApp<'_>, _view: &PolicyView<'_>) -> Result<Option<JobPlan>, AppRefusal> {
        Ok(None)
    }

    /// What keeps another deadline of an app now, whose refusal has that name; by default nothing is asked of deadlines.
    fn check_deadline(
        &self,
        _app: &App,
        _name: &str,
        _deadline: &AppDeadline,
        _now: Now,
        _view: &PolicyView<'_>,
    ) -> Result<Option<JobPlan>, AppRefusal> {
        Ok(None)
    }

    /// What admission would say of a deadline now; none where deadlines are not kept.
    fn what_if(&self, _timed: &TimedWork, _view: &PolicyView<'_>) -> Option<WhatIf> {
        None
    }

    /// Where an app is ordered; fixed when the app is added.
    fn leaf_of(&self, app: &AppSpec) -> Leaf;

    /// The sort key of an app in its leaf. Recomputed when the app starts to wait, when its priority changes, and on
    /// request ([`Reaction::rekey_app`]); a policy whose keys follow usage requests that at each [`Change::Usage`].
    fn app_key(&self, app: &App, pool: Pool) -> AppKey;

    /// The sort key of an app among those of its line that wait to begin.
    fn begin_key(&self, app: &App) -> AppKey {
        self.app_key(app, Pool::Map)
    }

    /// The sort key of a group among the children of its parent; `first` is its first app with demand, or that of its first child. A group
    /// is under a quota if what it holds and the slots of `first` are within it. Recomputed when usage changes below the group, when
    /// `first` does, and on request ([`Reaction::rekey_group`], [`Reaction::rekey_all`]).
    fn group_key(&self, id: GroupId, group: &Group, pool: Pool, first: FirstApp) -> GroupKey;

    /// Limits on the grants of a heartbeat of `node` with `free` slots; asked once a heartbeat and kind, if slots are
    /// free and an app waits.
    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits;

    /// Whether the groups below the root are sorted only when a slot is to be filled, equal ones keeping the order that they had. Usage
    /// that rises and falls between two such moments then moves nothing. The core sets [`GroupKey::rank`] (the policy's own value counts
    /// when a group is opened, in ascending order), and keeps it while a group has no demand.
    fn sorts_at_fixed_moments(&self) -> bool {
        false
    }

    /// Whether an app without a task for this node is asked again for the next slot of the same heartbeat. If not, it is
    /// passed over until the heartbeat ends.
    fn asks_for_each_slot(&self) -> bool {
        false
    }

    /// Whether a running app is asked even while none of its tasks waits, as Hadoop asks every running job: a policy may
    /// count the questions, or reserve nodes for tasks that may not run yet.
    fn asks_idle_apps(&self) -> bool {
        false
    }

    /// Whether a running app that is removed keeps its place in the order and its reservations until its job is over: it
    /// is asked in vain and may reserve more nodes, as in Hadoop, where a killed job runs until its cleanup has ended.
    fn keeps_removed_apps(&self) -> bool {
        false
    }

    /// The kind of the next slot to fill, among those that are still [open](Heartbeat::is_open); none ends the
    /// heartbeat. A kind is closed when its slots or its limit are used up, or a search found no task.
    fn next_kind(&self, heartbeat: &Heartbeat) -> Option<Kind> {
        Kind::ALL.into_iter().find(|&kind| heartbeat.is_open[kind])
    }

    /// Whether the app that is next in the order may be asked for a task, and how far the task's input may be.
    fn review(&self, _app: &App, _kind: Kind, _heartbeat: &Heartbeat, _view: &PolicyView<'_>) -> Verdict {
        Verdict::Ask(Level::Any)
    }

    /// Whether the app that is next in the order may have a container; by default it may. [`Verdict::Reserve`] is no
    /// answer to this. What is parked returns as for slots, also when its usage of slots drops.
    fn review_container(&self, _app: &App, _offered: &OfferedContainer, _view: &PolicyView<'_>) -> Verdict {
        Verdict::Ask(Level::Any)
    }

    /// Whether the app for which the node is reserved can use the free slots now. Then it alone is asked, at any
    /// distance and without a review, and the reservation ends; else the reservation is renewed and the kind closed.
    fn can_use_reservation(&self, _app: &App, _kind: Kind, _heartbeat: &Heartbeat) -> bool {
        true
    }

    /// Something changed that the policy may count; `view` shows the state after it. Default: ignores it.
    fn on_change(&mut self, _change: &Change, _view: &PolicyView<'_>, _reaction: &mut Reaction<'_>) {}

    /// Replaces the configuration of queues with capacities, which was read again.
    fn set_capacities(&mut self, _config: CapacityConfig, _view: &PolicyView<'_>, _reaction: &mut Reaction<'_>) {}

    fn launch_rules(&self) -> LaunchRules {
        LaunchRules::default()
    }

    /// Whether it limits how many apps have begun, or promises them slots, without those that no node could run.
    fn leaves_out_stuck_apps(&self) -> bool {
        false
    }

    /// Which of the apps that wait to begin may begin now, in that order; by default all. Called after each event while any waits.
    fn choose_beginners(
        &mut self,
        waiting: &BTreeSet<AppId>,
        _now: Now,
        _view: &PolicyView<'_>,
        _reaction: &mut Reaction<'_>,
    ) -> Vec<AppId> {
        waiting.iter().copied().collect()
    }

    /// Replaces the allocations of the market; groups that are not named have none. Returns those whose allocation is another.
    fn set_allocations(&mut self, _allocations: &[(GroupId, Allocation)]) -> Vec<GroupId> {
        Vec::new()
    }

    fn allocation(&self, _group: GroupId) -> Allocation {
        Allocation::default()
    }

    fn set_pools(&mut self, _allocations: &Arc<Allocations>) {}

    fn set_heartbeat_interval_ms(&mut self, _interval_ms: u64) {}

    /// What a group may take and keep in a round of preemption; asked only where the policy has such rounds.
    fn claim(&self, _group: GroupId) -> SlotClaim {
        SlotClaim::default()
    }

    /// The apps of a group as clients list them; none: in the order of their ids.
    fn listed_apps(&self, _group: GroupId) -> Option<Vec<AppId>> {
        None
    }

    /// What pools claim in a round of preemption; only the Fair scheduler has pools.
    fn pool_claims(&self, _kind: Kind, _now: Now, _view: &PolicyView<'_>) -> PoolClaims {
        PoolClaims::default()
    }

    /// Tasks that pools could run by the last update; only the Fair scheduler has pools.
    fn runnable_tasks(&self) -> PerKind<u64> {
        PerKind::default()
    }

    /// Apps that missed their deadlines since the last call and are to be killed for it.
    fn take_missed(&mut self) -> Vec<AppId> {
        Vec::new()
    }

    /// Compares what the policy counts with a recount: slow, for builds with debug assertions.
    fn check_counts(&self, _view: &PolicyView<'_>, _violations: &mut Violations) {}

    fn app_report(&self, _app: &App) -> Option<String> {
        None
    }

    fn group_report(&self, _id: GroupId) -> Option<String> {
        None
    }

    fn group_detail(&self, _id: GroupId, _now: Now) -> GroupDetail {
        GroupDetail::Plain
    }

    fn app_detail(&self, _app: &App) -> AppDetail {
        AppDetail::Plain
    }

    /// How so many apps with a deadline stand, the earliest first, from one on.
    fn deadline_states(&self, _from: usize, _count: usize) -> Vec<DeadlineState> {
        Vec::new()
    }

    /// The limit that keeps an app from beginning. Costs the same however many apps there are.
    fn begin_hold(&self, _app: &App) -> Option<Hold> {
        None
    }

    /// What holds an app back at this moment, the most important first. Changes nothing.
    fn holds(&self, _app: &App, _view: &PolicyView<'_>, _now: Now) -> Vec<Hold> {
        Vec::new()
    }

    /// The buyer class of a leaf by its key; none where slots are not bought.
    fn class_of(&self, _key: &GroupKey) -> Option<OrderClass> {
        None
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NewApp<'a> {
    pub name: &'a str,
    pub group: GroupId,
    pub user: &'a str,
    /// All its tasks, of both kinds.
    pub tasks: u64,
    /// Its deadline with its work, if it has one and they are known.
    pub deadline: Option<TimedWork>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppRefusal {
    /// Its queue, or its user in the queue, has all the jobs or tasks that the Capacity scheduler allows.
    #[error(transparent)]
    Capacity(#[from] RefusedJob),
    #[error(transparent)]
    Deadline(#[from] RejectedJob),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupDetail {
    /// The policy counts nothing of a group.
    Plain,
    Queue(Box<QueueDetail>),
    Pool(PoolDetail),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppDetail {
    Plain,
    Queued(QueuedJobDetail),
    Pooled(PooledJobDetail),
    Due(DeadlineDetail),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat {
    pub(super) node: TrackerId,
    pub(super) now: Now,
    pub(super) free: PerKind<u32>,
    pub(super) granted: PerKind<u32>,
    pub(super) granted_slots: PerKind<u32>,
    /// Tasks granted since the first off-switch one, itself not counted; none before it.
    pub(super) since_off_switch: PerKind<Option<u32>>,
    pub(super) is_open: PerKind<bool>,
}

impl Heartbeat {
    pub(super) fn new(node: TrackerId, now: Now, free: PerKind<u32>) -> Self {
        Self {
            node,
            now,
            free,
            granted: PerKind::default(),
            granted_slots: PerKind::default(),
            since_off_switch: PerKind::default(),
            is_open: PerKind::default(),
        }
    }
}

/// Whether an app may be asked for a task for a node.
///
/// What a limit refuses is *parked*: it leaves the order, so that later heartbeats do not meet it again, and returns by
/// itself when its usage drops, or when an app below it starts to wait. On any other change that lifts the limit the
/// policy has to wake it ([`Reaction`]): limits, users, slots of the cluster. What only this
/// node refuses is passed over until the heartbeat ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ask it for a task whose input is at most so far away.
    Ask(Level),
    /// This node lacks something that the app needs: pass it over.
    NotOnThisNode,
    /// A limit of the app: park it.
    ParkApp,
    /// A limit of a group on its path: park the group with all below it. A user who reached a limit in a queue is such
    /// a group, where users have leaves of their own.
    ParkGroup(GroupId),
    /// Reserve all free slots of the node for the app, and fill no other of this kind.
    Reserve,
    /// Fill no more slots of this kind in this heartbeat.
    Stop,
}

/// Groups, apps, nodes and sums, without the right to change them.
pub(super) struct PolicyView<'a> {
    pub(super) groups: &'a Groups,
    pub(super) totals: &'a Totals,
    pub(super) apps: &'a FxHashMap<AppId, App>,
    pub(super) nodes: &'a FxHashMap<TrackerId, Node>,
}

impl PolicyView<'_> {
    pub(super) fn app(&self, id: AppId) -> Option<&App> {
        self.apps.get(&id)
    }

    pub(super) fn node(&self, id: TrackerId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub(super) fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(id)
    }
}

/// A limit or a wait that holds an app back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It does not begin: as many apps, or tasks of apps, have begun as a limit allows.
    BeginLimit { of: LimitOwner, counts: BeginLimitUnit, limit: u64, used: u64 },
    /// It does not begin before an app of its group or user that was submitted earlier.
    BeginsLater,
    /// Its group, or one around it, holds all slots that it may ever hold.
    GroupMaximum { kind: Kind, group: String, maximum: u32, held: u32 },
    /// Its user holds all slots of the group that one user may hold now.
    UserLimit { kind: Kind, limit: u64, held: u32 },
    /// Nodes keep their free slots for it until they are enough for one of its tasks.
    Reservation { kind: Kind, nodes: u32, slots_per_task: u32 },
    /// Its reduces wait for its last map, or for slots that no other deadline needs.
    AfterMaps { has_maps: bool },
    /// Its deadline allows it so many slots at a time.
    DeadlineLimit { kind: Kind, limit: u32, held: u32 },
    /// Its deadline gives it slots from a later moment on, and none is free for as long as one of its tasks lasts before.
    PlannedStart {
        kind: Kind,
        /// When, epoch ms.
        start_ms: i64,
    },
    /// All slots that are free are promised to apps with deadlines.
    PromisedToDeadlines { kind: Kind },
    /// Its maps wait for slots near their input.
    Locality { farthest: Level, until: LocalityEnd },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitOwner {
    Group(String),
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BeginLimitUnit {
    Apps,
    Tasks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalityEnd {
    /// At least so long, ms.
    AfterMs(u64),
    /// Until so many more nodes had no near task for it.
    AfterOffers(u64),
}

/// A container that is about to be granted, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfferedContainer {
    slots: u32,
    blocks: u64,
}

impl OfferedContainer {
    pub(super) fn new(slots: u32, blocks: u64) -> Self {
        Self { slots, blocks }
    }

    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Slots of tasks that would have no room on its node beside it, and have now.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }
}
