//! An app moves to another group, with all that it waits for and holds.

use crate::model::Pool;

use super::change::Change;
use super::{AppId, GroupId, Scheduler};

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

    /// Moves an app to another group: its demand, usage and releasing slots count there from now on.
    ///
    /// # Errors
    /// When the app is not known or the group is not open; nothing has changed then.
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
}
