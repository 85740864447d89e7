//! Apps and groups that a limit keeps out of the order: parked by a verdict, returned when the limit may have lifted.
//!
//! Without it the groups served least, which are those that limits block, would fill the front of the order, and each
//! heartbeat would meet them again.

use crate::model::Pool;

use super::state::KeyedGroups;
use super::{AppId, GroupId, Scheduler};

impl Scheduler {
    pub(super) fn park_app(&mut self, id: AppId, pool: Pool) {
        self.dequeue(id, pool);
        if let Some(app) = self.apps.get_mut(&id) {
            app.is_parked[pool] = true;
            self.parked_apps[pool].insert((self.groups.top_of(app.leaf), id));
        }
    }

    /// Marks an app as not parked; whether it was.
    pub(super) fn unpark_app(&mut self, id: AppId, pool: Pool) -> bool {
        let Some(app) = self.apps.get_mut(&id).filter(|app| app.is_parked[pool]) else { return false };
        app.is_parked[pool] = false;
        self.parked_apps[pool].remove(&(self.groups.top_of(app.leaf), id))
    }

    /// Parks a group on the path of an app; false when it is not there.
    pub(super) fn park_group(&mut self, app: AppId, group: GroupId, pool: Pool) -> bool {
        let Some(leaf) = self.apps.get(&app).map(|app| app.leaf) else { return false };
        let is_on_path = self.groups.is_within(leaf, group);
        self.violations.check(is_on_path, || format!("{group} is parked for {app}, which is not in it"));
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        is_on_path && self.orders[pool].park(group, &keys)
    }

    /// Returns a parked app to the order.
    pub(super) fn wake_app(&mut self, id: AppId, pool: Pool) {
        if self.unpark_app(id, pool) {
            self.enqueue(id, pool);
            self.note_woken(true, pool);
        }
    }

    /// What an app holds became less: it may be permitted again, as may all groups that it is in.
    pub(super) fn wake_after_release(&mut self, id: AppId, pool: Pool) {
        self.wake_app(id, pool);
        if let Some(app) = self.apps.get(&id) {
            self.wake_path(app.leaf, pool);
        }
    }

    /// Returns a group and all above it to the order.
    pub(super) fn wake_path(&mut self, group: GroupId, pool: Pool) {
        if !self.orders[pool].has_parked() {
            return;
        }
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        let woken = self.groups.path(group).filter(|id| self.orders[pool].wake(*id, &keys)).count();
        self.note_woken(woken > 0, pool);
    }

    /// Returns a group to the order.
    pub(super) fn wake_group(&mut self, group: GroupId, pool: Pool) {
        let keys = KeyedGroups { policy: &*self.policy, groups: &self.groups, pool };
        let is_woken = self.orders[pool].wake(group, &keys);
        self.note_woken(is_woken, pool);
    }

    fn note_woken(&mut self, is_woken: bool, pool: Pool) {
        if is_woken && pool == Pool::Container {
            self.containers.note_woken();
        }
    }

    /// Returns all parked apps and groups below a group, and itself, to the order. Linear in what is parked below the
    /// same group of the root.
    pub(super) fn wake_all_below(&mut self, group: GroupId) {
        Pool::ALL.into_iter().for_each(|pool| self.wake_below_for(group, pool));
    }

    pub(super) fn wake_below_for(&mut self, group: GroupId, pool: Pool) {
        let top = if group == GroupId::ROOT { group } else { self.groups.top_of(group) };
        let apps: Vec<AppId> = self.parked_apps_in(top, pool).collect();
        for id in self.orders[pool].parked_in(top) {
            if self.is_below(id, group) {
                self.wake_group(id, pool);
            }
        }
        for id in apps {
            if self.apps.get(&id).is_some_and(|app| self.is_below(app.leaf, group)) {
                self.wake_app(id, pool);
            }
        }
    }

    /// The parked apps inside a group below the root; with the root all there are.
    pub(super) fn parked_apps_in(&self, top: GroupId, pool: Pool) -> impl Iterator<Item = AppId> {
        // The root's id is the smallest.
        let parked = self.parked_apps[pool].range((top, AppId::new(0))..);
        parked.take_while(move |(of, _)| top == GroupId::ROOT || *of == top).map(|(_, app)| *app)
    }

    fn is_below(&self, id: GroupId, group: GroupId) -> bool {
        group == GroupId::ROOT || self.groups.is_within(id, group)
    }
}
