//! A change of the slots that an app holds.

use crate::model::Pool;

use super::AppId;

/// Slots that an app holds from now on, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageChange {
    /// Of a pool, so many more; fewer if negative.
    Held {
        /// The app.
        app: AppId,
        /// The pool.
        pool: Pool,
        /// How many.
        slots: i64,
    },
    /// A setup, job-cleanup or task-cleanup of the app takes a slot that is charged to no app.
    HousekeepingBegun {
        /// The app.
        app: AppId,
        /// When it was launched, ms of the monotonic clock.
        launch_mono_ms: u64,
    },
    /// The one that was launched then has released it.
    HousekeepingEnded {
        /// The app.
        app: AppId,
        /// When it was launched, ms of the monotonic clock.
        launch_mono_ms: u64,
    },
}
