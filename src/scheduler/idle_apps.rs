//! Running apps that are asked even while none of their tasks waits, under a policy that wants that.

use crate::model::Kind;

use super::{AppId, Scheduler};

impl Scheduler {
    /// Whether an app is asked while none of its tasks waits.
    pub(super) fn is_asked_idle(&self, id: AppId) -> bool {
        self.policy.asks_idle_apps() && self.apps.get(&id).is_some_and(|app| app.is_running() && !app.is_paused)
    }

    /// Adds an app to the orders of the kinds for which none of its tasks waits.
    pub(super) fn enqueue_idle(&mut self, id: AppId) {
        self.idle_kinds(id).for_each(|kind| self.enqueue(id, kind.into()));
    }

    /// Removes an app from the orders of the kinds for which none of its tasks waits.
    pub(super) fn dequeue_idle(&mut self, id: AppId) {
        self.idle_kinds(id).for_each(|kind| self.dequeue(id, kind.into()));
    }

    fn idle_kinds(&self, id: AppId) -> impl Iterator<Item = Kind> + use<> {
        let waiting = self.app_waiting(id);
        Kind::ALL.into_iter().filter(move |&kind| waiting[kind] == 0)
    }
}
