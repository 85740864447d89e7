//! An app moves to another group, with all that it waits for and holds.

use crate::model::{Kind, lower, raise};

use super::{AppId, GroupId, Scheduler};

/// Why an app was not moved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveAppError {
    /// The app is not known.
    #[error("{0} is not known")]
    UnknownApp(AppId),
    /// The group is not open.
    #[error("{app} stays where it is: {group} is not open")]
    GroupNotOpen {
        /// The app.
        app: AppId,
        /// The group.
        group: GroupId,
    },
}

// === impl Scheduler: moving apps ===

impl Scheduler {
    /// The group of an app.
    pub fn group_of(&self, id: AppId) -> Option<GroupId> {
        self.apps.get(&id).map(|app| app.spec.group)
    }

    /// Moves an app to another group: its demand, usage and releasing slots count there from now on.
    ///
    /// # Errors
    /// When the app is not known or the group is not open; nothing has changed then.
    pub fn move_app(&mut self, id: AppId, to: GroupId) -> Result<(), MoveAppError> {
        let from = self.group_of(id).ok_or(MoveAppError::UnknownApp(id))?;
        if from == to {
            return Ok(());
        }
        if !self.groups.add_app(to, &mut self.violations) {
            return Err(MoveAppError::GroupNotOpen { app: id, group: to });
        }
        self.groups.remove_app(from, &mut self.violations);
        Kind::ALL.into_iter().for_each(|kind| self.dequeue(id, kind));
        self.move_sums(id, from, to);
        let leaf_before = self.apps.get(&id).map(|app| app.leaf);
        if let Some(app) = self.apps.get_mut(&id) {
            app.spec.group = to;
        }
        self.place_in_leaf(id);
        self.enqueue_waiting(id);
        let leaf = self.apps.get(&id).map(|app| app.leaf);
        for leaf in [leaf_before, leaf].into_iter().flatten() {
            Kind::ALL.into_iter().for_each(|kind| self.rekey(leaf, kind));
        }
        Ok(())
    }

    fn move_sums(&mut self, id: AppId, from: GroupId, to: GroupId) {
        let Some(app) = self.apps.get(&id) else { return };
        let pending = u64::from(app.pending.map) + u64::from(app.pending.reduce);
        if let Some(group) = self.groups.get_mut(from) {
            lower(&mut group.pending, pending, &mut self.violations);
            for kind in Kind::ALL {
                lower(&mut group.running[kind], app.running[kind], &mut self.violations);
                lower(&mut group.releasing[kind], app.releasing[kind], &mut self.violations);
                lower(&mut group.waiting[kind], app.tables[kind].waiting(), &mut self.violations);
            }
        }
        if let Some(group) = self.groups.get_mut(to) {
            raise(&mut group.pending, pending, &mut self.violations);
            for kind in Kind::ALL {
                raise(&mut group.running[kind], app.running[kind], &mut self.violations);
                raise(&mut group.releasing[kind], app.releasing[kind], &mut self.violations);
                raise(&mut group.waiting[kind], app.tables[kind].waiting(), &mut self.violations);
            }
        }
    }
}
