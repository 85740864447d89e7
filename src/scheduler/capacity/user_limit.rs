//! How many slots of its queue one user may hold.

use crate::model::Decimal;

use super::SlotShare;

/// What a queue's limits say about one more task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotVerdict {
    Allowed,
    QueueAtMaximum {
        maximum: u32,
    },
    /// The user would exceed the user limit.
    UserAtLimit {
        limit: u64,
    },
}

/// The user limit of a queue for one kind of slot, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserLimit {
    pub(crate) share: SlotShare,
    /// Slots that the queue occupies.
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

    /// Whether a user that occupies `by_user` slots may take `slots` more.
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
