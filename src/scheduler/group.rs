//! Groups of apps (queues) with their usage.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind, Violations, lower, raise};

use super::GroupId;

/// A group cannot be closed while apps are in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queue {name} still has {apps} unfinished jobs")]
pub struct GroupBusy {
    /// The group.
    pub name: String,
    /// Apps in it, including removed ones that still hold slots.
    pub apps: u32,
}

#[derive(Debug)]
pub(super) struct Group {
    name: String,
    apps: u32,
    pub(super) running: PerKind<u32>,
    /// Running tasks whose slots are being released.
    pub(super) releasing: PerKind<u32>,
    pub(super) waiting: PerKind<u32>,
    /// Tasks of its apps that are neither done nor running, runnable or not.
    pub(super) pending: u64,
}

#[derive(Debug)]
pub(super) struct Groups {
    // Looked up, never iterated.
    by_id: FxHashMap<GroupId, Group>,
    by_name: BTreeMap<String, GroupId>,
    last: GroupId,
}

/// The sums of a group over its apps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupSums {
    pub(super) apps: u32,
    pub(super) running: PerKind<u32>,
    pub(super) releasing: PerKind<u32>,
    pub(super) waiting: PerKind<u32>,
    pub(super) pending: u64,
}

// === impl Group ===

impl Group {
    pub(super) fn sums(&self) -> GroupSums {
        let &Group { apps, running, releasing, waiting, pending, .. } = self;
        GroupSums { apps, running, releasing, waiting, pending }
    }
}

// === impl Groups ===

impl Default for Groups {
    fn default() -> Self {
        Self { by_id: FxHashMap::default(), by_name: BTreeMap::new(), last: GroupId::ROOT }
    }
}

impl Groups {
    pub(super) fn open(&mut self, name: &str) -> GroupId {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let mut id = self.last.next();
        while id == GroupId::ROOT || self.by_id.contains_key(&id) {
            id = id.next();
        }
        self.last = id;
        let group = Group {
            name: name.to_owned(),
            apps: 0,
            running: PerKind::default(),
            releasing: PerKind::default(),
            waiting: PerKind::default(),
            pending: 0,
        };
        self.by_id.insert(id, group);
        self.by_name.insert(name.to_owned(), id);
        id
    }

    pub(super) fn close(&mut self, id: GroupId) -> Result<(), GroupBusy> {
        let Some(group) = self.by_id.get(&id) else { return Ok(()) };
        if group.apps > 0 {
            return Err(GroupBusy { name: group.name.clone(), apps: group.apps });
        }
        self.by_name.remove(&group.name);
        self.by_id.remove(&id);
        Ok(())
    }

    pub(super) fn by_name(&self, name: &str) -> Option<GroupId> {
        self.by_name.get(name).copied()
    }

    pub(super) fn name(&self, id: GroupId) -> Option<&str> {
        self.by_id.get(&id).map(|group| group.name.as_str())
    }

    /// All open groups, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, GroupId, &Group)> {
        self.by_name.iter().filter_map(|(name, id)| Some((name.as_str(), *id, self.by_id.get(id)?)))
    }

    /// Running tasks of a group; zero for one that is not open, and for the root, which has no order to keep.
    pub(super) fn running(&self, id: GroupId) -> PerKind<u32> {
        self.by_id.get(&id).map_or(PerKind::default(), |group| group.running)
    }

    /// Running tasks of a group minus those whose slots are being released.
    pub(super) fn retained(&self, id: GroupId) -> PerKind<u32> {
        self.by_id.get(&id).map_or(PerKind::default(), |Group { running, releasing, .. }| {
            let retained = |kind| running[kind].saturating_sub(releasing[kind]);
            PerKind::new(retained(Kind::Map), retained(Kind::Reduce))
        })
    }

    pub(super) fn waiting(&self, id: GroupId) -> PerKind<u32> {
        self.by_id.get(&id).map_or(PerKind::default(), |group| group.waiting)
    }

    /// Adds an app to the group's count; false when the group is not open.
    pub(super) fn add_app(&mut self, id: GroupId, violations: &mut Violations) -> bool {
        let group = self.by_id.get_mut(&id);
        group.map(|group| raise(&mut group.apps, 1_u32, violations)).is_some()
    }

    pub(super) fn remove_app(&mut self, id: GroupId, violations: &mut Violations) {
        if let Some(group) = self.by_id.get_mut(&id) {
            lower(&mut group.apps, 1_u32, violations);
        }
    }

    pub(super) fn get(&self, id: GroupId) -> Option<&Group> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: GroupId) -> Option<&mut Group> {
        self.by_id.get_mut(&id)
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
        assert_eq!(groups.close(a), Ok(()));
        assert_eq!(groups.by_name("a"), None);
        assert_ne!(groups.open("a"), a);
    }

    #[test]
    fn a_group_with_apps_stays() {
        let (mut groups, violations) = (Groups::default(), &mut Violations::default());
        let a = groups.open("a");
        assert!(groups.add_app(a, violations));
        let busy = groups.close(a).unwrap_err();
        assert_eq!(busy.to_string(), "queue a still has 1 unfinished jobs");
        groups.remove_app(a, violations);
        assert_eq!(groups.close(a), Ok(()));
        assert!(!groups.add_app(a, violations));
    }
}
