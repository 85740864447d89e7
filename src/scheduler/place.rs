//! Where an app stands in line for a kind of slot: read off the order that grants follow.

use crate::model::{Kind, OrderClass};

use super::order::Order;
use super::{AppId, Scheduler};

/// A place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
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
    pub fn place(&self, id: AppId, kind: Kind) -> Option<Place> {
        let app = self.apps.get(&id)?;
        let order: &Order = &self.orders[kind];
        let (key, groups_before, apps_before) =
            order.place(self.policy.leaf_of(app.spec.group), self.policy.app_key(&app.spec), id)?;
        Some(Place { groups_before, apps_before, class: self.policy.class_of(&key) })
    }
}
