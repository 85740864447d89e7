//! Where tasks could run: the slots of nodes by what decides whether a task may run there, kept as nodes come, go and report.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind, TrackerId};

use super::HostId;

/// What tasks of an app need of a node beside free slots. Default: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskNeeds {
    pub(crate) needs_stock: bool,
    /// Room on the disk for each map, bytes.
    pub(crate) room_per_map_bytes: u64,
    pub(crate) avoided: Vec<HostId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskNode {
    pub(super) host: HostId,
    /// Zero while it is excluded, drained or ill.
    pub(super) slots: PerKind<u32>,
    pub(super) is_streaming_only: bool,
    /// Room on its disks, bytes; one that reports none has room for anything.
    pub(super) room_bytes: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct TaskNodes {
    // Looked up, never iterated.
    nodes: FxHashMap<TrackerId, TaskNode>,
    by_host: BTreeSet<(HostId, TrackerId)>,
    shapes: BTreeMap<Shape, NodesByRoom>,
    /// Room of those that report any, least first.
    rooms: BTreeSet<(u64, TrackerId)>,
}

/// What equal nodes have in common; their room differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    is_streaming_only: bool,
    slots: (u32, u32),
}

#[derive(Debug, Default)]
struct NodesByRoom {
    nodes: u64,
    buckets: BTreeMap<u32, BTreeSet<(u64, TrackerId)>>,
}

impl TaskNeeds {
    fn room_bytes(&self, kind: Kind) -> u64 {
        if kind == Kind::Map { self.room_per_map_bytes } else { 0 }
    }
}

impl TaskNode {
    fn shape(&self) -> Shape {
        Shape { is_streaming_only: self.is_streaming_only, slots: (self.slots.map, self.slots.reduce) }
    }

    fn room(&self) -> u64 {
        self.room_bytes.unwrap_or(u64::MAX)
    }

    /// Slots of it that tasks of so many slots each could hold, were it idle.
    fn usable(&self, needs: &TaskNeeds, kind: Kind, slots_per_task: u32) -> u64 {
        let may_run = !(needs.needs_stock && self.is_streaming_only) && self.room() >= needs.room_bytes(kind);
        if may_run { usable_slots(self.slots[kind], slots_per_task) } else { 0 }
    }
}

impl TaskNodes {
    pub(super) fn set(&mut self, id: TrackerId, node: TaskNode) {
        let before = self.nodes.insert(id, node);
        if before == Some(node) {
            return;
        }
        if let Some(before) = before {
            self.leave(id, &before);
        }
        self.by_host.insert((node.host, id));
        self.rooms.extend(node.room_bytes.map(|room| (room, id)));
        let of_shape = self.shapes.entry(node.shape()).or_default();
        of_shape.nodes += 1;
        of_shape.buckets.entry(bucket(node.room())).or_default().insert((node.room(), id));
    }

    pub(super) fn change(&mut self, id: TrackerId, change: impl FnOnce(&mut TaskNode)) {
        if let Some(mut node) = self.nodes.get(&id).copied() {
            change(&mut node);
            self.set(id, node);
        }
    }

    pub(super) fn remove(&mut self, id: TrackerId) {
        if let Some(node) = self.nodes.remove(&id) {
            self.leave(id, &node);
        }
    }

    fn leave(&mut self, id: TrackerId, node: &TaskNode) {
        self.by_host.remove(&(node.host, id));
        if let Some(room) = node.room_bytes {
            self.rooms.remove(&(room, id));
        }
        let shape = node.shape();
        let Some(of_shape) = self.shapes.get_mut(&shape) else { return };
        of_shape.nodes -= 1;
        if let Some(in_bucket) = of_shape.buckets.get_mut(&bucket(node.room())) {
            in_bucket.remove(&(node.room(), id));
            if in_bucket.is_empty() {
                of_shape.buckets.remove(&bucket(node.room()));
            }
        }
        if of_shape.nodes == 0 {
            self.shapes.remove(&shape);
        }
    }

    /// The least room that a node reports; none when none does.
    pub(super) fn least_room_bytes(&self) -> Option<u64> {
        self.rooms.first().map(|(room, _)| *room)
    }

    /// Slots of a kind that tasks of so many slots each could hold on all nodes, were these idle. O(shapes of nodes).
    pub(super) fn usable(&self, needs: &TaskNeeds, kind: Kind, slots_per_task: u32) -> u64 {
        let shapes = self.shapes.iter().filter(|(shape, _)| !(needs.needs_stock && shape.is_streaming_only));
        let all: u64 = shapes
            .map(|(shape, nodes)| {
                let slots = if kind == Kind::Map { shape.slots.0 } else { shape.slots.1 };
                usable_slots(slots, slots_per_task).saturating_mul(nodes.with_room(needs.room_bytes(kind)))
            })
            .fold(0, u64::saturating_add);
        let avoided = needs.avoided.iter().flat_map(|host| self.by_host.range(on_host(*host)));
        let avoided =
            avoided.filter_map(|(_, id)| self.nodes.get(id)).map(|node| node.usable(needs, kind, slots_per_task));
        all.saturating_sub(avoided.sum())
    }
}

impl NodesByRoom {
    fn with_room(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return self.nodes;
        }
        let least = bucket(bytes);
        let larger = self.buckets.range(least + 1..).map(|(_, nodes)| nodes.len() as u64);
        let at_the_edge = self.buckets.get(&least).map_or(0, |nodes| nodes.range((bytes, TrackerId::NONE)..).count());
        larger.sum::<u64>() + at_the_edge as u64
    }
}

fn on_host(host: HostId) -> std::ops::RangeInclusive<(HostId, TrackerId)> {
    (host, TrackerId::NONE)..=(host, TrackerId::LAST)
}

/// Slots of a node that whole tasks can hold.
fn usable_slots(slots: u32, slots_per_task: u32) -> u64 {
    let per_task = slots_per_task.max(1);
    u64::from(slots / per_task) * u64::from(per_task)
}

/// Buckets of room: sixteen for each power of two, so that few are walked and each holds few nodes.
fn bucket(bytes: u64) -> u32 {
    let octave = bytes.max(16).ilog2();
    let part = (bytes.max(16) >> (octave - 4)) & 15;
    octave * 16 + part as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Topology;
    use super::*;

    #[test]
    fn buckets_rise_with_the_room() {
        let rooms = [0, 1, 15, 16, 17, 31, 32, 33, 34, 1 << 20, (1 << 20) + (1 << 16), u64::MAX / 2, u64::MAX];
        assert!(rooms.windows(2).all(|pair| bucket(pair[0]) <= bucket(pair[1])));
        assert_eq!(bucket(32), bucket(33));
        assert!(bucket(33) < bucket(34));
    }

    fn needs() -> impl Strategy<Value = TaskNeeds> {
        (any::<bool>(), prop_oneof![Just(0), 0..200_u64], prop::collection::btree_set(0..4usize, 0..3)).prop_map(
            |(needs_stock, room_per_map_bytes, avoided)| {
                let (_, hosts) = hosts();
                let avoided = avoided.into_iter().map(|host| hosts[host]).collect();
                TaskNeeds { needs_stock, room_per_map_bytes, avoided }
            },
        )
    }

    fn hosts() -> (Topology, Vec<HostId>) {
        let mut topology = Topology::default();
        let hosts = (0..4).map(|host| topology.intern_host(&format!("h{host}"), "/r")).collect();
        (topology, hosts)
    }

    proptest! {
        /// However nodes came to be what they are, sums equal a walk over all of them.
        #[test]
        fn usable_slots_equal_a_walk_over_all_nodes(
            changes in prop::collection::vec(
                (0..9_u32, prop::option::of((0..4usize, 0..5_u32, 0..3_u32, any::<bool>(), prop::option::of(0..200_u64)))),
                0..40,
            ),
            needs in needs(),
            slots_per_task in 0..4_u32,
        ) {
            let (_, hosts) = hosts();
            let ids: Vec<TrackerId> = std::iter::successors(Some(TrackerId::NONE.next()), |id| Some(id.next())).take(9).collect();
            let (mut nodes, mut model) = (TaskNodes::default(), BTreeMap::new());
            for (id, offered) in changes {
                let id = ids[id as usize];
                match offered {
                    Some((host, map, reduce, is_streaming_only, room_bytes)) => {
                        let slots = PerKind::new(map, reduce);
                        let node = TaskNode { host: hosts[host], slots, is_streaming_only, room_bytes };
                        nodes.set(id, node);
                        model.insert(id, node);
                    }
                    None => {
                        nodes.remove(id);
                        model.remove(&id);
                    }
                }
            }
            for kind in Kind::ALL {
                let walked: u64 = model
                    .values()
                    .filter(|node| !needs.avoided.contains(&node.host))
                    .map(|node| node.usable(&needs, kind, slots_per_task))
                    .sum();
                prop_assert_eq!(nodes.usable(&needs, kind, slots_per_task), walked);
            }
            prop_assert_eq!(nodes.least_room_bytes(), model.values().filter_map(|node| node.room_bytes).min());
            model.keys().for_each(|id| nodes.remove(*id));
            prop_assert!(nodes.shapes.is_empty() && nodes.by_host.is_empty() && nodes.rooms.is_empty());
        }
    }
}
