//! What applications ask for, and the sums over it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{Capability, PerKind, Pool, TrackerId, lower, raise};
use crate::scheduler::change::Change;
use crate::scheduler::{AppId, GroupId, Scheduler};

use super::AskedRow;
use super::demand::ContainerDemand;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContainerUsage {
    pub(crate) running: u32,
    pub(crate) held: u32,
    /// Containers that are wanted and could be granted at once.
    pub(crate) waiting: u64,
}

impl Scheduler {
    /// Sets rows of an application: each replaces the one of its type and name. Afterwards each type of the call that wants
    /// nothing (`*` zero or absent) loses all its rows. The caller rounds capabilities up, and limits types and rows.
    ///
    /// [`Self::grant_containers`] then grants what can be granted at once.
    pub(crate) fn ask(&mut self, id: AppId, rows: &[AskedRow]) {
        let waited = self.containers_waited_for(id);
        let Some(demand) = self.demand_mut(id) else { return };
        let reserved = demand.set_rows(rows);
        reserved.into_iter().for_each(|node| self.end_container_reservation(node));
        self.containers.asked.insert(id);
        self.update_demand(id);
        if self.containers_waited_for(id) < waited
            && let Some(group) = self.group_of(id)
        {
            self.note_left(group, PerKind::default());
        }
        // What it wants now may be within the limits.
        self.wake_after_release(id, Pool::Container);
    }

    fn containers_waited_for(&self, id: AppId) -> u64 {
        self.apps.get(&id).map_or(0, |app| app.waiting(Pool::Container))
    }

    /// Sets rows as they were before a restart: keeps the rows of types that want nothing.
    pub(crate) fn restore_rows(&mut self, id: AppId, rows: &[AskedRow]) {
        let Some(demand) = self.demand_mut(id) else { return };
        rows.iter().for_each(|row| demand.set_row(row));
        self.containers.asked.insert(id);
        self.update_demand(id);
    }

    /// Drops all rows of an application; what it holds stays.
    pub(crate) fn withdraw_rows(&mut self, id: AppId) {
        let Some(demand) = self.apps.get_mut(&id).and_then(|app| app.containers.as_mut()) else { return };
        let tables = std::mem::take(&mut demand.types);
        let reserved: Vec<TrackerId> = tables.into_values().filter_map(|table| table.reserved_on).collect();
        reserved.into_iter().for_each(|node| self.end_container_reservation(node));
        self.containers.asked.remove(&id);
        self.update_demand(id);
    }

    /// Adds hosts and racks to those that get nothing for an application, then removes others from them.
    pub(crate) fn blacklist(&mut self, id: AppId, additions: &[Arc<str>], removals: &[Arc<str>]) {
        if additions.is_empty() && removals.is_empty() {
            return;
        }
        if let Some(demand) = self.demand_mut(id) {
            demand.change_blacklist(additions, removals);
            self.look_at_rows_again(id);
        }
    }

    /// Says whether a closed gate of an application is closed at every level; if not, its host or rack only counts as far. At first false.
    pub(crate) fn set_strict_gates(&mut self, id: AppId, are_strict: bool) {
        if let Some(demand) = self.demand_mut(id) {
            demand.has_strict_gates = are_strict;
            self.forget_want_of(id);
        }
    }

    /// Says whether an application is granted nothing for now, whatever it asks for. At first false.
    pub(crate) fn set_withheld(&mut self, id: AppId, is_withheld: bool) {
        if self.demand(id).is_some_and(|demand| demand.is_withheld) == is_withheld {
            return;
        }
        if let Some(demand) = self.demand_mut(id) {
            demand.is_withheld = is_withheld;
            self.containers.asked.insert(id);
            self.update_demand(id);
            self.check_reservations_of(id);
        }
    }

    /// What an application wants, may be granted, and has nodes kept for, is worked out again.
    pub(in crate::scheduler) fn look_at_rows_again(&mut self, id: AppId) {
        if self.demand(id).is_some() {
            self.containers.asked.insert(id);
            self.forget_want_of(id);
            self.check_reservations_of(id);
        }
    }

    /// All rows of an application as they are now, in the order of their types; of a type hosts, then racks, then `*`, by name.
    #[cfg(test)]
    pub(crate) fn rows_of(&self, id: AppId) -> Vec<AskedRow> {
        self.demand(id).map_or(Vec::new(), ContainerDemand::all_rows)
    }

    pub(crate) fn app_containers(&self, id: AppId) -> ContainerUsage {
        self.apps.get(&id).map_or(ContainerUsage::default(), |app| ContainerUsage {
            running: app.running.container,
            held: app.held.container,
            waiting: app.waiting(Pool::Container),
        })
    }

    pub(crate) fn group_containers(&self, id: GroupId) -> ContainerUsage {
        self.groups.get(id).map_or(ContainerUsage::default(), |group| ContainerUsage {
            running: group.running.container,
            held: group.held.container,
            waiting: group.waiting.container,
        })
    }

    /// Memory and cores that are free for an application now on all nodes together, without those on its blacklist. Saturates.
    pub(crate) fn headroom(&self, id: AppId) -> Capability {
        let (mut memory_mb, mut vcores) = self.containers.nodes.free();
        let names = self.demand(id).into_iter().flat_map(ContainerDemand::blacklist);
        let at = |name| self.containers.nodes.at(self.topology.host(name), self.topology.rack(name));
        // A host may be listed beside its rack, and a rack beside its group.
        for node in names.flat_map(at).collect::<BTreeSet<_>>() {
            let free = self.containers.nodes.free_on(node).unwrap_or_default();
            memory_mb = memory_mb.saturating_sub(free.memory_mb.into());
            vcores = vcores.saturating_sub(free.vcores.into());
        }
        let narrow = |amount| u32::try_from(amount).unwrap_or(u32::MAX);
        Capability::new(narrow(memory_mb), narrow(vcores))
    }

    pub(super) fn demand(&self, id: AppId) -> Option<&ContainerDemand> {
        self.apps.get(&id)?.containers.as_deref()
    }

    /// None for an application that is not known or was removed.
    pub(super) fn demand_mut(&mut self, id: AppId) -> Option<&mut ContainerDemand> {
        let app = self.apps.get_mut(&id).filter(|app| !app.draining)?;
        let is_paused = app.is_paused;
        Some(app.containers.get_or_insert_with(|| Box::new(ContainerDemand::of_app(is_paused))))
    }

    /// Brings the sums and the order in line with what an application waits for now.
    pub(super) fn update_demand(&mut self, id: AppId) {
        let slot = self.containers.slot;
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(demand) = app.containers.as_deref_mut() else { return };
        let before = (demand.waiting(), demand.slots_of_next());
        demand.recount(slot);
        let after = (demand.waiting(), demand.slots_of_next());
        let (home, leaf, has_rows) = (app.home, app.leaf, demand.has_rows());
        self.count_asking(home, id, has_rows);
        if before == after {
            return;
        }
        self.groups.update_path(home, |group| {
            lower(&mut group.waiting.container, before.0, &mut self.violations);
            raise(&mut group.waiting.container, after.0, &mut self.violations);
        });
        lower(&mut self.totals.waiting.container, before.0, &mut self.violations);
        raise(&mut self.totals.waiting.container, after.0, &mut self.violations);
        match (before.0, after.0) {
            (0, _) => {
                self.wake_path(leaf, Pool::Container);
                self.enqueue(id, Pool::Container);
            }
            (_, 0) => self.dequeue(id, Pool::Container),
            _ => self.update_slots_of_next(id, Pool::Container),
        }
        self.notify(&Change::Demand { app: id, pool: Pool::Container });
    }
}
