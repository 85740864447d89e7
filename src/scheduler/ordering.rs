//! Keeps each app and group at its place in the order of each pool, out of it while a limit blocks it, and carries out
//! what the policy requests.

use crate::model::{Kind, Now, Pool, lower};

use super::change::{Change, Moves, Reaction};
use super::key::FirstApp;
use super::policy::{Policy, PolicyView};
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

    pub(super) fn rekey_app(&mut self, id: AppId) {
        for pool in Pool::ALL {
            let Some(app) = self.apps.get(&id) else { return };
            if app.ordered_by[pool].is_some_and(|before| before != self.policy.app_key(app, pool)) {
                self.dequeue(id, pool);
                self.enqueue(id, pool);
            }
        }
    }

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

    pub(super) fn park_app(&mut self, id: AppId, pool: Pool) {
        self.dequeue(id, pool);
        if let Some(app) = self.apps.get_mut(&id) {
            app.is_parked[pool] = true;
            self.parked_apps[pool].insert((self.groups.top_of(app.leaf), id));
        }
    }

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

    pub(super) fn is_asked_idle(&self, id: AppId) -> bool {
        self.policy.asks_idle_apps() && self.apps.get(&id).is_some_and(|app| app.is_running() && !app.is_paused)
    }

    /// Adds an app to the orders of the kinds for which none of its tasks waits.
    pub(super) fn enqueue_idle(&mut self, id: AppId) {
        self.idle_kinds(id).for_each(|kind| self.enqueue(id, kind.into()));
    }

    pub(super) fn dequeue_idle(&mut self, id: AppId) {
        self.idle_kinds(id).for_each(|kind| self.dequeue(id, kind.into()));
    }

    fn idle_kinds(&self, id: AppId) -> impl Iterator<Item = Kind> + use<> {
        let waiting = self.app_waiting(id);
        Kind::ALL.into_iter().filter(move |&kind| waiting[kind] == 0)
    }

    pub fn tick(&mut self, now: Now) {
        self.refresh_fits_when_due(now);
        self.notify(&Change::Tick(now));
    }

    /// Sets the time between heartbeats of a tracker, ms, which the policy uses from its next tick on.
    pub(crate) fn set_heartbeat_interval_ms(&mut self, interval_ms: u64) {
        self.policy.set_heartbeat_interval_ms(interval_ms);
    }

    pub(super) fn notify(&mut self, change: &Change) {
        self.change_policy(|policy, view, reaction| policy.on_change(change, view, reaction));
    }

    /// Notifies the policy of a change while nothing stands in an order: there is nothing to move yet.
    pub(super) fn notify_unordered(&mut self, change: &Change) {
        self.tell_policy(|policy, view, reaction| policy.on_change(change, view, reaction));
    }

    /// Has the policy change its own state, and does what it requests.
    pub(super) fn change_policy(&mut self, change: impl FnOnce(&mut dyn Policy, &PolicyView<'_>, &mut Reaction<'_>)) {
        self.tell_policy(change);
        self.carry_out_moves();
    }

    fn tell_policy(&mut self, change: impl FnOnce(&mut dyn Policy, &PolicyView<'_>, &mut Reaction<'_>)) {
        let Self { policy, groups, apps, nodes, totals, moves, violations, .. } = self;
        change(&mut **policy, &PolicyView { groups, totals, apps, nodes }, &mut Reaction { moves, violations });
    }

    pub(super) fn carry_out_moves(&mut self) {
        if !self.moves.is_empty() {
            let mut moves = std::mem::take(&mut self.moves);
            self.carry_out(&mut moves);
            self.moves = moves;
        }
    }

    fn carry_out(&mut self, moves: &mut Moves) {
        moves.apps.drain(..).for_each(|app| self.rekey_app(app));
        for group in moves.groups.drain(..) {
            Pool::ALL.into_iter().for_each(|pool| self.rekey(group, pool));
        }
        if std::mem::take(&mut moves.all) {
            let mut apps: Vec<AppId> = self.apps.keys().copied().collect();
            apps.sort_unstable();
            apps.into_iter().for_each(|app| self.rekey_app(app));
            self.rekey_groups();
        }
        for app in moves.wake_apps.drain(..) {
            Pool::ALL.into_iter().for_each(|pool| self.wake_app(app, pool));
        }
        for group in moves.wake_groups.drain(..) {
            Pool::ALL.into_iter().for_each(|pool| self.wake_group(group, pool));
        }
        moves.wake_below.drain(..).for_each(|group| self.wake_all_below(group));
        moves.wake_containers_below.drain(..).for_each(|group| self.wake_below_for(group, Pool::Container));
    }
}
