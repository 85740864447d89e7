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
    BeatRefusal, BeatReply, ContainerFilter, ContainerSignal, DeadlineFields, Engine, EngineConfig, Event, EventLogConfig, FairConfig, HeartbeatAnswer, HeartbeatConfig,
    HostLists, Inspection, PolicyConfig, QueueConfig, Read, ReadSubmission, Reply, SchedulerWish, SignedTime, Step,
    SubmissionReply, SwitchReply, WorkerBeatEvent,
};
pub use crate::scheduler::constraint::{
    CostHistory, DeadlineChange, DeadlineSpec, Due, InputVolume, JobClass, KeySpread, NewDeadline, StatedCost,
};
pub use on::{
    ClusterSnapshot, DeadlineQuestion, Explained, JobSnapshot, LongRead, QueueSnapshot, ReadProgress, ReportKind,
    Restored, RestoredJobs, SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS, Slice, TaskCursor, TaskPage, TrackerSnapshot,
    WantedJobs, WorkerPage,
};
pub use state::{
    ApplicationRefusal, AuditEntry, BodyFault, Caller, ClassCosts, ConnectionStatus, Drain, Effect, Fact, FaultConfig, ForeignJob, ForeignState,
    IdOwner, InheritedTrackerConnection, JobCost, Limits, LogLevel, Presence, Refusal, SchedulerChoice,
    TrackerConnection,
};
