//! Room that a round of preemption has found for waiting tasks and containers of queues that are short: it is kept for
//! them, also while it still comes free piece by piece. Otherwise what was taken for one queue could go to another one,
//! since maps come before reduces and containers last.
//!
//! An earmark ends with the grant it was made for, counts only while its app waits, and lasts until the next round at most.

use crate::model::{Capability, Kind, PerKind, Pool, TrackerId};
use crate::scheduler::{AppId, Scheduler};

use super::Earmark;
use super::bag::{Amount, Bag};
use super::state::WaitingHousekeeping;

impl Scheduler {
    /// Keeps room of nodes for what a round has found it for, and no other any more. No effect on nodes without a bag.
    pub(crate) fn set_earmarks(&mut self, earmarks: &[(TrackerId, Earmark)]) {
        for node in std::mem::take(&mut self.containers.earmarking) {
            if let Some(bag) = self.bag_mut(node) {
                bag.earmarked.clear();
                self.containers.freed.insert(node);
            }
        }
        for (node, earmark) in earmarks {
            if let Some(bag) = self.bag_mut(*node) {
                bag.earmarked.push(*earmark);
                self.containers.earmarking.insert(*node);
            }
        }
    }

    pub(crate) fn earmarks_on(&self, node: TrackerId) -> &[Earmark] {
        self.bag(node).map_or(&[], |bag| &bag.earmarked)
    }

    /// An earmark ends with a grant of its app there.
    pub(in crate::scheduler) fn end_earmark(&mut self, node: TrackerId, app: AppId, pool: Pool) {
        let Some(bag) = self.bag_mut(node) else { return };
        if let Some(kept) =
            bag.earmarked.iter().position(|earmark| (earmark.app, earmark.pool, earmark.is_setup) == (app, pool, false))
        {
            bag.earmarked.remove(kept);
        }
    }

    /// That of a setup ends when one is launched there.
    pub(in crate::scheduler) fn end_setup_earmark(&mut self, node: TrackerId) {
        let Some(bag) = self.bag_mut(node) else { return };
        if let Some(kept) = bag.earmarked.iter().position(|earmark| earmark.is_setup) {
            bag.earmarked.remove(kept);
        }
    }

    /// Slots of each kind that the bag of a node has room for beside what runs there and what is earmarked for others that
    /// come later; none: it has no bag, and no limit.
    pub(in crate::scheduler) fn room_for_tasks(&self, node: TrackerId) -> Option<PerKind<u32>> {
        let entry = self.nodes.get(&node)?;
        let (bag, slot) = (entry.bag.as_ref()?, self.containers.slot);
        // A container has no room while tasks run on cores that only slots stand for: these stay free for it too.
        let is_for_container = self.earmarked(bag, |earmark| earmark.pool == Pool::Container) != Amount::default();
        let free = match is_for_container {
            true => bag.free(entry.tasks(), slot),
            false => entry.room_for_tasks(entry.tasks(), slot)?,
        };
        let beside = |kind: Kind| {
            let earmarked = self.earmarked(bag, |earmark| earmark.pool > Pool::from(kind) || earmark.is_setup);
            earmarked.left_of(free).whole_slots(slot)
        };
        Some(PerKind::new(beside(Kind::Map), beside(Kind::Reduce)))
    }

    /// What a node has for a container of an application now: what is free beside what is earmarked for others and, between
    /// two heartbeats, beside the slots that waiting tasks may fill at the next one.
    pub(super) fn room_for_container(&self, id: TrackerId, app: AppId) -> Option<Capability> {
        let node = self.nodes.get(&id)?;
        let (bag, slot) = (node.bag.as_ref()?, self.containers.slot);
        let free = bag.free(node.tasks(), slot);
        let earmarked = self.earmarked(bag, |earmark| (earmark.app, earmark.pool) != (app, Pool::Container));
        let kept = slot.times(self.slots_kept_for_tasks(id));
        Some(earmarked.left_of(free).saturating_sub(kept))
    }

    /// Sets how many tasks wait that the caller launches itself: containers leave them room, as they do for other tasks.
    pub(crate) fn set_waiting_housekeeping(&mut self, waiting: WaitingHousekeeping) {
        self.containers.housekeeping = waiting;
    }

    /// Free slots of a node, as many as tasks wait for them: containers come after tasks, which are granted at heartbeats
    /// only. None at a heartbeat, where the tasks have had their turn.
    fn slots_kept_for_tasks(&self, id: TrackerId) -> u32 {
        let Some(node) = self.nodes.get(&id).filter(|_| self.containers.beating != Some(id)) else { return 0 };
        let WaitingHousekeeping { of_either_kind, of_kind } = self.containers.housekeeping;
        let free = |kind: Kind| node.slots[kind].saturating_sub(node.in_use(kind));
        let kept = |kind: Kind| {
            let waiting = u32::try_from(self.totals.waiting[kind]).unwrap_or(u32::MAX);
            free(kind).min(waiting.saturating_add(of_kind[kind]))
        };
        let kept = kept(Kind::Map).saturating_add(kept(Kind::Reduce)).saturating_add(of_either_kind);
        kept.min(free(Kind::Map).saturating_add(free(Kind::Reduce)))
    }

    /// The sum of some of what is earmarked, as far as those it is earmarked for still wait.
    fn earmarked(&self, bag: &Bag, counts: impl Fn(&Earmark) -> bool) -> Amount {
        let mut sum = Amount::default();
        for earmark in bag.earmarked.iter().filter(|earmark| counts(earmark)) {
            let waits = || self.apps.get(&earmark.app).is_some_and(|app| app.waiting(earmark.pool) > 0);
            if earmark.is_setup || waits() {
                sum.take(earmark.room);
            }
        }
        sum
    }
}
