//! Another policy takes over, is tried beside the ruling one, or reads its configuration again. Demand and usage stay as they
//! are; keys and orders are computed again.

use std::sync::Arc;

use crate::model::{DEFAULT_RACK, Now, PerPool, Pool, TrackerId};

use super::change::Change;
use super::group::Groups;
use super::order::OrderEntry;
use super::state::orders_for;
use super::{AppId, AppSpec, GroupId, PolicyOptions, Scheduler};

impl Scheduler {
    /// Orders all groups and apps by another policy from now on, in O(apps log apps + nodes). The market begins without
    /// allocations; reservations end, and what limits refused is tried again.
    pub fn replace_policy(&mut self, options: PolicyOptions) {
        self.replace_between(options, |_| {});
    }

    /// The same, with all listed groups brought to their places in another tree: `parent_of` names the parent.
    pub(crate) fn rearrange<'a>(&mut self, options: PolicyOptions, parent_of: impl Fn(&str) -> Option<&'a str>) {
        self.replace_between(options, |groups| groups.rearrange(parent_of));
    }

    fn replace_between(&mut self, options: PolicyOptions, change_groups: impl FnOnce(&mut Groups)) {
        let apps = self.apps_by_submission();
        self.set_earmarks(&[]);
        for &id in &apps {
            self.let_go(id);
            self.end_reservations_of_app(id);
        }
        self.orders = PerPool::default();
        self.parked_apps = PerPool::default();
        for &id in &apps {
            if let Some(app) = self.apps.get_mut(&id) {
                app.ordered_by = PerPool::default();
                app.is_parked = PerPool::default();
            }
            self.leave_home(id);
        }
        change_groups(&mut self.groups);
        self.policy = options.build();
        self.orders = orders_for(&*self.policy);
        let groups: Vec<GroupId> = self.groups.iter().map(|(_, id, _)| id).collect();
        groups.into_iter().for_each(|id| self.notify_unordered(&Change::GroupOpened(id)));
        self.notify(&Change::ClusterSlots);
        apps.iter().for_each(|&id| self.enter_home(id));
        for id in apps {
            self.enter_app(id);
        }
        let mut nodes: Vec<TrackerId> = self.nodes.keys().copied().collect();
        nodes.sort_unstable();
        nodes.into_iter().for_each(|id| self.enter_node(id));
    }

    /// All apps, also removed ones that still hold slots, in the order of submission.
    pub(crate) fn apps_by_submission(&self) -> Vec<AppId> {
        let mut apps: Vec<(u64, AppId)> = self.apps.iter().map(|(&id, app)| (app.spec.order, id)).collect();
        apps.sort_unstable();
        apps.into_iter().map(|(_, id)| id).collect()
    }

    /// Orders an app under a policy that has just taken over, and notifies it of what it may count. One that was removed
    /// was so for good: nothing would say when its last attempt ends.
    fn enter_app(&mut self, id: AppId) {
        let Some(size) = self.apps.get(&id).filter(|app| !app.draining).map(|app| app.size) else { return };
        self.notify(&Change::AppAdded(id));
        self.notify(&Change::Size { app: id, size });
        self.enqueue_waiting(id);
        for pool in Pool::ALL {
            self.notify(&Change::Usage { app: id, pool });
            self.notify(&Change::Demand { app: id, pool });
        }
    }

    /// Adds an app to the order of each pool that it waits for, or is asked for anyway.
    pub(super) fn enqueue_waiting(&mut self, id: AppId) {
        let Some(app) = self.apps.get(&id) else { return };
        let waiting = Pool::ALL.map(|pool| (pool, app.waiting(pool)));
        let is_asked_idle = self.is_asked_idle(id);
        for (pool, waiting) in waiting {
            if waiting > 0 || is_asked_idle && pool != Pool::Container {
                self.enqueue(id, pool);
            }
        }
    }

    /// Notifies a policy that has just taken over of a node's last heartbeat. Where the node resumes is a place in the
    /// order by leaf and key: it moves to where its app is now.
    fn enter_node(&mut self, id: TrackerId) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        for pool in Pool::ALL {
            let Some(place) = &mut node.resume[pool] else { continue };
            let app = self.apps.get(&place.app).filter(|_| *place != OrderEntry::FRONT);
            *place = app.map_or(OrderEntry::FRONT, |app| OrderEntry {
                leaf: app.leaf,
                app_key: self.policy.app_key(app, pool),
                app: place.app,
            });
        }
        if let Some((in_use, now)) = node.reported {
            self.notify(&Change::HeartbeatStarted { node: id, in_use, now });
        }
    }

    /// Puts new settings of the ruling policy in force, in O(groups) and what the new limits let run again. Options of
    /// another policy have no effect: that is [`Self::replace_policy`].
    pub(crate) fn reload_policy(&mut self, options: PolicyOptions) {
        if let PolicyOptions::Capacity { config, .. } = options {
            let config = Arc::unwrap_or_clone(config);
            self.change_policy(|policy, view, reaction| policy.set_capacities(config, view, reaction));
        }
    }

    /// Which of the apps that wait to begin another policy would let begin at once, each app in the group of that name. O(apps log apps).
    pub(crate) fn would_begin<'a>(
        &self,
        options: PolicyOptions,
        now: Now,
        group_of: impl Fn(AppId) -> Option<&'a str>,
    ) -> Vec<AppId> {
        let mut trial = Self::new(options);
        let host = trial.topology_mut().intern_host("trial", DEFAULT_RACK);
        trial.add_node(host, self.totals().slots.narrow());
        for id in self.apps_by_submission() {
            let (Some(app), Some(name)) = (self.apps.get(&id), group_of(id)) else { continue };
            let group = trial.open_group(name);
            // The id is new there and its group open.
            if trial.add_app(AppSpec { group, ..app.spec.clone() }).is_err() {
                continue;
            }
            trial.set_size(id, app.size);
            if !self.is_to_begin(id) {
                trial.resume_app(id);
            }
        }
        trial.begin_apps(now)
    }
}
