//! Finds the next node, in order of number, with room for a container: a tree of 64 branches a level whose inner
//! entries hold the most memory and the most cores below them.
//!
//! The two may be those of different nodes, so a search may enter a branch in vain; it never visits nodes that are full.

use std::collections::BTreeMap;

use crate::model::{Capability, TrackerId};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RoomIndex {
    nodes: BTreeMap<u32, (TrackerId, Capability)>,
    /// From the parents of nodes upwards, by the number of the node without its last digits.
    inner: [BTreeMap<u32, Capability>; LEVELS],
}

/// Six bits a level: enough for 32 bits with the nodes themselves.
const LEVELS: usize = 5;
const BITS: u32 = 6;

impl RoomIndex {
    /// Sets what is free on a node; zero of either removes it. O(log nodes).
    pub(super) fn set(&mut self, node: TrackerId, free: Capability) {
        let number = node.get();
        let has_room = free.memory_mb > 0 && free.vcores > 0;
        let before = match has_room {
            true => self.nodes.insert(number, (node, free)).map(|(_, free)| free),
            false => self.nodes.remove(&number).map(|(_, free)| free),
        };
        if before == has_room.then_some(free) {
            return;
        }
        let mut below = most(self.nodes.range(siblings(number)).map(|(_, (_, free))| *free));
        let mut key = number >> BITS;
        for level in 0..LEVELS {
            let entries = &mut self.inner[level];
            match below {
                Some(below) => entries.insert(key, below),
                None => entries.remove(&key),
            };
            below = most(entries.range(siblings(key)).map(|(_, free)| *free));
            key >>= BITS;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The first node from `from` on that has room.
    pub(super) fn next(&self, from: TrackerId, capability: Capability) -> Option<TrackerId> {
        self.search(LEVELS, 0..=u32::MAX, from.get(), capability)
    }

    fn search(
        &self,
        level: usize,
        keys: std::ops::RangeInclusive<u32>,
        from: u32,
        capability: Capability,
    ) -> Option<TrackerId> {
        let Some(inner) = level.checked_sub(1) else {
            let first = from.max(*keys.start());
            if first > *keys.end() {
                return None;
            }
            let mut fitting = self.nodes.range(first..=*keys.end()).filter(|(_, (_, free))| capability.fits(*free));
            return fitting.next().map(|(_, (node, _))| *node);
        };
        let shift = BITS * level as u32;
        let first = (from >> shift).max(*keys.start());
        if first > *keys.end() {
            return None;
        }
        let mut fitting = self.inner[inner].range(first..=*keys.end()).filter(|(_, free)| capability.fits(**free));
        fitting.find_map(|(&key, _)| self.search(inner, (key << BITS)..=(key << BITS | SIBLINGS), from, capability))
    }
}

const SIBLINGS: u32 = (1 << BITS) - 1;

/// The keys below the same parent.
fn siblings(key: u32) -> std::ops::RangeInclusive<u32> {
    (key & !SIBLINGS)..=(key | SIBLINGS)
}

fn most(all: impl Iterator<Item = Capability>) -> Option<Capability> {
    all.reduce(|a, b| Capability::new(a.memory_mb.max(b.memory_mb), a.vcores.max(b.vcores)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_next_node_is_the_one_that_a_walk_over_all_finds(
            changes in prop::collection::vec((0_u32..9_000, 0_u32..6, 0_u32..6), 1..200),
            searches in prop::collection::vec((0_u32..9_000, 1_u32..6, 1_u32..6), 1..20),
        ) {
            let (mut index, mut all) = (RoomIndex::default(), BTreeMap::new());
            // Far apart, so that all levels are used.
            let node = |number: u32| TrackerId::new(number.wrapping_mul(477_218));
            for (number, memory_mb, vcores) in changes {
                let free = Capability::new(memory_mb, vcores);
                index.set(node(number), free);
                all.insert(node(number), free);
            }
            for (from, memory_mb, vcores) in searches {
                let (from, capability) = (node(from), Capability::new(memory_mb, vcores));
                let expected = all.range(from..).find(|(_, free)| capability.fits(**free)).map(|(node, _)| *node);
                prop_assert_eq!(index.next(from, capability), expected);
            }
            all.keys().for_each(|node| index.set(*node, Capability::default()));
            prop_assert_eq!(index, RoomIndex::default());
        }
    }
}
