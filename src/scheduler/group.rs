//! Groups of apps (queues, pools, users in a queue) with their usage, as a tree.
//!
//! Invariant: the sums of a group are over all apps in it and in the groups below it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{PerKind, PerPool, Pool, Violations, lower, raise};

use super::GroupId;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queue {name} still has {apps} unfinished jobs")]
pub(crate) struct GroupBusy {
    pub(crate) name: String,
    /// Apps in it, including removed ones that still hold slots.
    pub(crate) apps: u32,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    /// None below the root.
    pub(super) parent: Option<GroupId>,
    /// Its name among the children of its parent, if it is not listed by name: it goes with its last app.
    unlisted: Option<Arc<str>>,
    /// Whether it closes with its last app though it is listed.
    is_temporary: bool,
    pub(super) apps: u32,
    /// Attempts that hold slots, and containers.
    pub(super) running: PerPool<u32>,
    pub(super) held: PerPool<u32>,
    pub(super) releasing: PerPool<u32>,
    /// Tasks that wait for a slot, and containers that are wanted.
    pub(super) waiting: PerPool<u64>,
    /// Tasks of its apps that are neither done nor running, runnable or not.
    pub(super) pending: PerKind<u64>,
    /// Apps whose setup waits for a slot.
    pub(super) preparing: u32,
}

#[derive(Debug)]
pub(super) struct Groups {
    // Looked up, never iterated.
    by_id: FxHashMap<GroupId, Group>,
    by_name: BTreeMap<String, GroupId>,
    unlisted: BTreeMap<(GroupId, Arc<str>), GroupId>,
    last: GroupId,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupSums {
    pub(super) apps: u32,
    pub(super) running: PerPool<u32>,
    pub(super) held: PerPool<u32>,
    pub(super) releasing: PerPool<u32>,
    pub(super) waiting: PerPool<u64>,
    pub(super) pending: PerKind<u64>,
    pub(super) preparing: u32,
}

impl Group {
    pub(super) fn is_listed(&self) -> bool {
        self.unlisted.is_none()
    }

    pub(super) fn sums(&self) -> GroupSums {
        let &Group { apps, running, held, releasing, waiting, pending, preparing, .. } = self;
        GroupSums { apps, running, held, releasing, waiting, pending, preparing }
    }
}

impl Default for Groups {
    fn default() -> Self {
        Self { by_id: FxHashMap::default(), by_name: BTreeMap::new(), unlisted: BTreeMap::new(), last: GroupId::ROOT }
    }
}

impl Groups {
    /// Opens a group below the root, or finds the one of this name.
    pub(super) fn open(&mut self, name: &str) -> GroupId {
        self.open_listed(name, None)
    }

    /// Opens a group in another one, or finds the one of this name, wherever it is; none when the parent is not open.
    pub(super) fn open_under(&mut self, parent: GroupId, name: &str) -> Option<GroupId> {
        self.by_id.contains_key(&parent).then(|| self.open_listed(name, Some(parent)))
    }

    fn open_listed(&mut self, name: &str, parent: Option<GroupId>) -> GroupId {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id = self.add(name, parent, None);
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// Opens a child that is not listed by name, or finds it; and whether it is new.
    pub(super) fn open_unlisted(&mut self, parent: GroupId, name: &Arc<str>) -> (GroupId, bool) {
        let key = (parent, name.clone());
        if let Some(&id) = self.unlisted.get(&key) {
            return (id, false);
        }
        let id = self.add(name, Some(parent), Some(name.clone()));
        self.unlisted.insert(key, id);
        (id, true)
    }

    fn add(&mut self, name: &str, parent: Option<GroupId>, unlisted: Option<Arc<str>>) -> GroupId {
        let mut id = self.last.next();
        while id == GroupId::ROOT || self.by_id.contains_key(&id) {
            id = id.next();
        }
        self.last = id;
        let group = Group {
            name: name.to_owned(),
            parent,
            unlisted,
            is_temporary: false,
            apps: 0,
            running: PerPool::default(),
            held: PerPool::default(),
            releasing: PerPool::default(),
            waiting: PerPool::default(),
            pending: PerKind::default(),
            preparing: 0,
        };
        self.by_id.insert(id, group);
        id
    }

    /// Closes a group with all groups in it; returns those that were open.
    pub(super) fn close(&mut self, id: GroupId) -> Result<Vec<GroupId>, GroupBusy> {
        let Some(group) = self.by_id.get(&id) else { return Ok(Vec::new()) };
        if group.apps > 0 {
            return Err(GroupBusy { name: group.name.clone(), apps: group.apps });
        }
        let mut closed: Vec<GroupId> = self.by_id.keys().copied().filter(|&other| self.is_within(other, id)).collect();
        closed.sort_unstable();
        closed.iter().for_each(|&id| self.forget(id));
        Ok(closed)
    }

    fn forget(&mut self, id: GroupId) {
        let Some(group) = self.by_id.remove(&id) else { return };
        match (group.unlisted, group.parent) {
            (Some(name), Some(parent)) => self.unlisted.remove(&(parent, name)),
            _ => self.by_name.remove(&group.name),
        };
    }

    pub(super) fn is_within(&self, id: GroupId, other: GroupId) -> bool {
        self.path(id).any(|id| id == other)
    }

    /// A group and all above it, without the root.
    pub(super) fn path(&self, id: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        std::iter::successors(Some(id), |id| self.by_id.get(id)?.parent)
    }

    /// The group below the root that a group is, or is in.
    pub(super) fn top_of(&self, id: GroupId) -> GroupId {
        self.path(id).last().unwrap_or(id)
    }

    /// Changes the sums of a group and of all above it; no effect on one that is not open.
    pub(super) fn update_path(&mut self, id: GroupId, mut update: impl FnMut(&mut Group)) {
        let mut next = Some(id);
        while let Some(group) = next.and_then(|id| self.by_id.get_mut(&id)) {
            update(group);
            next = group.parent;
        }
    }

    pub(super) fn by_name(&self, name: &str) -> Option<GroupId> {
        self.by_name.get(name).copied()
    }

    pub(super) fn name(&self, id: GroupId) -> Option<&str> {
        self.by_id.get(&id).map(|group| group.name.as_str())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, GroupId, &Group)> {
        self.by_name.iter().filter_map(|(name, id)| Some((name.as_str(), *id, self.by_id.get(id)?)))
    }

    /// Apps in a group, with removed ones that still hold slots.
    pub(super) fn app_count(&self, id: GroupId) -> u32 {
        self.by_id.get(&id).map_or(0, |group| group.apps)
    }

    /// Slots that a group holds; zero for one that is not open, and for the root, which has no order to keep.
    pub(super) fn held(&self, id: GroupId) -> PerPool<u32> {
        self.by_id.get(&id).map_or(PerPool::default(), |group| group.held)
    }

    pub(super) fn retained(&self, id: GroupId) -> PerPool<u32> {
        self.by_id.get(&id).map_or(PerPool::default(), |Group { held, releasing, .. }| {
            let retained = |pool: Pool| held[pool].saturating_sub(releasing[pool]);
            PerPool::new(retained(Pool::Map), retained(Pool::Reduce), retained(Pool::Container))
        })
    }

    pub(super) fn waiting(&self, id: GroupId) -> PerPool<u64> {
        self.by_id.get(&id).map_or(PerPool::default(), |group| group.waiting)
    }

    /// All open groups, unlisted ones included, by id.
    pub(super) fn all(&self) -> Vec<(GroupId, &Group)> {
        let mut all: Vec<_> = self.by_id.iter().map(|(id, group)| (*id, group)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    pub(super) fn add_app(&mut self, id: GroupId, violations: &mut Violations) {
        self.update_path(id, |group| raise(&mut group.apps, 1_u32, violations));
    }

    /// Returns the group if it was closed with its last app.
    pub(super) fn remove_app(&mut self, id: GroupId, violations: &mut Violations) -> Option<GroupId> {
        self.update_path(id, |group| lower(&mut group.apps, 1_u32, violations));
        let is_unlisted = self.by_id.get(&id).is_some_and(|group| group.apps == 0 && group.unlisted.is_some());
        is_unlisted.then(|| self.forget(id)).map(|()| id)
    }

    /// Sets the parent of each listed group to the one of that name. No app may be in any.
    pub(super) fn rearrange<'a>(&mut self, parent_of: impl Fn(&str) -> Option<&'a str>) {
        for (name, id) in &self.by_name {
            let parent = parent_of(name).and_then(|parent| self.by_name.get(parent).copied());
            if let Some(group) = self.by_id.get_mut(id) {
                group.parent = parent;
            }
        }
    }

    pub(super) fn set_temporary(&mut self, id: GroupId, is_temporary: bool) {
        if let Some(group) = self.by_id.get_mut(&id) {
            group.is_temporary = is_temporary;
        }
    }

    pub(super) fn is_over(&self, id: GroupId) -> bool {
        self.by_id.get(&id).is_some_and(|group| group.is_temporary && group.apps == 0)
    }

    pub(super) fn get(&self, id: GroupId) -> Option<&Group> {
        self.by_id.get(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_group_keeps_its_id_and_a_closed_one_never_gives_it_away() {
        let mut groups = Groups::default();
        let a = groups.open("a");
        assert_eq!(groups.open("a"), a);
        assert_eq!(groups.close(a), Ok(vec![a]));
        assert_eq!(groups.by_name("a"), None);
        assert_ne!(groups.open("a"), a);
    }

    #[test]
    fn a_group_with_apps_stays() {
        let (mut groups, violations) = (Groups::default(), &mut Violations::default());
        let a = groups.open("a");
        groups.add_app(a, violations);
        let busy = groups.close(a).unwrap_err();
        assert_eq!(busy.to_string(), "queue a still has 1 unfinished jobs");
        assert_eq!(groups.remove_app(a, violations), None);
        assert_eq!(groups.close(a), Ok(vec![a]));
    }

    #[test]
    fn a_group_closes_with_the_groups_in_it() {
        let (mut groups, violations) = (Groups::default(), &mut Violations::default());
        let parent = groups.open("a");
        let child = groups.open_under(parent, "a.b").unwrap();
        let (user, _) = groups.open_unlisted(child, &"u".into());
        assert_eq!(groups.path(user).collect::<Vec<_>>(), [user, child, parent]);
        groups.add_app(user, violations);
        assert_eq!(groups.close(parent).unwrap_err().apps, 1);
        assert_eq!(groups.remove_app(user, violations), Some(user));
        assert_eq!(groups.close(parent), Ok(vec![parent, child]));
        assert_eq!((groups.by_name("a.b"), groups.open_under(parent, "a.b")), (None, None));
    }

    #[test]
    fn an_unlisted_group_has_its_name_in_its_parent_alone() {
        let (mut groups, user) = (Groups::default(), Arc::from("u"));
        let (a, b) = (groups.open("a"), groups.open("u"));
        let ((in_a, _), (in_b, _)) = (groups.open_unlisted(a, &user), groups.open_unlisted(b, &user));
        assert_eq!(groups.open_unlisted(a, &user), (in_a, false));
        assert_eq!(groups.by_name("u"), Some(b));
        assert_ne!(in_a, in_b);
        assert_eq!(groups.iter().count(), 2);
    }
}
