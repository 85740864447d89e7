//! Groups that close with their last app: pools that no file declares.

use super::{GroupId, Scheduler};

impl Scheduler {
    /// Opens a group below the root that closes with its last app, or finds the one that is open under this name.
    pub(crate) fn open_temporary_group(&mut self, name: &str) -> GroupId {
        if let Some(group) = self.groups.by_name(name) {
            return group;
        }
        let group = self.open_group(name);
        self.groups.set_temporary(group, true);
        group
    }

    /// Lets a group close with its last app, at once if it has none.
    pub(crate) fn make_temporary(&mut self, group: GroupId) {
        self.groups.set_temporary(group, true);
        self.close_if_temporary(group);
    }

    pub(super) fn close_if_temporary(&mut self, group: GroupId) {
        if self.groups.is_over(group) {
            // It has no apps.
            let _ = self.close_group(group);
        }
    }
}
