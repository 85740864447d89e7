//! Scheduling information: what the policy says about an app or a group to clients and pages.

use super::{AppId, GroupId, Scheduler};

// === impl Scheduler ===

impl Scheduler {
    /// The scheduling information of an app; none where the policy has none.
    pub fn app_report(&self, id: AppId) -> Option<String> {
        self.policy.app_report(self.apps.get(&id)?)
    }

    /// The apps of a group as clients list them; none where the policy has no order of its own for that.
    pub fn listed_apps(&self, group: GroupId) -> Option<Vec<AppId>> {
        self.policy.listed_apps(group)
    }

    /// The scheduling information of a group; none where the policy has none.
    pub fn group_report(&self, id: GroupId) -> Option<String> {
        self.policy.group_report(id)
    }
}
