//! What an application wants, by its own calls and the grants that answered them: rows as gates, items, limits.

use std::collections::{BTreeMap, VecDeque};

use crate::api::applications::{AskRow, ItemRules, Locality, Placement};
use crate::engine::{LoweredRows, RequestRow, RequestType};
use crate::model::Capability;
use crate::sim::containers::items_of;

/// A node at the end of its heartbeat.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct OfferedNode<'a> {
    pub(crate) tracker: &'a str,
    pub(crate) host: &'a str,
    pub(crate) declared: Capability,
    pub(crate) free: Capability,
    pub(crate) free_slots: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    pub(super) host: &'a str,
    pub(super) rack: &'a str,
}

/// What starts containers when they are granted.
#[derive(Clone, Debug)]
pub(super) struct LaunchBook {
    /// Items that no container has had; none: containers without items.
    pub(super) items: Option<VecDeque<u32>>,
    /// Items that wait again, behind the others.
    pub(super) again: VecDeque<u32>,
    pub(super) rules: ItemRules,
    max_running: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TypeBook {
    rows: BTreeMap<Placement, RequestRow>,
    pub(super) launch: Option<LaunchBook>,
}

/// A container that was granted and that no answer has named, as far as rows are concerned.
#[derive(Clone, Debug)]
pub(super) struct Unnamed {
    pub(super) request: RequestType,
    pub(super) rows: Vec<Placement>,
    pub(super) item: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RequestBook {
    pub(super) types: BTreeMap<RequestType, TypeBook>,
}

impl TypeBook {
    pub(super) fn wanted(&self) -> u32 {
        self.rows.get(&Placement::Any).map_or(0, |row| row.count)
    }

    pub(super) fn row(&self, place: &Placement) -> Option<RequestRow> {
        self.rows.get(place).copied()
    }

    /// Containers that may be granted at once, while so many of the type live.
    pub(super) fn grantable(&self, live: u32) -> u32 {
        let most = self.launch.as_ref().and_then(|launch| launch.max_running).unwrap_or(u32::MAX);
        self.wanted().min(most.saturating_sub(live))
    }

    fn host(&self, site: Site<'_>) -> Option<RequestRow> {
        self.row(&Placement::Host(site.host.to_owned()))
    }

    fn rack(&self, site: Site<'_>) -> Option<RequestRow> {
        self.row(&Placement::Rack(site.rack.to_owned()))
    }

    /// Whether a container may be granted here because of the host's row.
    fn may_be_near(&self, site: Site<'_>) -> bool {
        let is_rack_closed = self.rack(site).is_some_and(|row| row.count == 0);
        self.wanted() > 0 && self.host(site).is_some_and(|row| row.count > 0) && !is_rack_closed
    }

    /// Whether because of the rack's row, after a delay perhaps.
    fn may_be_in_rack(&self, site: Site<'_>) -> bool {
        let is_host_closed = self.host(site).is_some_and(|row| row.count == 0);
        let is_rack_wanted = self.rack(site).is_some_and(|row| row.count > 0 && row.relaxes);
        self.wanted() > 0 && is_rack_wanted && !is_host_closed
    }

    /// Whether although neither wants it, after a delay perhaps.
    fn may_be_far(&self, site: Site<'_>, strict_gates: bool) -> bool {
        let relaxes = self.row(&Placement::Any).is_some_and(|row| row.count > 0 && row.relaxes);
        let is_closed = [self.host(site), self.rack(site)].into_iter().flatten().any(|row| row.count == 0);
        let is_rack_fixed = self.rack(site).is_some_and(|row| !row.relaxes);
        relaxes && !is_rack_fixed && !(strict_gates && is_closed)
    }

    /// Whether rows may ever allow a container here.
    pub(super) fn is_possible(&self, site: Site<'_>, strict_gates: bool) -> bool {
        self.may_be_near(site) || self.may_be_in_rack(site) || self.may_be_far(site, strict_gates)
    }

    /// Whether rows allow one here without any delay, for certain.
    pub(super) fn is_allowed_at_once(&self, site: Site<'_>, strict_gates: bool) -> bool {
        // Closed rows count for the delay, too.
        let has_hosts = self.rows.keys().any(|place| matches!(place, Placement::Host(_)));
        let has_racks = self.rows.keys().any(|place| matches!(place, Placement::Rack(_)));
        self.may_be_near(site)
            || (!has_hosts && self.may_be_in_rack(site))
            || (!has_hosts && !has_racks && self.may_be_far(site, strict_gates))
    }

    /// Why a grant at this level is not allowed, or lowers other rows than it should.
    pub(super) fn wrong_grant(
        &self,
        site: Site<'_>,
        locality: Locality,
        lowered: LoweredRows,
        strict_gates: bool,
    ) -> Option<String> {
        let (near, rack, far) =
            (self.may_be_near(site), self.may_be_in_rack(site), self.may_be_far(site, strict_gates));
        let nearest = match (near, rack, far) {
            (true, ..) => Locality::NodeLocal,
            (false, true, _) => Locality::RackLocal,
            (false, false, true) => Locality::OffSwitch,
            (false, false, false) => return Some(format!("no row allows it on {site:?}: {:?}", self.rows)),
        };
        if locality != nearest {
            return Some(format!("it is {locality:?} on {site:?}, and should be {nearest:?}: {:?}", self.rows));
        }
        let right = LoweredRows {
            host: locality == Locality::NodeLocal,
            rack: locality != Locality::OffSwitch && self.rack(site).is_some(),
            above: 0,
        };
        (lowered != right).then(|| format!("it lowers {lowered:?} on {site:?}, and should {right:?}: {:?}", self.rows))
    }

    pub(super) fn lower(&mut self, places: &[Placement]) {
        for place in places {
            if let Some(row) = self.rows.get_mut(place) {
                row.count = row.count.saturating_sub(1);
            }
        }
    }

    pub(super) fn raise(&mut self) {
        self.rows.entry(Placement::Any).or_insert(RequestRow { count: 0, relaxes: true }).count += 1;
    }
}

impl RequestBook {
    /// Takes the rows of a call; `unnamed` are the grants that its sender did not know of.
    pub(super) fn ask(&mut self, rows: &[AskRow], unnamed: &[Unnamed], minimum: Capability) {
        let mut asked = Vec::new();
        for row in rows {
            let capability = row.capability.rounded_up(minimum);
            let request = RequestType { priority: row.priority, request_id: row.allocation_request_id, capability };
            let place = row.resource_name.clone();
            let of_type = unnamed.iter().filter(|grant| grant.request == request);
            let known_later = of_type.clone().filter(|grant| grant.rows.contains(&place)).count() as u32;
            let mut count = row.num_containers.saturating_sub(known_later);
            let book = self.types.entry(request).or_default();
            if place == Placement::Any {
                let taken: Vec<u32> = of_type.filter_map(|grant| grant.item).collect();
                book.launch = row.launch.as_ref().map(|launch| LaunchBook {
                    items: launch
                        .items
                        .as_deref()
                        .map(|items| items_of(items).into_iter().filter(|item| !taken.contains(item)).collect()),
                    again: VecDeque::new(),
                    rules: launch.rules,
                    max_running: launch.max_running,
                });
                if let Some(items) = book.launch.as_ref().and_then(|launch| launch.items.as_ref()) {
                    count = items.len() as u32;
                }
            }
            book.rows.insert(place, RequestRow { count, relaxes: row.relax_locality });
            asked.push(request);
        }
        for request in asked {
            if self.types.get(&request).is_some_and(|book| book.wanted() == 0) {
                self.types.remove(&request);
            }
        }
    }

    /// A master is wanted: one at a time.
    pub(super) fn want_master(&mut self, request: RequestType) {
        let book = self.types.entry(request).or_default();
        book.rows.insert(Placement::Any, RequestRow { count: 1, relaxes: true });
        let rules = ItemRules::default();
        book.launch = Some(LaunchBook { items: None, again: VecDeque::new(), rules, max_running: Some(1) });
    }
}
