//! A container that is about to be granted, as a policy sees it.

/// What a container would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheduler) struct OfferedContainer {
    /// Slots that it stands for.
    pub(in crate::scheduler) slots: u32,
    /// Slots of tasks that would have no room on its node beside it, and have now.
    pub(in crate::scheduler) blocks: u64,
}
