//! What a policy decides. The scheduler holds all demand and usage; a policy only orders and limits.
//!
//! Only hooks that a policy uses exist. Neither policy here refuses an app outright; one that does (user limits,
//! maximum capacity) must also take blocked groups out of the order until their usage drops, else they fill its front.

use std::fmt;

use crate::model::{Kind, OrderClass, PerKind, TrackerId, Violations};

use super::key::{AppKey, GroupKey};
use super::node::{Node, Totals};
use super::preemption::Claim;
use super::{AppId, AppSize, AppSpec, GroupId};

/// Most apps without a task for the node that one heartbeat may try, for each kind. Once the budget is used up, the
/// node's next heartbeats traverse all apps in a fixed order, each resuming where the last one stopped. So an app
/// behind any number of refusing apps is tried eventually.
pub const SKIP_BUDGET: u32 = 100;

/// What a queue has bought for the current interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Slots it is entitled to.
    pub quota: PerKind<u32>,
    /// Its effective spending rate in the smallest unit of money; zero: unfunded, whatever its quota.
    pub rate_units: i128,
}

/// Limits on what one heartbeat may grant of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeartbeatLimits {
    pub(super) limit: u32,
    /// Whether an off-switch grant ends the heartbeat.
    pub(super) stops_at_off_switch: bool,
    /// The only app that may get slots, if limited to one.
    pub(super) only_app: Option<AppId>,
    /// Most apps that may be tried without a grant.
    pub(super) skip_budget: u32,
}

/// What a policy demands of its caller for tasks that it does not grant. The default demands nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchRules {
    /// A heartbeat launches at most one setup or cleanup, and no other task with it.
    pub is_housekeeping_alone: bool,
    /// A task that failed on some hosts may wait for any other, even for one without slots of its kind.
    pub counts_all_hosts: bool,
}

/// An order of groups and apps, and limits on a heartbeat.
pub(super) trait Policy: fmt::Debug + Send {
    /// The leaf in which the apps of a group are ordered: the group itself, or [`GroupId::ROOT`].
    fn leaf_of(&self, group: GroupId) -> GroupId;

    /// The sort key of an app in its leaf. Changes only with the spec.
    fn app_key(&self, app: &AppSpec) -> AppKey;

    /// The sort key of a leaf with `running` tasks, whose first app with demand is `first`. Recomputed when one of
    /// these changes and after [`Policy::set_allocations`].
    fn group_key(&self, leaf: GroupId, kind: Kind, running: u32, first: AppKey) -> GroupKey;

    /// Limits on the grants of a heartbeat of `node` with `free` slots.
    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits;

    /// Rules for what the scheduler does not grant.
    fn launch_rules(&self) -> LaunchRules {
        LaunchRules::default()
    }

    /// The size of an app changed, to zero when it is removed; `_app` is none after that.
    fn on_app_resized(&mut self, _id: AppId, _app: Option<&AppSpec>, _size: AppSize, _violations: &mut Violations) {}

    fn on_priority_changed(&mut self, _before: &AppSpec, _after: &AppSpec) {}

    /// A node sends a heartbeat, with so many slots of a kind in use; called before any grant.
    fn on_heartbeat(&mut self, _node: TrackerId, _kind: Kind, _in_use: u32, _violations: &mut Violations) {}

    fn on_node_removed(&mut self, _node: TrackerId, _violations: &mut Violations) {}

    /// Replaces the allocations of the market; groups that are not named have none.
    fn set_allocations(&mut self, _allocations: &[(GroupId, Allocation)]) {}

    fn allocation(&self, _group: GroupId) -> Allocation {
        Allocation::default()
    }

    /// What a group may take and keep in a round of preemption; asked only where the policy has such rounds.
    fn claim(&self, _group: GroupId) -> Claim {
        Claim::default()
    }

    /// The buyer class of a leaf by its key; none where slots are not bought.
    fn class_of(&self, _key: &GroupKey) -> Option<OrderClass> {
        None
    }
}
