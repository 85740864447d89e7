//! Tasks that are still to run: those that an app has in all, and those of them that wait for a slot.

use crate::model::{Kind, PerKind, TrackerId, lower, raise};

use super::app::App;
use super::{AppId, Level, Scheduler};

impl Scheduler {
    /// Sets the tasks of an app that are neither done nor given up nor running, runnable or not: what the market calls
    /// pending. A removed app has none, unless the policy keeps it.
    pub(crate) fn set_pending(&mut self, id: AppId, pending: PerKind<u32>) {
        if self.apps.get(&id).is_some_and(|app| !app.draining || app.is_kept) {
            self.count_pending(id, pending);
        }
    }

    /// Says whether the setup of an app waits for a slot, or for leave to begin; at first it does.
    pub(crate) fn set_awaits_setup(&mut self, id: AppId, awaits_setup: bool) {
        if self.apps.get(&id).is_some_and(|app| app.awaits_setup != awaits_setup) {
            self.change_app(id, |app| app.awaits_setup = awaits_setup);
        }
    }

    /// Changes what decides whether an app is still to be set up, and counts it accordingly.
    pub(super) fn change_app(&mut self, id: AppId, change: impl FnOnce(&mut App)) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let before = app.is_preparing();
        change(app);
        let now = app.is_preparing();
        if before != now {
            self.groups.update_path(app.home, |group| {
                lower(&mut group.preparing, u32::from(before), &mut self.violations);
                raise(&mut group.preparing, u32::from(now), &mut self.violations);
            });
        }
    }

    pub(super) fn count_pending(&mut self, id: AppId, pending: PerKind<u32>) {
        let Some(app) = self.apps.get(&id) else { return };
        let before = app.pending;
        if before == pending {
            return;
        }
        if !app.is_paused {
            self.groups.update_path(app.home, |group| {
                for kind in Kind::ALL {
                    lower(&mut group.pending[kind], before[kind], &mut self.violations);
                    raise(&mut group.pending[kind], pending[kind], &mut self.violations);
                }
            });
        }
        self.change_app(id, |app| app.pending = pending);
    }

    /// A pending task of an app runs now; the caller's next [`Self::set_pending`] says the same.
    pub(super) fn count_pending_down(&mut self, id: AppId, kind: Kind) {
        let Some(app) = self.apps.get(&id) else { return };
        let mut pending = app.pending;
        pending[kind] = pending[kind].saturating_sub(1);
        self.set_pending(id, pending);
    }

    /// Tasks of an app that wait for a slot.
    pub(crate) fn app_waiting(&self, id: AppId) -> PerKind<u32> {
        let waiting = |app: &App| PerKind::new(app.tables.map.waiting(), app.tables.reduce.waiting());
        self.apps.get(&id).map_or(PerKind::default(), waiting)
    }

    /// How near a node is to the nearest waiting task of an app; none when none waits or the node is not known.
    pub(crate) fn nearest_level(&self, id: AppId, kind: Kind, node: TrackerId) -> Option<Level> {
        let (app, node) = (self.apps.get(&id)?, self.nodes.get(&node)?);
        (app.tables[kind].waiting() > 0).then(|| app.tables[kind].best_level(node.host, self.topology.near(node.host)))
    }

    /// Tasks of an app that are neither done nor running, by [`Self::set_pending`].
    pub(crate) fn app_pending(&self, id: AppId) -> PerKind<u32> {
        self.apps.get(&id).map_or(PerKind::default(), |app| app.pending)
    }
}
