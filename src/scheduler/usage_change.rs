//! A change of the slots that an app holds.

use crate::model::Pool;

use super::{AppId, GroupId};

/// What an app holds, or its group waits for, from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageChange {
    /// Of a pool, so many more; fewer if negative.
    Held { app: AppId, pool: Pool, slots: i64 },
    /// A setup, job-cleanup or task-cleanup of the app takes a slot that is charged to no app.
    HousekeepingBegun {
        app: AppId,
        /// When it was launched, ms of the monotonic clock.
        launch_mono_ms: u64,
    },
    /// The one that was launched then has released it.
    HousekeepingEnded {
        app: AppId,
        /// When it was launched, ms of the monotonic clock.
        launch_mono_ms: u64,
    },
    /// A group has given up slots, or waits for less though nothing was granted to it, and what it still holds and waits for
    /// is less than it was sold.
    TooLittleLeft { group: GroupId },
}
