//! What the engine does, one file an event.

mod administration;
mod allowances_and_top_ups;
mod application_requests;
mod assignment;
mod audit;
mod build_snapshot;
mod containers;
mod deadline_orders;
mod deadlines;
mod delegation;
mod event_log;
mod explain;
mod foreign_jobtracker;
mod heartbeat;
mod held_slots;
mod invariants;
mod job_completion;
mod job_requests;
mod long_read;
mod market_queries;
mod market_ticks;
mod misfits;
mod order_rates;
mod order_statuses;
mod orders;
mod pauses;
mod policy_tick;
mod pools;
mod preemption;
mod preemption_round;
mod queries;
mod racks;
mod registration;
mod report_scheduler;
mod restore;
mod room_preemption;
mod scheduler_switch;
mod snapshot;
mod step;
mod submission;
mod switch_plan;
mod task_page;
mod tracker_loss;
mod tracker_recovery;
mod volatile;
mod watched;
mod what_if;
mod worker_beats;
mod workers;

pub use explain::Explained;

pub use long_read::{LongRead, ReadProgress};
#[cfg(test)]
pub(crate) use long_read::{SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS};
pub(crate) use long_read::{Slice, WantedJobs};
pub use queries::TaskReportKind;

pub use restore::{Restored, RestoredJobs};

pub(crate) use restore::RestoredApplications;
pub(crate) use snapshot::JOBS_SHOWN;
pub use snapshot::{
    ClusterSnapshot, ContainersSnapshot, JobSnapshot, LiveJob, MoneySnapshot, QueueSnapshot, Stuck, TrackerSnapshot,
};
pub(crate) use task_page::{TaskCursor, TaskPage};
pub(crate) use volatile::{ChangedList, VolatileDelta, VolatileWalk};
pub(crate) use watched::{ReportedAttempt, Watched, WatchedState};
pub use what_if::DeadlineQuestion;
