//! The engine's state and its entry point, [`Engine::step`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::mapreduce::{CounterInterner, HousekeepingQueue, JobFact, Jobs, Launch, NodeRegistry};
use crate::market::Market;
use crate::model::{AttemptId, FactNumber, JobId, Now, PerKind};
use crate::scheduler::{AppId, Scheduler};
use crate::wire::limits::{TRACKER_ERROR_BYTES, cut, excerpt};

use super::fact_log::FactLog;
use super::foreign_jobtracker::ForeignRecovery;
use super::host_faults::HostFaults;
use super::job_completion::PendingKillJob;
use super::job_cost::JobCosts;
use super::launching::Launching;
use super::live_bytes::LiveBytes;
use super::preemption::LastPreemption;
use super::reserved_ids::ReservedIds;
use super::restore::Restored;
use super::retirement::RetainedJobs;
use super::submission::PendingSubmission;
use super::tracker::Tracker;
use super::{Effect, EngineConfig, Event, Fact, LogLevel, PolicyConfig, Reply, Step};

/// All state that decisions depend on.
#[derive(Debug)]
pub struct Engine {
    pub(super) config: EngineConfig,
    pub(super) start: Now,
    pub(super) log: FactLog,
    pub(super) effects: Vec<Effect>,
    pub(super) job_facts: Vec<JobFact>,
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
    /// An engine that continues from `restored`. The facts of its start await [`Self::take_start_facts`].
    pub fn new(config: EngineConfig, restored: Restored, now: Now) -> Self {
        let (scheduler, market) = match &config.policy {
            PolicyConfig::Fifo(options) => (Scheduler::fifo(*options), None),
            PolicyConfig::Dynamic { market, .. } => (Scheduler::dynamic(), Some(Market::new(*market, now.wall_ms))),
        };
        let mut engine = Self {
            start: now,
            log: FactLog::after(restored.last_fact),
            effects: Vec::new(),
            job_facts: Vec::new(),
            scheduler,
            nodes: if config.policy.is_compatible() {
                NodeRegistry::counting_all_hosts()
            } else {
                NodeRegistry::default()
            },
            jobs: Jobs::default(),
            housekeeping: HousekeepingQueue::default(),
            host_faults: HostFaults::default(),
            interner: restored.interner,
            trackers: BTreeMap::new(),
            busy_slots: PerKind::default(),
            connections: BTreeSet::new(),
            pending_kill_jobs: BTreeMap::new(),
            finished: VecDeque::new(),
            live_jobs: BTreeMap::new(),
            live_job_count: 0,
            running_jobs: BTreeSet::new(),
            live_tasks: 0,
            live_bytes: LiveBytes::default(),
            retained_jobs: RetainedJobs::default(),
            submissions: BTreeMap::new(),
            last_job_number: 0,
            run_fact: FactNumber::default(),
            reserved_ids: ReservedIds::default(),
            last_order: restored.last_order,
            market,
            job_costs: JobCosts::default(),
            last_preemptions: BTreeMap::new(),
            next_tick_mono_ms: u64::MAX,
            next_preemption_mono_ms: u64::MAX,
            victims: Vec::new(),
            next_expiry_mono_ms: now.mono_ms + config.tracker_expiry_ms / 3,
            budgets_changed: false,
            launching: Launching::default(),
            launches: Vec::new(),
            tallies: Tallies::default(),
            foreign_recovery: ForeignRecovery::default(),
            safe_mode: None,
            config,
        };
        let start = Fact::RunStarted { identifier: engine.config.identifier, start_ms: now.wall_ms };
        engine.run_fact = engine.log.push(start);
        engine.open_queues(&restored.market, now);
        engine.restore_jobs(restored.jobs, restored.foreign_state, now);
        engine
    }

    /// Processes one event.
    pub fn step(&mut self, event: Event, now: Now) -> Step {
        let (reply, wait) = self.handle(event, now);
        self.record_job_facts();
        self.schedule_retirement(now);
        let wait_for = match wait {
            Wait::Nothing => FactNumber::default(),
            Wait::All => self.log.last(),
            Wait::For(fact) => fact,
        };
        let effects = std::mem::take(&mut self.effects);
        let is_final = effects.iter().any(Effect::needs_facts);
        let effects_wait_for = if is_final { self.log.last() } else { FactNumber::default() };
        let (first_fact, facts) = self.log.take();
        Step { reply, wait_for, effects, effects_wait_for, facts, first_fact }
    }

    fn handle(&mut self, event: Event, now: Now) -> (Reply, Wait) {
        match event {
            Event::Heartbeat { request, connection } => self.heartbeat(request, connection, now),
            Event::ConnectionClosed { connection } => {
                self.connections.remove(&connection);
                (Reply::Done, Wait::Nothing)
            }
            Event::ConnectionsInherited { connections } => self.on_connections_inherited(connections, now),
            Event::TrackerError { tracker, class, message } => {
                let class = class.unwrap_or_else(|| "no class".to_owned());
                let [class, message] = [&class, &message].map(|text| cut(text, TRACKER_ERROR_BYTES));
                self.log_line(LogLevel::Warning, format!("{} reports {class}: {message}", excerpt(&tracker)));
                (Reply::Done, Wait::Nothing)
            }
            Event::RackResolved { host, rack } => self.on_rack_resolved(&host, &rack),
            Event::NewJobId { owner } => self.new_job_id(owner),
            Event::UnusedIdFound { id, owner } => self.on_unused_id_found(id, owner),
            Event::JobIdsInherited { ids } => self.on_job_ids_inherited(ids),
            Event::SubmissionRequested { id, caller } => self.on_submission_requested(id, &caller),
            Event::SubmissionRead(read) => self.on_submission_read(*read, now),
            Event::SystemDirWritten { id } => self.on_system_dir_written(id),
            Event::SubmissionAbandoned { id } => {
                self.submissions.remove(&id);
                (Reply::Done, Wait::Nothing)
            }
            Event::ForeignJobFound(found) => self.on_foreign_job_found(*found, now),
            Event::ForeignJobNotFound { id } => self.on_foreign_job_not_found(id),
            Event::KillJob { id, caller } => self.kill_job(id, &caller, now),
            Event::KillJobAsFirstCall { id, caller } => self.kill_job_as_first_call(id, &caller, now),
            Event::KillTask { id, fail, caller } => self.kill_task(id, fail, &caller),
            Event::SetJobPriority { id, priority, caller } => self.set_job_priority(id, &priority, &caller),
            Event::SetSafeMode { on, caller } => self.set_safe_mode(on, &caller),
            Event::HostsRead { hosts, caller } => self.on_hosts_read(hosts, &caller, now),
            Event::QueuesRead { queues, caller } => self.on_queues_read(queues, &caller),
            Event::ConfigurationRead { queues, hosts } => self.on_configuration_read(queues, hosts, now),
            Event::Market(request) => self.handle_market_request(*request, now),
            Event::Timer { durable } => {
                self.tick_when_due(now);
                // After the tick: preemption uses the new quotas.
                self.preempt_when_due(now);
                self.expire_trackers_when_due(durable, now);
                self.retire_when_due(durable, now);
                self.check_stragglers_when_due(now);
                (Reply::Done, Wait::Nothing)
            }
        }
    }

    /// When the next [`Event::Timer`] is due, ms of the monotonic clock.
    pub fn next_timer_ms(&self) -> Option<u64> {
        let stragglers = self.housekeeping.straggler_checks.first().map_or(u64::MAX, |(due_mono_ms, _)| *due_mono_ms);
        let market = self.next_tick_mono_ms.min(self.next_preemption_mono_ms);
        let retirement = self.retained_jobs.due_mono_ms().unwrap_or(u64::MAX);
        Some(market.min(self.next_expiry_mono_ms).min(stragglers).min(retirement))
    }

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

    /// Numbers the facts of jobs, and completes jobs that ended.
    pub(super) fn record_job_facts(&mut self) {
        let mut ended = Vec::new();
        for fact in std::mem::take(&mut self.job_facts) {
            let id = fact.job();
            match fact {
                JobFact::Running { .. } => drop(self.running_jobs.insert(id)),
                JobFact::Ended { .. } => ended.push(id),
                _ => {}
            }
            let number = self.log.push(Fact::Job(fact));
            if let Some(job) = self.jobs.get_mut(id) {
                job.last_fact = number;
            }
        }
        for id in ended {
            self.on_job_completed(id);
        }
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
            now: $now,
        }
    };
}
pub(super) use job_context;
