//! One bound, in bytes, for all answers that are made and wait for the store.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one place stands for, bytes.
const PLACE_BYTES: usize = 1 << 10;

/// The room for answers that wait for the store, those being made included. Whoever waits for a part of it gets it in
/// turn.
#[derive(Debug)]
pub struct HeldRoom {
    places: Arc<Semaphore>,
    all: usize,
}

/// A part of the room, until this is dropped.
#[derive(Debug)]
pub struct HeldPlaces {
    places: Option<OwnedSemaphorePermit>,
}

// === impl HeldPlaces ===

impl HeldPlaces {
    /// Keeps both until this is dropped.
    pub fn join(&mut self, other: Self) {
        match (&mut self.places, other.places) {
            (Some(places), Some(more)) => places.merge(more),
            (places @ None, more) => *places = more,
            (Some(_), None) => {}
        }
    }
}

// === impl HeldRoom ===

impl HeldRoom {
    /// Room for so many bytes in all.
    pub fn new(bytes: usize) -> Self {
        let all = (bytes / PLACE_BYTES).max(1);
        Self { places: Arc::new(Semaphore::new(all)), all }
    }

    /// Room for so many bytes, if it is there now.
    pub fn try_take(&self, bytes: usize) -> Option<HeldPlaces> {
        let places = self.places.clone().try_acquire_many_owned(self.count(bytes)).ok()?;
        Some(HeldPlaces { places: Some(places) })
    }

    /// Room for so many bytes, once it is there.
    pub async fn take(&self, bytes: usize) -> HeldPlaces {
        // Nobody closes it.
        HeldPlaces { places: self.places.clone().acquire_many_owned(self.count(bytes)).await.ok() }
    }

    /// Bytes that are taken.
    pub fn taken_bytes(&self) -> usize {
        (self.all - self.places.available_permits()) * PLACE_BYTES
    }

    /// What is larger than all of the room has all of it.
    fn count(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(PLACE_BYTES).clamp(1, self.all)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_and_the_largest_answer_fits() {
        let room = HeldRoom::new(64 << 10);
        let half = room.try_take(32 << 10).unwrap();
        let little = room.try_take(1).unwrap();
        assert_eq!(room.taken_bytes(), (32 << 10) + PLACE_BYTES);
        assert!(room.try_take(32 << 10).is_none());
        drop((half, little));
        assert!(room.try_take(10 << 20).is_some());
        assert_eq!(room.taken_bytes(), 0);
    }
}
