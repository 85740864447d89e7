//! Answers that wait for the store.

use crate::model::FactNumber;

/// An answer that waits for the store.
#[derive(Debug)]
pub(super) struct HeldAnswer<T> {
    pub(super) wait_for: FactNumber,
    pub(super) answer: T,
}
