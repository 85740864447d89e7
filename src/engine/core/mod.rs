//! The engine, its settings, its inputs and its outputs. Knows the parts of the state, no event's handling.

mod access;
mod administration;
mod application_request;
mod config;
mod deadline_fields;
mod delegation_request;
mod engine;
mod event;
mod inspection;
mod reply;
mod scheduler_wish;
mod worker_beat_event;

pub(crate) use access::JobOperation;
pub(crate) use administration::Administration;
pub use application_request::{ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRequest};
pub(crate) use application_request::{
    ApplicationFilter, ApplicationWait, ContainerFilter, ContainerSignal, SignedTime, StoreView,
};
pub use config::{EngineConfig, PolicyConfig, QueueConfig};
pub(crate) use config::{EventLogConfig, FairConfig, HeartbeatConfig, HostLists};
pub(crate) use deadline_fields::DeadlineFields;
pub(crate) use delegation_request::{DelegationCall, DelegationRequest};
pub use engine::Engine;
pub(crate) use engine::{RunStart, Tallies};
pub use event::{Event, ReadSubmission};

pub(crate) use inspection::Inspection;
pub use reply::{HeartbeatAnswer, Reply, Step, SubmissionReply};
pub(crate) use reply::{Read, SwitchReply, Wait};
pub(crate) use scheduler_wish::SchedulerWish;
pub(crate) use worker_beat_event::BeatRefusal;
pub use worker_beat_event::{BeatReply, WorkerBeatEvent};
