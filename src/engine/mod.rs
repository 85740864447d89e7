//! Owns all state: events in; replies, effects and facts out. Pure: no clock, no socket, no file, no randomness.
//!
//! Three rooms: `on` handles events, `core` has settings, inputs and outputs, `state` has the parts. Each names only those after it;
//! all of them see the fields of the engine below, and no other room does.

mod core;
mod on;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::market::Market;
use crate::model::{FactNumber, Now};

use state::{
    Applications, AttemptTallies, Cluster, DelegationTokens, ForeignRecovery, HostFaults, JobTable, Launching,
    MarketState, Outbox, Pauses, Rounds, Submissions, Tracker, TrackerRecovery, Trackers,
};

pub use self::core::{
    ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRequest, BeatReply, EngineConfig, Event,
    HeartbeatAnswer, PolicyConfig, ReadSubmission, Reply, Step, SubmissionReply, WorkerBeatEvent,
};
pub(crate) use self::core::{
    ApplicationFilter, ApplicationWait, BeatRefusal, ContainerSignal, DelegationCall, DelegationRequest, FairConfig,
    HeartbeatConfig, HostLists, Inspection, Read, SchedulerWish, SignedTime, StoreView, SwitchReply, deadline_change,
};
pub use crate::model::QueueConfig;
pub(crate) use crate::scheduler::RequestType;
pub(crate) use crate::scheduler::constraint::{
    DeadlineChange, DeadlineSpec, Due, InputVolume, JobClass, KeySpread, StatedCost,
};
pub(crate) use on::{
    ChangedList, JOBS_SHOWN, ReportedAttempt, RestoredApplications, Slice, TaskCursor, TaskPage, VolatileDelta,
    VolatileWalk, WantedJobs, Watched, WatchedState,
};
pub use on::{
    ClusterSnapshot, ContainersSnapshot, DeadlineQuestion, Explained, JobSnapshot, LiveJob, LongRead, MoneySnapshot,
    QueueSnapshot, ReadProgress, Restored, RestoredJobs, Stuck, TaskReportKind, TrackerSnapshot,
};
#[cfg(test)]
pub(crate) use on::{SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS};
#[cfg(test)]
pub(crate) use state::{Application, ContainerNode, GrantedContext, ReportTerms, ReportedCounts, WindowCounts};
pub use state::{ApplicationChange, ApplicationTallies, Caller, Container, Effect, Fact, IdOwner, JobCost, Refusal};
pub(crate) use state::{
    ApplicationRefusal, AttemptCounts, AuditEntry, BodyFault, Change, ClassCosts, ConnectionStatus, ContainerCost,
    ContainerFilter, ContainerTotals, DELEGATION_KEY_BYTES, Decided, Decision, DelegationChange, DelegationKey,
    DelegationToken, Drain, EndClass, FaultConfig, ForeignJob, ForeignState, InheritedTrackerConnection, ItemStanding,
    ItemTrouble, Items, Launched, Limits, LogLevel, LoweredRows, Pause, PauseTarget, Preempted, Presence, RequestRow,
    RestoredApplication, RestoredDelegation, RowPage, SchedulerChoice, Standing, SubmittedApplication,
    TrackerConnection, TypeLaunch, UNKNOWN_USER, UNUSED_ID_MS, Victim, allows, is_master, names_groups, report_stored,
    shown_id,
};

/// All state that decisions depend on. What happens at an event is in `on`.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    run: RunStart,
    outbox: Outbox,
    cluster: Cluster,
    jobs: JobTable,
    trackers: Trackers,
    host_faults: HostFaults,
    launching: Launching,
    submissions: Submissions,
    applications: Applications,
    market: Option<MarketState>,
    /// Recurring work of the ruling policy.
    rounds: Rounds,
    /// Recovery from another JobTracker's use of the system directory.
    foreign_recovery: ForeignRecovery,
    administration: Administration,
    delegation: DelegationTokens,
    tallies: Tallies,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStart {
    start: Now,
    /// The number of this run's [`Fact::RunStarted`].
    fact: FactNumber,
}

/// Counters for display only.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    accepted: u64,
    /// Succeeded, failed, killed.
    ended: [u64; 3],
    launched: u64,
    preempted: u64,
    heartbeats: u64,
    /// What became of attempts and jobs.
    attempts: AttemptTallies,
}

/// What administrators have ordered, or the configuration for them.
#[derive(Debug)]
pub(crate) struct Administration {
    /// The administrator who turned safe mode on; none while it is off.
    safe_mode: Option<Arc<str>>,
    /// The watch over the file system of the system directory has found that it cannot be used.
    is_file_system_away: bool,
    /// Which scheduler rules.
    choice: SchedulerChoice,
    /// A switch that waits for the next tick of the market.
    wish: Option<Box<SchedulerWish>>,
    pauses: Pauses,
}

/// Added to twice the longest heartbeat interval, ms: within that time a registered tracker with an open connection
/// counts as alive, and a registration under its name comes from another tracker.
const ALIVE_GRACE_MS: u64 = 10_000;
/// Heartbeats that a silent tracker has missed.
const MISSED_HEARTBEATS: u64 = 3;
/// Shortest time without a heartbeat that is called silence, ms.
const SHORTEST_SILENCE_MS: u64 = 5_000;

impl Engine {
    /// Removes and returns the facts of a new engine: its start and seeded budgets.
    pub fn take_start_facts(&mut self) -> (FactNumber, Vec<Fact>) {
        self.outbox.take_facts()
    }

    pub fn tracker_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.trackers.names()
    }

    pub fn last_fact(&self) -> FactNumber {
        self.outbox.last_fact()
    }

    /// The accounts, whether the market rules or not; none without a market.
    pub fn market(&self) -> Option<&Market> {
        self.market.as_ref().map(|market| &market.accounts)
    }

    /// The accounts of a market that rules: these are the queues, their jobs need signatures, slots have a price.
    fn ruling_market(&self) -> Option<&Market> {
        self.market().filter(|market| market.is_ruling())
    }

    /// Whether changes of jobs must be signed, whichever policy rules (`jobtracker.job-changes`).
    pub(crate) fn needs_signatures(&self) -> bool {
        self.config.needs_signatures
    }

    /// While safe mode is on, the engine accepts no job, kills nothing and assigns no task.
    pub(crate) fn is_in_safe_mode(&self) -> bool {
        self.administration.safe_mode.is_some() || self.administration.is_file_system_away
    }

    /// Refuses while safe mode is on, with the text of 1.2.1.
    pub(crate) fn check_safe_mode(&self) -> Result<(), Refusal> {
        match &self.administration.safe_mode {
            Some(user) => Err(Refusal::SafeMode(format!("JobTracker is in safe-mode set by admin {user}"))),
            None if self.administration.is_file_system_away => Err(Refusal::SafeMode(
                "JobTracker is in safe mode: the file system of mapred.system.dir cannot be used".to_owned(),
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn longest_interval_ms(&self) -> u64 {
        u64::try_from(self.config.heartbeat.interval_ms(self.trackers.len(), true)).unwrap_or(0)
    }

    /// The longest silence of a healthy tracker, ms.
    fn longest_silence_ms(&self) -> u64 {
        2 * self.longest_interval_ms() + ALIVE_GRACE_MS
    }

    /// Whether three heartbeats of a tracker are missing, and none has come for five seconds: a loaded machine is that late.
    fn is_silent(&self, tracker: &Tracker, now: Now) -> bool {
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        silent_ms > (MISSED_HEARTBEATS * self.longest_interval_ms()).max(SHORTEST_SILENCE_MS)
    }

    /// Whether jobs can use slots that a tracker releases: not if it is silent, unhealthy, not yet recovered after a
    /// restart, drained or accepts no tasks.
    fn can_take_work(&self, tracker: &Tracker, now: Now) -> bool {
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        let has_recovered = matches!(tracker.recovery, TrackerRecovery::Complete);
        let is_willing = tracker.healthy && !tracker.is_drained && !tracker.refuses_work;
        has_recovered && is_willing && silent_ms <= self.longest_silence_ms()
    }
}

impl Administration {
    /// Under the scheduler of this choice, without safe mode.
    fn under(choice: SchedulerChoice, pauses: Pauses) -> Self {
        Self { safe_mode: None, is_file_system_away: false, choice, wish: None, pauses }
    }
}
