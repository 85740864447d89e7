//! Demand and usage: each change updates the app, its group, its node and the cluster together, and is logged for accounts
//! that charge by time.

use crate::model::{Kind, PerKind, PerPool, Pool, TrackerId, lower, raise};

use super::app::App;
use super::change::{Change, UsageChange};
use super::group::Group;
use super::{AppId, GroupId, HostId, Level, Scheduler};

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

    /// Counts an attempt that holds `slots` of a node without a grant of this scheduler: it was found running after a restart.
    pub fn add_running(&mut self, id: AppId, kind: Kind, node: TrackerId, slots: u32) {
        let Some(home) = self.count_usage_up(id, kind.into(), slots) else { return };
        if let Some(entry) = self.nodes.get_mut(&node) {
            raise(&mut entry.held[kind], slots, &mut self.violations);
            entry.say_more(slots);
            if entry.bag.is_some() {
                self.update_room(node);
            }
        }
        self.rekey_after_usage(home, kind);
        self.note_held(id, kind.into(), slots.into());
        self.notify(&Change::Usage { app: id, pool: kind.into() });
    }

    /// Counts an attempt that has released its `slots`, as many as it was granted or added with.
    pub fn remove_running(&mut self, id: AppId, kind: Kind, node: TrackerId, slots: u32) {
        let Some(app) = self.apps.get(&id) else { return };
        self.violations.check(app.running[kind] > 0, || format!("{id} has no {kind:?} attempt to remove"));
        if app.running[kind] == 0 {
            return;
        }
        let Some(home) = self.count_usage_down(id, kind.into(), slots) else { return };
        if let Some(entry) = self.nodes.get_mut(&node) {
            lower(&mut entry.held[kind], slots, &mut self.violations);
            if entry.bag.is_some() {
                self.update_room(node);
            }
        }
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

    /// An app runs one attempt or container more, with its slots: counted there, in its home and all around that, and in the
    /// sums. Returns the home.
    pub(super) fn count_usage_up(&mut self, id: AppId, pool: Pool, slots: u32) -> Option<GroupId> {
        let Self { apps, groups, totals, violations, .. } = self;
        let app = apps.get_mut(&id)?;
        raise(&mut app.running[pool], 1_u32, violations);
        raise(&mut app.held[pool], slots, violations);
        groups.update_path(app.home, |group| {
            raise(&mut group.running[pool], 1_u32, violations);
            raise(&mut group.held[pool], slots, violations);
        });
        raise(&mut totals.running[pool], 1_u32, violations);
        raise(&mut totals.held[pool], slots, violations);
        Some(app.home)
    }

    /// One less.
    pub(super) fn count_usage_down(&mut self, id: AppId, pool: Pool, slots: u32) -> Option<GroupId> {
        let Self { apps, groups, totals, violations, .. } = self;
        let app = apps.get_mut(&id)?;
        lower(&mut app.running[pool], 1_u32, violations);
        lower(&mut app.held[pool], slots, violations);
        groups.update_path(app.home, |group| {
            lower(&mut group.running[pool], 1_u32, violations);
            lower(&mut group.held[pool], slots, violations);
        });
        lower(&mut totals.running[pool], 1_u32, violations);
        lower(&mut totals.held[pool], slots, violations);
        Some(app.home)
    }

    /// Sets the tasks of an app that are neither done nor given up nor running, runnable or not: what the market calls
    /// pending. A removed app has none, unless the policy keeps it.
    pub(crate) fn set_pending(&mut self, id: AppId, pending: PerKind<u32>) {
        if self.apps.get(&id).is_some_and(|app| !app.draining || app.is_kept) {
            self.count_pending(id, pending);
        }
    }

    /// Says whether the setup of an app waits for a slot, or for leave to begin; at first it does.
    pub(crate) fn set_awaits_setup(&mut self, id: AppId, awaits_setup: bool) {
        if self.apps.get(&id).is_some_and(|app| app.awaits_setup != awaits_setup) {
            self.change_app(id, |app| app.awaits_setup = awaits_setup);
        }
    }

    /// Changes what decides whether an app is still to be set up, and counts it accordingly.
    pub(super) fn change_app(&mut self, id: AppId, change: impl FnOnce(&mut App)) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let before = app.is_preparing();
        change(app);
        let now = app.is_preparing();
        if before != now {
            self.groups.update_path(app.home, |group| {
                lower(&mut group.preparing, u32::from(before), &mut self.violations);
                raise(&mut group.preparing, u32::from(now), &mut self.violations);
            });
        }
    }

    pub(super) fn count_pending(&mut self, id: AppId, pending: PerKind<u32>) {
        let Some(app) = self.apps.get(&id) else { return };
        let before = app.pending;
        if before == pending {
            return;
        }
        if !app.is_paused {
            self.groups.update_path(app.home, |group| {
                for kind in Kind::ALL {
                    lower(&mut group.pending[kind], before[kind], &mut self.violations);
                    raise(&mut group.pending[kind], pending[kind], &mut self.violations);
                }
            });
        }
        self.change_app(id, |app| app.pending = pending);
    }

    /// A pending task of an app runs now; the caller's next [`Self::set_pending`] says the same.
    pub(super) fn count_pending_down(&mut self, id: AppId, kind: Kind) {
        let Some(app) = self.apps.get(&id) else { return };
        let mut pending = app.pending;
        pending[kind] = pending[kind].saturating_sub(1);
        self.set_pending(id, pending);
    }

    pub(crate) fn app_waiting(&self, id: AppId) -> PerKind<u32> {
        let waiting = |app: &App| PerKind::new(app.tables.map.waiting(), app.tables.reduce.waiting());
        self.apps.get(&id).map_or(PerKind::default(), waiting)
    }

    /// How near a node is to the nearest waiting task of an app; none when none waits or the node is not known.
    pub(crate) fn nearest_level(&self, id: AppId, kind: Kind, node: TrackerId) -> Option<Level> {
        let (app, node) = (self.apps.get(&id)?, self.nodes.get(&node)?);
        (app.tables[kind].waiting() > 0).then(|| app.tables[kind].best_level(node.host, self.topology.near(node.host)))
    }

    /// Tasks of an app that are neither done nor running, by [`Self::set_pending`].
    pub(crate) fn app_pending(&self, id: AppId) -> PerKind<u32> {
        self.apps.get(&id).map_or(PerKind::default(), |app| app.pending)
    }

    /// Logs changes of usage from now on, for a caller that takes them after each of its steps.
    pub(crate) fn log_usage(&mut self) {
        self.usage_log.get_or_insert_default();
    }

    /// Takes the changes since the last call, and an empty buffer in exchange.
    pub(crate) fn take_usage_changes(&mut self, buffer: &mut Vec<UsageChange>) {
        if let Some(log) = &mut self.usage_log {
            buffer.clear();
            std::mem::swap(log, buffer);
        }
    }

    pub(crate) fn has_usage_changes(&self) -> bool {
        self.usage_log.as_ref().is_some_and(|log| !log.is_empty())
    }

    /// A setup or cleanup of an app takes slots, charged to no app and no group.
    pub(crate) fn begin_housekeeping(
        &mut self,
        app: AppId,
        node: TrackerId,
        kind: Kind,
        slots: u32,
        launch_mono_ms: u64,
    ) {
        self.occupy_slots(node, kind, slots);
        self.note_usage(UsageChange::HousekeepingBegun { app, launch_mono_ms });
    }

    /// A setup or cleanup that was launched then has released its slots.
    pub(crate) fn end_housekeeping(
        &mut self,
        app: AppId,
        node: TrackerId,
        kind: Kind,
        slots: u32,
        launch_mono_ms: u64,
    ) {
        self.release_slots(node, kind, slots);
        self.note_usage(UsageChange::HousekeepingEnded { app, launch_mono_ms });
    }

    /// A task-cleanup of an app takes a slot, charged to no app and no group, and soon releases it.
    pub(crate) fn begin_task_cleanup(&mut self, app: AppId, node: TrackerId, kind: Kind, launch_mono_ms: u64) {
        self.start_task_cleanup(node, kind);
        self.note_usage(UsageChange::HousekeepingBegun { app, launch_mono_ms });
    }

    pub(crate) fn finish_task_cleanup(&mut self, app: AppId, node: TrackerId, kind: Kind, launch_mono_ms: u64) {
        self.end_task_cleanup(node, kind);
        self.note_usage(UsageChange::HousekeepingEnded { app, launch_mono_ms });
    }

    pub(super) fn note_held(&mut self, app: AppId, pool: Pool, slots: i64) {
        self.note_usage(UsageChange::Held { app, pool, slots });
        if slots < 0
            && let Some(group) = self.group_of(app)
        {
            self.note_left(group, PerKind::default());
        }
    }

    /// What runs in a group has ended, or what waited was held, killed or asked for no more; `gone` of its tasks are counted still.
    pub(super) fn note_left(&mut self, group: GroupId, gone: PerKind<u32>) {
        let Some(sums) = self.groups.get(group).filter(|_| self.usage_log.is_some()).map(Group::sums) else { return };
        let of_kind = |kind: Kind| {
            u64::from(sums.held[kind]).saturating_add(sums.pending[kind]).saturating_sub(gone[kind].into())
        };
        let of_containers = u64::from(sums.held.container).saturating_add(sums.waiting.container);
        let left = PerPool::new(of_kind(Kind::Map), of_kind(Kind::Reduce), of_containers);
        if self.policy.allocation(group).sells_more_than(left) {
            self.note_usage(UsageChange::TooLittleLeft { group });
        }
    }

    fn note_usage(&mut self, change: UsageChange) {
        if let Some(log) = &mut self.usage_log {
            log.push(change);
        }
    }

    pub(crate) fn app_held(&self, id: AppId) -> PerPool<u32> {
        self.apps.get(&id).map_or(PerPool::default(), |app| app.held)
    }
}
