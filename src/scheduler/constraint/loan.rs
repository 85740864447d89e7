//! Whether a slot that is promised to others is lent.

use crate::model::Kind;
use crate::scheduler::node::Totals;

/// Whether a task that is promised no slot gets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lending {
    /// A slot is free until it ends.
    Lent,
    /// A slot is free, but not for as long.
    TooLong,
    /// All slots are promised now, or for as long as a task of unknown length lasts.
    Promised,
}

/// Whether a slot is free.
pub(super) fn has_free(kind: Kind, totals: &Totals) -> bool {
    totals.slots[kind] > totals.held[kind].saturating_add(totals.occupied[kind])
}
