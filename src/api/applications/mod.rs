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

pub use application_report::{
    ApplicationReport, ItemCounts, ResourceRequestRow, UnlaunchedHold, WaitingReason, WaitingRequest,
};
pub use application_row::ApplicationRow;
pub use application_status::{ApplicationStatus, HeldUnlaunched, RequestLine, WaitingLine};
pub use body_memory::{APPLICATION_BYTES, ENTRY_BYTES, ROW_BYTES};
pub use call::{AllocateCall, AskRow, Blacklist, RegisterCall, Submission, SubmittedMaster, UnregisterCall};
pub use call_answer::{
    AllocateAnswer, AllocatedContainer, CompletedContainer, Locality, RefusedLaunch, RegisterAnswer,
};
pub use container_report::ContainerReport;
pub use container_row::ContainerRow;
pub use final_status::FinalStatus;
pub use launch_request::{ContainerStart, ItemRules, LaunchOnGrant, LaunchSource};
pub use node_report::{ClusterInfo, NodeKind, NodeReport, NodeState};
pub use placement::Placement;
pub use states::{ApplicationState, ContainerState, ReportedFinalStatus};
