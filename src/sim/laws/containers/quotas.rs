//! Law 3 for containers: nothing is granted to a queue beyond its quota while a queue within its own waits for a container that could
//! have the room.

use std::collections::BTreeMap;

use crate::engine::{Engine, RequestType};
use crate::model::Capability;

use super::request_book::Site;
use super::{ApplicationBook, Container, ContainerBook, ContainerBooks, OfferedNode};

impl ContainerBooks {
    /// Checks the last grant of each queue in a step; after it the queue holds what it holds at the end. Not of a step whose round
    /// of preemption has made room: it is for the queues that the round chose, by what stays once all that is to end has ended.
    pub(in crate::sim::laws) fn short_queues_first(&self, most_of_one: u32, engine: &Engine) -> Result<(), String> {
        if self.has_preempted() {
            return Ok(());
        }
        let mut last: BTreeMap<&str, &Container> = BTreeMap::new();
        for container in &self.granted {
            if let Some(book) = self.applications.get(&container.id.application) {
                last.insert(&book.submitted.queue, container);
            }
        }
        last.retain(|queue, _| !self.stays_within(queue, 0, engine));
        for (favoured, container) in last {
            let node = engine.inspect().tracker_id_of(&container.node.tracker);
            let is_kept =
                node.is_none_or(|node| self.earmarked_on(node) != (0, 0) || self.kept.reserved.contains(&node));
            if is_kept {
                continue;
            }
            // One that has got something since wants something else now.
            let since = || self.granted.iter().rev().take_while(|later| later.id != container.id);
            let short = self.applications.iter().find_map(|(id, book)| {
                if since().any(|later| later.id.application == *id) {
                    return None;
                }
                let is_short = *book.submitted.queue != *favoured && self.is_short(&book.submitted.queue, engine);
                let waits = if is_short { self.could_use(book, container, most_of_one) } else { None };
                waits.map(|waits| (id, &book.submitted.queue, waits))
            });
            if let Some((application, queue, waits)) = short {
                let id = container.id;
                return Err(format!(
                    "{id} goes to {favoured} beyond its quota while {application} of {queue}, within its, waits for {waits}"
                ));
            }
        }
        Ok(())
    }

    /// Slots that live containers of a queue stand for.
    pub(in crate::sim::laws) fn held_by(&self, queue: &str) -> u32 {
        let of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue);
        let live = of_queue.flat_map(|book| book.containers.values()).filter(|container| container.is_live());
        live.map(|container| container.request.capability.slots(self.slot)).sum()
    }

    /// Whether a queue that pays stays within its quota with so many slots more.
    fn stays_within(&self, queue: &str, more: u32, engine: &Engine) -> bool {
        let scheduler = engine.inspect().scheduler();
        let Some(group) = scheduler.group(queue) else { return false };
        let bought = scheduler.allocation(group);
        bought.rate_units > 0 && self.held_by(queue) + more <= bought.quota.left_for_containers(scheduler.usage(group))
    }

    /// Whether it does whatever its applications get next.
    fn is_short(&self, queue: &str, engine: &Engine) -> bool {
        let of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue && book.may_get_more());
        let types = of_queue.flat_map(|book| &book.requests.types).filter(|(_, book)| book.wanted() > 0);
        let largest = types.map(|(request, _)| request.capability.slots(self.slot)).max();
        largest.is_some_and(|slots| self.stays_within(queue, slots, engine))
    }

    /// What an application waits for and could have instead of a container.
    fn could_use<'a>(
        &self,
        book: &'a ApplicationBook,
        instead: &Container,
        most_of_one: u32,
    ) -> Option<&'a RequestType> {
        let live = book.containers.values().filter(|container: &&ContainerBook| container.is_live()).count();
        let site = Site { host: &instead.node.host, rack: &instead.node.rack };
        let free: Capability = instead.request.capability;
        let node = OfferedNode { tracker: &instead.node.tracker, host: site.host, declared: free, free, free_slots: 0 };
        (live < most_of_one as usize).then(|| book.waits_for(site, node)).flatten()
    }
}
