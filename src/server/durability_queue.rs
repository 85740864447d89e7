//! Items that wait for facts to become durable, in release order; and a memory bound for all answers among them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::FactNumber;

/// A queue of items that each wait for a fact. Items for the same fact are released in order of arrival.
#[derive(Debug)]
pub(crate) struct DurabilityQueue<T> {
    items: BTreeMap<(FactNumber, u64), T>,
    arrivals: u64,
}

impl<T> Default for DurabilityQueue<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> DurabilityQueue<T> {
    /// Holds `item` until `number` is durable.
    pub(crate) fn hold(&mut self, number: FactNumber, item: T) {
        self.arrivals += 1;
        self.items.insert((number, self.arrivals), item);
    }

    /// Removes the next item whose fact is at most `durable`.
    pub(crate) fn release(&mut self, durable: FactNumber) -> Option<T> {
        let first = self.items.first_entry()?;
        (first.key().0 <= durable).then(|| first.remove())
    }

    /// Number of items held.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

/// Granularity of reservations, bytes.
const PERMIT_BYTES: usize = 1 << 10;

/// The memory bound for answers that wait for the store or are being built. Reservations are granted in order of
/// request.
#[derive(Debug)]
pub struct AnswerMemory {
    permits: Arc<Semaphore>,
    all: usize,
}

/// A reservation, released when dropped.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    permits: Option<OwnedSemaphorePermit>,
}

impl MemoryReservation {
    /// Merges another reservation into this one.
    pub(crate) fn merge(&mut self, other: Self) {
        match (&mut self.permits, other.permits) {
            (Some(permits), Some(more)) => permits.merge(more),
            (permits @ None, more) => *permits = more,
            (Some(_), None) => {}
        }
    }
}

impl AnswerMemory {
    pub(crate) fn new(bytes: usize) -> Self {
        let all = (bytes / PERMIT_BYTES).max(1);
        Self { permits: Arc::new(Semaphore::new(all)), all }
    }

    /// Reserves so many bytes if they are free now.
    pub(crate) fn try_reserve(&self, bytes: usize) -> Option<MemoryReservation> {
        let permits = self.permits.clone().try_acquire_many_owned(self.count(bytes)).ok()?;
        Some(MemoryReservation { permits: Some(permits) })
    }

    /// Reserves so many bytes once they are free.
    pub(crate) async fn reserve(&self, bytes: usize) -> MemoryReservation {
        // The semaphore is never closed.
        MemoryReservation { permits: self.permits.clone().acquire_many_owned(self.count(bytes)).await.ok() }
    }

    pub fn taken_bytes(&self) -> usize {
        (self.all - self.permits.available_permits()) * PERMIT_BYTES
    }

    /// A request beyond the bound gets all of it.
    fn count(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(PERMIT_BYTES).clamp(1, self.all)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_by_fact_then_by_arrival_and_never_early() {
        let mut held = DurabilityQueue::default();
        held.hold(FactNumber(5), "five");
        held.hold(FactNumber(3), "three");
        held.hold(FactNumber(5), "five again");
        held.hold(FactNumber(9), "nine");
        assert_eq!(held.release(FactNumber(2)), None);
        let released: Vec<_> = std::iter::from_fn(|| held.release(FactNumber(5))).collect();
        assert_eq!(released, ["three", "five", "five again"]);
        assert_eq!(held.len(), 1);
    }

    #[test]
    fn room_comes_back_and_the_largest_answer_fits() {
        let room = AnswerMemory::new(64 << 10);
        let half = room.try_reserve(32 << 10).unwrap();
        let little = room.try_reserve(1).unwrap();
        assert_eq!(room.taken_bytes(), (32 << 10) + PERMIT_BYTES);
        assert!(room.try_reserve(32 << 10).is_none());
        drop((half, little));
        assert!(room.try_reserve(10 << 20).is_some());
        assert_eq!(room.taken_bytes(), 0);
    }
}
