//! The order in which groups and their apps are tried, for one pool: a tree of ordered sets.
//!
//! Invariant: a group stands in its parent's set exactly while an app below it may be asked and the group is not parked, under the key
//! computed from its first app. So the first entries lead to the next app to try, however many apps and groups exist.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{AppKey, FirstApp, GroupKey, Ratio};
use super::rank_table::RankTable;
use super::{AppId, GroupId};

/// Parents and keys of groups, as the order needs them.
pub(super) trait GroupTree {
    fn parent_of(&self, group: GroupId) -> Option<GroupId>;

    fn key_of(&self, group: GroupId, first: FirstApp) -> GroupKey;
}

/// An app with its leaf, ordered by leaf and app alone: an order that group keys do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderEntry {
    pub(super) leaf: GroupId,
    pub(super) app_key: AppKey,
    pub(super) app: AppId,
}

/// Where an app stands, comparable with others of the same order: the groups that it is in from the root down, each under
/// its key, then the app.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemberStanding {
    groups: Vec<(GroupKey, GroupId)>,
    app: (AppKey, AppId),
}

/// Groups with demand, and in each its groups or apps with demand.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AppOrder {
    /// The groups below the root, and the root itself where it orders apps.
    top: BTreeSet<(GroupKey, GroupId)>,
    /// All groups with something in them, parked ones included.
    groups: BTreeMap<GroupId, OrderedGroup>,
    /// By the group below the root that they are in.
    parked: BTreeSet<(GroupId, GroupId)>,
    /// Where the groups below the root are sorted at fixed moments only.
    ranks: Option<RankTable>,
}

#[derive(Debug, PartialEq)]
struct OrderedGroup {
    parent: Option<GroupId>,
    /// The key under which it stands in its parent's set; none while it does not.
    key: Option<GroupKey>,
    /// Its first app; stored, because each tick reads it for every group.
    first: FirstApp,
    members: GroupMembers,
}

#[derive(Debug, PartialEq)]
enum GroupMembers {
    /// Each with the slots that its next grant takes.
    Apps(BTreeMap<(AppKey, AppId), u32>),
    Groups(BTreeSet<(GroupKey, GroupId)>),
}

impl AppOrder {
    /// An order whose groups below the root are sorted by [`Self::sort`] alone.
    pub(super) fn sorted_at_fixed_moments() -> Self {
        Self { ranks: Some(RankTable::default()), ..Self::default() }
    }

    /// Adds an app, or sets the slots that its next grant takes.
    pub(super) fn insert(
        &mut self,
        leaf: GroupId,
        FirstApp { key, slots }: FirstApp,
        app: AppId,
        tree: &impl GroupTree,
    ) {
        let group = self.groups.entry(leaf).or_insert_with(|| OrderedGroup::of_apps(tree.parent_of(leaf)));
        if let GroupMembers::Apps(apps) = &mut group.members {
            apps.insert((key, app), slots);
        }
        self.rekey(leaf, tree);
    }

    /// Removes an app, and each group on its path that has nothing left.
    pub(super) fn remove(&mut self, leaf: GroupId, key: AppKey, app: AppId, tree: &impl GroupTree) {
        let Some(group) = self.groups.get_mut(&leaf) else { return };
        if let GroupMembers::Apps(apps) = &mut group.members {
            apps.remove(&(key, app));
        }
        self.rekey(leaf, tree);
    }

    /// Takes a group out of the order, with all below it, until [`Self::wake`]; false when it does not stand there.
    pub(super) fn park(&mut self, group: GroupId, tree: &impl GroupTree) -> bool {
        if self.groups.get(&group).is_none_or(|entry| entry.key.is_none()) {
            return false;
        }
        self.parked.insert((top_of(group, tree), group));
        self.rekey(group, tree);
        true
    }

    /// Returns a group that was parked to the order; false when it was not.
    pub(super) fn wake(&mut self, group: GroupId, tree: &impl GroupTree) -> bool {
        let was_parked = !self.parked.is_empty() && self.parked.remove(&(top_of(group, tree), group));
        if was_parked {
            self.rekey(group, tree);
        }
        was_parked
    }

    pub(super) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// The parked groups inside a group below the root, itself included; with the root all there are.
    pub(super) fn parked_in(&self, top: GroupId) -> Vec<GroupId> {
        let all = self.parked.iter().map(|(_, group)| *group);
        match top == GroupId::ROOT {
            true => all.collect(),
            false => {
                self.parked.range((top, GroupId::ROOT)..).take_while(|(of, _)| *of == top).map(|(_, id)| *id).collect()
            }
        }
    }

    pub(super) fn rekey(&mut self, group: GroupId, tree: &impl GroupTree) {
        let mut next = Some(group);
        while let Some(id) = next {
            next = match self.first_in(id) {
                Some(first) => self.settle(id, first, tree),
                None => self.drop_empty(id, tree),
            };
            if let (None, Some(ranks)) = (next, &mut self.ranks) {
                ranks.mark_changed(id);
            }
        }
    }

    /// Brings a group to the position of its first app; returns its parent.
    fn settle(&mut self, id: GroupId, first: FirstApp, tree: &impl GroupTree) -> Option<GroupId> {
        let entry = self.groups.get_mut(&id)?;
        let (parent, before) = (entry.parent, entry.key);
        let is_parked = !self.parked.is_empty() && self.parked.contains(&(top_of(id, tree), id));
        let after = match (is_parked, &mut self.ranks, parent) {
            (true, ..) => None,
            (false, Some(ranks), None) => Some(ranks.key_until_sorted(id, || tree.key_of(id, first))),
            _ => Some(tree.key_of(id, first)),
        };
        entry.first = first;
        entry.key = after;
        if before != after {
            self.replace(parent, id, before, after, tree);
        }
        parent
    }

    /// Drops a group with nothing to ask; returns its parent.
    fn drop_empty(&mut self, id: GroupId, tree: &impl GroupTree) -> Option<GroupId> {
        if !self.parked.is_empty() {
            self.parked.remove(&(top_of(id, tree), id));
        }
        let Some(entry) = self.groups.remove(&id) else { return tree.parent_of(id) };
        if entry.key.is_some() {
            self.replace(entry.parent, id, entry.key, None, tree);
        }
        entry.parent
    }

    fn replace(
        &mut self,
        parent: Option<GroupId>,
        id: GroupId,
        before: Option<GroupKey>,
        after: Option<GroupKey>,
        tree: &impl GroupTree,
    ) {
        let siblings = match parent {
            None => &mut self.top,
            Some(parent) => {
                let entry =
                    self.groups.entry(parent).or_insert_with(|| OrderedGroup::of_groups(tree.parent_of(parent)));
                let GroupMembers::Groups(groups) = &mut entry.members else { return };
                groups
            }
        };
        if let Some(before) = before {
            siblings.remove(&(before, id));
        }
        if let Some(after) = after {
            siblings.insert((after, id));
        }
    }

    /// The first app below a group, parked groups left out; none when there is none.
    fn first_in(&self, id: GroupId) -> Option<FirstApp> {
        match &self.groups.get(&id)?.members {
            GroupMembers::Apps(apps) => apps.first_key_value().map(|(&(key, _), &slots)| FirstApp { key, slots }),
            GroupMembers::Groups(groups) => groups.first().and_then(|(_, child)| Some(self.groups.get(child)?.first)),
        }
    }

    pub(super) fn rekey_all(&mut self, tree: &impl GroupTree) {
        if let Some(ranks) = &mut self.ranks {
            ranks.mark_all_changed();
        }
        let inner = self.groups.iter().filter(|(_, entry)| entry.parent.is_some() && entry.is_leaf());
        let inner: Vec<GroupId> = inner.map(|(id, _)| *id).collect();
        inner.into_iter().for_each(|leaf| self.rekey(leaf, tree));
        if self.ranks.is_some() {
            return;
        }
        let mut moved = Vec::new();
        for (&id, entry) in self.groups.iter_mut().filter(|(_, entry)| entry.parent.is_none()) {
            let Some(before) = entry.key else { continue };
            let after = tree.key_of(id, entry.first);
            if after != before {
                moved.push((id, before, after));
                entry.key = Some(after);
            }
        }
        // Sorting again is cheaper than moving many one by one.
        if moved.len() > self.top.len() / 8 {
            let standing = self.groups.iter().filter(|(_, entry)| entry.parent.is_none());
            self.top = standing.filter_map(|(&id, entry)| Some((entry.key?, id))).collect();
            return;
        }
        for (id, before, after) in moved {
            self.top.remove(&(before, id));
            self.top.insert((after, id));
        }
    }

    /// Sorts the groups below the root, where that happens at fixed moments; equal ones keep their order.
    pub(super) fn sort(&mut self, tree: &impl GroupTree) {
        let Some(ranks) = &mut self.ranks else { return };
        let (groups, top) = (&mut self.groups, &mut self.top);
        let first_of = |id: GroupId| groups.get(&id).map_or(FirstApp::default(), |entry| entry.first);
        for (id, after) in ranks.sort(|id| tree.key_of(id, first_of(id))) {
            let Some(entry) = groups.get_mut(&id) else { continue };
            if let Some(before) = entry.key {
                top.remove(&(before, id));
                top.insert((after, id));
                entry.key = Some(after);
            }
        }
    }

    pub(super) fn forget(&mut self, group: GroupId) {
        if let Some(ranks) = &mut self.ranks {
            ranks.forget(group);
        }
    }

    /// The key of a group and the number of groups before it, or before those that it is in. One that does not stand
    /// here has the key that it would have with the first app `first`.
    pub(super) fn place_of(&self, group: GroupId, first: FirstApp, tree: &impl GroupTree) -> (GroupKey, usize) {
        let key_of = |id: GroupId| match self.groups.get(&id) {
            Some(entry) => entry.key.unwrap_or_else(|| tree.key_of(id, entry.first.min(first))),
            None => tree.key_of(id, first),
        };
        let path = std::iter::successors(Some(group), |id| tree.parent_of(*id));
        let before = path.map(|id| match tree.parent_of(id) {
            None => self.top.range(..(key_of(id), id)).count(),
            Some(parent) => match self.groups.get(&parent).map(|entry| &entry.members) {
                Some(GroupMembers::Groups(groups)) => groups.range(..(key_of(id), id)).count(),
                _ => 0,
            },
        });
        (key_of(group), before.sum())
    }

    /// The apps in a group and in the groups in it, without those of parked groups inside it.
    pub(super) fn apps_in(&self, group: GroupId) -> Vec<(AppKey, AppId)> {
        let (mut groups, mut found) = (vec![group], Vec::new());
        while let Some(id) = groups.pop() {
            match self.groups.get(&id).map(|entry| &entry.members) {
                Some(GroupMembers::Apps(apps)) => found.extend(apps.keys().copied()),
                Some(GroupMembers::Groups(inner)) => groups.extend(inner.iter().map(|(_, id)| *id)),
                None => {}
            }
        }
        found
    }

    /// How many apps are in it, those of parked groups included.
    pub(super) fn apps(&self) -> usize {
        let apps = self.groups.values().map(|entry| match &entry.members {
            GroupMembers::Apps(apps) => apps.len(),
            GroupMembers::Groups(_) => 0,
        });
        apps.sum()
    }

    /// A group that stands under another key than its own now; none where groups are sorted at fixed moments only.
    pub(super) fn misplaced(&self, tree: &impl GroupTree) -> Option<GroupId> {
        let is_misplaced = |(id, entry): &(&GroupId, &OrderedGroup)| {
            self.first_in(**id) != Some(entry.first)
                || entry.key.is_some_and(|key| key != tree.key_of(**id, entry.first))
        };
        self.groups.iter().filter(|_| self.ranks.is_none()).find(is_misplaced).map(|(id, _)| *id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.top.is_empty()
    }

    pub(super) fn first(&self) -> Option<OrderEntry> {
        let mut siblings = &self.top;
        loop {
            let &(_, id) = siblings.first()?;
            match &self.groups.get(&id)?.members {
                GroupMembers::Groups(groups) => siblings = groups,
                GroupMembers::Apps(apps) => {
                    let (&(app_key, app), _) = apps.first_key_value()?;
                    return Some(OrderEntry { leaf: id, app_key, app });
                }
            }
        }
    }

    /// Where an app stands; none below a group that is parked.
    pub(super) fn standing_of(&self, OrderEntry { leaf, app_key, app }: OrderEntry) -> Option<MemberStanding> {
        let (mut groups, mut next) = (Vec::new(), Some(leaf));
        while let Some(id) = next {
            let group = self.groups.get(&id)?;
            groups.push((group.key?, id));
            next = group.parent;
        }
        groups.reverse();
        Some(MemberStanding { groups, app: (app_key, app) })
    }

    /// The first app at or after an entry that may have been removed; leaf by leaf, whatever their keys.
    pub(super) fn at_or_after(&self, from: &OrderEntry) -> Option<OrderEntry> {
        // Without groups in groups and parked ones, two iterations at most: only the leaf of the entry itself may have nothing left.
        self.groups.range(from.leaf..).find_map(|(&leaf, entry)| {
            let GroupMembers::Apps(apps) = &entry.members else { return None };
            if !self.stands(entry) {
                return None;
            }
            let (&(app_key, app), _) = match leaf == from.leaf {
                true => apps.range((from.app_key, from.app)..).next()?,
                false => apps.first_key_value()?,
            };
            Some(OrderEntry { leaf, app_key, app })
        })
    }

    /// Whether neither the group nor one above it is parked.
    fn stands<'a>(&'a self, mut entry: &'a OrderedGroup) -> bool {
        while entry.key.is_some() {
            match entry.parent {
                None => return true,
                Some(parent) => match self.groups.get(&parent) {
                    Some(parent) => entry = parent,
                    None => return false,
                },
            }
        }
        false
    }
}

fn top_of(group: GroupId, tree: &impl GroupTree) -> GroupId {
    std::iter::successors(Some(group), |group| tree.parent_of(*group)).last().unwrap_or(group)
}

impl MemberStanding {
    pub(super) fn app(&self) -> AppId {
        self.app.1
    }
}

impl OrderedGroup {
    fn of_apps(parent: Option<GroupId>) -> Self {
        Self { parent, key: None, first: FirstApp::default(), members: GroupMembers::Apps(BTreeMap::new()) }
    }

    fn of_groups(parent: Option<GroupId>) -> Self {
        Self { members: GroupMembers::Groups(BTreeSet::new()), ..Self::of_apps(parent) }
    }

    fn is_leaf(&self) -> bool {
        matches!(self.members, GroupMembers::Apps(_))
    }
}

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

    /// Keys by first app and class; groups in groups.
    #[derive(Clone, Default)]
    struct Tree {
        parents: BTreeMap<GroupId, GroupId>,
        classes: BTreeMap<GroupId, u8>,
    }

    impl GroupTree for Tree {
        fn parent_of(&self, group: GroupId) -> Option<GroupId> {
            self.parents.get(&group).copied()
        }

        fn key_of(&self, group: GroupId, first: FirstApp) -> GroupKey {
            GroupKey { class: self.classes.get(&group).copied().unwrap_or(0), first: first.key, ..GroupKey::default() }
        }
    }

    fn flat() -> Tree {
        Tree::default()
    }

    fn with(entries: &[(GroupId, u64)]) -> AppOrder {
        let mut order = AppOrder::default();
        for &(leaf, number) in entries {
            let (key, id) = app(number);
            order.insert(leaf, FirstApp { key, slots: 1 }, id, &flat());
        }
        order
    }

    fn walk(mut order: AppOrder) -> Vec<u32> {
        let mut seen = Vec::new();
        while let Some(position) = order.first() {
            seen.push(position.app.get());
            order.remove(position.leaf, position.app_key, position.app, &flat());
        }
        assert!(order.groups.is_empty() && order.top.is_empty());
        seen
    }

    #[test]
    fn the_first_app_of_a_leaf_places_the_leaf() {
        assert_eq!(walk(with(&[(LEFT, 5), (RIGHT, 3), (LEFT, 1)])), [1, 3, 5]);
    }

    #[test]
    fn apps_stand_in_the_order_of_a_walk() {
        let top = RIGHT.next();
        let tree = Tree { parents: BTreeMap::from([(LEFT, top)]), ..flat() };
        let mut order = AppOrder::default();
        let mut standings = Vec::new();
        for (leaf, number) in [(LEFT, 1), (LEFT, 4), (RIGHT, 2), (RIGHT, 3)] {
            let (key, id) = app(number);
            order.insert(leaf, FirstApp { key, slots: 1 }, id, &tree);
        }
        for (leaf, number) in [(RIGHT, 3), (RIGHT, 2), (LEFT, 4), (LEFT, 1)] {
            let (app_key, app) = app(number);
            standings.extend(order.standing_of(OrderEntry { leaf, app_key, app }));
        }
        standings.sort();
        assert_eq!(standings.iter().map(|one| one.app().get()).collect::<Vec<_>>(), [1, 4, 2, 3]);
        order.park(top, &tree);
        let (app_key, app) = app(1);
        assert_eq!(order.standing_of(OrderEntry { leaf: LEFT, app_key, app }), None);
    }

    #[test]
    fn a_rekeyed_leaf_moves() {
        let mut order = with(&[(LEFT, 1), (RIGHT, 2)]);
        order.rekey(LEFT, &Tree { classes: BTreeMap::from([(LEFT, 1)]), ..flat() });
        assert_eq!(order.first().unwrap().app, AppId::new(2));
        assert_eq!(order.top.len(), 2);
    }

    #[test]
    fn few_or_all_leaves_move_to_where_their_keys_put_them() {
        let leaves: Vec<GroupId> = std::iter::successors(Some(LEFT), |leaf| Some(leaf.next())).take(40).collect();
        let entries: Vec<_> = leaves.iter().copied().zip(1..).collect();
        for moved in [0, 1, 4, 5, 6, 39, 40] {
            let (mut order, mut one_by_one) = (with(&entries), with(&entries));
            // Those that move go behind the others, in reverse.
            let classes = leaves[..moved].iter().copied().zip((1..=moved as u8).rev()).collect();
            let tree = Tree { classes, ..flat() };
            order.rekey_all(&tree);
            leaves.iter().for_each(|leaf| one_by_one.rekey(*leaf, &tree));
            assert_eq!(order.top, one_by_one.top);
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
        order.remove(LEFT, key, id, &flat());
        assert_eq!(order.at_or_after(&OrderEntry::FRONT), Some(at(LEFT, 1)));
        assert_eq!(order.at_or_after(&at(LEFT, 4)), Some(at(RIGHT, 2)));
        assert_eq!(order.at_or_after(&at(RIGHT, 3)), Some(at(RIGHT, 3)));
        assert_eq!(order.at_or_after(&at(RIGHT, 5)), None);
    }

    #[test]
    fn a_parked_group_leaves_the_order_with_all_below_it_until_it_is_woken() {
        let (top, other) = (RIGHT.next(), RIGHT.next().next());
        let tree = Tree { parents: BTreeMap::from([(LEFT, top), (RIGHT, top)]), ..flat() };
        let mut order = AppOrder::default();
        for (leaf, number) in [(LEFT, 1), (RIGHT, 2), (other, 3)] {
            let (key, id) = app(number);
            order.insert(leaf, FirstApp { key, slots: 1 }, id, &tree);
        }
        let first = |order: &AppOrder| order.first().map(|entry| entry.app.get());
        assert!(order.park(LEFT, &tree) && !order.park(LEFT, &tree));
        assert_eq!(first(&order), Some(2));
        assert!(order.park(top, &tree));
        assert_eq!((first(&order), order.apps()), (Some(3), 3));
        assert_eq!(order.at_or_after(&OrderEntry::FRONT).unwrap().app.get(), 3);
        order.wake(LEFT, &tree);
        assert_eq!(first(&order), Some(3));
        order.wake(top, &tree);
        assert_eq!(first(&order), Some(1));
        assert!(!order.has_parked());
    }

    #[test]
    fn a_group_whose_groups_are_all_parked_leaves_the_order() {
        let top = RIGHT.next();
        let tree = Tree { parents: BTreeMap::from([(LEFT, top), (RIGHT, top)]), ..flat() };
        let mut order = AppOrder::default();
        for (leaf, number) in [(LEFT, 1), (RIGHT, 2)] {
            let (key, id) = app(number);
            order.insert(leaf, FirstApp { key, slots: 1 }, id, &tree);
        }
        assert!(order.park(LEFT, &tree) && order.park(RIGHT, &tree));
        assert!(order.is_empty());
        order.wake(RIGHT, &tree);
        assert_eq!(order.first().unwrap().app.get(), 2);
    }
}
