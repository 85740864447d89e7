//! Paused apps: they hold what they hold and are granted nothing. Their demand stays known and counts in no sum, so no policy
//! and no price sees it.

use crate::model::{PerKind, Pool, TrackerId, Violations, lower, raise};

use super::app::App;
use super::change::Change;
use super::home::{add_sums, subtract_sums};
use super::{AppId, Scheduler, Totals};

impl Scheduler {
    /// Pauses an app, or resumes it. One that waits to begin does not begin while it is paused. No effect on one that was
    /// removed.
    pub(crate) fn set_paused(&mut self, id: AppId, is_paused: bool) {
        if self.apps.get(&id).is_none_or(|app| app.is_paused == is_paused || app.draining) {
            return;
        }
        if is_paused {
            self.end_reservations_of_app(id);
            self.end_container_reservations_of_app(id);
            Pool::ALL.into_iter().for_each(|pool| self.dequeue(id, pool));
        }
        let waits_to_begin = is_paused && self.to_begin.remove(&id);
        let slot = self.slot_size();
        let Some(app) = self.apps.get_mut(&id) else { return };
        let was_to_begin = std::mem::replace(&mut app.begins_once_resumed, waits_to_begin);
        let home = app.home;
        self.groups.update_path(home, |group| subtract_sums(app, group, &mut self.violations));
        change_waiting(
            &mut self.totals,
            app,
            |count, by, violations| lower(count, by, violations),
            &mut self.violations,
        );
        app.is_paused = is_paused;
        if let Some(demand) = &mut app.containers {
            demand.pause(is_paused, slot);
        }
        self.groups.update_path(home, |group| add_sums(app, group, &mut self.violations));
        change_waiting(
            &mut self.totals,
            app,
            |count, by, violations| raise(count, by, violations),
            &mut self.violations,
        );
        let (leaf, group) = (app.leaf, app.spec.group);
        if is_paused {
            self.note_left(group, PerKind::default());
        }
        self.look_at_rows_again(id);
        if !is_paused {
            if was_to_begin {
                self.to_begin.insert(id);
            }
            Pool::ALL.into_iter().for_each(|pool| self.wake_path(leaf, pool));
            self.enqueue_waiting(id);
        }
        Pool::ALL.into_iter().for_each(|pool| self.rekey(home, pool));
        self.notify(&Change::Fit(id));
        Pool::ALL.into_iter().for_each(|pool| self.notify(&Change::Demand { app: id, pool }));
    }

    fn end_container_reservations_of_app(&mut self, id: AppId) {
        let demand = self.apps.get(&id).and_then(|app| app.containers.as_deref());
        let nodes: Vec<TrackerId> = demand.into_iter().flat_map(|demand| demand.reserved_nodes()).collect();
        nodes.into_iter().for_each(|node| self.end_container_reservation(node));
    }
}

/// Counts what an app waits for in the totals, or counts it no more.
fn change_waiting(
    totals: &mut Totals,
    app: &App,
    change: impl Fn(&mut u64, u64, &mut Violations),
    violations: &mut Violations,
) {
    Pool::ALL.into_iter().for_each(|pool| change(&mut totals.waiting[pool], app.waiting(pool), violations));
}
