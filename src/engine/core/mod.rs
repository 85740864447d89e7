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

pub use access::JobOperation;
pub use administration::Administration;
pub use application_request::{
    ApplicationAnswer, ApplicationCaller, ApplicationFilter, ApplicationQuestion, ApplicationRequest, ApplicationWait,
    ContainerFilter, ContainerSignal, SignedTime, StoreView,
};
pub use config::{EngineConfig, EventLogConfig, FairConfig, HeartbeatConfig, HostLists, PolicyConfig, QueueConfig};
pub use deadline_fields::DeadlineFields;
pub use delegation_request::{DelegationCall, DelegationRequest};
pub use engine::{Engine, RunStart, Tallies};
pub use event::{Event, ReadSubmission};
pub use inspection::Inspection;
pub use reply::{HeartbeatAnswer, Read, Reply, Step, SubmissionReply, SwitchReply, Wait};
pub use scheduler_wish::SchedulerWish;
pub use worker_beat_event::{BeatRefusal, BeatReply, WorkerBeatEvent};
