//! What an application asks for and holds: a table for each request type.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

#[cfg(test)]
use crate::model::Placement;
use crate::model::{Capability, TrackerId};

use super::type_table::{NodeSite, TypeTable};
use super::{AskedRow, RequestType};

#[derive(Debug, Default)]
pub(in crate::scheduler) struct ContainerDemand {
    /// In the order in which they are served.
    pub(super) types: BTreeMap<RequestType, TypeTable>,
    /// Containers held, by type; a type may have them without a table.
    running: BTreeMap<RequestType, u32>,
    /// Hosts and racks that get nothing.
    blacklist: BTreeSet<Arc<str>>,
    pub(super) has_strict_gates: bool,
    pub(super) is_withheld: bool,
    is_paused: bool,
    /// Containers that could be granted at once, as counted in the sums of groups and cluster.
    waiting: u64,
    /// Slots of the next of them; zero when nothing waits.
    slots_of_next: u32,
}

impl ContainerDemand {
    pub(in crate::scheduler) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(in crate::scheduler) fn slots_of_next(&self) -> u32 {
        self.slots_of_next
    }

    pub(super) fn of_app(is_paused: bool) -> Self {
        Self { is_paused, ..Self::default() }
    }

    /// Pauses it or resumes it, and counts again what waits.
    pub(in crate::scheduler) fn pause(&mut self, is_paused: bool, slot: Capability) {
        self.is_paused = is_paused;
        self.recount(slot);
    }

    pub(in crate::scheduler) fn reserved_nodes(&self) -> impl Iterator<Item = TrackerId> {
        self.types.values().filter_map(|table| table.reserved_on)
    }

    pub(in crate::scheduler) fn has_rows(&self) -> bool {
        !self.types.is_empty()
    }

    /// Counts again what waits, in O(types).
    pub(super) fn recount(&mut self, slot: Capability) {
        self.waiting = self.types.iter().map(|(request, table)| u64::from(self.grantable(request, table))).sum();
        let next = self.types.iter().find(|(request, table)| self.grantable(request, table) > 0);
        self.slots_of_next = next.map_or(0, |(request, _)| request.capability.slots(slot));
    }

    /// Containers of a type that may be granted at once: what it wants, up to its most at a time.
    pub(super) fn grantable(&self, request: &RequestType, table: &TypeTable) -> u32 {
        if self.is_withheld || self.is_paused {
            return 0;
        }
        let most = table.max_running().map_or(u32::MAX, NonZeroU32::get);
        table.wanted().min(most.saturating_sub(self.running(request)))
    }

    pub(super) fn running(&self, request: &RequestType) -> u32 {
        self.running.get(request).copied().unwrap_or(0)
    }

    pub(super) fn held(&self) -> impl Iterator<Item = (&RequestType, u32)> {
        self.running.iter().map(|(request, running)| (request, *running))
    }

    pub(super) fn total_running(&self) -> u64 {
        self.running.values().map(|running| u64::from(*running)).sum()
    }

    pub(super) fn count_up(&mut self, request: RequestType) {
        let running = self.running.entry(request).or_default();
        *running = running.saturating_add(1);
    }

    /// One less; false when none is held.
    #[must_use]
    pub(super) fn count_down(&mut self, request: RequestType) -> bool {
        let Some(running) = self.running.get_mut(&request) else { return false };
        *running = running.saturating_sub(1);
        if *running == 0 {
            self.running.remove(&request);
        }
        true
    }

    pub(super) fn is_blacklisted(&self, site: NodeSite<'_>) -> bool {
        self.blacklist.contains(site.host) || site.paths().any(|rack| self.blacklist.contains(rack))
    }

    pub(super) fn blacklist(&self) -> impl Iterator<Item = &str> {
        self.blacklist.iter().map(|name| &**name)
    }

    /// Whether rows of a type or the blacklist may keep it from a node for good.
    pub(super) fn may_exclude_nodes(&self, table: &TypeTable) -> bool {
        !self.blacklist.is_empty() || table.may_exclude_nodes(self.has_strict_gates)
    }

    pub(super) fn change_blacklist(&mut self, additions: &[Arc<str>], removals: &[Arc<str>]) {
        self.blacklist.extend(additions.iter().cloned());
        removals.iter().for_each(|name| {
            self.blacklist.remove(name);
        });
    }

    /// Sets the rows of a call. Drops the types of the call that want nothing then; returns the nodes that were reserved for them.
    pub(super) fn set_rows(&mut self, rows: &[AskedRow]) -> Vec<TrackerId> {
        rows.iter().for_each(|row| self.set_row(row));
        let asked: BTreeSet<RequestType> = rows.iter().map(|row| row.request).collect();
        let wants_nothing = |request: &RequestType| self.types.get(request).is_some_and(|table| table.wanted() == 0);
        let over: Vec<RequestType> = asked.into_iter().filter(wants_nothing).collect();
        over.into_iter().filter_map(|request| self.types.remove(&request)?.reserved_on).collect()
    }

    pub(super) fn set_row(&mut self, row: &AskedRow) {
        let table = self.types.entry(row.request).or_default();
        table.set_row(&row.name, row.count, row.relax_locality, row.max_running);
    }

    /// All rows in the order of their types, each with hosts before racks before `*`, by name.
    #[cfg(test)]
    pub(super) fn all_rows(&self) -> Vec<AskedRow> {
        let rows_of = |(request, table): (&RequestType, &TypeTable)| {
            let (request, max_running) = (*request, table.max_running());
            let row = |(name, count): (Placement, u32)| AskedRow {
                request,
                relax_locality: table.relaxes(&name),
                max_running: max_running.filter(|_| name == Placement::Any),
                name,
                count,
            };
            table.rows().into_iter().map(row).collect::<Vec<_>>()
        };
        self.types.iter().flat_map(rows_of).collect()
    }
}
