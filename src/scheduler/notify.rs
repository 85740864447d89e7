//! The policy is notified of each change, and what it requests is carried out once, after the call.

use crate::model::{Now, Pool};

use super::change::{Change, Moves, Reaction};
use super::policy::Policy;
use super::view::View;
use super::{AppId, Scheduler};

impl Scheduler {
    /// Time has passed; the policy recomputes what depends on it.
    pub fn tick(&mut self, now: Now) {
        self.refresh_fits_when_due(now);
        self.notify(&Change::Tick(now));
    }

    /// Sets the time between heartbeats of a tracker, ms, which the policy uses from its next tick on.
    pub(crate) fn set_heartbeat_interval_ms(&mut self, interval_ms: u64) {
        self.policy.set_heartbeat_interval_ms(interval_ms);
    }

    /// Notifies the policy of a change, and does what it requests.
    pub(super) fn notify(&mut self, change: &Change) {
        self.change_policy(|policy, view, reaction| policy.on_change(change, view, reaction));
    }

    /// Notifies the policy of a change while nothing stands in an order: there is nothing to move yet.
    pub(super) fn notify_unordered(&mut self, change: &Change) {
        self.tell_policy(|policy, view, reaction| policy.on_change(change, view, reaction));
    }

    /// Has the policy change its own state, and does what it requests.
    pub(super) fn change_policy(&mut self, change: impl FnOnce(&mut dyn Policy, &View<'_>, &mut Reaction<'_>)) {
        self.tell_policy(change);
        self.carry_out_moves();
    }

    fn tell_policy(&mut self, change: impl FnOnce(&mut dyn Policy, &View<'_>, &mut Reaction<'_>)) {
        let Self { policy, groups, apps, nodes, totals, moves, violations, .. } = self;
        change(&mut **policy, &View { groups, totals, apps, nodes }, &mut Reaction { moves, violations });
    }

    /// Reorders what the policy has requested to.
    pub(super) fn carry_out_moves(&mut self) {
        if !self.moves.is_empty() {
            let mut moves = std::mem::take(&mut self.moves);
            self.carry_out(&mut moves);
            self.moves = moves;
        }
    }

    fn carry_out(&mut self, moves: &mut Moves) {
        moves.apps.drain(..).for_each(|app| self.rekey_app(app));
        for group in moves.groups.drain(..) {
            Pool::ALL.into_iter().for_each(|pool| self.rekey(group, pool));
        }
        if std::mem::take(&mut moves.all) {
            let mut apps: Vec<AppId> = self.apps.keys().copied().collect();
            apps.sort_unstable();
            apps.into_iter().for_each(|app| self.rekey_app(app));
            self.rekey_groups();
        }
        for app in moves.wake_apps.drain(..) {
            Pool::ALL.into_iter().for_each(|pool| self.wake_app(app, pool));
        }
        for group in moves.wake_groups.drain(..) {
            Pool::ALL.into_iter().for_each(|pool| self.wake_group(group, pool));
        }
        moves.wake_below.drain(..).for_each(|group| self.wake_all_below(group));
        moves.wake_containers_below.drain(..).for_each(|group| self.wake_below_for(group, Pool::Container));
    }
}
