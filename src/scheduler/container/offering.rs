//! Offers of one node to one application: the first of its types that may have a container there gets it.

use crate::model::{Capability, Pool, TrackerId};
use crate::scheduler::policy::Verdict;
use crate::scheduler::{AppId, Level, Scheduler};

use super::bag::Amount;
use super::type_table::{NodeSite, SiteVerdict};
use super::{ContainerGrant, ContainerSource, RequestType};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfferOutcome {
    Granted(RequestType),
    /// The type may run here, and would fit beside less.
    NoRoom(RequestType),
    /// The node is too far away for the type, so far.
    Delayed(RequestType),
    /// The policy does not let the application have it.
    Limited(Verdict),
    /// Nothing for this node, for another reason.
    Refused,
}

enum OfferChoice {
    Grant(RequestType, Level),
    Miss(RequestType),
    Other(OfferOutcome),
}

impl Scheduler {
    /// Offers a node to an application. Its types are asked in their order; one that wants this node and is refused for
    /// want of room or for its distance keeps those behind it from the node, one that cannot use the node does not.
    /// `served`: the only type that counts a miss, where nodes are looked for on its behalf; none: all do.
    pub(super) fn offer_container(
        &mut self,
        node: TrackerId,
        id: AppId,
        served: Option<RequestType>,
        source: &mut impl ContainerSource,
    ) -> OfferOutcome {
        self.note_wishes(id);
        match self.choose_type(node, id, served) {
            None => OfferOutcome::Refused,
            Some(OfferChoice::Other(OfferOutcome::NoRoom(request))) => {
                self.limit_of(node, id, &request).map_or(OfferOutcome::NoRoom(request), OfferOutcome::Limited)
            }
            Some(OfferChoice::Other(outcome)) => outcome,
            Some(OfferChoice::Miss(request)) => {
                if self.bag_mut(node).is_some_and(|bag| bag.missed.insert((id, request)))
                    && let Some(table) = self.demand_mut(id).and_then(|demand| demand.types.get_mut(&request))
                {
                    table.count_miss();
                }
                OfferOutcome::Delayed(request)
            }
            Some(OfferChoice::Grant(request, level)) => match self.limit_of(node, id, &request) {
                Some(verdict) => OfferOutcome::Limited(verdict),
                None => self.grant_container(node, id, request, level, source),
            },
        }
    }

    /// Counts again which rows of an application may be met, if nodes have come or gone.
    pub(super) fn note_wishes(&mut self, id: AppId) {
        let Self { apps, containers, topology, .. } = self;
        let demand = apps.get_mut(&id).and_then(|app| app.containers.as_deref_mut());
        let tables = demand.into_iter().flat_map(|demand| demand.types.values_mut());
        tables.for_each(|table| table.note_wishes(&containers.nodes, topology));
    }

    /// Whether an offer of a node to an application would come to a grant, as far as its tables and limits say.
    pub(super) fn would_grant(&self, node: TrackerId, id: AppId) -> bool {
        match self.choose_type(node, id, None) {
            Some(OfferChoice::Grant(request, _)) => self.limit_of(node, id, &request).is_none(),
            _ => false,
        }
    }

    /// Slots of what a node would give an application by its tables, if that need not be its first type.
    pub(super) fn slots_of_another_type(&self, node: TrackerId, id: AppId) -> Option<u32> {
        let has_choice = self.demand(id).is_some_and(|demand| demand.types.len() > 1);
        if !has_choice {
            return None;
        }
        match self.choose_type(node, id, None) {
            Some(OfferChoice::Grant(request, _)) => Some(request.capability.slots(self.containers.slot)),
            _ => None,
        }
    }

    /// What keeps an application from a container there; none: nothing does.
    fn limit_of(&self, node: TrackerId, app: AppId, request: &RequestType) -> Option<Verdict> {
        Some(self.review_container(app, node, request)).filter(|verdict| !matches!(verdict, Verdict::Ask(_)))
    }

    fn choose_type(&self, id: TrackerId, app: AppId, served: Option<RequestType>) -> Option<OfferChoice> {
        let Self { apps, nodes, topology, .. } = self;
        let (demand, node) = (apps.get(&app)?.containers.as_ref()?, nodes.get(&id)?);
        let bag = node.bag.as_ref().filter(|bag| bag.takes_containers)?;
        let site = NodeSite::of(topology, node.host);
        if demand.is_blacklisted(site) {
            return None;
        }
        let free = self.room_for_container(id, app)?;
        for (request, table) in &demand.types {
            if demand.grantable(request, table) == 0 {
                continue;
            }
            let has_room = request.capability.fits(free);
            let is_served = served.is_none_or(|served| served == *request);
            let counts_miss = has_room && is_served && !bag.missed.contains(&(app, *request));
            match table.verdict(site, self.level_rules(demand, table), counts_miss) {
                SiteVerdict::Excluded => {}
                SiteVerdict::Allowed(level) if has_room => return Some(OfferChoice::Grant(*request, level)),
                SiteVerdict::Allowed(_) if request.capability.fits(bag.declared) => {
                    return Some(OfferChoice::Other(OfferOutcome::NoRoom(*request)));
                }
                SiteVerdict::Delayed if counts_miss => return Some(OfferChoice::Miss(*request)),
                SiteVerdict::Delayed if has_room => return Some(OfferChoice::Other(OfferOutcome::Delayed(*request))),
                SiteVerdict::Allowed(_) | SiteVerdict::Delayed => return None,
            }
        }
        None
    }

    fn grant_container(
        &mut self,
        node: TrackerId,
        app: AppId,
        request: RequestType,
        level: Level,
        source: &mut impl ContainerSource,
    ) -> OfferOutcome {
        let Some(host) = self.nodes.get(&node).map(|node| node.host) else {
            return OfferOutcome::Refused;
        };
        let site = NodeSite::of(&self.topology, host);
        let table = self.demand(app).and_then(|demand| demand.types.get(&request));
        let Some(counted) = table.map(|table| table.rows_at(site, level)) else { return OfferOutcome::Refused };
        let slots = request.capability.slots(self.containers.slot);
        let grant = ContainerGrant { app, request, node, level, counted, slots };
        if !source.take_container(&grant) {
            return OfferOutcome::Refused;
        }
        if let Some(table) = self.demand_mut(app).and_then(|demand| demand.types.get_mut(&request)) {
            table.lower_rows(&grant.counted);
            table.reset_misses(level);
        }
        if self.reservation_on(node) == Some((app, request)) {
            self.end_container_reservation(node);
        }
        self.end_earmark(node, app, Pool::Container);
        self.hold_container(app, node, request);
        self.update_demand(app);
        if !self.is_grantable(app, &request) {
            self.drop_reservation_of(app, request);
            // Other nodes may serve the types behind it now.
            self.containers.asked.insert(app);
        }
        self.check_room(node);
        OfferOutcome::Granted(request)
    }

    /// Containers never hold more than is free beside the tasks that run.
    fn check_room(&mut self, id: TrackerId) {
        let Self { nodes, containers, violations, .. } = self;
        let Some((node, bag)) = nodes.get(&id).and_then(|node| Some((node, node.bag.as_ref()?))) else { return };
        let (Amount { memory_mb, vcores }, declared) = (bag.held, bag.declared);
        let tasks = containers.slot.times(node.tasks());
        let has_all = memory_mb.saturating_add(tasks.memory_mb.into()) <= declared.memory_mb.into()
            && vcores.saturating_add(tasks.vcores.into()) <= declared.vcores.into();
        violations.check(has_all, || {
            format!("{id} has {declared}, but containers hold {memory_mb} MB, {vcores} cores, and tasks {tasks}")
        });
    }

    /// Whether an application wants a container of a type that could be granted now.
    pub(super) fn is_grantable(&self, id: AppId, request: &RequestType) -> bool {
        let demand = self.demand(id);
        let table = demand.and_then(|demand| demand.types.get(request));
        demand.zip(table).is_some_and(|(demand, table)| demand.grantable(request, table) > 0)
    }

    pub(super) fn free_for_containers(&self, node: TrackerId) -> Option<Capability> {
        self.containers.nodes.free_on(node)
    }
}
