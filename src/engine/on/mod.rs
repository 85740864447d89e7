//! What the engine does, one file an event.

mod administration;
mod assignment;
mod build_snapshot;
mod explain;
mod explained;
mod foreign_jobtracker;
mod graylist;
mod heartbeat;
mod invariants;
mod job_beginning;
mod job_completion;
mod job_control;
mod job_group;
mod long_read;
mod market_queries;
mod market_ticks;
mod orders;
mod policy_rounds;
mod preemption;
mod queries;
mod racks;
mod registration;
mod restore;
mod retirement;
mod snapshot;
mod start;
mod step;
mod submission;
mod tracker_connections;
mod tracker_loss;
mod tracker_recovery;

pub use explained::Explained;
pub use long_read::{LongRead, ReadProgress, SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS, Slice, WantedJobs};
pub use queries::ReportKind;
pub use restore::{Restored, RestoredJobs};
pub use snapshot::{ClusterSnapshot, JobSnapshot, QueueSnapshot, TrackerSnapshot};
