//! The engine: all state that decisions depend on, in parts that can be borrowed apart.

use std::sync::Arc;

use crate::engine::state::{
    Applications, AttemptTallies, Cluster, DelegationTokens, Fact, ForeignRecovery, HostFaults, JobTable, Launching,
    MarketState, Outbox, Refusal, Rounds, Submissions, Tracker, TrackerRecovery, Trackers,
};
use crate::market::Market;
use crate::model::{FactNumber, Now};

use super::administration::Administration;
use super::config::EngineConfig;

/// All state that decisions depend on. What happens at an event is in `on`.
#[derive(Debug)]
pub struct Engine {
    pub(in crate::engine) config: EngineConfig,
    pub(in crate::engine) run: RunStart,
    pub(in crate::engine) outbox: Outbox,
    pub(in crate::engine) cluster: Cluster,
    pub(in crate::engine) jobs: JobTable,
    pub(in crate::engine) trackers: Trackers,
    pub(in crate::engine) host_faults: HostFaults,
    pub(in crate::engine) launching: Launching,
    pub(in crate::engine) submissions: Submissions,
    pub(in crate::engine) applications: Applications,
    pub(in crate::engine) market: Option<MarketState>,
    /// Recurring work of the ruling policy.
    pub(in crate::engine) rounds: Rounds,
    /// Recovery from another JobTracker's use of the system directory.
    pub(in crate::engine) foreign_recovery: ForeignRecovery,
    pub(in crate::engine) administration: Administration,
    pub(in crate::engine) delegation: DelegationTokens,
    pub(in crate::engine) tallies: Tallies,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStart {
    pub(in crate::engine) start: Now,
    /// The number of this run's [`Fact::RunStarted`].
    pub(in crate::engine) fact: FactNumber,
}

/// Counters for display only.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(in crate::engine) accepted: u64,
    /// Succeeded, failed, killed.
    pub(in crate::engine) ended: [u64; 3],
    pub(in crate::engine) launched: u64,
    pub(in crate::engine) preempted: u64,
    pub(in crate::engine) heartbeats: u64,
    /// What became of attempts and jobs.
    pub(in crate::engine) attempts: AttemptTallies,
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
    pub(in crate::engine) fn ruling_market(&self) -> Option<&Market> {
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
    pub(in crate::engine) fn longest_silence_ms(&self) -> u64 {
        2 * self.longest_interval_ms() + ALIVE_GRACE_MS
    }

    /// Whether three heartbeats of a tracker are missing, and none has come for five seconds: a loaded machine is that late.
    pub(in crate::engine) fn is_silent(&self, tracker: &Tracker, now: Now) -> bool {
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        silent_ms > (MISSED_HEARTBEATS * self.longest_interval_ms()).max(SHORTEST_SILENCE_MS)
    }

    /// Whether jobs can use slots that a tracker releases: not if it is silent, unhealthy, not yet recovered after a
    /// restart, drained or accepts no tasks.
    pub(in crate::engine) fn can_take_work(&self, tracker: &Tracker, now: Now) -> bool {
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        let has_recovered = matches!(tracker.recovery, TrackerRecovery::Complete);
        let is_willing = tracker.healthy && !tracker.is_drained && !tracker.refuses_work;
        has_recovered && is_willing && silent_ms <= self.longest_silence_ms()
    }
}
