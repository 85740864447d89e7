//! What a heartbeat left of a tracker's slots, and what a node could hold, were it empty.

use crate::model::{Capability, Kind, PerKind};

#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct HeartbeatOutcome<'a> {
    pub(crate) tracker: &'a str,
    pub(crate) slots: PerKind<u32>,
    /// Slots that stay free although the tracker would have taken work.
    pub(crate) free: PerKind<u32>,
    /// Slots of a stock tracker whose attempts were killed since its last report: they may be left free once.
    pub(crate) killed: PerKind<u32>,
    /// Whether the JobTracker has its last report, so that it must leave them free.
    pub(crate) knows_killed: bool,
}

impl HeartbeatOutcome<'_> {
    /// The same without the slots that may be left free; an error if one of them got a task.
    pub(super) fn without_killed(self, has_launched: PerKind<bool>) -> Result<Self, String> {
        let Self { tracker, free, killed, knows_killed, .. } = self;
        let is_taken = |kind: &Kind| has_launched[*kind] && free[*kind] < killed[*kind];
        if let Some(kind) = Kind::ALL.into_iter().find(is_taken).filter(|_| knows_killed) {
            return Err(format!(
                "{tracker} gets a {kind:?} task in a slot whose attempt it has just reported as killed"
            ));
        }
        let left = |kind: Kind| free[kind].saturating_sub(killed[kind]);
        Ok(Self { free: PerKind::new(left(Kind::Map), left(Kind::Reduce)), ..self })
    }
}

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
