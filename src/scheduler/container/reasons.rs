//! Why an application waits for containers.

use std::sync::Arc;

use crate::model::{Capability, TrackerId};
use crate::scheduler::{AppId, Misfit, Scheduler};

use super::RequestType;
use super::demand::ContainerDemand;
use super::placing::Unplaceable;
use super::type_table::{LevelRules, NodeSite, SiteVerdict, TypeTable};

/// A request type with containers that are wanted, and what keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingContainers {
    pub(crate) request: RequestType,
    pub(crate) wanted: u32,
    pub(crate) reason: ContainerReason,
    /// How many of its rows name hosts on which no node takes containers: nothing waits for these.
    pub(crate) unmet_rows: u64,
    /// The first of them, by name.
    pub(crate) unmet: Vec<Arc<str>>,
}

/// Most rows that nodes cannot meet that are named.
const MOST_UNMET: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ContainerReason {
    Withheld,
    MaxRunning,
    NoNodeFits,
    Gates,
    /// All nodes that may be used are in use.
    NoneFree,
    /// Nodes with room are too far away so far.
    LocalityDelay,
    /// A node has room: other applications, an earlier type, a quota or a reservation come first.
    Others,
}

impl Scheduler {
    /// The types of an application that want containers, in their order, each with what keeps them. O(types times nodes
    /// that take containers): for questions of people.
    pub(crate) fn waiting_containers(&self, id: AppId) -> Vec<WaitingContainers> {
        let Some(demand) = self.demand(id) else { return Vec::new() };
        let wanted = demand.types.iter().filter(|(_, table)| table.wanted() > 0);
        let waiting = wanted.map(|(&request, table)| {
            let unmet = table.unmet_hosts(&self.containers.nodes, &self.topology);
            WaitingContainers {
                request,
                wanted: table.wanted(),
                reason: self.reason_of(demand, &request),
                unmet_rows: unmet.len() as u64,
                unmet: unmet.into_iter().take(MOST_UNMET).cloned().collect(),
            }
        });
        waiting.collect()
    }

    /// The types of an application of which containers could be granted now, in their order, with how many.
    pub(crate) fn grantable_containers(&self, id: AppId) -> Vec<(RequestType, u32)> {
        let types = self.demand(id).into_iter().flat_map(|demand| {
            demand.types.iter().map(|(request, table)| (*request, demand.grantable(request, table)))
        });
        types.filter(|(_, count)| *count > 0).collect()
    }

    /// What the largest node has that takes containers. O(nodes): for questions of people.
    pub(crate) fn largest_node(&self) -> Option<Capability> {
        let bags = self.nodes.values().filter_map(|node| node.bag.as_ref()).filter(|bag| bag.takes_containers);
        bags.map(|bag| bag.declared).max_by_key(|declared| (declared.memory_mb, declared.vcores))
    }

    /// Whether a node would give an application its next container, of this type, once there is room: gates, distance,
    /// its earlier types and reservations for those that stand before it let it.
    pub(crate) fn could_place(&self, id: AppId, request: &RequestType, node: TrackerId) -> bool {
        let (Some(demand), Some(entry)) = (self.demand(id), self.nodes.get(&node)) else { return false };
        let Some(bag) = entry.bag.as_ref().filter(|bag| bag.takes_containers) else { return false };
        let site = NodeSite::of(&self.topology, entry.host);
        let is_for_others = bag.reserved.is_some_and(|(app, _)| app != id && self.stands_before(app, id));
        if is_for_others || demand.is_blacklisted(site) || !request.capability.fits(bag.declared) {
            return false;
        }
        let could_be = |(other, table): &(&RequestType, &TypeTable)| {
            let rules = self.level_rules(demand, table);
            demand.grantable(other, table) > 0 && !matches!(table.verdict(site, rules, true), SiteVerdict::Excluded)
        };
        let first = demand.types.iter().find(could_be);
        first.is_some_and(|(first, table)| {
            let rules = self.level_rules(demand, table);
            first == request && matches!(table.verdict(site, rules, true), SiteVerdict::Allowed(_))
        })
    }

    /// Why no node that is there could hold a container that an application waits for, were it empty; none where some node
    /// could, and where it waits for none.
    pub(in crate::scheduler) fn container_misfit(&self, id: AppId) -> Option<Misfit> {
        let demand = self.demand(id)?;
        let mut first = None;
        for (request, table) in demand.types.iter().filter(|(_, table)| table.wanted() > 0) {
            if demand.grantable(request, table) == 0 {
                // As many run as may.
                return None;
            }
            let why = self.unplaceable(demand, request)?;
            first = first.or(Some(match why {
                _ if self.containers.nodes.len() == 0 => Misfit::NoContainerNodes,
                Unplaceable::NoNodeFits => Misfit::NoNodeFits(request.capability),
                Unplaceable::Gates => Misfit::Gates(request.capability),
            }));
        }
        first
    }

    fn reason_of(&self, demand: &ContainerDemand, request: &RequestType) -> ContainerReason {
        let Some(table) = demand.types.get(request) else { return ContainerReason::Others };
        if demand.is_withheld {
            return ContainerReason::Withheld;
        }
        if demand.grantable(request, table) == 0 {
            return ContainerReason::MaxRunning;
        }
        match self.unplaceable(demand, request) {
            Some(Unplaceable::NoNodeFits) => return ContainerReason::NoNodeFits,
            Some(Unplaceable::Gates) => return ContainerReason::Gates,
            None => {}
        }
        let rules = self.level_rules(demand, table);
        let of_node = |id| {
            let node = self.nodes.get(&id)?;
            let bag = node.bag.as_ref()?;
            let site = NodeSite::of(&self.topology, node.host);
            if !request.capability.fits(bag.declared) || demand.is_blacklisted(site) {
                return None;
            }
            let has_room = request.capability.fits(bag.free(node.tasks(), self.containers.slot));
            Some(match table.verdict(site, rules, true) {
                SiteVerdict::Excluded => return None,
                SiteVerdict::Delayed if has_room => ContainerReason::LocalityDelay,
                SiteVerdict::Allowed(_) if has_room => ContainerReason::Others,
                SiteVerdict::Delayed | SiteVerdict::Allowed(_) => ContainerReason::NoneFree,
            })
        };
        // The nearest to a grant of all nodes counts.
        self.containers.nodes.all().filter_map(of_node).max().unwrap_or(ContainerReason::NoneFree)
    }

    pub(super) fn level_rules(&self, demand: &ContainerDemand, table: &TypeTable) -> LevelRules {
        let nodes = &self.containers.nodes;
        LevelRules {
            has_strict_gates: demand.has_strict_gates,
            nodes: nodes.len() as u64,
            locality_delay: self.containers.locality_delay,
            wishes: table.wishes(nodes, &self.topology),
        }
    }
}
