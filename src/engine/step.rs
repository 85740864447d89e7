//! The engine's entry points: construction and [`Engine::step`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::mapreduce::{HousekeepingQueue, Jobs, NodeRegistry};
use crate::market::Market;
use crate::model::{FactNumber, Now, PerKind};
use crate::scheduler::Scheduler;
use crate::wire::limits::{TRACKER_ERROR_BYTES, cut, excerpt};

use super::engine::{Engine, Tallies, Wait};
use super::fact_log::FactLog;
use super::finished_jobs::RetainedJobs;
use super::foreign_state::ForeignRecovery;
use super::host_faults::HostFaults;
use super::invariants::Invariants;
use super::job_cost::JobCosts;
use super::launching::Launching;
use super::live_bytes::LiveBytes;
use super::reserved_ids::ReservedIds;
use super::restore::Restored;
use super::{Effect, EngineConfig, Event, Fact, LogLevel, PolicyConfig, Reply, Step};

// === impl Engine: steps ===

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
            invariants: Invariants::default(),
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
        self.check_invariants();
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
}
