//! The order of groups that are sorted at fixed moments, as a stable sort of a list keeps it: of two groups with equal keys, the one that
//! stood before the other still does (Hadoop 1.2.1 `CapacityTaskScheduler` sorts a list for each kind).
//!
//! Instead of a list, each group has a rank that breaks ties. A group whose key fell stood behind all that have its new
//! key, and gets a rank behind theirs; one whose key rose gets a rank before theirs; the others keep their rank. So a
//! sort costs only what changed since the last one.

use std::collections::{BTreeMap, BTreeSet};

use super::GroupId;
use super::key::GroupKey;

/// The keys of the last sort, and what changed since.
#[derive(Debug, PartialEq)]
pub(super) struct RankTable {
    sorted: BTreeMap<GroupId, GroupKey>,
    changed: BTreeSet<GroupId>,
    /// Ranks above it are not before those of any other group.
    front: i64,
    /// Ranks below it are not behind those of any other group.
    back: i64,
}

/// Ranks from here to its negative are the policy's own.
const LAST_OWN_RANK: i64 = 1 << 40;

impl Default for RankTable {
    fn default() -> Self {
        Self { sorted: BTreeMap::new(), changed: BTreeSet::new(), front: -LAST_OWN_RANK, back: LAST_OWN_RANK }
    }
}

impl RankTable {
    pub(super) fn mark_changed(&mut self, group: GroupId) {
        self.changed.insert(group);
    }

    pub(super) fn mark_all_changed(&mut self) {
        self.changed.extend(self.sorted.keys().copied());
    }

    /// The key of a group until the next sort; `key` is that of a group that was never sorted.
    pub(super) fn key_until_sorted(&mut self, group: GroupId, key: impl FnOnce() -> GroupKey) -> GroupKey {
        *self.sorted.entry(group).or_insert_with(key)
    }

    /// Sorts what changed; returns the groups with new keys.
    pub(super) fn sort(&mut self, key_of: impl Fn(GroupId) -> GroupKey) -> Vec<(GroupId, GroupKey)> {
        let mut fell = Vec::new();
        let mut rose = Vec::new();
        for id in std::mem::take(&mut self.changed) {
            let key = key_of(id);
            let before = *self.sorted.entry(id).or_insert(key);
            match (GroupKey { rank: before.rank, ..key }).cmp(&before) {
                std::cmp::Ordering::Less => fell.push((before, id, key)),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => rose.push((before, id, key)),
            }
        }
        // In the order of the last sort.
        fell.sort_unstable_by_key(|(before, id, _)| (*before, *id));
        rose.sort_unstable_by_key(|(before, id, _)| (*before, *id));
        let mut moved = Vec::with_capacity(fell.len() + rose.len());
        for (_, id, key) in fell {
            self.back = self.back.saturating_add(1);
            moved.push((id, GroupKey { rank: self.back, ..key }));
        }
        for (_, id, key) in rose.into_iter().rev() {
            self.front = self.front.saturating_sub(1);
            moved.push((id, GroupKey { rank: self.front, ..key }));
        }
        self.sorted.extend(moved.iter().copied());
        moved
    }

    pub(super) fn forget(&mut self, group: GroupId) {
        self.sorted.remove(&group);
        self.changed.remove(&group);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scheduler::key::Ratio;

    const GROUPS: usize = 6;

    fn id(index: usize) -> GroupId {
        (0..=index).fold(GroupId::ROOT, |id, _| id.next())
    }

    proptest! {
        /// Between two sorts any keys may change, also forth and back.
        #[test]
        fn equal_groups_keep_the_order_that_a_stable_sort_of_a_list_keeps(
            rounds in prop::collection::vec(prop::collection::vec((0..GROUPS, 0u64..4), 0..6), 1..30)
        ) {
            let (mut table, mut values, mut list) = (RankTable::default(), [0_u64; GROUPS], Vec::from_iter(0..GROUPS));
            let key = |values: &[u64; GROUPS], index: usize| {
                GroupKey { ratio: Ratio::new(values[index], std::num::NonZeroU64::MIN), rank: index as i64, ..GroupKey::default() }
            };
            let by_id = std::collections::BTreeMap::from_iter((0..GROUPS).map(|index| (id(index), index)));
            (0..GROUPS).for_each(|index| table.mark_changed(id(index)));
            for round in rounds {
                for (index, value) in round {
                    values[index] = value;
                    table.mark_changed(id(index));
                }
                table.sort(|id| key(&values, by_id[&id]));
                list.sort_by_key(|&index| values[index]);
                let mut sorted: Vec<usize> = (0..GROUPS).collect();
                sorted.sort_by_key(|&index| table.sorted[&id(index)]);
                prop_assert_eq!(&sorted, &list);
            }
        }
    }
}
