//! The engine's settings, inputs and outputs. Knows the parts of the state, no event's handling.

mod access;
mod application_request;
mod config;
mod deadline_change;
mod event;
mod group_claim;
mod inspection;
mod policy;
mod reply;

pub(crate) use super::Administration;
pub(crate) use super::Engine;
pub(crate) use super::RunStart;
pub(crate) use super::Tallies;
pub(crate) use access::JobOperation;
pub use application_request::{ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRequest};
pub(crate) use application_request::{ApplicationFilter, ApplicationWait, ContainerSignal, SignedTime, StoreView};
pub use config::EngineConfig;
pub(crate) use config::{HeartbeatConfig, HostLists};
pub(crate) use deadline_change::deadline_change;
pub(crate) use event::{DelegationCall, DelegationRequest};
pub use event::{Event, ReadSubmission};

pub(crate) use crate::scheduler::fair::options::FairConfig;
pub(crate) use event::BeatRefusal;
pub(crate) use event::SchedulerWish;
pub use event::{BeatReply, WorkerBeatEvent};
pub(crate) use group_claim::{GroupUse, due_slots, settings_of_group};
pub(crate) use inspection::Inspection;
pub use policy::PolicyConfig;
pub(crate) use policy::{Grouping, PolicyChange};
pub(crate) use reply::{Handled, Read, SwitchReply, Wait};
pub use reply::{HeartbeatAnswer, Reply, Step, SubmissionReply};
