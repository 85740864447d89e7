//! Which apps may not run on all nodes.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::Kind;

use super::AppId;
use super::app::App;

#[derive(Debug, Default)]
pub(super) struct ChoosyApps {
    /// Those that need a stock node or several slots for a task, or avoid hosts.
    by_node: BTreeSet<AppId>,
    /// Those whose maps need room, by how much.
    by_room: BTreeSet<(u64, AppId)>,
    /// Those that no node could run, as last worked out.
    stuck: BTreeSet<AppId>,
    /// Where an app stands by room; looked up, never iterated.
    rooms: FxHashMap<AppId, u64>,
}

impl ChoosyApps {
    /// All of them, and those that no node could run when that was last worked out.
    pub(super) fn all(&self) -> BTreeSet<AppId> {
        let by_room = self.by_room.iter().map(|(_, id)| *id);
        self.by_node.iter().copied().chain(by_room).chain(self.stuck.iter().copied()).collect()
    }

    pub(super) fn stuck(&self) -> &BTreeSet<AppId> {
        &self.stuck
    }

    /// Those that cannot use some node, if the least room that a node reports is this, bytes.
    pub(super) fn confined(&self, least_room_bytes: u64) -> impl Iterator<Item = &AppId> {
        let from = least_room_bytes.checked_add(1).map(|from| (from, AppId::FIRST));
        let by_room = from.into_iter().flat_map(|from| self.by_room.range(from..)).map(|(_, id)| id);
        by_room.filter(|id| !self.by_node.contains(*id)).chain(&self.by_node)
    }

    pub(super) fn set_stuck(&mut self, id: AppId, is_stuck: bool) {
        match is_stuck {
            true => self.stuck.insert(id),
            false => self.stuck.remove(&id),
        };
    }

    pub(super) fn set(&mut self, id: AppId, app: &App) {
        self.unlist(id);
        let room = app.needs.room_per_map_bytes;
        if room > 0 {
            self.by_room.insert((room, id));
            self.rooms.insert(id, room);
        }
        if app.needs.needs_stock
            || !app.needs.avoided.is_empty()
            || Kind::ALL.iter().any(|kind| app.slots_per_task(*kind) > 1)
        {
            self.by_node.insert(id);
        }
    }

    pub(super) fn forget(&mut self, id: AppId) {
        self.unlist(id);
        self.stuck.remove(&id);
    }

    fn unlist(&mut self, id: AppId) {
        self.by_node.remove(&id);
        if let Some(room) = self.rooms.remove(&id) {
            self.by_room.remove(&(room, id));
        }
    }
}
