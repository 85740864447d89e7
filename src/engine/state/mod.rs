//! The parts of the engine's state, each with its own methods and invariants. None knows the engine or another's events.

mod access_list;
mod applications;
mod attempt_tallies;
mod audit_entry;
mod cluster;
mod decision;
mod delegation_tokens;
mod drains;
mod effect;
mod fact;
mod finished_jobs;
mod foreign_recovery;
mod host_faults;
mod job_costs;
mod job_summary;
mod job_table;
mod launching;
mod limits;
mod live_bytes;
mod market_state;
mod outbox;
mod pauses;
mod presences;
mod refusal;
mod rounds;
mod scheduler_choice;
mod submissions;
mod task_windows;
mod tracker;
mod trackers;

pub use access_list::Caller;
pub(crate) use access_list::{allows, names_groups, written};
pub(crate) use applications::{
    Application, ApplicationRefusal, Applications, BeatNotes, BodyFault, CachedReport, CallResult, ContainerCost,
    ContainerFilter, ContainerTotals, EndClass, Headroom, ItemStanding, ItemTrouble, Items, Launched, LoweredRows,
    MeasuredUse, NewApplication, NoFirstBeat, ReportTerms, RequestRow, RestoredApplication, RowPage, STEP_BYTES,
    Standing, SubmittedApplication, TypeLaunch, UNUSED_ID_MS, WorkerPlace, is_master, report_stored, shown_id,
};
pub use applications::{ApplicationChange, ApplicationTallies, Container};
#[cfg(test)]
pub(crate) use applications::{ContainerNode, GrantedContext};
pub(crate) use attempt_tallies::{AttemptCounts, AttemptTallies};
pub(crate) use audit_entry::{AuditEntry, UNKNOWN_USER};
pub(crate) use cluster::Cluster;
pub(crate) use decision::{Change, Decided, Decision, Preempted, Victim};
pub(crate) use delegation_tokens::{
    DelegationChange, DelegationKey, DelegationToken, DelegationTokens, KEY_BYTES as DELEGATION_KEY_BYTES,
    RestoredDelegation,
};
pub(crate) use drains::{Drain, Drains, MAX_DRAINS};
pub use effect::Effect;
pub(crate) use effect::LogLevel;
pub use fact::Fact;
pub(crate) use finished_jobs::{KillJobDone, ReportedEnd};
pub(crate) use foreign_recovery::{ForeignJob, ForeignRecovery, ForeignState};
pub(crate) use host_faults::{ClusterSize, FaultConfig, HostFaults};
pub use job_costs::JobCost;
pub(crate) use job_costs::{ClassCosts, CostHistories, JobCosts};
pub(crate) use job_summary::JobSummary;
pub(crate) use job_table::JobTable;
#[cfg(test)]
pub(crate) use job_table::LiveJobs;
pub(crate) use launching::Launching;
pub(crate) use limits::Limits;
pub(crate) use market_state::{MarketState, OrderStanding};
pub(crate) use outbox::{EventLines, Outbox};
pub(crate) use pauses::{MAX_PAUSES, Pause, PauseTarget, Pauses};
pub(crate) use presences::{Presence, Presences};
pub use refusal::Refusal;
pub(crate) use rounds::{Round, Rounds};
pub(crate) use scheduler_choice::SchedulerChoice;
pub use submissions::IdOwner;
#[cfg(test)]
pub(crate) use submissions::MAX_RESERVED_IDS;
pub(crate) use submissions::{MAX_PENDING, PendingSubmission, Submissions};
pub(crate) use task_windows::WindowCounts;
pub(crate) use tracker::{LastAnswer, LaunchAnswer, ReportFreshness, ReportedCounts, Tracker, TrackerRecovery};
#[cfg(test)]
pub(crate) use trackers::NAMES_OF_CONNECTION;
pub(crate) use trackers::{ConnectionStatus, HeartbeatSender, InheritedTrackerConnection, TrackerConnection, Trackers};
