//! Removing apps: first their demand, when their end is decided, then what they hold.

use crate::model::{Kind, PerKind, PerPool, Pool};

use super::change::Change;
use super::{AppId, AppSize, Scheduler};

impl Scheduler {
    /// Removes an app with all its demand. Attempts that still hold slots count as running until each has ended. No effect
    /// on one that was removed before.
    pub(crate) fn remove_app(&mut self, id: AppId) {
        self.to_begin.remove(&id);
        let keeps = self.policy.keeps_removed_apps();
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.draining) else { return };
        app.is_kept = keeps;
        if !keeps {
            self.notify(&Change::Size { app: id, size: AppSize::default() });
            self.end_reservations_of_app(id);
        }
        self.withdraw_rows(id);
        let Some(app) = self.apps.get_mut(&id) else { return };
        let (home, group) = (app.home, app.spec.group);
        let waiting = PerPool::new(app.waiting(Pool::Map), app.waiting(Pool::Reduce), app.waiting(Pool::Container));
        let wanted = PerKind::new(app.wanted_later(Kind::Map), app.wanted_later(Kind::Reduce));
        app.tables = PerKind::default();
        self.change_app(id, |app| app.draining = true);
        for pool in Pool::ALL {
            self.count_waiting_down(home, pool, waiting[pool]);
        }
        if wanted != PerKind::default() || waiting.container > 0 {
            // One that is kept is counted until it is let go.
            self.note_left(group, if keeps { wanted } else { PerKind::default() });
        }
        if !keeps {
            self.leave_orders(id);
        }
        self.notify(&Change::AppRemoved(id));
        self.forget_drained(id);
    }

    /// The job of a removed app is over, its cleanup included: policies that limit unfinished jobs count it no more.
    pub(crate) fn end_app(&mut self, id: AppId) {
        self.let_go(id);
        self.notify(&Change::AppEnded(id));
        self.forget_drained(id);
    }

    /// Keeps a removed app no more.
    pub(super) fn let_go(&mut self, id: AppId) {
        if let Some(app) = self.apps.get_mut(&id).filter(|app| app.is_kept) {
            app.is_kept = false;
            self.end_reservations_of_app(id);
            self.leave_orders(id);
        }
    }

    fn leave_orders(&mut self, id: AppId) {
        if let Some(app) = self.apps.get_mut(&id) {
            app.size = AppSize::default();
        }
        Pool::ALL.into_iter().for_each(|pool| self.dequeue(id, pool));
        self.count_pending(id, PerKind::default());
    }

    /// Drops a removed app that holds no slot any more.
    pub(super) fn forget_drained(&mut self, id: AppId) {
        if self.apps.get(&id).is_none_or(|app| !app.is_drained()) {
            return;
        }
        self.leave_home(id);
        self.choosy.forget(id);
        if let Some(app) = self.apps.remove(&id) {
            self.close_if_temporary(app.spec.group);
        }
    }
}
