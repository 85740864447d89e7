//! Owns all state: events in; replies, effects and facts out. Pure: no clock, no socket, no file, no randomness.
//!
//! Three rooms: `on` handles events, `core` is the engine with its inputs and outputs, `state` has its parts. Each names
//! only those after it.

mod core;
mod on;
mod state;
#[cfg(test)]
mod tests;

pub use self::core::{
    ApplicationAnswer, ApplicationCaller, ApplicationFilter, ApplicationQuestion, ApplicationRequest, ApplicationWait,
    BeatRefusal, BeatReply, ContainerFilter, ContainerSignal, DeadlineFields, DelegationCall, DelegationRequest,
    Engine, EngineConfig, Event, EventLogConfig, FairConfig, HeartbeatAnswer, HeartbeatConfig, HostLists, Inspection,
    PolicyConfig, QueueConfig, Read, ReadSubmission, Reply, SchedulerWish, SignedTime, Step, StoreView,
    SubmissionReply, SwitchReply, WorkerBeatEvent,
};
pub use crate::scheduler::RequestType;
pub use crate::scheduler::constraint::{
    CostHistory, DeadlineChange, DeadlineSpec, Due, InputVolume, JobClass, KeySpread, NewDeadline, StatedCost,
};
pub use on::{
    ChangedList, ClusterSnapshot, ContainersSnapshot, DeadlineQuestion, Explained, JOBS_SHOWN, JobSnapshot, LiveJob,
    LongRead, MoneySnapshot, QueueSnapshot, ReadProgress, ReportKind, Restored, RestoredApplications, RestoredJobs,
    SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS, Slice, Stuck, TaskCursor, TaskPage, TrackerSnapshot, VolatileDelta,
    VolatileWalk, WantedJobs, WorkerPage,
};
pub use state::{
    Application, ApplicationChange, ApplicationRefusal, ApplicationTallies, AttemptCounts, AuditEntry, BodyFault,
    Caller, Change, Claimant, ClassCosts, ConnectionStatus, Container, ContainerCost, ContainerNode, ContainerSettings,
    ContainerTotals, DELEGATION_KEY_BYTES, Decided, Decision, DelegationChange, DelegationKey, DelegationToken, Drain,
    Effect, EndClass, Fact, FaultConfig, ForeignJob, ForeignState, GrantSource, IdOwner, InheritedTrackerConnection,
    ItemStanding, ItemTrouble, Items, ItemsError, JobCost, JobSummary, Kill, Launched, Limits, LogLevel, LoweredRows,
    Master, Pause, PauseTarget, Preempted, Presence, Refusal, ReportTerms, ReportedCounts, RequestRow,
    RestoredApplication, RestoredDelegation, RowPage, SchedulerChoice, Standing, SubmittedApplication, TakenIn,
    TrackerConnection, TypeLaunch, UNKNOWN_USER, UNUSED_ID_MS, Victim, WindowCounts, allows, is_master, names_groups,
    report_stored, shown_id,
};
