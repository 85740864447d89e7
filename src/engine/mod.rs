//! The owner of all state: events in; replies, effects and facts out. Pure: no clock, no socket, no file, no randomness.

mod config;
mod effect;
mod event;
mod fact;
mod now;
mod overview;
mod reply;
mod stand_in;

pub use config::{EngineConfig, HeartbeatConfig, PolicyConfig, QueueConfig};
pub use effect::{Effect, LogLevel};
pub use event::{Caller, Event, ReadSubmission};
pub use fact::{Fact, FactNumber};
pub use now::Now;
pub use overview::{JobOverview, Overview, QueueOverview, TrackerOverview};
pub use reply::{HeartbeatAnswer, Read, Refusal, Reply, Step, SubmissionReply};
pub use stand_in::{Engine, ReportKind, Restored};
