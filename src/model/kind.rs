//! The two kinds of slots a Hadoop 1 cluster has.

use std::ops::{Index, IndexMut};

/// A kind of slot, and so of task. Trackers have separate numbers of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    Map,
    Reduce,
}

impl Kind {
    /// Both kinds, maps first: the order in which Hadoop serves them.
    pub(crate) const ALL: [Kind; 2] = [Kind::Map, Kind::Reduce];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct PerKind<T> {
    pub map: T,
    pub reduce: T,
}

impl<T> PerKind<T> {
    pub const fn new(map: T, reduce: T) -> Self {
        Self { map, reduce }
    }
}

impl PerKind<u64> {
    /// The same in 32 bits, saturating.
    #[must_use]
    pub(crate) fn narrow(self) -> PerKind<u32> {
        let narrow = |value| u32::try_from(value).unwrap_or(u32::MAX);
        PerKind::new(narrow(self.map), narrow(self.reduce))
    }
}

impl<T> Index<Kind> for PerKind<T> {
    type Output = T;

    fn index(&self, kind: Kind) -> &T {
        match kind {
            Kind::Map => &self.map,
            Kind::Reduce => &self.reduce,
        }
    }
}

impl<T> IndexMut<Kind> for PerKind<T> {
    fn index_mut(&mut self, kind: Kind) -> &mut T {
        match kind {
            Kind::Map => &mut self.map,
            Kind::Reduce => &mut self.reduce,
        }
    }
}
