//! Selects what to preempt where tasks and containers share memory and cores of nodes: running attempts and containers of
//! queues that hold more than they have bought, so that others get what they have (resource requests, section 10).
//!
//! A pure decision for all pools at once. Guarantees:
//! * room and slots that are free or being released are used before any victim is selected;
//! * victims are selected only where they free all that one waiting task or container of a queue that is short needs,
//!   beside what is free there; none of them is needless for it;
//! * containers that were never launched come first. Of the queues over their quotas the one whose latest job or
//!   application started last loses first: its containers, the newest first, then its attempts, those launched last;
//! * no queue loses more attempts of a kind than it holds beyond its quota; of containers only those are listed that its
//!   quota does not cover.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::{Capability, PerKind, PerPool, Pool, TrackerId};

use super::AppId;
use super::container::{Earmark, RequestType};

/// Input of a round. `V` is the caller's name for a victim, and breaks the last ties: highest first.
#[derive(Clone, Debug)]
pub(crate) struct RoomRound<V> {
    /// Queues that hold less than they have bought while something waits.
    pub(crate) short: Vec<ShortQueue>,
    pub(crate) nodes: BTreeMap<TrackerId, NodeRoom>,
    /// Queues that hold more.
    pub(crate) over: Vec<OverQueue<V>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeRoom {
    pub(crate) slots: PerKind<u32>,
    /// Memory and cores; none: nothing but its slots limits it.
    pub(crate) room: Option<Capability>,
    /// Of the cores, those that no container may use: there are more slots than cores.
    pub(crate) cores_of_slots_alone: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ShortQueue {
    /// Slots that it has bought and does not hold.
    pub(crate) need: PerPool<u32>,
    pub(crate) waiting: Vec<WaitingWork>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingWork {
    pub(crate) app: AppId,
    pub(crate) pool: Pool,
    pub(crate) request: Option<RequestType>,
    pub(crate) count: u32,
    /// Slots of each; of a container what it stands for.
    pub(crate) slots: u32,
    /// Memory and cores that each takes of a node that has some to share.
    pub(crate) room: Capability,
    /// Whether there may be nodes that they cannot use. Such ones choose first.
    pub(crate) is_constrained: bool,
    pub(crate) is_setup: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct OverQueue<V> {
    /// Slots that it holds beyond its quotas.
    pub(crate) excess: PerKind<u32>,
    pub(crate) holders: Vec<Holder<V>>,
}

/// An attempt or a container that may be preempted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder<V> {
    /// What it holds; a container all that it stands for.
    pub(crate) pool: Pool,
    pub(crate) slots: u32,
    /// Memory and cores that come free with it.
    pub(crate) room: Capability,
    pub(crate) node: TrackerId,
    pub(crate) is_unlaunched: bool,
    pub(crate) start_ms: i64,
    pub(crate) app: AppId,
    /// Larger: later launched, or granted, than others of its pool.
    pub(crate) age: u64,
    /// The caller's name for it.
    pub(crate) victim: V,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundOutcome<V> {
    pub(crate) victims: Vec<V>,
    /// What was found for what waits on nodes whose memory and cores are shared.
    pub(crate) earmarks: Vec<(TrackerId, Earmark)>,
}

struct UnservedWork<F> {
    need: Vec<PerPool<u32>>,
    /// With the number of the queue, in the order of choice.
    waiting: Vec<(usize, WaitingWork)>,
    earmarks: Vec<(TrackerId, Earmark)>,
    can_use: F,
}

impl<V: Copy + Ord> RoomRound<V> {
    /// What to preempt, and for what. `can_use`: whether work could use a node with enough room.
    pub(crate) fn decide(self, can_use: impl Fn(&WaitingWork, TrackerId) -> bool) -> RoundOutcome<V> {
        let Self { short, mut nodes, over } = self;
        let mut unserved = UnservedWork::new(short, can_use);
        for (node, room) in &mut nodes {
            unserved.serve_all(*node, room);
        }
        let mut excess: Vec<PerKind<u32>> = over.iter().map(|queue| queue.excess).collect();
        // Candidates that are of no use alone may be together with later ones of their node.
        let mut candidates: BTreeMap<TrackerId, Vec<(usize, Holder<V>)>> = BTreeMap::new();
        let mut victims = Vec::new();
        for (queue, holder) in in_order(over) {
            if unserved.waiting.is_empty() {
                break;
            }
            let Some(room) = nodes.get_mut(&holder.node) else { continue };
            let here = candidates.entry(holder.node).or_default();
            here.push((queue, holder));
            loop {
                within_excess(here, &excess);
                let Some(work) = unserved.first_for(holder.node, &with_all(*room, here)) else { break };
                for (queue, holder) in take_needed(here, *room, &unserved.waiting[work].1) {
                    room.add(&holder);
                    if let Some(kind) = holder.pool.kind() {
                        excess[queue][kind] = excess[queue][kind].saturating_sub(holder.slots);
                    }
                    victims.push(holder);
                }
                unserved.serve(work, holder.node, room);
                unserved.serve_all(holder.node, room);
            }
        }
        spare_needless(&mut victims, &mut nodes);
        let victims = victims.into_iter().map(|holder| holder.victim).collect();
        RoundOutcome { victims, earmarks: unserved.earmarks }
    }
}

/// Takes those candidates of a node without which it has not all that some work needs. The last ones in the order are
/// spared first, and stay candidates: what comes later may need them.
fn take_needed<V: Copy>(
    here: &mut Vec<(usize, Holder<V>)>,
    room: NodeRoom,
    work: &WaitingWork,
) -> Vec<(usize, Holder<V>)> {
    let mut needed = std::mem::take(here);
    for index in (0..needed.len()).rev() {
        let candidate = needed.remove(index);
        match with_all(room, &needed).fits(work) {
            true => here.push(candidate),
            false => needed.insert(index, candidate),
        }
    }
    here.reverse();
    needed
}

/// Spares victims whose nodes have enough without them, since larger ones came after them: those selected last first.
fn spare_needless<V: Copy>(victims: &mut Vec<Holder<V>>, nodes: &mut BTreeMap<TrackerId, NodeRoom>) {
    for index in (0..victims.len()).rev() {
        let holder = victims[index];
        if let Some(without) = nodes.get(&holder.node).and_then(|room| room.without(&holder)) {
            nodes.insert(holder.node, without);
            victims.remove(index);
        }
    }
}

/// Who loses first, with the number of the queue.
fn in_order<V: Copy + Ord>(over: Vec<OverQueue<V>>) -> Vec<(usize, Holder<V>)> {
    let mut all = Vec::new();
    for (number, queue) in over.into_iter().enumerate() {
        let latest = queue.holders.iter().map(|holder| (holder.start_ms, holder.app)).max();
        all.extend(queue.holders.into_iter().map(|holder| (latest, number, holder)));
    }
    all.sort_by_key(|(latest, number, holder)| {
        let is_container = holder.pool == Pool::Container;
        let age = (holder.age, holder.start_ms, holder.app, holder.victim);
        Reverse((holder.is_unlaunched, *latest, Reverse(*number), is_container, age))
    });
    all.into_iter().map(|(_, number, holder)| (number, holder)).collect()
}

/// Drops the candidates of a node that their queues may not lose together; those before them were selected elsewhere.
fn within_excess<V>(here: &mut Vec<(usize, Holder<V>)>, excess: &[PerKind<u32>]) {
    let mut left: BTreeMap<(usize, Pool), u32> = BTreeMap::new();
    here.retain(|(queue, holder)| {
        let Some(kind) = holder.pool.kind() else { return true };
        let left = left.entry((*queue, holder.pool)).or_insert(excess[*queue][kind]);
        let may_lose = holder.slots <= *left;
        if may_lose {
            *left -= holder.slots;
        }
        may_lose
    });
}

fn with_all<V>(mut room: NodeRoom, holders: &[(usize, Holder<V>)]) -> NodeRoom {
    holders.iter().for_each(|(_, holder)| room.add(holder));
    room
}

impl NodeRoom {
    fn fits(&self, work: &WaitingWork) -> bool {
        work.pool.kind().is_none_or(|kind| work.slots <= self.slots[kind])
            && match self.room {
                Some(room) if work.pool == Pool::Container => {
                    work.room.fits(room.saturating_sub(Capability::new(0, self.cores_of_slots_alone)))
                }
                Some(room) => work.room.fits(room),
                None => work.pool != Pool::Container,
            }
    }

    fn add<V>(&mut self, holder: &Holder<V>) {
        if let Some(kind) = holder.pool.kind() {
            self.slots[kind] = self.slots[kind].saturating_add(holder.slots);
        }
        if let Some(room) = &mut self.room {
            room.memory_mb = room.memory_mb.saturating_add(holder.room.memory_mb);
            room.vcores = room.vcores.saturating_add(holder.room.vcores);
        }
    }

    /// What is left if a holder stays after all; none: it was needed.
    fn without<V>(mut self, holder: &Holder<V>) -> Option<Self> {
        if let Some(kind) = holder.pool.kind() {
            self.slots[kind] = self.slots[kind].checked_sub(holder.slots)?;
        }
        if let Some(room) = &mut self.room {
            if !holder.room.fits(*room) {
                return None;
            }
            *room = room.saturating_sub(holder.room);
        }
        Some(self)
    }

    fn take(&mut self, work: &WaitingWork) {
        if let Some(kind) = work.pool.kind() {
            self.slots[kind] = self.slots[kind].saturating_sub(work.slots);
        }
        let mut taken = work.room;
        if work.pool == Pool::Container {
            // It has no room there while anything else is on those cores: they stay free beside it.
            taken.vcores = taken.vcores.saturating_add(std::mem::take(&mut self.cores_of_slots_alone));
        }
        self.room = self.room.map(|room| room.saturating_sub(taken));
    }
}

impl ShortQueue {
    pub(crate) fn slots(&self) -> u32 {
        let of_pool = |pool: Pool| {
            let waits = self.waiting.iter().filter(|work| work.pool == pool);
            let wanted = waits.fold(0_u32, |sum, work| sum.saturating_add(work.count.saturating_mul(work.slots)));
            wanted.min(self.need[pool])
        };
        Pool::ALL.into_iter().map(of_pool).fold(0, u32::saturating_add)
    }
}

impl<F: Fn(&WaitingWork, TrackerId) -> bool> UnservedWork<F> {
    /// Maps choose before reduces, containers last; what cannot use every node before what can.
    fn new(short: Vec<ShortQueue>, can_use: F) -> Self {
        let need = short.iter().map(|queue| queue.need).collect();
        let mut waiting: Vec<(usize, WaitingWork)> = Vec::new();
        for (number, queue) in short.into_iter().enumerate() {
            waiting.extend(queue.waiting.into_iter().map(|work| (number, work)));
        }
        waiting.sort_by_key(|(_, work)| (work.pool, !work.is_constrained));
        let mut unserved = Self { need, waiting, earmarks: Vec::new(), can_use };
        unserved.drop_served();
        unserved
    }

    fn first_for(&self, node: TrackerId, room: &NodeRoom) -> Option<usize> {
        self.waiting.iter().position(|(_, work)| room.fits(work) && (self.can_use)(work, node))
    }

    /// Places work on a node for as long as there is room for any.
    fn serve_all(&mut self, node: TrackerId, room: &mut NodeRoom) {
        while let Some(work) = self.first_for(node, room) {
            self.serve(work, node, room);
        }
    }

    fn serve(&mut self, index: usize, node: TrackerId, room: &mut NodeRoom) {
        let (queue, work) = &mut self.waiting[index];
        room.take(work);
        work.count = work.count.saturating_sub(1);
        let need = &mut self.need[*queue][work.pool];
        *need = need.saturating_sub(work.slots);
        if room.room.is_some() {
            let &mut WaitingWork { app, pool, room, is_setup, .. } = work;
            self.earmarks.push((node, Earmark { app, pool, room, is_setup }));
        }
        self.drop_served();
    }

    /// Drops what waits no more, or beyond what its queue has bought: a container only if it is within it as a whole.
    fn drop_served(&mut self) {
        let need = &self.need;
        self.waiting.retain(|(queue, work)| {
            let need = need[*queue][work.pool];
            let is_within = if work.pool == Pool::Container { work.slots <= need } else { need > 0 };
            work.count > 0 && is_within
        });
    }
}
