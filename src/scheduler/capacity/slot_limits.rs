//! The slots of a queue: its share of the cluster, what it holds by user, and what one user may hold.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::Decimal;

/// A queue's slots of one kind, computed again whenever the cluster's slots change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotShare {
    pub(crate) capacity: u32,
    /// Its maximum; none: no limit is configured. Zero limits nothing either, though it is printed: the share of the
    /// cluster comes to less than one slot.
    pub(crate) maximum: Option<u32>,
}

impl SlotShare {
    /// Percentages of a cluster with so many slots, the rest dropped.
    pub(crate) fn new(capacity: Decimal, maximum: Option<Decimal>, cluster_slots: u64) -> Self {
        let slots = |percent: Decimal| u32::try_from(percent.percent_of(cluster_slots)).unwrap_or(u32::MAX);
        Self { capacity: slots(capacity), maximum: maximum.map(slots) }
    }

    /// Whether a queue that occupies `occupied` slots may take `slots` more.
    pub(crate) fn has_room(&self, occupied: u32, slots: u32) -> bool {
        self.maximum.is_none_or(|maximum| maximum == 0 || occupied.saturating_add(slots) <= maximum)
    }

    /// The fraction by which queues are sorted, as part and whole; a queue without capacity counts as full.
    pub(crate) fn fill(&self, occupied: u32) -> (u32, NonZeroU32) {
        match NonZeroU32::new(self.capacity) {
            Some(capacity) => (occupied, capacity),
            None => (1, NonZeroU32::MIN),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotUsage {
    /// Attempts of running jobs.
    pub(crate) running_tasks: u32,
    /// Slots of these attempts, and of nodes reserved for the queue's jobs.
    pub(crate) occupied: u32,
    /// Occupied slots of each user; users without any may be missing.
    pub(crate) by_user: BTreeMap<Arc<str>, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotVerdict {
    Allowed,
    QueueAtMaximum { maximum: u32 },
    UserAtLimit { limit: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserLimit {
    pub(crate) share: SlotShare,
    pub(crate) occupied: u32,
    /// Users with a running job that has pending tasks.
    pub(crate) active_users: u32,
    /// `minimum-user-limit-percent`.
    pub(crate) minimum_percent: u32,
    /// `user-limit-factor`.
    pub(crate) factor: Decimal,
}

impl UserLimit {
    /// Slots that one user may hold, tasks of `slots` each.
    ///
    /// Below capacity the queue's capacity is divided; above it, what the queue would occupy. A queue counts as having
    /// room for one task, so that queues of less than one slot progress.
    pub(crate) fn slots(&self, slots: u32) -> u64 {
        self.part(slots).min(self.factor.times(self.capacity(slots)))
    }

    fn capacity(&self, slots: u32) -> u64 {
        u64::from(self.share.capacity.max(slots))
    }

    /// Its part among the users, whatever the factor.
    fn part(&self, slots: u32) -> u64 {
        let wanted = u64::from(self.occupied) + u64::from(slots);
        let current = self.capacity(slots).max(wanted);
        let equal_part = current.div_ceil(u64::from(self.active_users.max(1)));
        let minimum = (u64::from(self.minimum_percent) * current).div_ceil(100);
        equal_part.max(minimum)
    }

    pub(crate) fn verdict(&self, by_user: u32, slots: u32) -> SlotVerdict {
        if let Some(maximum) = self.share.maximum.filter(|_| !self.share.has_room(self.occupied, slots)) {
            return SlotVerdict::QueueAtMaximum { maximum };
        }
        let limit = self.slots(slots);
        if u64::from(by_user) + u64::from(slots) > limit {
            return SlotVerdict::UserAtLimit { limit };
        }
        SlotVerdict::Allowed
    }

    /// Whether a user that occupies `by_user` slots may take no number of slots. One that is refused few may be allowed
    /// more where the factor is above one, since the capacity counts as large enough for one task: then false.
    pub(crate) fn is_exhausted(&self, by_user: u32) -> bool {
        let one_more = u64::from(by_user) + 1;
        let grows_with_size = self.factor > Decimal::whole(1);
        one_more > if grows_with_size { self.part(1) } else { self.slots(1) }
    }
}
