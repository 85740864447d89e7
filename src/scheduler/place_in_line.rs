//! The place of an app in the order that grants follow.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Kind, OrderClass};

use super::key::{AppKey, GroupKey};
use super::state::KeyedGroups;
use super::{AppId, GroupId, Scheduler};

/// A position in the order of grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePosition {
    /// Groups with demand that are served first.
    pub groups_before: usize,
    /// Apps of the same group, or of all groups where the policy ignores them, that come first, also those that a limit
    /// holds back.
    pub apps_before: usize,
    /// Class of the group, where the policy distinguishes buyers.
    pub class: Option<OrderClass>,
}

/// Finds the positions of many apps; each group is looked at once.
#[derive(Debug)]
pub struct PlacesInLine<'a> {
    scheduler: &'a Scheduler,
    kind: Kind,
    groups: BTreeMap<GroupId, GroupInLine>,
}

#[derive(Debug)]
struct GroupInLine {
    key: GroupKey,
    groups_before: usize,
    /// In order.
    apps: Vec<(AppKey, AppId)>,
}

// === impl PlacesInLine ===

impl PlacesInLine<'_> {
    /// The position of an app that waits for slots of the kind; none for one that does not. One that a limit keeps out
    /// of the order has the position that it would have without the limit.
    pub fn position(&mut self, id: AppId) -> Option<QueuePosition> {
        let Scheduler { policy, groups, orders, apps, .. } = self.scheduler;
        let kind = self.kind;
        let app = apps.get(&id).filter(|app| app.tables[kind].waiting() > 0)?;
        let key = app.ordered_by[kind].unwrap_or_else(|| policy.app_key(app, kind));
        let group = if app.leaf == GroupId::ROOT { GroupId::ROOT } else { app.spec.group };
        let in_line = self.groups.entry(group).or_insert_with(|| {
            let tree = KeyedGroups { policy: &**policy, groups, kind };
            let (key, groups_before) = orders[kind].place_of(group, key, &tree);
            GroupInLine { key, groups_before, apps: self.scheduler.line_of(group, kind) }
        });
        Some(QueuePosition {
            groups_before: in_line.groups_before,
            apps_before: in_line.apps.partition_point(|before| *before < (key, id)),
            class: policy.class_of(&in_line.key),
        })
    }
}

// === impl Scheduler: places in line ===

impl Scheduler {
    /// Positions of apps that wait for slots of a kind.
    pub fn places_in_line(&self, kind: Kind) -> PlacesInLine<'_> {
        PlacesInLine { scheduler: self, kind, groups: BTreeMap::new() }
    }

    /// The waiting apps of a group in their order, parked ones included.
    fn line_of(&self, group: GroupId, kind: Kind) -> Vec<(AppKey, AppId)> {
        let (order, top) = (&self.orders[kind], self.groups.top_of(group));
        let is_here = |id: GroupId| group == GroupId::ROOT || self.groups.is_within(id, group);
        let parked = order.parked_in(top).into_iter().filter(|&id| is_here(id));
        let starts: BTreeSet<GroupId> = parked.chain([group]).collect();
        let mut line: Vec<_> = starts.into_iter().flat_map(|id| order.apps_in(id)).collect();
        line.extend(self.parked_apps_in(top, kind).filter_map(|id| {
            let app = self.apps.get(&id).filter(|app| is_here(app.leaf))?;
            Some((self.policy.app_key(app, kind), id))
        }));
        line.sort_unstable();
        line
    }

    /// The position of one app.
    pub fn queue_position(&self, id: AppId, kind: Kind) -> Option<QueuePosition> {
        self.places_in_line(kind).position(id)
    }
}
