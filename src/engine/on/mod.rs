//! What the engine does, one file an event.

mod administration;
mod allowances_and_top_ups;
mod application_requests;
mod assignment;
mod audit;
mod build_snapshot;
mod chosen_victims;
mod containers;
mod deadline_change;
mod deadline_orders;
mod deadlines;
mod delegation;
mod drain;
mod event_log;
mod explain;
mod fair_preemption;
mod foreign_jobtracker;
mod heartbeat;
mod held_slots;
mod invariants;
mod job_beginning;
mod job_completion;
mod job_control;
mod job_group;
mod job_requests;
mod job_words;
mod live_queue;
mod long_read;
mod market_queries;
mod market_ticks;
mod misfits;
mod missed_deadlines;
mod node_reports;
mod order_need;
mod order_quote;
mod order_rates;
mod order_statuses;
mod order_terms;
mod orders;
mod pauses;
mod policy_reload;
mod policy_rounds;
mod policy_tick;
mod pools;
mod preemption;
mod queries;
mod racks;
mod registration;
mod released_deadline;
mod replaced_trackers;
mod report_scheduler;
mod restore;
mod resumed_interval;
mod room_preemption;
mod scheduler_switch;
mod sign_off;
mod snapshot;
mod start;
mod step;
mod submission;
mod switch_plan;
mod task_page;
mod tracker_health;
mod tracker_loss;
mod tracker_recovery;
mod volatile;
mod watched;
mod what_if;
mod worker_beats;
mod worker_page;

pub use explain::Explained;

pub use long_read::{LongRead, ReadProgress};
#[cfg(test)]
pub(crate) use long_read::{SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS};
pub(crate) use long_read::{Slice, WantedJobs};
pub use queries::ReportKind;

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
