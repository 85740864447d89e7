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

pub use access_list::{Caller, allows, names_groups, written};
pub use applications::{
    Application, ApplicationChange, ApplicationRefusal, ApplicationTallies, Applications, BeatNotes, BodyFault,
    CallResult, Container, ContainerCost, ContainerNode, ContainerSettings, ContainerTotals, EndClass, GrantSource,
    Headroom, ItemStanding, ItemTrouble, Items, ItemsError, Kill, LastReport, Launched, LoweredRows, Master,
    MeasuredUse, NewApplication, NoFirstBeat, ReportTerms, RequestRow, RestoredApplication, RowPage, STEP_BYTES,
    Standing, SubmittedApplication, TakenIn, TypeLaunch, UNUSED_ID_MS, WantedContainers, WorkerPlace, is_master,
    report_stored, shown_id,
};
pub use attempt_tallies::{AttemptCounts, AttemptTallies};
pub use audit_entry::{AuditEntry, UNKNOWN_USER};
pub use cluster::Cluster;
pub use cost_histories::{ClassCosts, CostHistories};
pub use decision::{Change, Claimant, Decided, Decision, Preempted, Victim};
pub use delegation_tokens::{
    DelegationChange, DelegationKey, DelegationToken, DelegationTokens, KEY_BYTES as DELEGATION_KEY_BYTES,
    RestoredDelegation,
};
pub use drains::{Drain, Drains, MAX_DRAINS};
pub use effect::{Effect, LogLevel};
pub use event_lines::EventLines;
pub use fact::Fact;
pub use finished_jobs::{KillJobDone, ReportedEnd};
pub use foreign_recovery::{ForeignJob, ForeignRecovery, ForeignState};
#[cfg(test)]
pub use fresh_trackers::NAMES_OF_CONNECTION;
pub use host_faults::{ClusterSize, FaultConfig, HostFaults};
pub use job_costs::{JobCost, JobCosts};
pub use job_summary::JobSummary;
pub use job_table::JobTable;
pub use launching::Launching;
pub use limits::Limits;
#[cfg(test)]
pub use live_jobs::LiveJobs;
pub use market_state::MarketState;
pub use order_standing::OrderStanding;
pub use outbox::Outbox;
pub use pauses::{MAX_PAUSES, Pause, PauseTarget, Pauses};
pub use presences::{Presence, Presences};
pub use refusal::Refusal;
pub use reserved_ids::IdOwner;
#[cfg(test)]
pub use reserved_ids::MAX_RESERVED_IDS;
pub use rounds::{Round, Rounds};
pub use scheduler_choice::SchedulerChoice;
pub use submissions::{MAX_PENDING, PendingSubmission, Submissions};
pub use task_windows::WindowCounts;
pub use tracker::{LastAnswer, LaunchAnswer, ReportFreshness, ReportedCounts, Tracker, TrackerRecovery};
pub use tracker_connection::{ConnectionStatus, HeartbeatSender, InheritedTrackerConnection, TrackerConnection};
pub use trackers::Trackers;
