//! A node as it would be without anything on it.

use crate::model::Capability;

#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceableNode<'a> {
    pub(super) host: &'a str,
    pub(super) rack: &'a str,
    /// What it has for containers; none: it takes none.
    pub(super) bag: Option<Capability>,
}

impl PlaceableNode<'_> {
    pub(super) fn room_for(&self, capability: Capability) -> u64 {
        let Some(bag) = self.bag else { return 0 };
        let by_memory = bag.memory_mb.checked_div(capability.memory_mb).unwrap_or(u32::MAX);
        let by_cores = bag.vcores.checked_div(capability.vcores).unwrap_or(u32::MAX);
        by_memory.min(by_cores).into()
    }
}
