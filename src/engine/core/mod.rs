//! The engine, its settings, its inputs and its outputs. Knows the parts of the state, no event's handling.

mod access;
mod config;
mod engine;
mod event;
mod inspection;
mod reply;

pub use access::JobOperation;
pub use config::{EngineConfig, FairConfig, HeartbeatConfig, HostLists, PolicyConfig, QueueConfig};
pub use engine::{Engine, Tallies};
pub use event::{Event, ReadSubmission};
pub use inspection::Inspection;
pub use reply::{HeartbeatAnswer, Read, Reply, Step, SubmissionReply, Wait};
