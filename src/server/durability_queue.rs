//! Items that wait for facts to become durable, in release order.

use std::collections::BTreeMap;

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
}
