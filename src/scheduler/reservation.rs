//! Nodes whose free slots are kept for one app, whose tasks need more slots than are free (Hadoop 1.2.1
//! `CapacityTaskScheduler`, `TaskTracker.reserveSlots`).

use crate::model::{Kind, TrackerId};

use super::AppId;

/// The app that the free slots of a node are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) app: AppId,
    pub(super) slots: u32,
    /// Since when so many slots are kept, monotonic clock, ms.
    pub(super) since_mono_ms: u64,
}

/// Slots that were kept for an app and are no more, or are another number now: its job is charged for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedReservation {
    pub(crate) app: AppId,
    pub(crate) kind: Kind,
    pub(crate) node: TrackerId,
    /// How many were kept.
    pub(crate) slots: u32,
    /// Since when, monotonic clock, ms.
    pub(crate) since_mono_ms: u64,
}
