//! JSON of the HTTP interface for applications: what they send, and what they read.
//!
//! What clients send, and the answers of `register` and `allocate`, have hyphens; reports are in Hadoop 2's camelCase.
//! Types here are checked values: the web server reads bodies itself, to point at each member that is wrong.

mod application_report;
mod application_status;
mod body_memory;
mod call;
mod states;

pub(crate) use application_report::{
    ApplicationReport, ClusterInfo, ContainerReport, ItemCounts, NodeKind, NodeReport, NodeState, ResourceRequestRow,
    UnlaunchedHold, WaitingReason, WaitingRequest,
};
pub(crate) use application_status::{ApplicationRow, ApplicationStatus, ContainerRow, RequestLine};
pub(crate) use body_memory::{APPLICATION_BYTES, ENTRY_BYTES, ROW_BYTES};
pub use call::{AllocateAnswer, AllocateCall, AskRow, ItemRules, LaunchOnGrant, Locality, RegisterCall, Submission};
pub(crate) use call::{
    AllocatedContainer, Blacklist, CompletedContainer, ContainerStart, LaunchSource, RefusedLaunch, RegisterAnswer,
    SubmittedMaster, UnregisterCall,
};
pub(crate) use states::{ApplicationState, FinalStatus};
pub use states::{ContainerState, ReportedFinalStatus};

pub use crate::model::Placement;
