//! Keeps each app and group at its place in the order of each pool.

use crate::model::{Kind, Pool, lower};

use super::key::FirstApp;
use super::state::KeyedGroups;
use super::{AppId, GroupId, Scheduler};

impl Scheduler {
    /// Subtracts tasks of a group that stop waiting.
    pub(super) fn count_waiting_down(&mut self, home: GroupId, pool: Pool, count: u64) {
        self.groups.update_path(home, |group| lower(&mut group.waiting[pool], count, &mut self.violations));
        lower(&mut self.totals.waiting[pool], count, &mut self.violations);
    }

    /// Adds an app to the order; a parked one stays out.
    pub(super) fn enqueue(&mut self, id: AppId, pool: Pool) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.is_parked[pool]) else { return };
        let key = self.policy.app_key(app, pool);
        app.ordered_by[pool] = Some(key);
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        self.orders[pool].insert(app.leaf, FirstApp { key, slots: app.slots_of_next(pool) }, id, &keys);
    }

    /// Updates the slots that the next grant of an app takes, where it stands in the order.
    pub(super) fn update_slots_of_next(&mut self, id: AppId, pool: Pool) {
        let slots = self.apps.get(&id).map_or(0, |app| app.slots_of_next(pool));
        self.place_by_slots(id, pool, slots);
    }

    /// Places an app where it stands in the order as one whose next grant takes so many slots.
    pub(super) fn place_by_slots(&mut self, id: AppId, pool: Pool, slots: u32) {
        let Some((app, key)) = self.apps.get(&id).and_then(|app| Some((app, app.ordered_by[pool]?))) else { return };
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        self.orders[pool].insert(app.leaf, FirstApp { key, slots }, id, &keys);
    }

    pub(super) fn dequeue(&mut self, id: AppId, pool: Pool) {
        self.unpark_app(id, pool);
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(key) = app.ordered_by[pool].take() else { return };
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        self.orders[pool].remove(app.leaf, key, id, &keys);
    }

    /// Updates the position of a group after its usage changed, and of all above it.
    pub(super) fn rekey(&mut self, group: GroupId, pool: Pool) {
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        self.orders[pool].rekey(group, &keys);
    }

    /// Updates the position of a group, and of all above it, after the slots of a kind that it holds changed. What maps and
    /// reduces leave is the containers', so it may have another place among those that want some.
    pub(super) fn rekey_after_usage(&mut self, group: GroupId, kind: Kind) {
        self.rekey(group, kind.into());
        if !self.orders.container.is_empty() {
            self.rekey(group, Pool::Container);
        }
    }

    /// Updates the position of an app after its key changed.
    pub(super) fn rekey_app(&mut self, id: AppId) {
        for pool in Pool::ALL {
            let Some(app) = self.apps.get(&id) else { return };
            if app.ordered_by[pool].is_some_and(|before| before != self.policy.app_key(app, pool)) {
                self.dequeue(id, pool);
                self.enqueue(id, pool);
            }
        }
    }

    /// Updates the positions of all groups.
    pub(super) fn rekey_groups(&mut self) {
        for pool in Pool::ALL {
            let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
            self.orders[pool].rekey_all(&keys);
        }
    }

    /// Sorts the groups below the root, under a policy that does so at fixed moments.
    pub(super) fn sort_groups(&mut self, pool: Pool) {
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        self.orders[pool].sort(&keys);
    }
}
