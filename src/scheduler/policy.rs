//! What a policy decides. The core holds all demand and usage; a policy only orders and limits.
//!
//! Only hooks that a policy uses exist. Both policies here never refuse an app outright; one that does (user limits,
//! maximum capacity) must also take blocked groups out of the order until their usage drops, else they fill its front.

use std::fmt;

use crate::model::{Kind, OrderClass, PerKind};

use super::key::{AppKey, GroupKey};
use super::node::{Node, Totals};
use super::{Allocation, AppId, AppSpec, GroupId};

/// How much one heartbeat may give of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Grants at most.
    pub(super) limit: u32,
    /// An off-switch grant is the last one.
    pub(super) off_switch_ends: bool,
    /// Only this app is asked.
    pub(super) only: Option<AppId>,
    /// Apps that may be asked in vain.
    pub(super) skip_budget: u32,
}

/// An order of groups and apps, and limits on a heartbeat.
pub(super) trait Policy: fmt::Debug + Send {
    /// The leaf in which the apps of a group are ordered: the group itself, or [`GroupId::ROOT`].
    fn leaf_of(&self, group: GroupId) -> GroupId;

    /// The place of an app in its leaf. Changes only with the spec.
    fn app_key(&self, app: &AppSpec) -> AppKey;

    /// The place of a leaf with `running` tasks, whose first app with demand is `first`. The core asks again when one
    /// of these changes and after [`Policy::allocate`].
    fn group_key(&self, leaf: GroupId, kind: Kind, running: u32, first: AppKey) -> GroupKey;

    /// What a heartbeat of `node` with `free` slots may give.
    fn shape(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> Shape;

    /// The number of tasks of an app, or its spec, changed; called with zero before and after its life.
    fn resized(&mut self, _app: &AppSpec, _before: PerKind<u32>, _after: PerKind<u32>) {}

    /// The market has allocated; groups not named have nothing.
    fn allocate(&mut self, _allocations: &[(GroupId, Allocation)]) {}

    /// What the market has allocated to a group.
    fn allocation(&self, _group: GroupId) -> Allocation {
        Allocation::default()
    }

    /// What the key of a leaf says of it as a buyer; none where nobody buys.
    fn class_of(&self, _key: &GroupKey) -> Option<OrderClass> {
        None
    }
}
