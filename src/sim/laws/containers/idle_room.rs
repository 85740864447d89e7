//! Law 2 for containers: no room stays free across a heartbeat that a container could use which waits for it.

use crate::engine::{Engine, RequestType};
use crate::model::Pool;

use super::request_book::{OfferedNode, Site};
use super::{ApplicationBook, ContainerBook, ContainerBooks};

impl ContainerBooks {
    /// Checks a node that takes containers. Exceptions: what locality delays, a node that is kept for a larger container, room
    /// that a round of preemption has found for others, limits of the policy and, where slots are promised to deadlines
    /// (`is_constrained`), what would take room from free ones.
    pub(in crate::sim::laws) fn uses_room(
        &self,
        node: OfferedNode<'_>,
        most_of_one: u32,
        is_constrained: bool,
        engine: &Engine,
    ) -> Result<(), String> {
        let inspection = engine.inspect();
        let Some(id) = inspection.tracker_id_of(node.tracker) else { return Ok(()) };
        let Some(info) = inspection.nodes().get(id) else { return Ok(()) };
        let scheduler = inspection.scheduler();
        if scheduler.reservation_on(id).is_some() {
            return Ok(());
        }
        let site = Site { host: node.host, rack: scheduler.topology().rack_name(info.rack) };
        for (application, book) in &self.applications {
            let live = book.containers.values().filter(|container| container.is_live()).count();
            let is_full = live >= most_of_one as usize;
            let Some(app) = inspection.app_of(*application) else { continue };
            if is_full {
                continue;
            }
            let mut node = node;
            for earmark in scheduler.earmarks_on(id) {
                if (earmark.app, earmark.pool) != (app, Pool::Container) {
                    node.free = node.free.saturating_sub(earmark.room);
                }
            }
            if is_constrained {
                node.free = node.free.saturating_sub(self.slot.times(node.free_slots));
            }
            let waits = book.waits_for(site, node).filter(|waits| !scheduler.is_container_limited(app, waits));
            if let Some(waits) = waits {
                let (name, free) = (node.tracker, node.free);
                return Err(format!("{free} of {name} stay free while {application} could use them for {waits}"));
            }
        }
        Ok(())
    }
}

impl ApplicationBook {
    /// The type that could be granted on a node at once, as far as rows and room say.
    pub(super) fn waits_for(&self, site: Site<'_>, node: OfferedNode<'_>) -> Option<&RequestType> {
        if !self.may_get_more() || self.blacklist.contains(site.host) || self.blacklist.contains(site.rack) {
            return None;
        }
        let strict_gates = self.submitted.strict_gates;
        // The first type that may ever use the node keeps the others from it.
        let first = self.requests.types.iter().find(|(request, book)| {
            let live = self
                .containers
                .values()
                .filter(|container: &&ContainerBook| container.is_live() && container.request == **request);
            book.grantable(live.count() as u32) > 0 && book.is_possible(site, strict_gates)
        });
        let (request, book) = first?;
        let fits = request.capability.fits(node.free) && request.capability.fits(node.declared);
        (fits && book.is_allowed_at_once(site, strict_gates)).then_some(request)
    }
}
