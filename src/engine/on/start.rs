//! The start: an engine that continues where the store says the last run stopped.

use crate::engine::core::{Administration, Engine, EngineConfig, RunStart, Tallies};
use crate::engine::state::{
    Applications, Cluster, CostHistories, DelegationTokens, Drains, Fact, ForeignRecovery, HostFaults, JobTable,
    Launching, MarketState, Outbox, Pauses, Presences, Round, Rounds, Submissions, Trackers,
};
use crate::mapreduce::{CounterInterner, HousekeepingQueue, NodeRegistry};
use crate::market::Market;
use crate::model::Now;
use crate::scheduler::Scheduler;

use super::restore::{Restored, RestoredApplications};

impl Engine {
    /// An engine that continues from `restored`. The facts of its start await [`Self::take_start_facts`].
    pub fn new(config: EngineConfig, restored: Restored, now: Now) -> Self {
        let market = config.market.map(|market| MarketState::new(Market::new(market, now.wall_ms)));
        let cluster = empty_cluster(&config, restored.interner);
        let start_ms = unused_start_ms(&restored.applications, now);
        let applications = Applications::new(config.containers.clone(), start_ms, restored.last_fact);
        let mut outbox = Outbox::after(restored.last_fact);
        let run_fact = outbox.record(Fact::RunStarted { identifier: config.identifier, start_ms: now.wall_ms });
        // What was chosen before no longer counts, even when the configuration names its class again.
        if restored.choice.is_some_and(|choice| choice != config.choice) {
            outbox.record(Fact::SchedulerChosen { choice: config.choice.clone(), moved: Vec::new() });
        }
        let mut engine = Self {
            run: RunStart { start: now, fact: run_fact },
            outbox,
            cluster,
            jobs: JobTable::with_histories(CostHistories::restored(restored.costs)),
            trackers: Trackers::new(
                now.mono_ms + config.tracker_expiry_ms / 3,
                Presences::restored(restored.presences),
                Drains::restored(restored.drains),
            ),
            host_faults: HostFaults::default(),
            launching: Launching::default(),
            submissions: Submissions::after(restored.last_order),
            applications,
            market,
            rounds: Rounds {
                // At the latest: see `close_resumed_interval`.
                update: Round::every(config.policy.update_interval_ms(), now),
                preemption: config.policy.preemption_round(now),
                ..Rounds::default()
            },
            foreign_recovery: ForeignRecovery::default(),
            administration: Administration::under(config.choice.clone(), Pauses::restored(restored.pauses)),
            delegation: DelegationTokens::restored(config.delegation, restored.delegation, now),
            tallies: Tallies::default(),
            config,
        };
        engine.restore_market(&restored.market, now);
        if restored.is_copy {
            engine.forget_lost_signatures(now);
        }
        engine.open_queues();
        engine.restore_applications(restored.applications, now);
        engine.restore_jobs(restored.jobs, restored.foreign_state, now);
        engine.restore_end_notifications(restored.end_notifications);
        engine.restore_meter(now);
        engine.follow_event_log(now);
        engine
    }
}

fn empty_cluster(config: &EngineConfig, interner: CounterInterner) -> Cluster {
    let mut scheduler = Scheduler::new(config.policy.options());
    scheduler.topology_mut().set_levels(config.cache_levels);
    if config.market.is_some() {
        scheduler.log_usage();
    }
    let nodes = match scheduler.launch_rules().counts_all_hosts {
        true => NodeRegistry::counting_all_hosts(),
        false => NodeRegistry::default(),
    };
    let counter_limits = config.limits.counters;
    Cluster { nodes, scheduler, housekeeping: HousekeepingQueue::default(), interner, counter_limits }
}

/// The start of this run in the ids of its applications: the time, unless the clock was set back behind that of an
/// earlier run.
fn unused_start_ms(restored: &RestoredApplications, now: Now) -> u64 {
    u64::try_from(now.wall_ms).unwrap_or(0).max(restored.last_start_ms.saturating_add(1))
}
