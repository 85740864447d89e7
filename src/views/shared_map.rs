//! A sorted map in chunks that are copied on write: a clone shares all of them, and a change copies one.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

const CHUNK: usize = 128;

/// Entries in their order.
type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// A sorted map. Cloning it costs one pointer; the first change after that copies the list of chunks and one chunk.
pub(crate) struct SharedMap<K, V> {
    /// None is empty; sorted, as are their entries.
    chunks: Arc<Vec<Chunk<K, V>>>,
    len: usize,
}

impl<K, V> SharedMap<K, V> {
    /// How many entries it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, by key.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|(key, value)| (key, value)))
    }

    /// All values, by key.
    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SharedMap<K, V> {
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let position = position(chunk, key).ok()?;
        chunk.get(position).map(|(_, value)| value)
    }

    /// The index of the chunk that has the key, or would have it.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let begins_before = |chunk: &Arc<Vec<(K, V)>>| chunk.first().is_some_and(|(first, _)| first.borrow() <= key);
        self.chunks.partition_point(begins_before).saturating_sub(1)
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let index = self.chunk_of(key);
        let found = position(self.chunks.get(index)?, key).ok()?;
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(index)?;
        Arc::make_mut(chunk).get_mut(found).map(|(_, value)| value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        let index = self.chunk_of(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(shared) = chunks.get_mut(index) else {
            chunks.push(Arc::new(vec![(key, value)]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(shared);
        match position(chunk, &key) {
            Ok(found) => chunk[found].1 = value,
            Err(free) => {
                chunk.insert(free, (key, value));
                self.len += 1;
            }
        }
        if chunk.len() > CHUNK {
            // What comes in order leaves full chunks behind.
            let is_appended = index + 1 == chunks.len();
            let chunk = Arc::make_mut(&mut chunks[index]);
            let rest = chunk.split_off(if is_appended { CHUNK } else { CHUNK / 2 });
            chunks.insert(index + 1, Arc::new(rest));
        }
    }

    /// Removes a key; returns whether it was there.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let index = self.chunk_of(key);
        let Some(Ok(found)) = self.chunks.get(index).map(|chunk| position(chunk, key)) else { return false };
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(&mut chunks[index]);
        chunk.remove(found);
        if chunk.is_empty() {
            chunks.remove(index);
        }
        self.len -= 1;
        true
    }
}

fn position<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized>(chunk: &[(K, V)], key: &Q) -> Result<usize, usize> {
    chunk.binary_search_by(|(known, _)| known.borrow().cmp(key))
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), len: self.len }
    }
}

/// Where its chunks begin makes no difference.
impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_sorted_map_and_clones_keep_what_they_were(
            changes in prop::collection::vec((0..600_u32, prop::option::of(any::<u8>())), 0..1_500),
        ) {
            let (mut map, mut expected) = (SharedMap::default(), BTreeMap::new());
            let mut kept = (map.clone(), expected.clone());
            for (index, (key, value)) in changes.into_iter().enumerate() {
                match value {
                    Some(value) => {
                        map.insert(key, value);
                        expected.insert(key, value);
                    }
                    None => prop_assert_eq!(map.remove(&key), expected.remove(&key).is_some()),
                }
                if let Some((value, known)) = map.get_mut(&(key / 2)).zip(expected.get_mut(&(key / 2))) {
                    *value = value.wrapping_add(1);
                    *known = known.wrapping_add(1);
                }
                prop_assert_eq!(map.get(&key), expected.get(&key));
                if index % 100 == 0 {
                    prop_assert!(kept.0.iter().eq(kept.1.iter()));
                    kept = (map.clone(), expected.clone());
                }
            }
            prop_assert!(map.iter().eq(expected.iter()) && map.iter().rev().eq(expected.iter().rev()));
            prop_assert!(map.values().eq(expected.values()));
            prop_assert_eq!(map.len(), expected.len());
            prop_assert!(map.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK));
        }
    }

    #[test]
    fn a_change_copies_one_chunk() {
        let mut map: SharedMap<u32, u32> = (0..1_000).map(|key| (key, key)).collect();
        let before = map.clone();
        map.insert(500, 0);
        let copied = before.chunks.iter().zip(&*map.chunks).filter(|(old, new)| !Arc::ptr_eq(old, new)).count();
        assert_eq!((before.chunks.len(), copied), (8, 1));
    }
}
