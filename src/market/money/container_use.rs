//! What the containers of a queue take at the time of a tick.

/// Containers of a queue at the time of a tick, in slots (resource requests, section 6: s(c)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerUse {
    /// Slots of all that are granted and not complete.
    pub held: u32,
    /// Containers, not slots, that are still wanted.
    pub wanted: u64,
}

impl ContainerUse {
    /// Whether any container is held or wanted.
    pub(crate) fn has_any(&self) -> bool {
        self.held > 0 || self.wanted > 0
    }
}
