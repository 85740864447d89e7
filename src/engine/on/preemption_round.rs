//! A queue in a round of preemption, the slots that come free without one, and the victims of the round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{AttemptId, ContainerId, JobId, Kind, PerKind, TrackerId};
use crate::scheduler::{AppId, Earmark, GroupId, SlotClaim};

/// A queue with unfinished jobs in a round; what the policy orders as one group.
pub(super) struct QueueInRound<'a> {
    pub(super) name: &'a str,
    pub(super) group: GroupId,
    pub(super) claim: SlotClaim,
    pub(super) retained: PerKind<u32>,
    pub(super) jobs: BTreeSet<JobId>,
    /// Jobs whose setup has no slot, by the kind of slot that it needs.
    pub(super) setups: PerKind<BTreeSet<AppId>>,
}

/// Trackers that accept tasks and their incoming slots, of one kind.
#[derive(Default)]
pub(super) struct IncomingSlots {
    /// Nodes with any slots of the kind.
    pub(super) trackers: BTreeSet<TrackerId>,
    /// Free slots and slots about to be released; no entry for trackers without any.
    pub(super) slots: BTreeMap<TrackerId, u32>,
}

impl IncomingSlots {
    /// Takes a slot on a suitable tracker; false when there is none.
    pub(super) fn take(&mut self, is_suitable: impl Fn(TrackerId) -> bool) -> bool {
        let Some((tracker, slots)) = self.slots.iter_mut().find(|(tracker, _)| is_suitable(**tracker)) else {
            return false;
        };
        let tracker = *tracker;
        *slots -= 1;
        if *slots == 0 {
            self.slots.remove(&tracker);
        }
        true
    }
}

impl QueueInRound<'_> {
    /// Slots that are due to it and that it does not retain.
    pub(super) fn room(&self, kind: Kind) -> u32 {
        self.claim.due[kind].saturating_sub(self.retained[kind])
    }

    /// Slots that it may lose.
    pub(super) fn excess(&self, kind: Kind) -> u32 {
        self.retained[kind].saturating_sub(self.claim.kept[kind])
    }

    /// Diagnostics of attempts that it loses. They name no other queue and not what it has bought: both are confidential.
    pub(super) fn reason(&self, kind: Kind) -> String {
        let slots = match kind {
            Kind::Map => "map slots",
            Kind::Reduce => "reduce slots",
        };
        format!("Preempted: queue {} is over its quota of {slots}, and others are below theirs", self.name)
    }
}

#[derive(Debug, Default)]
pub(super) struct ChosenVictims {
    /// The attempts to kill, each with its diagnostics.
    pub(super) victims: Vec<(AttemptId, Arc<str>)>,
    /// The containers to kill, each with its diagnostics.
    pub(super) containers: Vec<(ContainerId, Arc<str>)>,
    /// Queues or pools below what is due to them, with the number of missing slots.
    pub(super) short: BTreeMap<String, u32>,
    /// Room of nodes that was found for what waits.
    pub(super) earmarks: Vec<(TrackerId, Earmark)>,
}
