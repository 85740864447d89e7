//! The table of one request type: its rows as gates, how far away its containers may be, and how long it has waited for nearer ones.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::{Placement, TrackerId};
use crate::scheduler::request_table::{Gate, RequestTable};
use crate::scheduler::{HostId, Level, Topology, rack_path};

use super::CountedRows;
use super::node_index::{NodeIndex, NodesVersion};

/// Misses after which nodes in the rack are good enough, where so many nodes take containers
/// (`jobtracker.containers.locality.delay`). Hadoop 2 `yarn.scheduler.capacity.node-locality-delay`.
pub(crate) const DEFAULT_LOCALITY_DELAY: u32 = 40;

/// What decides how far away a container may be, beside the rows of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelRules {
    /// Whether a closed gate is closed at every level.
    pub(super) has_strict_gates: bool,
    pub(super) nodes: u64,
    /// Misses before a container may be in the rack, where there are more nodes.
    pub(super) locality_delay: u32,
    /// The rows that may be met there.
    pub(super) wishes: Wishes,
}

/// How many rows want containers on hosts that have a node which takes some, and in racks. Other hosts are not there: nothing
/// waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    pub(super) hosts: u32,
    pub(super) racks: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NodeSite<'a> {
    pub(super) host: &'a str,
    pub(super) rack: &'a str,
    /// How many names of the rack's path count: the rack's, and those of the groups of racks above it.
    pub(super) groups: usize,
}

impl<'a> NodeSite<'a> {
    pub(super) fn of(topology: &'a Topology, host: HostId) -> Self {
        let rack = topology.rack_name(topology.rack_of(host));
        Self { host: topology.host_name(host), rack, groups: topology.levels().groups() }
    }

    /// The path of its rack, and those of the groups of racks above that count.
    pub(super) fn paths(self) -> impl Iterator<Item = &'a str> {
        rack_path(self.rack).take(self.groups.max(1))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteVerdict {
    /// A container may be granted here.
    Allowed(Level),
    /// Not before more misses.
    Delayed,
    /// Never, as the rows are.
    Excluded,
}

#[derive(Debug, Default)]
pub(in crate::scheduler) struct TypeTable {
    rows: RequestTable<Arc<str>, Arc<str>>,
    /// Rows without relax-locality.
    fixed: BTreeSet<Arc<str>>,
    is_any_fixed: bool,
    max_running: Option<NonZeroU32>,
    /// Nodes with room that locality alone refused since the last grant in a rack or on a node with a row. One farther away leaves them:
    /// what is far is waited for once, not for each container (Hadoop 2 `RegularContainerAllocator.doAllocation`).
    misses: u64,
    /// What may be met, and for which nodes that was counted; none: not since the rows changed.
    wishes: Option<(NodesVersion, Wishes)>,
    pub(super) reserved_on: Option<TrackerId>,
}

impl TypeTable {
    pub(super) fn wanted(&self) -> u32 {
        self.rows.anywhere
    }

    pub(super) fn max_running(&self) -> Option<NonZeroU32> {
        self.max_running
    }

    fn named_rows(&self) -> usize {
        self.rows.hosts.len() + self.rows.racks.len()
    }

    pub(super) fn wanted_hosts(&self) -> Vec<Arc<str>> {
        self.rows.hosts.wanted_keys()
    }

    pub(super) fn wanted_racks(&self) -> Vec<Arc<str>> {
        self.rows.racks.wanted_keys()
    }

    /// Whether nodes without rows may ever get a container.
    pub(super) fn may_leave_rows(&self) -> bool {
        !self.is_any_fixed
    }

    /// Whether its rows may keep it from a node for good, now or once grants have closed the gates that are strict.
    pub(super) fn may_exclude_nodes(&self, has_strict_gates: bool) -> bool {
        self.is_any_fixed || !self.fixed.is_empty() || has_strict_gates && self.named_rows() > 0
    }

    /// The rows by which a node is wanted and how many they want: that of its host, then that of its rack.
    pub(super) fn gates_at<'a>(&self, site: NodeSite<'a>) -> impl Iterator<Item = (&'a str, u32)> {
        let rack_row = self.rack_row(site);
        let rows = [(site.host, self.rows.hosts.gate(site.host)), (rack_row, self.rows.racks.gate(rack_row))];
        rows.into_iter().map(|(name, gate)| (name, gate.wanted())).filter(|(_, wanted)| *wanted > 0)
    }

    pub(super) fn rows(&self) -> Vec<(Placement, u32)> {
        let hosts =
            self.rows.hosts.sorted().into_iter().map(|(name, count)| (Placement::Host(name.to_string()), count));
        let racks =
            self.rows.racks.sorted().into_iter().map(|(name, count)| (Placement::Rack(name.to_string()), count));
        hosts.chain(racks).chain([(Placement::Any, self.rows.anywhere)]).collect()
    }

    #[cfg(test)]
    pub(super) fn relaxes(&self, name: &Placement) -> bool {
        match name {
            Placement::Host(name) | Placement::Rack(name) => !self.fixed.contains(name.as_str()),
            Placement::Any => !self.is_any_fixed,
        }
    }

    pub(super) fn set_row(
        &mut self,
        name: &Placement,
        count: u32,
        relax_locality: bool,
        max_running: Option<NonZeroU32>,
    ) {
        self.wishes = None;
        let key: Arc<str> = match name {
            Placement::Any => {
                self.rows.anywhere = count;
                self.is_any_fixed = !relax_locality;
                self.max_running = max_running;
                return;
            }
            Placement::Host(name) | Placement::Rack(name) => Arc::from(name.as_str()),
        };
        match name {
            Placement::Host(_) => self.rows.hosts.set(Arc::clone(&key), count),
            _ => self.rows.racks.set(Arc::clone(&key), count),
        }
        match relax_locality {
            true => self.fixed.remove(&key),
            false => self.fixed.insert(key),
        };
    }

    /// The rows that nodes may meet; counted again where rows or nodes have changed since they were [noted](Self::note_wishes).
    pub(super) fn wishes(&self, nodes: &NodeIndex, topology: &Topology) -> Wishes {
        match self.wishes {
            Some((version, wishes)) if version == nodes.version() => wishes,
            _ => self.count_wishes(nodes, topology),
        }
    }

    /// Counts the rows that nodes may meet, if rows or nodes have changed.
    pub(super) fn note_wishes(&mut self, nodes: &NodeIndex, topology: &Topology) {
        if self.wishes.is_none_or(|(version, _)| version != nodes.version()) {
            self.wishes = Some((nodes.version(), self.count_wishes(nodes, topology)));
        }
    }

    fn count_wishes(&self, nodes: &NodeIndex, topology: &Topology) -> Wishes {
        let met = self.rows.hosts.wanted().saturating_sub(self.unmet_hosts(nodes, topology).len());
        let count = |rows: usize| u32::try_from(rows).unwrap_or(u32::MAX);
        Wishes { hosts: count(met), racks: count(self.rows.racks.wanted()) }
    }

    /// Hosts on which containers are wanted and no node takes any, by name.
    pub(super) fn unmet_hosts<'a>(&'a self, nodes: &NodeIndex, topology: &Topology) -> Vec<&'a Arc<str>> {
        let has_host = |host: &str| topology.host(host).is_some_and(|host| nodes.has_host(host));
        self.rows.hosts.wanted_where(|host| !has_host(host))
    }

    /// The name of the row that speaks for a node's rack: its own, else that of the nearest group of racks above it that has one.
    fn rack_row<'a>(&self, site: NodeSite<'a>) -> &'a str {
        let has_row = |name: &&str| self.rows.racks.gate(*name) != Gate::Open;
        site.paths().find(has_row).unwrap_or(site.rack)
    }

    /// What the rows say of a node. `counts_miss`: whether its refusal would be another miss.
    pub(super) fn verdict(&self, site: NodeSite<'_>, rules: LevelRules, counts_miss: bool) -> SiteVerdict {
        if self.rows.anywhere == 0 {
            return SiteVerdict::Excluded;
        }
        let rack_row = self.rack_row(site);
        let (host, rack) = (self.rows.hosts.gate(site.host), self.rows.racks.gate(rack_row));
        if host.wanted() > 0 && rack != Gate::Closed {
            return SiteVerdict::Allowed(Level::Node);
        }
        let is_rack_relaxed = !self.fixed.contains(rack_row);
        let is_closed = host == Gate::Closed || rack == Gate::Closed;
        let may_be_rack = rack.wanted() > 0 && host != Gate::Closed && is_rack_relaxed;
        let may_be_far = !self.is_any_fixed && is_rack_relaxed && !(rules.has_strict_gates && is_closed);
        let is_far_due = may_be_far && self.is_far_due(rules, counts_miss);
        if may_be_rack && (is_far_due || self.is_rack_due(rules)) {
            SiteVerdict::Allowed(Level::Rack)
        } else if is_far_due {
            SiteVerdict::Allowed(Level::Any)
        } else if may_be_rack || may_be_far {
            SiteVerdict::Delayed
        } else {
            SiteVerdict::Excluded
        }
    }

    /// Whether it has waited long enough for hosts with rows; one that names no host that may meet it waits for none.
    fn is_rack_due(&self, rules: LevelRules) -> bool {
        let most = u64::from(rules.locality_delay).min(rules.nodes);
        rules.wishes.hosts == 0 || self.misses >= most
    }

    /// Whether the misses, the present offer included, are more than the wanted containers times the part of the nodes that has rows
    /// (Hadoop 2 `RegularContainerAllocator.getLocalityWaitFactor`). What is good enough far away is good enough in the rack.
    fn is_far_due(&self, rules: LevelRules, counts_miss: bool) -> bool {
        let rows = u64::from(rules.wishes.hosts) + u64::from(rules.wishes.racks);
        let misses = u128::from(self.misses) + u128::from(counts_miss);
        misses * u128::from(rules.nodes.max(1)) > u128::from(self.rows.anywhere) * u128::from(rows.min(rules.nodes))
            || rows == 0
    }

    /// A node with room was refused for its place alone.
    pub(super) fn count_miss(&mut self) {
        self.misses = self.misses.saturating_add(1);
    }

    /// The rows that a grant on a node lowers, beside `*`.
    pub(super) fn rows_at(&self, site: NodeSite<'_>, level: Level) -> CountedRows {
        let rack_row = self.rack_row(site);
        let row = |gate: Gate, name: &str| (gate != Gate::Open).then(|| Arc::from(name));
        CountedRows {
            host: (level == Level::Node).then(|| row(self.rows.hosts.gate(site.host), site.host)).flatten(),
            rack: (level != Level::Any).then(|| row(self.rows.racks.gate(rack_row), rack_row)).flatten(),
        }
    }

    /// Lowers the rows that a grant is counted on. A row that reaches zero is a closed gate.
    pub(super) fn lower_rows(&mut self, counted: &CountedRows) {
        let before = (self.rows.hosts.wanted(), self.rows.racks.wanted());
        if let Some(host) = &counted.host {
            self.rows.hosts.lower_gate(host);
        }
        if let Some(rack) = &counted.rack {
            self.rows.racks.lower_gate(rack);
        }
        // Those of a grant are met.
        let lower = |met: u32, before: usize, after: usize| met.saturating_sub(u32::from(after < before));
        if let Some((_, wishes)) = &mut self.wishes {
            wishes.hosts = lower(wishes.hosts, before.0, self.rows.hosts.wanted());
            wishes.racks = lower(wishes.racks, before.1, self.rows.racks.wanted());
        }
        self.rows.anywhere = self.rows.anywhere.saturating_sub(1);
    }

    /// A container was granted at this level: misses count from here, unless it is far from all rows.
    pub(super) fn reset_misses(&mut self, level: Level) {
        if level != Level::Any {
            self.misses = 0;
        }
    }
}
