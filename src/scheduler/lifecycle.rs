//! An app between its submission and its end: it begins, counts in its home, moves, pauses, is removed.

use std::sync::Arc;

use crate::model::{Kind, Now, PerKind, PerPool, Pool, TrackerId, Violations, lower, raise};

use super::app::App;
use super::change::{Change, Reaction};
use super::group::Group;
use super::policy::{Leaf, PolicyView};
use super::{AppId, AppSize, GroupId, Scheduler, Totals};

impl Scheduler {
    /// The apps that begin now, in that order: each is returned once. Called while none waits too: the policy may count
    /// apps that had begun before it took over.
    pub fn begin_apps(&mut self, now: Now) -> Vec<AppId> {
        if !self.to_begin.is_empty() {
            self.refresh_fits_when_due(now);
        }
        let Self { policy, groups, apps, nodes, totals, moves, violations, .. } = self;
        let (view, mut reaction) = (PolicyView { groups, totals, apps, nodes }, Reaction { moves, violations });
        let mut beginners = policy.choose_beginners(&self.to_begin, now, &view, &mut reaction);
        self.carry_out_moves();
        beginners.retain(|id| self.to_begin.remove(id));
        beginners
    }

    /// An app had begun before a restart.
    pub fn resume_app(&mut self, id: AppId) {
        self.to_begin.remove(&id);
        if let Some(app) = self.apps.get_mut(&id) {
            app.begins_once_resumed = false;
        }
    }

    pub(crate) fn is_to_begin(&self, id: AppId) -> bool {
        self.to_begin.contains(&id)
    }

    /// Counts an app in the home that the policy assigns to it. It stands in no order yet.
    pub(super) fn enter_home(&mut self, id: AppId) {
        let Some(app) = self.apps.get(&id) else { return };
        let group = app.spec.group;
        let (home, leaf) = match self.policy.leaf_of(&app.spec) {
            Leaf::Root => (group, GroupId::ROOT),
            Leaf::Group => (group, group),
            Leaf::Child(name) => {
                let child = self.open_unlisted_group(group, &name);
                (child, child)
            }
        };
        let Some(app) = self.apps.get_mut(&id) else { return };
        (app.home, app.leaf) = (home, leaf);
        let has_rows = app.containers.as_ref().is_some_and(|demand| demand.has_rows());
        self.groups.add_app(home, &mut self.violations);
        self.groups.update_path(home, |group| add_sums(app, group, &mut self.violations));
        self.count_asking(home, id, has_rows);
        Pool::ALL.into_iter().for_each(|pool| self.rekey(home, pool));
    }

    /// Stops counting an app in its home. It stands in no order any more.
    pub(super) fn leave_home(&mut self, id: AppId) {
        let Some(app) = self.apps.get(&id) else { return };
        let home = app.home;
        self.groups.update_path(home, |group| subtract_sums(app, group, &mut self.violations));
        self.count_asking(home, id, false);
        let closed = self.groups.remove_app(home, &mut self.violations);
        for pool in Pool::ALL {
            self.rekey(home, pool);
            self.wake_path(home, pool);
        }
        if let Some(group) = closed {
            self.forget_group(group);
        }
    }

    fn open_unlisted_group(&mut self, parent: GroupId, name: &Arc<str>) -> GroupId {
        let (child, is_new) = self.groups.open_unlisted(parent, name);
        if is_new {
            self.notify(&Change::GroupOpened(child));
        }
        child
    }
}

pub(super) fn add_sums(app: &App, group: &mut Group, violations: &mut Violations) {
    for kind in Kind::ALL {
        raise(&mut group.pending[kind], app.wanted_later(kind), violations);
    }
    raise(&mut group.preparing, u32::from(app.is_preparing()), violations);
    for pool in Pool::ALL {
        raise(&mut group.running[pool], app.running[pool], violations);
        raise(&mut group.held[pool], app.held[pool], violations);
        raise(&mut group.releasing[pool], app.releasing[pool], violations);
        raise(&mut group.waiting[pool], app.waiting(pool), violations);
    }
}

pub(super) fn subtract_sums(app: &App, group: &mut Group, violations: &mut Violations) {
    for kind in Kind::ALL {
        lower(&mut group.pending[kind], app.wanted_later(kind), violations);
    }
    lower(&mut group.preparing, u32::from(app.is_preparing()), violations);
    for pool in Pool::ALL {
        lower(&mut group.running[pool], app.running[pool], violations);
        lower(&mut group.held[pool], app.held[pool], violations);
        lower(&mut group.releasing[pool], app.releasing[pool], violations);
        lower(&mut group.waiting[pool], app.waiting(pool), violations);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MoveAppError {
    #[error("{0} is not known")]
    UnknownApp(AppId),
    #[error("{app} stays where it is: {group} is not open")]
    GroupNotOpen { app: AppId, group: GroupId },
}

impl Scheduler {
    pub(crate) fn group_of(&self, id: AppId) -> Option<GroupId> {
        self.apps.get(&id).map(|app| app.spec.group)
    }

    /// Moves an app to another group: its demand, usage and releasing slots count there from now on. An error changes nothing.
    pub(crate) fn move_app(&mut self, id: AppId, to: GroupId) -> Result<(), MoveAppError> {
        let from = self.group_of(id).ok_or(MoveAppError::UnknownApp(id))?;
        if from == to {
            return Ok(());
        }
        if self.groups.get(to).is_none() {
            return Err(MoveAppError::GroupNotOpen { app: id, group: to });
        }
        Pool::ALL.into_iter().for_each(|pool| self.dequeue(id, pool));
        self.leave_home(id);
        if let Some(app) = self.apps.get_mut(&id) {
            app.spec.group = to;
        }
        self.enter_home(id);
        self.notify(&Change::AppMoved(id));
        self.enqueue_waiting(id);
        self.close_if_temporary(from);
        Ok(())
    }

    /// Pauses an app, or resumes it. One that waits to begin does not begin while it is paused. No effect on one that was removed.
    pub(crate) fn set_paused(&mut self, id: AppId, is_paused: bool) {
        if self.apps.get(&id).is_none_or(|app| app.is_paused == is_paused || app.draining) {
            return;
        }
        if is_paused {
            self.end_reservations_of_app(id);
            self.end_container_reservations_of_app(id);
            Pool::ALL.into_iter().for_each(|pool| self.dequeue(id, pool));
        }
        let waits_to_begin = is_paused && self.to_begin.remove(&id);
        let slot = self.slot_size();
        let Some(app) = self.apps.get_mut(&id) else { return };
        let was_to_begin = std::mem::replace(&mut app.begins_once_resumed, waits_to_begin);
        let home = app.home;
        self.groups.update_path(home, |group| subtract_sums(app, group, &mut self.violations));
        change_waiting(
            &mut self.totals,
            app,
            |count, by, violations| lower(count, by, violations),
            &mut self.violations,
        );
        app.is_paused = is_paused;
        if let Some(demand) = &mut app.containers {
            demand.pause(is_paused, slot);
        }
        self.groups.update_path(home, |group| add_sums(app, group, &mut self.violations));
        change_waiting(
            &mut self.totals,
            app,
            |count, by, violations| raise(count, by, violations),
            &mut self.violations,
        );
        let (leaf, group) = (app.leaf, app.spec.group);
        if is_paused {
            self.note_left(group, PerKind::default());
        }
        self.look_at_rows_again(id);
        if !is_paused {
            if was_to_begin {
                self.to_begin.insert(id);
            }
            Pool::ALL.into_iter().for_each(|pool| self.wake_path(leaf, pool));
            self.enqueue_waiting(id);
        }
        Pool::ALL.into_iter().for_each(|pool| self.rekey(home, pool));
        self.notify(&Change::Fit(id));
        Pool::ALL.into_iter().for_each(|pool| self.notify(&Change::Demand { app: id, pool }));
    }

    fn end_container_reservations_of_app(&mut self, id: AppId) {
        let demand = self.apps.get(&id).and_then(|app| app.containers.as_deref());
        let nodes: Vec<TrackerId> = demand.into_iter().flat_map(|demand| demand.reserved_nodes()).collect();
        nodes.into_iter().for_each(|node| self.end_container_reservation(node));
    }
}

/// Counts what an app waits for in the totals, or counts it no more.
fn change_waiting(
    totals: &mut Totals,
    app: &App,
    change: impl Fn(&mut u64, u64, &mut Violations),
    violations: &mut Violations,
) {
    Pool::ALL.into_iter().for_each(|pool| change(&mut totals.waiting[pool], app.waiting(pool), violations));
}

impl Scheduler {
    /// Removes an app with all its demand. Attempts that still hold slots count as running until each has ended. No effect
    /// on one that was removed before.
    pub(crate) fn remove_app(&mut self, id: AppId) {
        self.to_begin.remove(&id);
        let keeps = self.policy.keeps_removed_apps();
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.draining) else { return };
        app.is_kept = keeps;
        if !keeps {
            self.notify(&Change::Size { app: id, size: AppSize::default() });
            self.end_reservations_of_app(id);
        }
        self.withdraw_rows(id);
        let Some(app) = self.apps.get_mut(&id) else { return };
        let (home, group) = (app.home, app.spec.group);
        let waiting = PerPool::new(app.waiting(Pool::Map), app.waiting(Pool::Reduce), app.waiting(Pool::Container));
        let wanted = PerKind::new(app.wanted_later(Kind::Map), app.wanted_later(Kind::Reduce));
        app.tables = PerKind::default();
        self.change_app(id, |app| app.draining = true);
        for pool in Pool::ALL {
            self.count_waiting_down(home, pool, waiting[pool]);
        }
        if wanted != PerKind::default() || waiting.container > 0 {
            // One that is kept is counted until it is let go.
            self.note_left(group, if keeps { wanted } else { PerKind::default() });
        }
        if !keeps {
            self.leave_orders(id);
        }
        self.notify(&Change::AppRemoved(id));
        self.forget_drained(id);
    }

    /// The job of a removed app is over, its cleanup included: policies that limit unfinished jobs count it no more.
    pub(crate) fn end_app(&mut self, id: AppId) {
        self.let_go(id);
        self.notify(&Change::AppEnded(id));
        self.forget_drained(id);
    }

    pub(super) fn let_go(&mut self, id: AppId) {
        if let Some(app) = self.apps.get_mut(&id).filter(|app| app.is_kept) {
            app.is_kept = false;
            self.end_reservations_of_app(id);
            self.leave_orders(id);
        }
    }

    fn leave_orders(&mut self, id: AppId) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.size = AppSize::default();
        }
        Pool::ALL.into_iter().for_each(|pool| self.dequeue(id, pool));
        self.count_pending(id, PerKind::default());
    }

    /// Drops a removed app that holds no slot any more.
    pub(super) fn forget_drained(&mut self, id: AppId) {
        if self.apps.get(&id).is_none_or(|app| !app.is_drained()) {
            return;
        }
        self.leave_home(id);
        self.choosy.forget(id);
        if let Some(app) = self.apps.remove(&id) {
            self.close_if_temporary(app.spec.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scheduler::{AppSpec, FifoOptions};

    use super::*;

    const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

    fn with_apps(scheduler: &mut Scheduler, numbers: [u32; 3]) -> [AppId; 3] {
        let group = scheduler.open_group("q");
        numbers.map(|number| {
            let id = AppId::new(number);
            scheduler.add_app(AppSpec::plain(id, group)).unwrap();
            id
        })
    }

    #[test]
    fn first_in_first_out_and_the_market_let_all_begin_at_once_and_each_once() {
        let fifo = |compatible| Scheduler::fifo(FifoOptions { compatible, ..FifoOptions::default() });
        for mut scheduler in [fifo(false), fifo(true), Scheduler::dynamic()] {
            let [first, resumed, removed] = with_apps(&mut scheduler, [1, 2, 3]);
            assert!(scheduler.is_to_begin(first));
            scheduler.resume_app(resumed);
            scheduler.remove_app(removed);
            assert_eq!(scheduler.begin_apps(NOW), [first]);
            assert!(!scheduler.is_to_begin(first));
            assert_eq!(scheduler.begin_apps(NOW), []);
        }
    }

    #[test]
    fn an_app_that_the_policy_holds_back_waits() {
        let mut scheduler = Scheduler::fifo(FifoOptions::default());
        let gate = scheduler.set_gate();
        let [first, second, third] = with_apps(&mut scheduler, [1, 2, 3]);
        assert_eq!(scheduler.begin_apps(NOW), []);
        gate.admit(2);
        assert_eq!(scheduler.begin_apps(NOW), [first, second]);
        assert_eq!(scheduler.begin_apps(NOW), []);
        assert!(scheduler.is_to_begin(third));
    }
}
