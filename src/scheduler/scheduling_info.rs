//! Scheduling information: what the policy says about apps and groups, to clients as texts and to pages as numbers.

use crate::model::{Now, PerKind};

use super::constraint::DeadlineState;
use super::policy::{AppDetail, GroupDetail, Hold};
use super::{AppId, GroupId, Scheduler};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupReport<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: GroupId,
    /// Name of the group around it.
    pub(crate) parent: Option<&'a str>,
    pub(crate) apps: u32,
    pub(crate) running: PerKind<u32>,
    pub(crate) held: PerKind<u32>,
    pub(crate) waiting: PerKind<u32>,
    pub(crate) detail: GroupDetail,
}

impl Scheduler {
    /// The scheduling information of an app; none where the policy has none.
    pub(crate) fn app_report(&self, id: AppId) -> Option<String> {
        self.policy.app_report(self.apps.get(&id)?)
    }

    pub(crate) fn listed_apps(&self, group: GroupId) -> Option<Vec<AppId>> {
        self.policy.listed_apps(group)
    }

    pub(crate) fn group_report(&self, id: GroupId) -> Option<String> {
        self.policy.group_report(id)
    }

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

    pub(crate) fn runnable_tasks(&self) -> PerKind<u64> {
        self.policy.runnable_tasks()
    }

    pub(crate) fn deadline_states(&self, from: usize, count: usize) -> Vec<DeadlineState> {
        self.policy.deadline_states(from, count)
    }

    pub(crate) fn app_detail(&self, id: AppId) -> AppDetail {
        self.apps.get(&id).map_or(AppDetail::Plain, |app| self.policy.app_detail(app))
    }

    pub(crate) fn begin_hold(&self, id: AppId) -> Option<Hold> {
        self.policy.begin_hold(self.apps.get(&id)?)
    }

    pub(crate) fn holds(&self, id: AppId, now: Now) -> Vec<Hold> {
        self.apps.get(&id).map_or(Vec::new(), |app| self.policy.holds(app, &self.view(), now))
    }
}
