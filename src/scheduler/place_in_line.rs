//! The place of an app in the order that grants follow.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{OrderClass, Pool};

use super::app::App;
use super::key::{AppKey, FirstApp, GroupKey};
use super::state::KeyedGroups;
use super::{AppId, GroupId, Scheduler};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePosition {
    /// Groups with demand that are served first.
    pub(crate) groups_before: usize,
    /// Apps of the same group, or of all groups where the policy ignores them, that come first, also those that a limit holds back.
    pub(crate) apps_before: usize,
    /// Class of the group, where the policy distinguishes buyers.
    pub(crate) class: Option<OrderClass>,
}

/// Finds the positions of many apps; each group is looked at once.
#[derive(Debug)]
pub(crate) struct PlacesInLine<'a> {
    scheduler: &'a Scheduler,
    pool: Pool,
    groups: BTreeMap<GroupId, GroupInLine>,
    /// Apps that wait to begin, in order.
    to_begin: BTreeMap<GroupId, Vec<(AppKey, AppId)>>,
}

#[derive(Debug)]
struct GroupInLine {
    key: GroupKey,
    groups_before: usize,
    apps: Vec<(AppKey, AppId)>,
}

impl PlacesInLine<'_> {
    /// The position of an app that waits for a grant from the pool or to begin; none for one that does not. One that a limit keeps out of
    /// the order has the position that it would have without the limit; one that waits to begin comes after all that have begun.
    pub(crate) fn position(&mut self, id: AppId) -> Option<QueuePosition> {
        let Scheduler { policy, groups, orders, apps, .. } = self.scheduler;
        let pool = self.pool;
        let app = apps.get(&id)?;
        let is_to_begin = app.waiting(pool) == 0;
        if is_to_begin && !self.scheduler.is_to_begin(id) {
            return None;
        }
        let key = app.ordered_by[pool].unwrap_or_else(|| policy.app_key(app, pool));
        let group = line_of(app);
        let in_line = self.groups.entry(group).or_insert_with(|| {
            let tree = KeyedGroups { policy: &**policy, groups, pool };
            let (key, groups_before) =
                orders[pool].place_of(group, FirstApp { key, slots: app.slots_of_next(pool) }, &tree);
            GroupInLine { key, groups_before, apps: self.scheduler.line_of(group, pool) }
        });
        Some(QueuePosition {
            groups_before: in_line.groups_before,
            apps_before: match self.to_begin.get(&group).filter(|_| is_to_begin) {
                Some(to_begin) => {
                    in_line.apps.len() + to_begin.partition_point(|before| *before < (policy.begin_key(app), id))
                }
                None => in_line.apps.partition_point(|before| *before < (key, id)),
            },
            class: policy.class_of(&in_line.key),
        })
    }
}

/// The group whose apps stand in one line with this one.
fn line_of(app: &App) -> GroupId {
    if app.leaf == GroupId::ROOT { GroupId::ROOT } else { app.spec.group }
}

impl Scheduler {
    pub(crate) fn places_in_line(&self, pool: impl Into<Pool>) -> PlacesInLine<'_> {
        let mut to_begin: BTreeMap<GroupId, Vec<(AppKey, AppId)>> = BTreeMap::new();
        for (id, app) in self.to_begin.iter().filter_map(|id| Some((*id, self.apps.get(id)?))) {
            to_begin.entry(line_of(app)).or_default().push((self.policy.begin_key(app), id));
        }
        to_begin.values_mut().for_each(|line| line.sort_unstable());
        PlacesInLine { scheduler: self, pool: pool.into(), groups: BTreeMap::new(), to_begin }
    }

    /// The waiting apps of a group in their order, parked ones included.
    fn line_of(&self, group: GroupId, pool: Pool) -> Vec<(AppKey, AppId)> {
        let (order, top) = (&self.orders[pool], self.groups.top_of(group));
        let is_here = |id: GroupId| group == GroupId::ROOT || self.groups.is_within(id, group);
        let parked = order.parked_in(top).into_iter().filter(|&id| is_here(id));
        let starts: BTreeSet<GroupId> = parked.chain([group]).collect();
        let mut line: Vec<_> = starts.into_iter().flat_map(|id| order.apps_in(id)).collect();
        line.extend(self.parked_apps_in(top, pool).filter_map(|id| {
            let app = self.apps.get(&id).filter(|app| is_here(app.leaf))?;
            Some((self.policy.app_key(app, pool), id))
        }));
        line.sort_unstable();
        line
    }

    pub(crate) fn queue_position(&self, id: AppId, pool: impl Into<Pool>) -> Option<QueuePosition> {
        self.places_in_line(pool).position(id)
    }
}
