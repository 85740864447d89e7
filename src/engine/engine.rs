//! The owner's state and its one entrance, [`Engine::step`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::mapreduce::{CounterInterner, HousekeepingQueue, JobFact, Jobs, Launch, NodeRegistry};
use crate::market::Market;
use crate::model::{AttemptId, FactNumber, JobId, Now, PerKind};
use crate::scheduler::{AppId, Scheduler};
use crate::wire::limits::{TRACKER_ERROR_BYTES, cut, excerpt};

use super::fact_log::FactLog;
use super::host_faults::HostFaults;
use super::job_cost::JobCosts;
use super::launching::Launching;
use super::live_bytes::LiveBytes;
use super::open_ids::OpenIds;
use super::over::KillDebt;
use super::preemption::LastPreemption;
use super::restore::Restored;
use super::retirement::WholeJobs;
use super::submission::PendingSubmission;
use super::succession::Succession;
use super::tracker::Tracker;
use super::{Effect, EngineConfig, Event, Fact, LogLevel, PolicyConfig, Reply, Step};

/// All state of the daemon that decisions depend on.
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
    /// Slots that they last said were in use, summed up.
    pub(super) busy_slots: PerKind<u64>,
    /// Connections that heartbeats came on and that are still open.
    pub(super) connections: BTreeSet<u64>,
    /// Trackers that still have to receive a finished job's KILL_JOB.
    pub(super) kill_debts: BTreeMap<JobId, KillDebt>,
    /// Finished jobs, oldest first.
    pub(super) finished: VecDeque<JobId>,
    /// Unfinished jobs of each queue that has any.
    pub(super) live_jobs: BTreeMap<String, BTreeSet<JobId>>,
    /// How many there are of all queues.
    pub(super) live_job_count: u64,
    /// Those of them that have left PREP.
    pub(super) running_jobs: BTreeSet<JobId>,
    /// Their tasks, by [`Limits::weight`](super::limits::Limits::weight).
    pub(super) live_tasks: u64,
    /// Their memory, but for that of their tasks.
    pub(super) live_bytes: LiveBytes,
    /// Finished jobs whose tasks are in memory.
    pub(super) whole_jobs: WholeJobs,
    pub(super) submissions: BTreeMap<JobId, PendingSubmission>,
    pub(super) last_job_number: i32,
    /// The fact that tells of this start and its identifier.
    pub(super) incarnation: FactNumber,
    pub(super) open_ids: OpenIds,
    pub(super) last_order: u64,
    pub(super) market: Option<Market>,
    /// What jobs have cost; of none without a market.
    pub(super) job_costs: JobCosts,
    pub(super) next_tick_mono_ms: u64,
    pub(super) next_preemption_mono_ms: u64,
    /// Attempts that are to be preempted; some may have been told by now, or be done.
    pub(super) victims: Vec<AttemptId>,
    /// The last round of preemption that took something from each job in memory.
    pub(super) last_preemptions: BTreeMap<JobId, LastPreemption>,
    pub(super) next_expiry_mono_ms: u64,
    /// Accounts have changed since the budget file was last asked for.
    pub(super) budgets_changed: bool,
    pub(super) launching: Launching,
    /// What the heartbeat at hand has launched.
    pub(super) launches: Vec<(AppId, Launch)>,
    pub(super) tallies: Tallies,
    /// What is left to do after another JobTracker.
    pub(super) succession: Succession,
    /// The administrator who turned safe mode on, while it is.
    pub(super) safe_mode: Option<Arc<str>>,
}

/// What is counted for people only.
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
    /// An engine that goes on where `restored` ends. The facts of its start are in the first step's numbers.
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
            kill_debts: BTreeMap::new(),
            finished: VecDeque::new(),
            live_jobs: BTreeMap::new(),
            live_job_count: 0,
            running_jobs: BTreeSet::new(),
            live_tasks: 0,
            live_bytes: LiveBytes::default(),
            whole_jobs: WholeJobs::default(),
            submissions: BTreeMap::new(),
            last_job_number: 0,
            incarnation: FactNumber::default(),
            open_ids: OpenIds::default(),
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
            succession: Succession::default(),
            safe_mode: None,
            config,
        };
        let incarnation = Fact::Incarnation { identifier: engine.config.identifier, start_ms: now.wall_ms };
        engine.incarnation = engine.log.push(incarnation);
        engine.open_queues(&restored.market, now);
        engine.restore_jobs(restored.jobs, restored.predecessors, now);
        engine
    }

    /// Does everything that one event entails.
    pub fn step(&mut self, event: Event, now: Now) -> Step {
        let (reply, wait) = self.handle(event, now);
        self.record_job_facts();
        self.note_too_many_whole(now);
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
            Event::SpeakersCarried { speakers } => self.speakers_carried(speakers, now),
            Event::TrackerError { tracker, class, message } => {
                let class = class.unwrap_or_else(|| "no class".to_owned());
                let [class, message] = [&class, &message].map(|text| cut(text, TRACKER_ERROR_BYTES));
                self.log_line(LogLevel::Warning, format!("{} reports {class}: {message}", excerpt(&tracker)));
                (Reply::Done, Wait::Nothing)
            }
            Event::RackResolved { host, rack } => self.rack_resolved(&host, &rack),
            Event::NewJobId { owner } => self.new_job_id(owner),
            Event::UnusedIdFound { id, owner } => self.unused_id_found(id, owner),
            Event::IdsCarried { ids } => self.ids_carried(ids),
            Event::SubmitAsked { id, caller } => self.submit_asked(id, &caller),
            Event::SubmissionRead(read) => self.submission_read(*read, now),
            Event::SystemDirWritten { id } => self.system_dir_written(id),
            Event::SubmissionAbandoned { id } => {
                self.submissions.remove(&id);
                (Reply::Done, Wait::Nothing)
            }
            Event::JobFound(found) => self.job_found(*found, now),
            Event::JobNotFound { id } => self.job_not_found(id),
            Event::KillJob { id, caller } => self.kill_job(id, &caller, now),
            Event::KillJobFirst { id, caller } => self.kill_job_first(id, &caller, now),
            Event::KillTask { id, fail, caller } => self.kill_task(id, fail, &caller),
            Event::SetJobPriority { id, priority, caller } => self.set_job_priority(id, &priority, &caller),
            Event::SetSafeMode { on, caller } => self.set_safe_mode(on, &caller),
            Event::HostsRead { hosts, caller } => self.hosts_read(hosts, &caller, now),
            Event::QueuesRead { queues, caller } => self.queues_read(queues, &caller),
            Event::ConfigurationRead { queues, hosts } => self.configuration_read(queues, hosts, now),
            Event::Market(request) => self.market_request(*request, now),
            Event::Timer { durable } => {
                self.tick_when_due(now);
                // By the quotas that hold from now on.
                self.preempt_when_due(now);
                self.expire_trackers_when_due(durable, now);
                self.retire_when_due(durable, now);
                self.look_for_stragglers_when_due(now);
                (Reply::Done, Wait::Nothing)
            }
        }
    }

    /// When [`Event::Timer`] is wanted next, by the clock that never goes back.
    pub fn next_timer_ms(&self) -> Option<u64> {
        let stragglers = self.housekeeping.straggler_checks.first().map_or(u64::MAX, |(due_mono_ms, _)| *due_mono_ms);
        let market = self.next_tick_mono_ms.min(self.next_preemption_mono_ms);
        let retirement = self.whole_jobs.due_mono_ms().unwrap_or(u64::MAX);
        Some(market.min(self.next_expiry_mono_ms).min(stragglers).min(retirement))
    }

    /// The facts of the step at hand, which an engine that was just made holds: its start and first endowment.
    pub fn take_start_facts(&mut self) -> (FactNumber, Vec<Fact>) {
        self.log.take()
    }

    /// The names of the trackers that serve, or are awaited.
    pub fn tracker_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.trackers.keys()
    }

    /// The last fact that anything depends on.
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

    /// Numbers what happened to jobs, and does what follows when one is over.
    pub(super) fn record_job_facts(&mut self) {
        let mut over = Vec::new();
        for fact in std::mem::take(&mut self.job_facts) {
            let id = fact.job();
            match fact {
                JobFact::Running { .. } => drop(self.running_jobs.insert(id)),
                JobFact::Ended { .. } => over.push(id),
                _ => {}
            }
            let number = self.log.push(Fact::Job(fact));
            if let Some(job) = self.jobs.get_mut(id) {
                job.last_fact = number;
            }
        }
        for id in over {
            self.job_is_over(id);
        }
    }
}

/// What a reply must wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    Nothing,
    /// All facts so far.
    All,
    /// This fact.
    For(FactNumber),
}

/// The surroundings of a job, from the fields of an engine: a macro, since the borrow must leave `jobs` free.
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
