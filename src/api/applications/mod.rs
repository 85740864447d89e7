//! JSON of the HTTP interface for applications: what they send, and what they read.
//!
//! What clients send, and the answers of `register` and `allocate`, have hyphens; reports are in Hadoop 2's camelCase.
//! Types here are checked values: the web server reads bodies itself, to point at each member that is wrong.

mod application_report;
mod application_row;
mod application_status;
mod body_memory;
mod call;
mod call_answer;
mod container_report;
mod container_row;
mod final_status;
mod launch_request;
mod node_report;
mod placement;
mod states;

pub(crate) use application_report::{
    ApplicationReport, ItemCounts, ResourceRequestRow, UnlaunchedHold, WaitingReason, WaitingRequest,
};
pub(crate) use application_row::ApplicationRow;
pub(crate) use application_status::{ApplicationStatus, RequestLine};
pub(crate) use body_memory::{APPLICATION_BYTES, ENTRY_BYTES, ROW_BYTES};
pub use call::{AllocateCall, AskRow, RegisterCall, Submission};
pub(crate) use call::{Blacklist, SubmittedMaster, UnregisterCall};
pub use call_answer::{AllocateAnswer, Locality};
pub(crate) use call_answer::{AllocatedContainer, CompletedContainer, RefusedLaunch, RegisterAnswer};
pub(crate) use container_report::ContainerReport;
pub(crate) use container_row::ContainerRow;
pub(crate) use final_status::FinalStatus;
pub(crate) use launch_request::{ContainerStart, LaunchSource};
pub use launch_request::{ItemRules, LaunchOnGrant};
pub(crate) use node_report::{ClusterInfo, NodeKind, NodeReport, NodeState};
pub use placement::Placement;
pub(crate) use states::ApplicationState;
pub use states::{ContainerState, ReportedFinalStatus};
