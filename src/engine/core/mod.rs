//! The engine, its settings, its inputs and its outputs. Knows the parts of the state, no event's handling.

mod access;
mod administration;
mod config;
mod deadline_fields;
mod engine;
mod event;
mod inspection;
mod reply;
mod scheduler_wish;

pub use access::JobOperation;
pub use administration::Administration;
pub use config::{EngineConfig, EventLogConfig, FairConfig, HeartbeatConfig, HostLists, PolicyConfig, QueueConfig};
pub use deadline_fields::DeadlineFields;
pub use engine::{Engine, Tallies};
pub use event::{Event, ReadSubmission};
pub use inspection::Inspection;
pub use reply::{HeartbeatAnswer, Read, Reply, Step, SubmissionReply, SwitchReply, Wait};
pub use scheduler_wish::SchedulerWish;
