//! What of the containers the market charges for.

use std::sync::Arc;

use crate::model::ApplicationId;

use super::{ContainerBook, ContainerBooks};

impl ContainerBooks {
    /// Slots of live containers, launched or not, by application, with its queue and the order of its submission.
    pub(in crate::sim::laws) fn held_by_applications(
        &self,
    ) -> impl Iterator<Item = (&Arc<str>, ApplicationId, u64, u32)> {
        self.applications.iter().filter_map(|(id, book)| {
            let live = book.containers.values().filter(|container| container.is_live());
            let slots = live.map(|container| container.request.capability.slots(self.slot)).sum::<u32>();
            (slots > 0).then_some((&book.submitted.queue, *id, book.submitted.order, slots))
        })
    }

    /// Whether any container of a queue lives.
    pub(in crate::sim::laws) fn has_any(&self, queue: &str) -> bool {
        let mut of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue);
        of_queue.any(|book| book.containers.values().any(ContainerBook::is_live))
    }
}
