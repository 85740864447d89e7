//! Where an app stands in line for a kind of slot: read off the order that grants follow.

use serde::{Deserialize, Serialize};

use crate::model::Kind;

use super::order::Order;
use super::{AppId, Scheduler};

/// What a group is to a policy that tells buyers apart; earlier ones are served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderClass {
    /// It holds less than it has bought.
    UnderQuota,
    /// It pays and holds what it has bought, or more.
    Funded,
    /// It pays nothing.
    Unfunded,
}

/// A place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePosition {
    /// Groups with demand that are asked first.
    pub groups_before: usize,
    /// Apps of the same group, or of all where the policy has but one line, that are asked first.
    pub apps_before: usize,
    /// What the group is, where the policy tells buyers apart.
    pub class: Option<OrderClass>,
}

// === impl Scheduler: places in line ===

impl Scheduler {
    /// The place of an app that waits for slots of a kind; none for one that does not. Takes as long as the line is.
    pub fn queue_position(&self, id: AppId, kind: Kind) -> Option<QueuePosition> {
        let app = self.apps.get(&id)?;
        let order: &Order = &self.orders[kind];
        let (key, groups_before, apps_before) =
            order.rank_of(self.policy.leaf_of(app.spec.group), self.policy.app_key(&app.spec), id)?;
        Some(QueuePosition { groups_before, apps_before, class: self.policy.class_of(&key) })
    }
}
