//! What a heartbeat left of a tracker's slots.

use crate::model::{Kind, PerKind};

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
