//! The engine's state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::mapreduce::{CounterInterner, HousekeepingQueue, JobFact, Jobs, Launch, NodeRegistry};
use crate::market::Market;
use crate::model::{AttemptId, FactNumber, JobId, Now, PerKind};
use crate::scheduler::{AppId, Scheduler};

use super::fact_log::FactLog;
use super::finished_jobs::{PendingKillJob, RetainedJobs};
use super::foreign_state::ForeignRecovery;
use super::host_faults::HostFaults;
use super::invariants::Invariants;
use super::job_cost::JobCosts;
use super::launching::Launching;
use super::live_bytes::LiveBytes;
use super::pending_submission::PendingSubmission;
use super::reserved_ids::ReservedIds;
use super::tracker::Tracker;
use super::{Effect, EngineConfig, Fact, LogLevel};

/// All state that decisions depend on.
#[derive(Debug)]
pub struct Engine {
    pub(super) config: EngineConfig,
    pub(super) start: Now,
    pub(super) log: FactLog,
    pub(super) effects: Vec<Effect>,
    pub(super) job_facts: Vec<JobFact>,
    pub(super) invariants: Invariants,
    pub(super) scheduler: Scheduler,
    pub(super) nodes: NodeRegistry,
    pub(super) jobs: Jobs,
    pub(super) housekeeping: HousekeepingQueue,
    pub(super) host_faults: HostFaults,
    pub(super) interner: CounterInterner,
    pub(super) trackers: BTreeMap<Arc<str>, Tracker>,
    /// Sum of the slots in use by the last reports of all trackers.
    pub(super) busy_slots: PerKind<u64>,
    /// Open connections on which heartbeats came.
    pub(super) connections: BTreeSet<u64>,
    /// Trackers that have not acknowledged KILL_JOB of a completed job.
    pub(super) pending_kill_jobs: BTreeMap<JobId, PendingKillJob>,
    /// Finished jobs, oldest first.
    pub(super) finished: VecDeque<JobId>,
    /// Unfinished jobs by queue; no entry for queues without any.
    pub(super) live_jobs: BTreeMap<String, BTreeSet<JobId>>,
    /// Number of unfinished jobs.
    pub(super) live_job_count: u64,
    /// Unfinished jobs that have left PREP.
    pub(super) running_jobs: BTreeSet<JobId>,
    /// Tasks of unfinished jobs, by [`Limits::weight`](super::limits::Limits::weight).
    pub(super) live_tasks: u64,
    /// Memory of unfinished jobs beside their tasks.
    pub(super) live_bytes: LiveBytes,
    /// Finished jobs whose tasks are in memory.
    pub(super) retained_jobs: RetainedJobs,
    pub(super) submissions: BTreeMap<JobId, PendingSubmission>,
    pub(super) last_job_number: i32,
    /// The number of this run's [`Fact::RunStarted`].
    pub(super) run_fact: FactNumber,
    pub(super) reserved_ids: ReservedIds,
    pub(super) last_order: u64,
    pub(super) market: Option<Market>,
    /// Costs of jobs; empty without a market.
    pub(super) job_costs: JobCosts,
    pub(super) next_tick_mono_ms: u64,
    pub(super) next_preemption_mono_ms: u64,
    /// Attempts chosen for preemption; some may have received their kill since, or have ended.
    pub(super) victims: Vec<AttemptId>,
    /// The last round that preempted attempts, for each job in memory.
    pub(super) last_preemptions: BTreeMap<JobId, LastPreemption>,
    pub(super) next_expiry_mono_ms: u64,
    /// Accounts have changed since the last [`Effect::WriteBudgetImage`].
    pub(super) budgets_changed: bool,
    pub(super) launching: Launching,
    /// Launches of the current heartbeat.
    pub(super) launches: Vec<(AppId, Launch)>,
    pub(super) tallies: Tallies,
    /// Recovery from another JobTracker's use of the system directory.
    pub(super) foreign_recovery: ForeignRecovery,
    /// The administrator who turned safe mode on; none while it is off.
    pub(super) safe_mode: Option<Arc<str>>,
}

/// The last round that preempted attempts of a job.
#[derive(Clone, Debug)]
pub(super) struct LastPreemption {
    /// When, epoch ms.
    pub(super) at_ms: i64,
    /// Victims of the job.
    pub(super) attempts: u32,
    /// Victims of the job in all rounds so far.
    pub(super) so_far: u64,
    /// Queues that were below their quota, with the number of missing slots.
    pub(super) short: Arc<BTreeMap<String, u32>>,
}

/// Counters for display only.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tallies {
    pub(super) accepted: u64,
    /// Succeeded, failed, killed.
    pub(super) ended: [u64; 3],
    pub(super) launched: u64,
    pub(super) preempted: u64,
    pub(super) heartbeats: u64,
}

// === impl Engine ===

impl Engine {
    /// Removes and returns the facts of a new engine: its start and seeded budgets.
    pub fn take_start_facts(&mut self) -> (FactNumber, Vec<Fact>) {
        self.log.take()
    }

    /// The names of registered and expected trackers.
    pub fn tracker_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.trackers.keys()
    }

    /// The number of the last fact.
    pub fn last_fact(&self) -> FactNumber {
        self.log.last()
    }

    /// The accounts, for the budget file; none without a market.
    pub fn market(&self) -> Option<&Market> {
        self.market.as_ref()
    }

    pub(super) fn log_line(&mut self, level: LogLevel, text: String) {
        self.effects.push(Effect::Log { level, text });
    }
}

/// The fact that a reply waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    Nothing,
    /// All facts so far.
    All,
    /// This fact.
    For(FactNumber),
}

/// The context of a job from the fields of an engine: a macro, so that `jobs` stays free to borrow.
macro_rules! job_context {
    ($engine:expr, $now:expr) => {
        $crate::mapreduce::JobContext {
            scheduler: &mut $engine.scheduler,
            interner: &mut $engine.interner,
            nodes: &$engine.nodes,
            housekeeping: &mut $engine.housekeeping,
            facts: &mut $engine.job_facts,
            counter_limits: $engine.config.limits.counters,
            violations: &mut $engine.invariants.violations,
            now: $now,
        }
    };
}
pub(super) use job_context;
