//! What the meter counts, as values: changes of holdings, and slot-milliseconds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, Credits, JobId, PerPool, Pool, QueueName};

/// A job, or an application with its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotHolder {
    Job(JobId),
    Application(ApplicationId),
}

impl SlotHolder {
    pub(crate) fn job(self) -> Option<JobId> {
        match self {
            SlotHolder::Job(job) => Some(job),
            SlotHolder::Application(_) => None,
        }
    }
}

impl fmt::Display for SlotHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlotHolder::Job(job) => job.fmt(f),
            SlotHolder::Application(application) => application.fmt(f),
        }
    }
}

/// Holdings that changed at one moment of the open interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metered {
    pub(crate) tick: u64,
    /// How long it had been open, ms, without the time while the daemon was down.
    pub(crate) offset_ms: u64,
    /// What changed; nothing where as many slots ended as began: the moment is proven all the same.
    pub(crate) changes: Vec<HeldChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldChange {
    pub(crate) holder: SlotHolder,
    pub(crate) queue: QueueName,
    pub(crate) order: u64,
    /// The preempted container of it in whose grace they are held; none: it holds them as its queue pays now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grace: Option<Grace>,
    pub(crate) before: PerPool<u32>,
    pub(crate) after: PerPool<u32>,
    /// What it gave back of containers so promptly that it is not charged, slot-milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) given_back_ms: u64,
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The grace of a preempted container: charged within the quota or not, at the rate of its grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    pub(crate) container: u64,
    /// Credits for one slot over a whole interval, as its queue paid when the container was granted.
    pub(crate) rate: Credits,
    /// For how long it is charged from the change on, ms: an interval in all.
    pub(crate) left_ms: u64,
}

/// A step of a preempted container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraceStep {
    pub(crate) holder: SlotHolder,
    pub(crate) container: u64,
    pub(crate) slots: u32,
    pub(crate) rate: Credits,
    /// Whether its grace begins; else nothing of it is left.
    pub(crate) begins: bool,
}

/// A container that its application gave back without having launched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenBack {
    pub(crate) holder: SlotHolder,
    pub(crate) slots: u32,
    pub(crate) held_ms: u64,
}

/// What a queue has held of what it pays for since its interval was opened, slot-milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MeteredUse {
    /// Within its quota.
    pub(crate) within_ms: PerPool<u64>,
    /// By containers beyond its quota, which count as sold to it while other queues do not hold what they were sold.
    pub(crate) beyond_ms: u64,
}

impl MeteredUse {
    pub(crate) fn slot_ms(&self) -> PerPool<u64> {
        let PerPool { map, reduce, container } = self.within_ms;
        PerPool::new(map, reduce, container.saturating_add(self.beyond_ms))
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) fn total_ms(slot_ms: PerPool<u64>) -> u64 {
    Pool::ALL.into_iter().fold(0, |sum: u64, pool| sum.saturating_add(slot_ms[pool]))
}
