//! What containers hold on nodes, by the facts.

use super::ContainerBooks;

impl ContainerBooks {
    /// Memory, MB, and cores that live containers of a worker's process hold.
    pub(in crate::sim::laws) fn held_on(&self, tracker: &str, incarnation: u64) -> (u64, u64) {
        let here = self.on_tracker.get(tracker).into_iter().flatten();
        let books = here.filter_map(|id| self.container(*id)).filter(|book| book.incarnation == incarnation);
        books.fold((0, 0), |(memory_mb, vcores), book| {
            let capability = book.request.capability;
            (memory_mb + u64::from(capability.memory_mb), vcores + u64::from(capability.vcores))
        })
    }
}
