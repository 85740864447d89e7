//! The two kinds of slots of a Hadoop 1 cluster, and the three pools that a node grants from.

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

/// A pool. Slots are counted by each tracker; containers share memory and cores with the tasks that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pool {
    Map,
    Reduce,
    Container,
}

/// One value for each pool. Indexed by [`Pool`], and by [`Kind`] where only slots can be meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PerPool<T> {
    pub map: T,
    pub reduce: T,
    /// The value for containers. What was stored before there were any lacks it.
    #[serde(default)]
    pub container: T,
}

impl Pool {
    /// All pools in the order in which they are served: slots first, as Hadoop serves them.
    pub(crate) const ALL: [Pool; 3] = [Pool::Map, Pool::Reduce, Pool::Container];

    /// The kind of slots; none: containers.
    pub(crate) const fn kind(self) -> Option<Kind> {
        match self {
            Pool::Map => Some(Kind::Map),
            Pool::Reduce => Some(Kind::Reduce),
            Pool::Container => None,
        }
    }
}

impl From<Kind> for Pool {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Map => Pool::Map,
            Kind::Reduce => Pool::Reduce,
        }
    }
}

impl<T> PerPool<T> {
    pub const fn new(map: T, reduce: T, container: T) -> Self {
        Self { map, reduce, container }
    }

    /// The two values for slots.
    pub fn slots(self) -> PerKind<T> {
        PerKind::new(self.map, self.reduce)
    }
}

impl PerPool<u32> {
    /// The slots that containers may use of what these have been bought for, while maps and reduces hold so many (resource
    /// requests, section 10: Q): those for containers, and what maps and reduces leave of theirs. Saturates.
    #[must_use]
    pub(crate) fn left_for_containers(self, held: PerKind<u32>) -> u32 {
        let left = |kind: Kind| self[kind].saturating_sub(held[kind]);
        self.container.saturating_add(left(Kind::Map)).saturating_add(left(Kind::Reduce))
    }
}

impl<T> Index<Pool> for PerPool<T> {
    type Output = T;

    fn index(&self, pool: Pool) -> &T {
        match pool {
            Pool::Map => &self.map,
            Pool::Reduce => &self.reduce,
            Pool::Container => &self.container,
        }
    }
}

impl<T> IndexMut<Pool> for PerPool<T> {
    fn index_mut(&mut self, pool: Pool) -> &mut T {
        match pool {
            Pool::Map => &mut self.map,
            Pool::Reduce => &mut self.reduce,
            Pool::Container => &mut self.container,
        }
    }
}

impl<T> Index<Kind> for PerPool<T> {
    type Output = T;

    fn index(&self, kind: Kind) -> &T {
        &self[Pool::from(kind)]
    }
}

impl<T> IndexMut<Kind> for PerPool<T> {
    fn index_mut(&mut self, kind: Kind) -> &mut T {
        &mut self[Pool::from(kind)]
    }
}
