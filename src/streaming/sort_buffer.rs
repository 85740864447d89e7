//! Map output in memory until it is sorted: one arena of bytes, and for each partition a list of places in it. Records are in the arena in
//! the form that segments have, so that writing is copying. A place holds the first eight bytes of its key, which decide most comparisons
//! without reading the arena.

use std::cmp::Ordering;
use std::io;

use super::key_order::KeyOrder;
use super::segment_reader::Records;
use super::segment_writer::frame_record;

/// The position of one record in the arena.
#[derive(Clone, Copy, Debug)]
struct RecordPlace {
    /// The key's first bytes, the most significant first, filled up with zeros.
    prefix: u64,
    record: u32,
    record_bytes: u32,
    key: u32,
    key_bytes: u32,
}

/// Records that are not sorted yet.
#[derive(Debug)]
pub(crate) struct SortBuffer {
    arena: Vec<u8>,
    partitions: Vec<Vec<RecordPlace>>,
    records: usize,
    /// Records of the largest partition.
    largest: usize,
}

#[derive(Debug)]
pub(crate) struct Sorted<'a> {
    arena: &'a [u8],
    places: &'a [RecordPlace],
    next: usize,
}

/// The longest arena: places are 32 bits wide. Bytes.
const LONGEST_ARENA: usize = u32::MAX as usize;

impl RecordPlace {
    fn key<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.key as usize..(self.key + self.key_bytes) as usize]
    }

    #[inline]
    fn compare_bytes(&self, other: &Self, arena: &[u8]) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| {
            if self.key_bytes <= 8 && other.key_bytes <= 8 {
                // Alike but for zeros at their ends, if at all.
                self.key_bytes.cmp(&other.key_bytes)
            } else {
                self.key(arena).cmp(other.key(arena))
            }
        })
    }
}

/// The first eight bytes of a key as a number, filled up with zeros: keys of different prefixes are in the order of these.
#[inline]
pub(crate) fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => key.iter().fold(0, |so_far, byte| so_far << 8 | u64::from(*byte)) << (8 * (8 - key.len() as u32) % 64),
    }
}

impl SortBuffer {
    /// An empty buffer for `partitions`, with room for about `room_bytes`.
    pub(crate) fn new(partitions: u32, room_bytes: u64) -> Self {
        let mut arena = Vec::new();
        // Pages that are never written to take no memory. Without the room it grows as it fills.
        let _ = arena.try_reserve_exact(usize::try_from(room_bytes).unwrap_or(0).min(LONGEST_ARENA));
        Self { arena, partitions: vec![Vec::new(); partitions as usize], records: 0, largest: 0 }
    }

    /// How many bytes are in use, places included.
    #[inline]
    pub(crate) fn used_bytes(&self) -> u64 {
        // Sorting a partition takes half as many places again.
        (self.arena.len() + (self.records + self.largest / 2) * size_of::<RecordPlace>()) as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Adds a record; `false` when the buffer is full. The partition must exist.
    #[inline]
    pub(crate) fn push(&mut self, partition: u32, key: &[u8], value: &[u8]) -> bool {
        let record = self.arena.len();
        if key.len() + value.len() + 32 > LONGEST_ARENA - record {
            return false;
        }
        let key_at = frame_record(&mut self.arena, key, value);
        let places = &mut self.partitions[partition as usize];
        places.push(RecordPlace {
            prefix: prefix(key),
            record: record as u32,
            record_bytes: (self.arena.len() - record) as u32,
            key: (record + key_at) as u32,
            key_bytes: key.len() as u32,
        });
        self.largest = self.largest.max(places.len());
        self.records += 1;
        true
    }

    /// Sorts all partitions; the sort is stable.
    pub(crate) fn sort(&mut self, order: &KeyOrder) {
        let arena = &self.arena;
        for places in &mut self.partitions {
            match order {
                KeyOrder::Bytes => places.sort_by(|a, b| a.compare_bytes(b, arena)),
                KeyOrder::Fields(_) => merge_sort(places, &|a, b| order.compare(a.key(arena), b.key(arena)).is_le()),
            }
        }
    }

    /// The records of a partition, in their current order.
    pub(crate) fn partition(&self, partition: u32) -> Sorted<'_> {
        let places = self.partitions.get(partition as usize).map_or(&[][..], Vec::as_slice);
        Sorted { arena: &self.arena, places, next: 0 }
    }

    /// Forgets all records; memory is kept for the next.
    pub(crate) fn clear(&mut self) {
        self.arena.clear();
        self.partitions.iter_mut().for_each(Vec::clear);
        (self.records, self.largest) = (0, 0);
    }
}

/// Sorts by an order that may contradict itself, which the library's own sorts answer with a panic.
fn merge_sort(places: &mut [RecordPlace], is_in_order: &dyn Fn(&RecordPlace, &RecordPlace) -> bool) {
    let mut from = places.to_vec();
    let mut to = places.to_vec();
    let mut width = 1;
    while width < from.len() {
        for (left_and_right, out) in from.chunks(2 * width).zip(to.chunks_mut(2 * width)) {
            let (mut left, mut right) = left_and_right.split_at(width.min(left_and_right.len()));
            for slot in out {
                let side = match (left.first(), right.first()) {
                    (Some(a), Some(b)) if is_in_order(a, b) => &mut left,
                    (Some(_), None) => &mut left,
                    _ => &mut right,
                };
                if let Some((first, rest)) = side.split_first() {
                    (*slot, *side) = (*first, rest);
                }
            }
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    places.copy_from_slice(&from);
}

impl Sorted<'_> {
    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    fn at_hand(&self) -> &RecordPlace {
        &self.places[self.next - 1]
    }
}

impl Records for Sorted<'_> {
    #[inline]
    fn advance(&mut self) -> io::Result<bool> {
        let is_there = self.next < self.places.len();
        self.next += usize::from(is_there);
        Ok(is_there)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.at_hand().key(self.arena)
    }

    fn value(&self) -> &[u8] {
        let place = self.at_hand();
        let end = (place.record + place.record_bytes) as usize;
        let text = &self.arena[(place.key + place.key_bytes) as usize..end];
        // Behind its own length.
        match text.first() {
            Some(first) if *first <= 127 => &text[1..],
            Some(first) => text.get(1 + usize::from(0x90 - first.min(&0x90))..).unwrap_or_default(),
            None => text,
        }
    }

    #[inline]
    fn framed(&self) -> &[u8] {
        let place = self.at_hand();
        &self.arena[place.record as usize..(place.record + place.record_bytes) as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::key_fields::KeyFields;
    use super::*;

    fn sorted(records: &[(Vec<u8>, Vec<u8>)], order: &KeyOrder) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut buffer = SortBuffer::new(2, 100);
        for (key, value) in records {
            assert!(buffer.push(1, key, value));
        }
        buffer.sort(order);
        assert_eq!(buffer.partition(0).count(), 0);
        let mut sorted = buffer.partition(1);
        assert_eq!(sorted.count(), records.len());
        let mut read = Vec::new();
        while sorted.advance().unwrap() {
            read.push((sorted.key().to_vec(), sorted.value().to_vec()));
        }
        read
    }

    proptest! {
        #[test]
        fn records_sort_as_by_the_library(
            mut records in proptest::collection::vec(
                (proptest::collection::vec(0_u8..3, 0..12), proptest::collection::vec(any::<u8>(), 0..3)), 0..40,
            ),
        ) {
            let ours = sorted(&records, &KeyOrder::Bytes);
            let whole = KeyOrder::Fields(KeyFields::parse(b'\t', "").unwrap());
            prop_assert_eq!(&sorted(&records, &whole), &ours);
            records.sort_by(|a, b| a.0.cmp(&b.0));
            prop_assert_eq!(ours, records);
        }

        #[test]
        fn orders_that_contradict_themselves_do_no_harm(keys in proptest::collection::vec("[-.0-2x\t]{0,5}", 0..60)) {
            let order = KeyOrder::Fields(KeyFields::parse(b'\t', "-k1,1n -k2nr").unwrap());
            let records: Vec<_> = keys.iter().map(|key| (key.clone().into_bytes(), Vec::new())).collect();
            let (mut ours, mut given) = (sorted(&records, &order), records);
            ours.sort();
            given.sort();
            prop_assert_eq!(ours, given);
        }
    }

    #[test]
    fn long_values_are_found_again() {
        let records: Vec<(Vec<u8>, Vec<u8>)> =
            [0, 127, 128, 255, 256, 70_000].iter().map(|length| (vec![1; *length], vec![2; *length])).collect();
        assert_eq!(sorted(&records, &KeyOrder::Bytes), records);
    }

    #[test]
    fn an_emptied_buffer_is_empty() {
        let mut buffer = SortBuffer::new(1, 0);
        assert!(buffer.push(0, b"a", b"b") && !buffer.is_empty() && buffer.used_bytes() > 24);
        buffer.clear();
        assert!(buffer.is_empty() && buffer.used_bytes() == 0 && !buffer.partition(0).advance().unwrap());
    }
}
