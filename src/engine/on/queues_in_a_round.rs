//! The queues of a round of preemption: what is due to each, what waits in it, and which setups find a slot without one.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::core::Engine;
use crate::model::{Kind, Now, PerKind};
use crate::scheduler::{GroupId, UnderQuotaGroup, WaitingApp};

use super::live_queue::{IncomingSlots, LiveQueue};

/// Most jobs of a queue that cannot use every tracker and that a round considers beyond those that fill the quota.
const JOBS_IN_RESERVE: usize = 16;

impl Engine {
    /// All queues, by name, without their jobs.
    pub(super) fn queues_in_a_round(&self) -> Vec<LiveQueue<'_>> {
        let scheduler = &self.cluster.scheduler;
        let groups = scheduler.group_usages().map(|usage| LiveQueue {
            name: usage.name,
            group: usage.id,
            claim: scheduler.claim(usage.id),
            retained: scheduler.retained(usage.id),
            jobs: BTreeSet::new(),
            setups: PerKind::default(),
        });
        groups.collect()
    }

    /// Adds the unfinished jobs of each queue.
    pub(super) fn add_jobs(&self, queues: &mut [LiveQueue<'_>]) {
        let mut jobs: BTreeMap<GroupId, BTreeSet<_>> = BTreeMap::new();
        for job in self.jobs.live.by_queue().values().flatten().filter_map(|id| self.jobs.get(*id)) {
            // A job is submitted to one queue and may be ordered in another group.
            if let Some(group) = self.cluster.scheduler.group_of(job.app) {
                jobs.entry(group).or_default().insert(job.id);
            }
        }
        for queue in queues {
            queue.jobs = jobs.remove(&queue.group).unwrap_or_default();
        }
    }

    /// Trackers that accept tasks, each with its incoming slots.
    pub(super) fn incoming_slots(&self, now: Now) -> PerKind<IncomingSlots> {
        let mut incoming: PerKind<IncomingSlots> = PerKind::default();
        for tracker in self.trackers.iter().filter(|tracker| self.can_take_work(tracker, now)) {
            let slots = self.cluster.scheduler.incoming(tracker.id);
            for kind in Kind::ALL.into_iter().filter(|kind| tracker.slots[*kind] > 0) {
                incoming[kind].trackers.insert(tracker.id);
                if slots[kind] > 0 {
                    incoming[kind].slots.insert(tracker.id, slots[kind]);
                }
            }
        }
        incoming
    }

    /// Reserves incoming slots of either kind for setups of jobs in queues with room; a setup without one needs a slot
    /// of the kind in which its queue has room.
    pub(super) fn place_setups(&self, queues: &mut [LiveQueue<'_>], incoming: &mut PerKind<IncomingSlots>) {
        for queue in queues {
            let Some(kind) = Kind::ALL.into_iter().find(|kind| queue.room(*kind) > 0) else { continue };
            let setups = queue.jobs.iter().filter(|id| self.cluster.housekeeping.setup.contains(id));
            for job in setups.filter_map(|id| self.jobs.get(*id)).take(queue.room(kind) as usize) {
                let serves = |kind: Kind, incoming: &mut IncomingSlots| {
                    incoming.take(|tracker| job.can_use(kind, tracker, &self.cluster.nodes))
                };
                if !serves(Kind::Reduce, &mut incoming.reduce) && !serves(Kind::Map, &mut incoming.map) {
                    queue.setups[kind].insert(job.app);
                }
            }
        }
    }

    /// The queue as one that is short of slots; none without room or waiting tasks.
    pub(super) fn short_group(&self, queue: &LiveQueue<'_>, kind: Kind) -> Option<UnderQuotaGroup> {
        let need = queue.room(kind);
        if need == 0 || (queue.setups[kind].is_empty() && self.cluster.scheduler.waiting(queue.group)[kind] == 0) {
            return None;
        }
        let mut waiting = Vec::new();
        let (mut wanted, mut wanted_anywhere, mut reserve) = (0_u32, 0_u32, 0);
        for job in queue.jobs.iter().filter_map(|id| self.jobs.get(*id)) {
            let is_setup = queue.setups[kind].contains(&job.app);
            let count = if is_setup { 1 } else { job.runnable(kind) };
            let is_constrained = job.is_constrained(kind);
            if count == 0 || (is_constrained && reserve >= JOBS_IN_RESERVE) {
                continue;
            }
            // A setup takes one slot.
            let slots_per_task = if is_setup { 1 } else { job.slots_per_task(kind) };
            let waits = WaitingApp { app: job.app, tasks: count, slots_per_task, is_constrained };
            let slots = waits.slots();
            waiting.push(waits);
            reserve += usize::from(wanted >= need);
            wanted = wanted.saturating_add(slots);
            wanted_anywhere = wanted_anywhere.saturating_add(if is_constrained { 0 } else { slots });
            // These can use any slot, so later jobs are not needed.
            if wanted_anywhere >= need {
                break;
            }
        }
        (!waiting.is_empty()).then_some(UnderQuotaGroup { need, waiting })
    }
}
