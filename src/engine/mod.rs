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
    ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRequest, BeatReply, Engine, EngineConfig,
    Event, HeartbeatAnswer, PolicyConfig, QueueConfig, ReadSubmission, Reply, Step, SubmissionReply, WorkerBeatEvent,
};
pub(crate) use self::core::{
    ApplicationFilter, ApplicationWait, BeatRefusal, ContainerFilter, ContainerSignal, DeadlineFields, DelegationCall,
    DelegationRequest, EventLogConfig, FairConfig, HeartbeatConfig, HostLists, Inspection, Read, SchedulerWish,
    SignedTime, StoreView, SwitchReply,
};
pub(crate) use crate::scheduler::RequestType;
pub(crate) use crate::scheduler::constraint::{
    DeadlineChange, DeadlineSpec, Due, InputVolume, JobClass, KeySpread, StatedCost,
};
pub(crate) use on::{
    ChangedList, JOBS_SHOWN, RestoredApplications, Slice, TaskCursor, TaskPage, VolatileDelta, VolatileWalk,
    WantedJobs, WorkerPage,
};
pub use on::{
    ClusterSnapshot, ContainersSnapshot, DeadlineQuestion, Explained, JobSnapshot, LiveJob, LongRead, MoneySnapshot,
    QueueSnapshot, ReadProgress, ReportKind, Restored, RestoredJobs, Stuck, TrackerSnapshot,
};
#[cfg(test)]
pub(crate) use on::{SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS};
#[cfg(test)]
pub(crate) use state::{Application, ContainerNode, GrantSource, ReportTerms, ReportedCounts, WindowCounts};
pub use state::{ApplicationChange, ApplicationTallies, Caller, Container, Effect, Fact, IdOwner, JobCost, Refusal};
pub(crate) use state::{
    ApplicationRefusal, AttemptCounts, AuditEntry, BodyFault, Change, Claimant, ClassCosts, ConnectionStatus,
    ContainerCost, ContainerSettings, ContainerTotals, DELEGATION_KEY_BYTES, Decided, Decision, DelegationChange,
    DelegationKey, DelegationToken, Drain, EndClass, FaultConfig, ForeignJob, ForeignState, InheritedTrackerConnection,
    ItemStanding, ItemTrouble, Items, Launched, Limits, LogLevel, LoweredRows, Pause, PauseTarget, Preempted, Presence,
    RequestRow, RestoredApplication, RestoredDelegation, RowPage, SchedulerChoice, Standing, SubmittedApplication,
    TrackerConnection, TypeLaunch, UNKNOWN_USER, UNUSED_ID_MS, Victim, allows, is_master, names_groups, report_stored,
    shown_id,
};
