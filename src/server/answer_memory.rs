//! A memory bound for all answers that wait for the store.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Granularity of reservations, bytes.
const PLACE_BYTES: usize = 1 << 10;

/// The memory bound for answers that wait for the store or are being built. Reservations are granted in order of
/// request.
#[derive(Debug)]
pub struct AnswerMemory {
    places: Arc<Semaphore>,
    all: usize,
}

/// A reservation, released when dropped.
#[derive(Debug)]
pub struct MemoryReservation {
    places: Option<OwnedSemaphorePermit>,
}

// === impl MemoryReservation ===

impl MemoryReservation {
    /// Merges another reservation into this one.
    pub fn join(&mut self, other: Self) {
        match (&mut self.places, other.places) {
            (Some(places), Some(more)) => places.merge(more),
            (places @ None, more) => *places = more,
            (Some(_), None) => {}
        }
    }
}

// === impl AnswerMemory ===

impl AnswerMemory {
    /// A bound of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let all = (bytes / PLACE_BYTES).max(1);
        Self { places: Arc::new(Semaphore::new(all)), all }
    }

    /// Reserves so many bytes if they are free now.
    pub fn try_take(&self, bytes: usize) -> Option<MemoryReservation> {
        let places = self.places.clone().try_acquire_many_owned(self.count(bytes)).ok()?;
        Some(MemoryReservation { places: Some(places) })
    }

    /// Reserves so many bytes once they are free.
    pub async fn take(&self, bytes: usize) -> MemoryReservation {
        // The semaphore is never closed.
        MemoryReservation { places: self.places.clone().acquire_many_owned(self.count(bytes)).await.ok() }
    }

    /// Bytes reserved.
    pub fn taken_bytes(&self) -> usize {
        (self.all - self.places.available_permits()) * PLACE_BYTES
    }

    /// A request beyond the bound gets all of it.
    fn count(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(PLACE_BYTES).clamp(1, self.all)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_and_the_largest_answer_fits() {
        let room = AnswerMemory::new(64 << 10);
        let half = room.try_take(32 << 10).unwrap();
        let little = room.try_take(1).unwrap();
        assert_eq!(room.taken_bytes(), (32 << 10) + PLACE_BYTES);
        assert!(room.try_take(32 << 10).is_none());
        drop((half, little));
        assert!(room.try_take(10 << 20).is_some());
        assert_eq!(room.taken_bytes(), 0);
    }
}
