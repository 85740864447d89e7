//! What of the containers the market charges for.

use super::{ContainerBook, ContainerBooks};

// === impl ContainerBooks: charges ===

impl ContainerBooks {
    /// Whether any container of a queue lives.
    pub(in crate::sim::laws) fn has_any(&self, queue: &str) -> bool {
        let mut of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue);
        of_queue.any(|book| book.containers.values().any(ContainerBook::is_live))
    }
}
