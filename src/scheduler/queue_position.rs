//! The position of an app in the order that grants follow.

use crate::model::{Kind, OrderClass};

use super::{AppId, Scheduler};

/// A position in the order of grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePosition {
    /// Groups with demand that are served first.
    pub groups_before: usize,
    /// Apps of the same group, or of all groups where the policy ignores them, that are served first.
    pub apps_before: usize,
    /// Class of the group, where the policy distinguishes buyers.
    pub class: Option<OrderClass>,
}

// === impl Scheduler: places in line ===

impl Scheduler {
    /// The position of an app that waits for slots of a kind; none for one that does not. Linear in the number of
    /// waiting apps.
    pub fn queue_position(&self, id: AppId, kind: Kind) -> Option<QueuePosition> {
        let app = self.apps.get(&id)?;
        let (key, groups_before, apps_before) = self.orders[kind].rank_of(app.leaf, app.ordered_by[kind]?, id)?;
        Some(QueuePosition { groups_before, apps_before, class: self.policy.class_of(&key) })
    }
}
