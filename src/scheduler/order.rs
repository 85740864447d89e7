//! The order in which groups and their apps are tried, for one kind of slot.
//!
//! Invariant: a leaf is here exactly while one of its apps has demand and is not parked, under the key computed from
//! its first app. So the first entry is the next to try, whatever number of apps and groups exist.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{AppKey, GroupKey, Ratio};
use super::{AppId, GroupId};

/// An app with its leaf, ordered by leaf and app alone: an order that group keys do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderEntry {
    pub(super) leaf: GroupId,
    pub(super) app_key: AppKey,
    pub(super) app: AppId,
}

/// Groups with demand, and in each its apps with demand.
#[derive(Debug, Default)]
pub(super) struct Order {
    groups: BTreeSet<(GroupKey, GroupId)>,
    leaves: BTreeMap<GroupId, Leaf>,
}

#[derive(Debug)]
struct Leaf {
    key: GroupKey,
    /// Key of its first app; stored, because each tick reads it for every leaf.
    first: AppKey,
    apps: BTreeSet<(AppKey, AppId)>,
}

// === impl Order ===

impl Order {
    /// Adds an app. `key_of` computes the key of the leaf from its first app.
    pub(super) fn insert(&mut self, leaf: GroupId, key: AppKey, app: AppId, key_of: impl FnOnce(AppKey) -> GroupKey) {
        match self.leaves.get_mut(&leaf) {
            Some(entry) => {
                entry.apps.insert((key, app));
            }
            None => {
                let group_key = key_of(key);
                self.leaves.insert(leaf, Leaf { key: group_key, first: key, apps: BTreeSet::from([(key, app)]) });
                self.groups.insert((group_key, leaf));
                return;
            }
        }
        self.rekey(leaf, key_of);
    }

    /// Removes an app, and its leaf when it was the last one.
    pub(super) fn remove(&mut self, leaf: GroupId, key: AppKey, app: AppId, key_of: impl FnOnce(AppKey) -> GroupKey) {
        let Some(entry) = self.leaves.get_mut(&leaf) else { return };
        entry.apps.remove(&(key, app));
        if entry.apps.is_empty() {
            self.groups.remove(&(entry.key, leaf));
            self.leaves.remove(&leaf);
        } else {
            self.rekey(leaf, key_of);
        }
    }

    /// Updates the position of a leaf. A leaf that is not here stays out.
    pub(super) fn rekey(&mut self, leaf: GroupId, key_of: impl FnOnce(AppKey) -> GroupKey) {
        let Some(entry) = self.leaves.get_mut(&leaf) else { return };
        let Some(&(first, _)) = entry.apps.first() else { return };
        entry.first = first;
        let key = key_of(first);
        if key != entry.key {
            self.groups.remove(&(entry.key, leaf));
            self.groups.insert((key, leaf));
            entry.key = key;
        }
    }

    pub(super) fn rekey_all(&mut self, key_of: impl Fn(GroupId, AppKey) -> GroupKey) {
        let mut moved = Vec::new();
        for (&leaf, entry) in &mut self.leaves {
            let key = key_of(leaf, entry.first);
            if key != entry.key {
                moved.push((leaf, entry.key, key));
                entry.key = key;
            }
        }
        // Sorting again is cheaper than moving many one by one.
        if moved.len() > self.leaves.len() / 8 {
            self.groups = self.leaves.iter().map(|(&leaf, entry)| (entry.key, leaf)).collect();
            return;
        }
        for (leaf, before, after) in moved {
            self.groups.remove(&(before, leaf));
            self.groups.insert((after, leaf));
        }
    }

    /// The key of a leaf, the number of leaves before it, and the number of its apps before this one; none when the app
    /// is not here.
    pub(super) fn rank_of(&self, leaf: GroupId, key: AppKey, app: AppId) -> Option<(GroupKey, usize, usize)> {
        let entry = self.leaves.get(&leaf).filter(|entry| entry.apps.contains(&(key, app)))?;
        let leaves_before = self.groups.range(..(entry.key, leaf)).count();
        Some((entry.key, leaves_before, entry.apps.range(..(key, app)).count()))
    }

    /// How many apps are in it.
    pub(super) fn apps(&self) -> usize {
        self.leaves.values().map(|leaf| leaf.apps.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The first app of the first group.
    pub(super) fn first(&self) -> Option<OrderEntry> {
        let &(_, leaf) = self.groups.first()?;
        let &(app_key, app) = self.leaves.get(&leaf)?.apps.first()?;
        Some(OrderEntry { leaf, app_key, app })
    }

    /// The first app at or after an entry that may have been removed; leaf by leaf, whatever their keys.
    pub(super) fn at_or_after(&self, from: &OrderEntry) -> Option<OrderEntry> {
        // Two iterations at most: only the leaf of the entry itself may have nothing left.
        self.leaves.range(from.leaf..).find_map(|(&leaf, Leaf { apps, .. })| {
            let &(app_key, app) = match leaf == from.leaf {
                true => apps.range((from.app_key, from.app)..).next()?,
                false => apps.first()?,
            };
            Some(OrderEntry { leaf, app_key, app })
        })
    }
}

// === impl OrderEntry ===

impl OrderEntry {
    /// Before every app.
    pub(super) const FRONT: OrderEntry = OrderEntry {
        leaf: GroupId::ROOT,
        app_key: AppKey { class: 0, ratio: Ratio::MIN, start_ms: i64::MIN, order: 0 },
        app: AppId::new(0),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: GroupId = GroupId::ROOT.next();
    const RIGHT: GroupId = LEFT.next();

    fn app(order: u64) -> (AppKey, AppId) {
        (AppKey { order, ..AppKey::default() }, AppId::new(order as u32))
    }

    fn by_first(first: AppKey) -> GroupKey {
        GroupKey { first, ..GroupKey::default() }
    }

    fn with(entries: &[(GroupId, u64)]) -> Order {
        let mut order = Order::default();
        for &(leaf, number) in entries {
            let (key, id) = app(number);
            order.insert(leaf, key, id, by_first);
        }
        order
    }

    fn walk(mut order: Order) -> Vec<u32> {
        let mut seen = Vec::new();
        while let Some(position) = order.first() {
            seen.push(position.app.get());
            order.remove(position.leaf, position.app_key, position.app, by_first);
        }
        assert!(order.leaves.is_empty());
        seen
    }

    #[test]
    fn the_first_app_of_a_leaf_places_the_leaf() {
        assert_eq!(walk(with(&[(LEFT, 5), (RIGHT, 3), (LEFT, 1)])), [1, 3, 5]);
    }

    #[test]
    fn a_rekeyed_leaf_moves() {
        let mut order = with(&[(LEFT, 1), (RIGHT, 2)]);
        order.rekey(LEFT, |first| GroupKey { class: 1, ..by_first(first) });
        assert_eq!(order.first().unwrap().app, AppId::new(2));
        assert_eq!(order.groups.len(), 2);
    }

    #[test]
    fn few_or_all_leaves_move_to_where_their_keys_put_them() {
        let leaves: Vec<GroupId> = std::iter::successors(Some(LEFT), |leaf| Some(leaf.next())).take(40).collect();
        let entries: Vec<_> = leaves.iter().copied().zip(1..).collect();
        for moved in [0, 1, 4, 5, 6, 39, 40] {
            let (mut order, mut one_by_one) = (with(&entries), with(&entries));
            // Those that move go behind the others, in reverse.
            let key_of = |leaf: GroupId, first: AppKey| match leaves[..moved].contains(&leaf) {
                true => GroupKey { class: 1, rate_units: std::cmp::Reverse(first.order.into()), ..by_first(first) },
                false => by_first(first),
            };
            order.rekey_all(key_of);
            leaves.iter().for_each(|leaf| one_by_one.rekey(*leaf, |first| key_of(*leaf, first)));
            assert_eq!(order.groups, one_by_one.groups);
        }
    }

    #[test]
    fn a_walk_may_resume_at_a_removed_app() {
        let mut order = with(&[(LEFT, 1), (LEFT, 4), (RIGHT, 2), (RIGHT, 3)]);
        let at = |leaf, number| {
            let (app_key, app) = app(number);
            OrderEntry { leaf, app_key, app }
        };
        let (key, id) = app(4);
        order.remove(LEFT, key, id, by_first);
        assert_eq!(order.at_or_after(&OrderEntry::FRONT), Some(at(LEFT, 1)));
        assert_eq!(order.at_or_after(&at(LEFT, 4)), Some(at(RIGHT, 2)));
        assert_eq!(order.at_or_after(&at(RIGHT, 3)), Some(at(RIGHT, 3)));
        assert_eq!(order.at_or_after(&at(RIGHT, 5)), None);
    }
}
