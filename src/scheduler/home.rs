//! The home of an app: the group whose sums count it, with all above it; and where it is ordered.

use std::sync::Arc;

use crate::model::{Kind, Pool, Violations, lower, raise};

use super::app::App;
use super::change::Change;
use super::group::Group;
use super::policy::Leaf;
use super::{AppId, GroupId, Scheduler};

impl Scheduler {
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
