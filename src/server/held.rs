//! What waits for a fact to be durable, in the order in which it may go.

use std::collections::BTreeMap;

use crate::model::FactNumber;

/// Items that wait, each for a fact. Items that wait for the same fact leave in the order in which they came.
#[derive(Debug)]
pub struct HeldQueue<T> {
    items: BTreeMap<(FactNumber, u64), T>,
    arrivals: u64,
}

// === impl HeldQueue ===

impl<T> Default for HeldQueue<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> HeldQueue<T> {
    /// Holds `item` until `number` is durable.
    pub fn hold(&mut self, number: FactNumber, item: T) {
        self.arrivals += 1;
        self.items.insert((number, self.arrivals), item);
    }

    /// The next item that waits for nothing beyond `durable`.
    pub fn release(&mut self, durable: FactNumber) -> Option<T> {
        let first = self.items.first_entry()?;
        (first.key().0 <= durable).then(|| first.remove())
    }

    /// Number of items held.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_by_fact_then_by_arrival_and_never_early() {
        let mut held = HeldQueue::default();
        held.hold(FactNumber(5), "five");
        held.hold(FactNumber(3), "three");
        held.hold(FactNumber(5), "five again");
        held.hold(FactNumber(9), "nine");
        assert_eq!(held.release(FactNumber(2)), None);
        let released: Vec<_> = std::iter::from_fn(|| held.release(FactNumber(5))).collect();
        assert_eq!(released, ["three", "five", "five again"]);
        assert_eq!(held.len(), 1);
    }
}
