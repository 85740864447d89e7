//! What a policy is notified of, and what it may answer: which keys move, which parked apps and groups return.

use crate::model::{Kind, Now, PerKind, Pool, TrackerId, Violations};

use super::{AppId, AppSize, GroupId, Level, TaskOrigin};

/// Something that changed. All sums already include it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    GroupOpened(GroupId),
    /// A group without apps was closed; its id is not used again.
    GroupClosed(GroupId),
    AppAdded(AppId),
    /// An app was removed with all its demand; its attempts may still hold slots.
    AppRemoved(AppId),
    /// The job of a removed app is over, its cleanup included.
    AppEnded(AppId),
    AppMoved(AppId),
    /// The size of an app changed, to zero when it is removed; further sizes may follow then.
    Size {
        app: AppId,
        size: AppSize,
    },
    /// A priority was set, perhaps that of an app that was removed and holds no slot any more: `before` is the same then.
    Priority {
        app: AppId,
        before: u8,
        priority: u8,
    },
    /// Whether any node could run an app changed, or whether it is paused.
    Fit(AppId),
    /// The deadline of an app was set or cleared.
    Deadline(AppId),
    Demand {
        app: AppId,
        pool: Pool,
    },
    Usage {
        app: AppId,
        pool: Pool,
    },
    /// The slots of a node changed, a node was added or removed: shares of the cluster are different now.
    ClusterSlots,
    NodeRemoved(TrackerId),
    /// A node is reserved for one app more.
    Reserved {
        app: AppId,
        kind: Kind,
    },
    ReservationEnded {
        app: AppId,
        kind: Kind,
    },
    /// A node sends a heartbeat, with so many slots in use; before any grant.
    HeartbeatStarted {
        node: TrackerId,
        in_use: PerKind<u32>,
        now: Now,
    },
    Asked(AskedApp),
    HeartbeatEnded,
    Tick(Now),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedApp {
    pub(super) app: AppId,
    pub(super) kind: Kind,
    pub(super) node: TrackerId,
    /// The farthest level that was allowed.
    pub(super) farthest: Level,
    /// None: it had no task for this node at that distance.
    pub(super) granted: Option<GrantedTask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GrantedTask {
    /// From the node to the task's input, whatever the origin.
    pub(super) level: Level,
    pub(super) origin: TaskOrigin,
    pub(super) slots: u32,
}

/// The answer to a change: what the core has to reorder. Requests are collected and carried out once, after the call.
///
/// The core itself does the usual: the keys of all groups on the path of an app follow its usage and demand; a parked
/// app or group on that path returns when usage drops below it, and a parked group when an app below it starts to wait.
#[derive(Debug)]
pub(super) struct Reaction<'a> {
    pub(super) moves: &'a mut Moves,
    pub(super) violations: &'a mut Violations,
}

/// Requests to reorder. Empty most of the time; allocates nothing then.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) apps: Vec<AppId>,
    pub(super) groups: Vec<GroupId>,
    pub(super) all: bool,
    pub(super) wake_apps: Vec<AppId>,
    pub(super) wake_groups: Vec<GroupId>,
    pub(super) wake_below: Vec<GroupId>,
    pub(super) wake_containers_below: Vec<GroupId>,
}

impl GrantedTask {
    /// Whether the task was given for want of one nearer: Hadoop counts a rerun as near wherever its input is, and a
    /// speculative attempt as off-switch.
    pub(super) fn is_off_switch(&self) -> bool {
        match self.origin {
            TaskOrigin::Fresh => self.level == Level::Any,
            TaskOrigin::Rerun => false,
            TaskOrigin::Speculative => true,
        }
    }
}

impl Moves {
    pub(super) fn is_empty(&self) -> bool {
        let Self { apps, groups, all, wake_apps, wake_groups, wake_below, wake_containers_below } = self;
        let (apps, groups) = ([apps, wake_apps], [groups, wake_groups, wake_below, wake_containers_below]);
        !all && apps.iter().all(|list| list.is_empty()) && groups.iter().all(|list| list.is_empty())
    }
}

impl Reaction<'_> {
    pub(super) fn rekey_app(&mut self, app: AppId) {
        self.moves.apps.push(app);
    }

    /// The key of a group changed, of either kind, for another reason than usage or demand below it.
    pub(super) fn rekey_group(&mut self, group: GroupId) {
        self.moves.groups.push(group);
    }

    pub(super) fn rekey_all(&mut self) {
        self.moves.all = true;
    }

    pub(super) fn wake_app(&mut self, app: AppId) {
        self.moves.wake_apps.push(app);
    }

    /// A group that was parked may be tried again; apps and groups that were parked inside it stay so.
    pub(super) fn wake_group(&mut self, group: GroupId) {
        self.moves.wake_groups.push(group);
    }

    /// A group and all that was parked below it may be tried again; with [`GroupId::ROOT`] all there is.
    pub(super) fn wake_all_below(&mut self, group: GroupId) {
        self.moves.wake_below.push(group);
    }

    /// The same, but for containers alone.
    pub(super) fn wake_containers_below(&mut self, group: GroupId) {
        self.moves.wake_containers_below.push(group);
    }
}

/// What an app holds, or its group waits for, from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageChange {
    /// Of a pool, so many more; fewer if negative.
    Held { app: AppId, pool: Pool, slots: i64 },
    /// A setup, job-cleanup or task-cleanup of the app takes a slot that is charged to no app.
    HousekeepingBegun {
        app: AppId,
        /// When it was launched, ms of the monotonic clock.
        launch_mono_ms: u64,
    },
    /// The one that was launched then has released it.
    HousekeepingEnded { app: AppId, launch_mono_ms: u64 },
    /// A group has given up slots, or waits for less though nothing was granted to it, and what it still holds and waits for
    /// is less than it was sold.
    TooLittleLeft { group: GroupId },
}
