//! The owner of all state: events in; replies, effects and facts out. Pure: no clock, no socket, no file, no randomness.

mod access;
mod administration;
mod adoption;
mod client;
mod config;
mod effect;
#[allow(clippy::module_inception, reason = "the engine's own state has no better name")]
mod engine;
mod event;
mod explain;
pub mod explanation;
mod fact;
mod fact_log;
mod heartbeat;
mod host_faults;
mod inspection;
mod job_cost;
mod launching;
mod limits;
mod long_read;
mod loss;
mod market_steps;
mod now;
mod open_ids;
mod outlook;
mod over;
mod overview;
mod overview_of;
mod preemption;
mod reads;
mod reply;
mod restore;
mod submission;
mod succession;
#[cfg(test)]
mod tests;
mod tracker;
mod work;

pub use administration::HostLists;
pub use config::{EngineConfig, HeartbeatConfig, PolicyConfig, QueueConfig};
pub use effect::{Effect, LogLevel};
pub use engine::Engine;
pub use event::{Caller, Event, ReadSubmission};
pub use fact::{Fact, FactNumber};
pub use host_faults::FaultConfig;
pub use inspection::Inspection;
pub use job_cost::JobCost;
pub use limits::Limits;
pub use long_read::{LongRead, SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS, Slice, Then, WantedJobs};
pub use now::Now;
pub use open_ids::IdOwner;
pub use overview::{JobOverview, Overview, QueueOverview, TrackerOverview};
pub use reads::ReportKind;
pub use reply::{HeartbeatAnswer, Read, Refusal, Reply, Step, SubmissionReply};
pub use restore::{Restored, RestoredJobs};
pub use succession::{FoundJob, Predecessors};
