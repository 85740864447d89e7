//! Demand and usage: each change updates the app, its group, its node and the cluster together.

use crate::model::{Kind, Pool, TrackerId, lower, raise};

use super::change::Change;
use super::{AppId, HostId, Scheduler};

impl Scheduler {
    /// Adds `count` tasks of an app that may run now, each with its input on `hosts`. No hosts: no preference.
    pub fn request_slots(&mut self, id: AppId, kind: Kind, hosts: &[HostId], count: u32) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.draining && count > 0) else { return };
        let was_waiting = app.tables[kind].waiting() > 0;
        app.tables[kind].add(hosts, count, &self.topology, &mut self.violations);
        if app.is_paused {
            return;
        }
        let (home, leaf, pool) = (app.home, app.leaf, Pool::from(kind));
        self.groups.update_path(home, |group| raise(&mut group.waiting[pool], count, &mut self.violations));
        raise(&mut self.totals.waiting[pool], count, &mut self.violations);
        if !was_waiting {
            self.wake_path(leaf, pool);
            if !self.is_asked_idle(id) {
                self.enqueue(id, pool);
            }
        }
        self.notify(&Change::Demand { app: id, pool });
    }

    /// Withdraws `count` tasks that were requested with the same `hosts`: killed, or done by another attempt.
    pub(crate) fn withdraw_request(&mut self, id: AppId, kind: Kind, hosts: &[HostId], count: u32) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let waiting = app.tables[kind].waiting();
        // A removed app has withdrawn everything.
        self.violations
            .check(count <= waiting || app.draining, || format!("{count} of {waiting} tasks of {id} stop waiting"));
        let count = count.min(waiting);
        if count == 0 {
            return;
        }
        app.tables[kind].remove(hosts, count, &self.topology, &mut self.violations);
        if app.is_paused {
            return;
        }
        let (home, left, pool) = (app.home, app.tables[kind].waiting(), Pool::from(kind));
        self.count_waiting_down(home, pool, count.into());
        if left == 0 && !self.is_asked_idle(id) {
            self.dequeue(id, pool);
        }
        self.notify(&Change::Demand { app: id, pool });
    }

    /// Adds a second attempt for a task that is far behind, whichever that is when a slot is free; one at a time.
    pub(crate) fn request_second_attempt(&mut self, id: AppId, kind: Kind) {
        self.set_second_attempt(id, kind, true);
        self.request_slots(id, kind, &[], 1);
    }

    pub(crate) fn withdraw_second_attempt(&mut self, id: AppId, kind: Kind) {
        self.set_second_attempt(id, kind, false);
        self.withdraw_request(id, kind, &[], 1);
    }

    pub(super) fn set_second_attempt(&mut self, id: AppId, kind: Kind, is_requested: bool) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.tables[kind].set_second_attempt(is_requested);
        }
    }

    /// Counts an attempt that holds `slots` of a node without a grant of this scheduler: it was found running after a
    /// restart.
    pub fn add_running(&mut self, id: AppId, kind: Kind, node: TrackerId, slots: u32) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        raise(&mut app.running[kind], 1_u32, &mut self.violations);
        raise(&mut app.held[kind], slots, &mut self.violations);
        let home = app.home;
        self.groups.update_path(home, |group| {
            raise(&mut group.running[kind], 1_u32, &mut self.violations);
            raise(&mut group.held[kind], slots, &mut self.violations);
        });
        if let Some(entry) = self.nodes.get_mut(&node) {
            raise(&mut entry.held[kind], slots, &mut self.violations);
            entry.say_more(slots);
            if entry.bag.is_some() {
                self.update_room(node);
            }
        }
        raise(&mut self.totals.running[kind], 1_u32, &mut self.violations);
        raise(&mut self.totals.held[kind], slots, &mut self.violations);
        self.rekey_after_usage(home, kind);
        self.note_held(id, kind.into(), slots.into());
        self.notify(&Change::Usage { app: id, pool: kind.into() });
    }

    /// Counts an attempt that has released its `slots`, as many as it was granted or added with.
    pub fn remove_running(&mut self, id: AppId, kind: Kind, node: TrackerId, slots: u32) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        self.violations.check(app.running[kind] > 0, || format!("{id} has no {kind:?} attempt to remove"));
        if app.running[kind] == 0 {
            return;
        }
        lower(&mut app.running[kind], 1_u32, &mut self.violations);
        lower(&mut app.held[kind], slots, &mut self.violations);
        let home = app.home;
        self.groups.update_path(home, |group| {
            lower(&mut group.running[kind], 1_u32, &mut self.violations);
            lower(&mut group.held[kind], slots, &mut self.violations);
        });
        if let Some(entry) = self.nodes.get_mut(&node) {
            lower(&mut entry.held[kind], slots, &mut self.violations);
            if entry.bag.is_some() {
                self.update_room(node);
            }
        }
        lower(&mut self.totals.running[kind], 1_u32, &mut self.violations);
        lower(&mut self.totals.held[kind], slots, &mut self.violations);
        self.rekey_after_usage(home, kind);
        self.note_held(id, kind.into(), -i64::from(slots));
        self.wake_after_release(id, kind.into());
        if self.orders.container.has_parked() || !self.parked_apps.container.is_empty() {
            // A limit on containers may count slots too.
            self.wake_after_release(id, Pool::Container);
        }
        self.notify(&Change::Usage { app: id, pool: kind.into() });
        self.forget_drained(id);
    }
}
