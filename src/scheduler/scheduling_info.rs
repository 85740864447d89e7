//! Scheduling information: what the policy says about apps and groups, to clients as texts and to pages as numbers.

use crate::model::{Now, PerKind};

use super::constraint::DeadlineState;
use super::hold::Hold;
use super::policy::{AppDetail, GroupDetail, View};
use super::{AppId, GroupId, Scheduler};

/// A group with its sums and with the policy's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupReport<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: GroupId,
    /// Name of the group around it.
    pub(crate) parent: Option<&'a str>,
    pub(crate) apps: u32,
    /// Attempts that hold slots.
    pub(crate) running: PerKind<u32>,
    /// Slots that they hold.
    pub(crate) held: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub(crate) waiting: PerKind<u32>,
    pub(crate) detail: GroupDetail,
}

impl Scheduler {
    /// The scheduling information of an app; none where the policy has none.
    pub(crate) fn app_report(&self, id: AppId) -> Option<String> {
        self.policy.app_report(self.apps.get(&id)?)
    }

    /// The apps of a group as clients list them; none where the policy has no order of its own for that.
    pub(crate) fn listed_apps(&self, group: GroupId) -> Option<Vec<AppId>> {
        self.policy.listed_apps(group)
    }

    /// The scheduling information of a group; none where the policy has none.
    pub(crate) fn group_report(&self, id: GroupId) -> Option<String> {
        self.policy.group_report(id)
    }
}

impl Scheduler {
    /// All groups, by name.
    pub(crate) fn group_reports(&self, now: Now) -> impl Iterator<Item = GroupReport<'_>> {
        self.group_reports_from(0, now)
    }

    pub(crate) fn group_reports_from(&self, from: usize, now: Now) -> impl Iterator<Item = GroupReport<'_>> {
        self.groups.iter().skip(from).map(move |(name, id, group)| GroupReport {
            name,
            id,
            parent: group.parent.and_then(|parent| self.groups.name(parent)),
            apps: group.apps,
            running: group.running.slots(),
            held: group.held.slots(),
            waiting: group.waiting.slots().narrow(),
            detail: self.policy.group_detail(id, now),
        })
    }

    /// Tasks that pools could run by the last update; zero where there are no pools.
    pub(crate) fn runnable_tasks(&self) -> PerKind<u64> {
        self.policy.runnable_tasks()
    }

    /// How so many apps with a deadline stand, the earliest first, from one on; none where deadlines are not kept.
    pub(crate) fn deadline_states(&self, from: usize, count: usize) -> Vec<DeadlineState> {
        self.policy.deadline_states(from, count)
    }

    pub(crate) fn app_detail(&self, id: AppId) -> AppDetail {
        self.apps.get(&id).map_or(AppDetail::Plain, |app| self.policy.app_detail(app))
    }

    /// The limit that keeps an app from beginning.
    pub(crate) fn begin_hold(&self, id: AppId) -> Option<Hold> {
        self.policy.begin_hold(self.apps.get(&id)?)
    }

    /// What holds an app back at this moment, the most important first.
    pub(crate) fn holds(&self, id: AppId, now: Now) -> Vec<Hold> {
        let Self { policy, groups, apps, nodes, totals, .. } = self;
        let view = View { groups, totals, apps, nodes };
        self.apps.get(&id).map_or(Vec::new(), |app| policy.holds(app, &view, now))
    }
}
