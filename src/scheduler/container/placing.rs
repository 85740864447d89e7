//! What of all that is wanted could be placed on the nodes that take containers, were these empty. So many containers a
//! queue can want: what fits no node, or fits only beside others, is no want.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Capability, Placement, TrackerId};
use crate::scheduler::{AppId, GroupId, Scheduler};

use super::RequestType;
use super::bag::Amount;
use super::demand::ContainerDemand;
use super::type_table::{NodeSite, SiteVerdict, TypeTable};

/// Nodes that rows and blacklists of one queue name, as far as they are looked at; what is wanted beyond is not placed.
const MOST_NAMED: u32 = 4_096;

/// Types of one queue that are placed; those beyond are not.
const MOST_TYPES: usize = 1_024;

/// Why no node could take a container of a type, were it empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::scheduler) enum Unplaceable {
    NoNodeFits,
    Gates,
}

/// The nodes that take containers, empty but for what has been placed.
struct EmptyNodes<'a> {
    scheduler: &'a Scheduler,
    /// What is left of all nodes that have declared the same.
    left: BTreeMap<Capability, Amount>,
    /// What is placed on nodes that rows name.
    on_named: BTreeMap<TrackerId, Amount>,
    looks: u32,
}

struct UnplacedContainers<'a> {
    app: AppId,
    demand: &'a ContainerDemand,
    request: &'a RequestType,
    table: &'a TypeTable,
    is_restricted: bool,
}

impl Scheduler {
    /// Slots of containers that a group holds or could be granted on empty nodes.
    pub(in crate::scheduler) fn container_want(&self, group: GroupId) -> u32 {
        let Some(sums) = self.groups.get(group) else { return 0 };
        let held = sums.held.container;
        if sums.waiting.container == 0 {
            return held;
        }
        self.containers.wants.get(&group).copied().unwrap_or_else(|| self.place_containers(group, held))
    }

    /// Works out the same for the groups whose rows have changed, or for all if the nodes have.
    pub(in crate::scheduler) fn refresh_container_wants(&mut self) {
        let stale = std::mem::take(&mut self.containers.stale);
        let groups: BTreeSet<GroupId> = match std::mem::take(&mut self.containers.are_all_stale) {
            true => self.containers.asking.iter().map(|(group, _)| *group).collect(),
            false => stale,
        };
        for group in groups {
            let apps: Vec<AppId> = self
                .containers
                .asking
                .range((group, AppId::FIRST)..=(group, AppId::LAST))
                .map(|(_, app)| *app)
                .collect();
            apps.into_iter().for_each(|app| self.note_wishes(app));
            let waits = self.groups.get(group).filter(|group| group.waiting.container > 0);
            if let Some(held) = waits.map(|group| group.held.container) {
                let want = self.place_containers(group, held);
                self.containers.wants.insert(group, want);
            }
        }
    }

    /// Why no container of a type could be placed on any node, were it empty; none where one could.
    pub(super) fn unplaceable(&self, demand: &ContainerDemand, request: &RequestType) -> Option<Unplaceable> {
        let table = demand.types.get(request)?;
        let mut nodes = EmptyNodes::new(self);
        if !nodes.left.keys().any(|declared| request.capability.fits(*declared)) {
            return Some(Unplaceable::NoNodeFits);
        }
        let is_restricted = demand.may_exclude_nodes(table);
        // Which application asks makes no difference to an empty node.
        let wanted = UnplacedContainers { app: AppId::FIRST, demand, request, table, is_restricted };
        (nodes.place(&wanted, 1) == 0).then_some(Unplaceable::Gates)
    }

    fn place_containers(&self, group: GroupId, held: u32) -> u32 {
        let apps = self.containers.asking.range((group, AppId::FIRST)..=(group, AppId::LAST));
        let demands: Vec<(AppId, &ContainerDemand)> =
            apps.filter_map(|(_, app)| Some((*app, self.demand(*app)?))).collect();
        let mut wanted: Vec<UnplacedContainers<'_>> = demands
            .iter()
            .flat_map(|&(app, demand)| {
                demand.types.iter().map(move |(request, table)| {
                    let is_restricted = demand.may_exclude_nodes(table);
                    UnplacedContainers { app, demand, request, table, is_restricted }
                })
            })
            .filter(|wanted| wanted.grantable() > 0)
            .take(MOST_TYPES)
            .collect();
        // The choosiest come first, so that others leave them their nodes.
        wanted.sort_by_key(|wanted| {
            let size = std::cmp::Reverse(wanted.request.capability);
            (!wanted.is_restricted, size, wanted.app, wanted.request.priority, wanted.request.request_id)
        });
        let mut nodes = EmptyNodes::new(self);
        for (_, demand) in &demands {
            let of_no_table = |request: &RequestType| demand.types.get(request).is_none_or(|table| table.wanted() == 0);
            let others = demand.held().filter(|(request, _)| of_no_table(request));
            for (request, running) in others {
                nodes.place_anywhere(request.capability, running, None);
            }
        }
        let slots = wanted.iter().map(|wanted| {
            let more = nodes.place_more(wanted);
            u64::from(more) * u64::from(wanted.request.capability.slots(self.containers.slot))
        });
        let more: u64 = slots.sum();
        u32::try_from(more.saturating_add(held.into())).unwrap_or(u32::MAX)
    }

    /// Brings the list of those that ask in line with whether an application has rows, and forgets what its group wants.
    pub(in crate::scheduler) fn count_asking(&mut self, home: GroupId, id: AppId, has_rows: bool) {
        match has_rows {
            true => self.containers.asking.insert((home, id)),
            false => self.containers.asking.remove(&(home, id)),
        };
        self.containers.forget_want(home);
    }

    /// What the group of an application wants is worked out again: its rows or its blacklist changed.
    pub(super) fn forget_want_of(&mut self, id: AppId) {
        if let Some(app) = self.apps.get(&id) {
            self.containers.forget_want(app.home);
        }
    }
}

impl UnplacedContainers<'_> {
    fn grantable(&self) -> u32 {
        self.demand.grantable(self.request, self.table)
    }
}

impl<'a> EmptyNodes<'a> {
    fn new(scheduler: &'a Scheduler) -> Self {
        let sizes = scheduler.containers.nodes.sizes();
        let left = sizes.map(|(declared, nodes)| (declared, Amount::of(declared, nodes))).collect();
        Self { scheduler, left, on_named: BTreeMap::new(), looks: 0 }
    }

    /// Places what runs of a type and what it could be granted; how many more that is than what runs.
    fn place_more(&mut self, wanted: &UnplacedContainers<'_>) -> u32 {
        let (running, grantable) = (wanted.demand.running(wanted.request), wanted.grantable());
        // Rows were lowered by what runs.
        if wanted.is_restricted && !wanted.table.may_leave_rows() {
            return self.place(wanted, grantable);
        }
        if wanted.is_restricted && wanted.demand.has_strict_gates {
            self.place_anywhere(wanted.request.capability, running, None);
            return self.place(wanted, grantable);
        }
        self.place(wanted, running.saturating_add(grantable)).saturating_sub(running)
    }

    /// Places so many containers of a type; how many found room.
    fn place(&mut self, wanted: &UnplacedContainers<'_>, count: u32) -> u32 {
        if !wanted.is_restricted {
            return self.place_anywhere(wanted.request.capability, count, None);
        }
        let named = self.named(wanted);
        let placed = self.place_on_named(wanted, &named, count);
        if !wanted.table.may_leave_rows() || self.looks >= MOST_NAMED {
            return placed;
        }
        placed + self.place_anywhere(wanted.request.capability, count - placed, Some(&named))
    }

    /// Places so many on nodes of any kind, but for some; how many found room.
    fn place_anywhere(&mut self, capability: Capability, count: u32, but: Option<&BTreeSet<TrackerId>>) -> u32 {
        let scheduler = self.scheduler;
        let index = &scheduler.containers.nodes;
        let mut excluded: BTreeMap<Capability, u32> = BTreeMap::new();
        for (_, declared) in but.into_iter().flatten().filter_map(|node| index.place_of(*node)) {
            *excluded.entry(declared).or_default() += 1;
        }
        let mut missing = count;
        for (declared, nodes) in index.sizes() {
            if missing == 0 {
                break;
            }
            let nodes = nodes - excluded.get(&declared).copied().unwrap_or(0);
            let room = u64::from(nodes) * u64::from(capability.times_in(declared));
            missing -= self.take(declared, capability, missing.min(u32::try_from(room).unwrap_or(u32::MAX)));
        }
        count - missing
    }

    /// Places so many on nodes that the rows of a type let it have; how many found room.
    fn place_on_named(&mut self, wanted: &UnplacedContainers<'_>, named: &BTreeSet<TrackerId>, count: u32) -> u32 {
        let (scheduler, capability) = (self.scheduler, wanted.request.capability);
        let rules = scheduler.level_rules(wanted.demand, wanted.table);
        let mut left_of_rows: BTreeMap<&str, u32> = BTreeMap::new();
        let mut missing = count;
        for node in named {
            let Some((host, declared)) = scheduler.containers.nodes.place_of(*node).filter(|_| missing > 0) else {
                continue;
            };
            let site = NodeSite::of(&scheduler.topology, host);
            let is_excluded = matches!(wanted.table.verdict(site, rules, true), SiteVerdict::Excluded);
            if is_excluded || wanted.demand.is_blacklisted(site) {
                continue;
            }
            // A strict gate closes with its last container.
            let most_rows = match (wanted.demand.has_strict_gates, wanted.table.may_leave_rows()) {
                (true, _) => 2,
                (false, may_leave) => usize::from(!may_leave),
            };
            let rows: Vec<(&str, u32)> = wanted.table.gates_at(site).take(most_rows).collect();
            let left = |(name, wants): &(&str, u32)| left_of_rows.get(name).copied().unwrap_or(*wants);
            let most = rows.iter().map(left).fold(missing, u32::min);
            let there = self.on_named.get(node).copied().unwrap_or_default();
            let fitting = capability.times_in(there.left_of(declared));
            let placed = self.take(declared, capability, most.min(fitting));
            (0..placed).for_each(|_| self.on_named.entry(*node).or_default().take(capability));
            for (name, wants) in rows {
                *left_of_rows.entry(name).or_insert(wants) -= placed;
            }
            missing -= placed;
        }
        count - missing
    }

    /// Takes room for so many containers from what is left of nodes of one size; how many find it.
    fn take(&mut self, declared: Capability, capability: Capability, count: u32) -> u32 {
        let Some(left) = self.left.get_mut(&declared) else { return 0 };
        let placed = left.times_of(capability).min(count);
        left.subtract(capability, placed);
        placed
    }

    /// The nodes that rows and the blacklist name, within the bound for all types.
    fn named(&mut self, wanted: &UnplacedContainers<'_>) -> BTreeSet<TrackerId> {
        let scheduler = self.scheduler;
        let at = |host: Option<&str>, rack: Option<&str>| {
            let host = host.and_then(|name| scheduler.topology.host(name));
            let rack = rack.and_then(|name| scheduler.topology.rack(name));
            scheduler.containers.nodes.named(host, rack)
        };
        let of_row = |(name, _): (Placement, u32)| match name {
            Placement::Host(name) => Some(at(Some(&name), None)),
            Placement::Rack(name) => Some(at(None, Some(&name))),
            Placement::Any => None,
        };
        let in_rows = wanted.table.rows().into_iter().filter_map(of_row).flatten();
        let in_blacklist = wanted.demand.blacklist().flat_map(|name| at(Some(name), Some(name)));
        let most = MOST_NAMED.saturating_sub(self.looks);
        let named: BTreeSet<TrackerId> = in_rows.chain(in_blacklist).take(most as usize).collect();
        self.looks += u32::try_from(named.len()).unwrap_or(u32::MAX);
        named
    }
}
