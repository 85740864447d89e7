//! A queue in a round of preemption, and the slots that come free without one.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{JobId, Kind, PerKind, TrackerId};
use crate::scheduler::{AppId, Claim, GroupId};

/// A queue with unfinished jobs in a round; what the policy orders as one group.
pub(super) struct LiveQueue<'a> {
    pub(super) name: &'a str,
    pub(super) group: GroupId,
    pub(super) claim: Claim,
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

impl LiveQueue<'_> {
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
