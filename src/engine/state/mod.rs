//! The parts of the engine's state, each with its own methods and invariants. None knows the engine or another's events.

mod access_list;
mod applications;
mod attempt_tallies;
mod audit_entry;
mod cluster;
mod cost_histories;
mod decision;
mod delegation_tokens;
mod drains;
mod effect;
mod event_lines;
mod fact;
mod finished_jobs;
mod foreign_recovery;
mod fresh_trackers;
mod host_faults;
mod job_costs;
mod job_summary;
mod job_table;
mod launching;
mod limits;
mod live_bytes;
mod live_jobs;
mod long_housekeeping;
mod market_state;
mod order_standing;
mod outbox;
mod pauses;
mod preemptions;
mod presences;
mod refusal;
mod reserved_ids;
mod rounds;
mod scheduler_choice;
mod submissions;
mod task_windows;
mod tracker;
mod tracker_connection;
mod trackers;

pub use access_list::Caller;
pub(crate) use access_list::{allows, names_groups, written};
pub(crate) use applications::{
    Application, ApplicationRefusal, Applications, BeatNotes, BodyFault, CallResult, ContainerCost, ContainerSettings,
    ContainerTotals, EndClass, Headroom, ItemStanding, ItemTrouble, Items, LastReport, Launched, LoweredRows,
    MeasuredUse, NewApplication, NoFirstBeat, ReportTerms, RequestRow, RestoredApplication, RowPage, STEP_BYTES,
    Standing, SubmittedApplication, TypeLaunch, UNUSED_ID_MS, WantedContainers, WorkerPlace, is_master, report_stored,
    shown_id,
};
pub use applications::{ApplicationChange, ApplicationTallies, Container};
#[cfg(test)]
pub(crate) use applications::{ContainerNode, GrantSource};
pub(crate) use attempt_tallies::{AttemptCounts, AttemptTallies};
pub(crate) use audit_entry::{AuditEntry, UNKNOWN_USER};
pub(crate) use cluster::Cluster;
pub(crate) use cost_histories::{ClassCosts, CostHistories};
pub(crate) use decision::{Change, Claimant, Decided, Decision, Preempted, Victim};
pub(crate) use delegation_tokens::{
    DelegationChange, DelegationKey, DelegationToken, DelegationTokens, KEY_BYTES as DELEGATION_KEY_BYTES,
    RestoredDelegation,
};
pub(crate) use drains::{Drain, Drains, MAX_DRAINS};
pub use effect::Effect;
pub(crate) use effect::LogLevel;
pub(crate) use event_lines::EventLines;
pub use fact::Fact;

pub(crate) use finished_jobs::{KillJobDone, ReportedEnd};
pub(crate) use foreign_recovery::{ForeignJob, ForeignRecovery, ForeignState};
#[cfg(test)]
pub(crate) use fresh_trackers::NAMES_OF_CONNECTION;
pub(crate) use host_faults::{ClusterSize, FaultConfig, HostFaults};
pub use job_costs::JobCost;
pub(crate) use job_costs::JobCosts;
pub(crate) use job_summary::JobSummary;
pub(crate) use job_table::JobTable;
pub(crate) use launching::Launching;
pub(crate) use limits::Limits;
#[cfg(test)]
pub(crate) use live_jobs::LiveJobs;
pub(crate) use market_state::MarketState;
pub(crate) use order_standing::OrderStanding;
pub(crate) use outbox::Outbox;
pub(crate) use pauses::{MAX_PAUSES, Pause, PauseTarget, Pauses};
pub(crate) use presences::{Presence, Presences};
pub use refusal::Refusal;

pub use reserved_ids::IdOwner;

#[cfg(test)]
pub(crate) use reserved_ids::MAX_RESERVED_IDS;
pub(crate) use rounds::{Round, Rounds};
pub(crate) use scheduler_choice::SchedulerChoice;
pub(crate) use submissions::{MAX_PENDING, PendingSubmission, Submissions};
pub(crate) use task_windows::WindowCounts;
pub(crate) use tracker::{LastAnswer, LaunchAnswer, ReportFreshness, ReportedCounts, Tracker, TrackerRecovery};
pub(crate) use tracker_connection::{ConnectionStatus, HeartbeatSender, InheritedTrackerConnection, TrackerConnection};
pub(crate) use trackers::Trackers;
