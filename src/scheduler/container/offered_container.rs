//! A container that is about to be granted, as a policy sees it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheduler) struct OfferedContainer {
    slots: u32,
    blocks: u64,
}

impl OfferedContainer {
    pub(super) fn new(slots: u32, blocks: u64) -> Self {
        Self { slots, blocks }
    }

    pub(in crate::scheduler) fn slots(&self) -> u32 {
        self.slots
    }

    /// Slots of tasks that would have no room on its node beside it, and have now.
    pub(in crate::scheduler) fn blocks(&self) -> u64 {
        self.blocks
    }
}
