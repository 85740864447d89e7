//! Builds the snapshot for pages and metrics.

use crate::api::{PolicyName, SchedulerReport};
use crate::engine::core::{Engine, Read};
use crate::engine::state::Tracker;
use crate::mapreduce::Job;
use crate::model::{Credits, Kind, Now, PerKind, QueueConfig, QueueName, RunState};
use crate::wire::worker_name;

use super::report_scheduler::JOBS_REPORTED;
use super::snapshot::{
    ClusterSnapshot, ContainersSnapshot, JOBS_SHOWN, JobSnapshot, LiveJob, MoneySnapshot, QueueSnapshot,
    TrackerSnapshot,
};

/// What a policy says of a job of which it says nothing.
const NO_INFO: &str = "NA";

impl Engine {
    /// A snapshot of the cluster as a whole; what serves is made in slices, by [`Self::walk_volatile`] and from facts.
    pub fn build_snapshot(&self, now: Now) -> Read<ClusterSnapshot> {
        let head = self.snapshot_head(now);
        let trackers: Vec<_> = self.trackers.iter().map(|tracker| self.tracker_snapshot(tracker, now)).collect();
        let found = self.look_at_jobs(0, JOBS_REPORTED, true, now);
        let older = self.jobs.iter().rev().skip(JOBS_SHOWN).filter(|job| job.reported_state() == RunState::Running);
        let value = ClusterSnapshot {
            money: head.money.map(|money| MoneySnapshot { balances: self.balances(0, usize::MAX), ..money }),
            deadlines: self.deadlines_from(0, usize::MAX, [0; 3]).0,
            report: SchedulerReport {
                groups: self.report_groups(0, usize::MAX, now),
                jobs_left_out: head.report.jobs_left_out.saturating_sub(found.reported.len() as u64),
                jobs: found.reported,
                ..head.report
            },
            queues: self.queue_snapshots(0, usize::MAX),
            jobs: self.jobs.iter().rev().take(JOBS_SHOWN).map(|job| self.job_snapshot(job)).collect(),
            older_jobs: older.map(|job| self.job_snapshot(job)).collect(),
            attempts: ClusterSnapshot::attempts_on(&trackers),
            trackers,
            stuck: found.stuck.into_iter().chain(self.stuck_applications(0, usize::MAX).0).collect(),
            ..head
        };
        debug_assert_eq!(
            value.running_jobs,
            self.jobs_in(RunState::Running),
            "the kept count differs from the recount"
        );
        debug_assert_eq!(value.preparing_jobs, self.jobs_in(RunState::Prep), "the kept count differs from the recount");
        Read { value, wait_for: self.outbox.last_fact() }
    }

    /// All of a snapshot that is no list.
    pub(super) fn snapshot_head(&self, now: Now) -> ClusterSnapshot {
        let totals = self.cluster.scheduler.totals();
        let sum =
            |left: PerKind<u64>, right: PerKind<u64>| PerKind::new(left.map + right.map, left.reduce + right.reduce);
        let running_jobs = self.jobs.live.running();
        ClusterSnapshot {
            scheduler: match self.config.policy.name() {
                PolicyName::Fifo => "FIFO".to_owned(),
                PolicyName::Capacity => "Capacity".to_owned(),
                PolicyName::Fair => "Fair".to_owned(),
                PolicyName::Constraint => "Constraint".to_owned(),
                PolicyName::Dynamic => "Dynamic Priority".to_owned(),
            },
            start_ms: self.run.start.wall_ms,
            at_ms: now.wall_ms,
            identifier: self.config.identifier.to_string(),
            is_in_safe_mode: self.is_in_safe_mode(),
            attempts: PerKind::default(),
            attempt_counts: self.tallies.attempts.all().clone(),
            excluded_hosts: self.config.hosts.excluded.iter().cloned().collect(),
            slots: totals.slots.narrow(),
            running: sum(totals.held.slots(), totals.occupied).narrow(),
            waiting: totals.waiting.slots(),
            preparing_jobs: self.jobs.live.count().saturating_sub(running_jobs),
            running_jobs,
            known_jobs: self.jobs.all().len() as u64,
            jobs_accepted: self.tallies.accepted,
            jobs_ended: self.tallies.ended,
            attempts_launched: self.tallies.launched,
            attempts_preempted: self.tallies.preempted,
            heartbeats: self.tallies.heartbeats,
            containers: self.applications.settings.is_enabled.then(|| self.containers_snapshot()),
            price: self.ruling_market().map(|market| market.price().to_string()),
            orders: self.ruling_market().is_some().then(|| self.orders_by_state()),
            deadlines: None,
            money: self.market().map(|market| MoneySnapshot {
                balances: Vec::new(),
                issued: market.ledger().issued,
                charged: market.ledger().charged,
            }),
            report: self.report_head(now),
            queues: Vec::new(),
            jobs: Vec::new(),
            older_jobs: Vec::new(),
            trackers: Vec::new(),
            stuck: Vec::new(),
        }
    }

    /// So many queues from one on, in their order.
    pub(super) fn queue_snapshots(&self, from: usize, count: usize) -> Vec<QueueSnapshot> {
        let wide = |narrow: PerKind<u32>| PerKind::new(u64::from(narrow.map), u64::from(narrow.reduce));
        let queue = |name: &str, share: Option<String>, is_stopped: bool| {
            let group = self.cluster.scheduler.group(name);
            QueueSnapshot {
                name: name.to_owned(),
                running: group.map(|group| self.cluster.scheduler.usage(group)).unwrap_or_default(),
                waiting: wide(group.map(|group| self.cluster.scheduler.waiting(group)).unwrap_or_default()),
                containers: self.applications.containers_of_queue(name),
                paused: self.why_queue_is_paused(name),
                share,
                attempt_counts: self.tallies.attempts.of_queue(name),
                is_stopped,
                scheduling_info: group.and_then(|group| self.cluster.scheduler.group_report(group)),
            }
        };
        let configured = self.config.queues.iter().skip(from).take(count);
        match self.ruling_market() {
            None if self.config.policy.has_pools() => self.queues_beside_pools(configured),
            None => configured.map(|config| queue(&config.name, None, !config.running)).collect(),
            Some(market) => {
                let share = |name| market.account(name).map(|account| account.published().share.to_string());
                let named = market.queues().skip(from).take(count);
                named.map(|name| queue(name.as_str(), share(name.as_str()), false)).collect()
            }
        }
    }

    /// So many queues of the market with their balances, from one on; none without a market.
    pub(super) fn balances(&self, from: usize, count: usize) -> Vec<(String, Credits)> {
        let Some(market) = self.market() else { return Vec::new() };
        let balance = |queue: &QueueName| Some((queue.to_string(), market.account(queue.as_str())?.balance()));
        market.queues().skip(from).take(count).filter_map(balance).collect()
    }

    fn containers_snapshot(&self) -> ContainersSnapshot {
        let totals = self.cluster.scheduler.totals();
        let (declared_memory_mb, declared_vcores, workers) = self.applications.declared();
        let (container_use, attempt_use) = self.applications.use_of_all();
        ContainersSnapshot {
            container_use,
            attempt_use,
            tallies: self.applications.tallies,
            workers,
            declared_memory_mb,
            declared_vcores,
            held_slots: totals.held.container,
            waiting: totals.waiting.container,
        }
    }

    /// The queues under a policy whose groups are pools: sums over their jobs.
    fn queues_beside_pools<'a>(&self, queues: impl Iterator<Item = &'a QueueConfig>) -> Vec<QueueSnapshot> {
        let scheduler = &self.cluster.scheduler;
        let by_queue = self.jobs.live.by_queue();
        let queue = |config: &QueueConfig| {
            let mut queue = QueueSnapshot {
                name: config.name.clone(),
                running: PerKind::default(),
                waiting: PerKind::default(),
                containers: self.applications.containers_of_queue(&config.name),
                paused: self.why_queue_is_paused(&config.name),
                share: None,
                attempt_counts: self.tallies.attempts.of_queue(&config.name),
                is_stopped: !config.running,
                scheduling_info: None,
            };
            for job in by_queue.get(&config.name).into_iter().flatten().filter_map(|id| self.jobs.get(*id)) {
                let (held, waiting) = (scheduler.app_usage(job.app), scheduler.app_waiting(job.app));
                for kind in Kind::ALL {
                    queue.running[kind] = queue.running[kind].saturating_add(held[kind]);
                    queue.waiting[kind] += u64::from(waiting[kind]);
                }
            }
            queue
        };
        queues.map(queue).collect()
    }

    fn jobs_in(&self, state: RunState) -> u64 {
        self.jobs.iter().filter(|job| job.state().run_state() == state).count() as u64
    }

    pub(super) fn tracker_snapshot(&self, tracker: &Tracker, now: Now) -> TrackerSnapshot {
        let topology = self.cluster.scheduler.topology();
        let rack = self.cluster.nodes.get(tracker.id).map(|info| topology.rack_name(info.rack).to_owned());
        let graylisted = self.host_faults.reason(&tracker.host);
        let complaints: Vec<&str> = [tracker.complaint.as_str()]
            .into_iter()
            .chain(graylisted.as_deref())
            .filter(|why| !why.is_empty())
            .collect();
        TrackerSnapshot {
            name: tracker.name.to_string(),
            worker: worker_name(&tracker.name).to_owned(),
            host: tracker.host.to_string(),
            rack: rack.unwrap_or_default(),
            http_port: tracker.http_port,
            slots: tracker.shown_slots(),
            listed_slots: tracker.reported_slots,
            running: tracker.busy,
            silent_ms: now.mono_ms.saturating_sub(tracker.last_seen_mono_ms),
            is_silent: self.is_silent(tracker, now),
            is_draining: tracker.is_drained,
            healthy: tracker.healthy,
            graylisted: graylisted.is_some(),
            is_short: tracker.healthy && !tracker.complaint.is_empty(),
            complaints: complaints.join("\n"),
            reported: tracker.reported,
            task_windows: tracker.task_windows.counts(now.mono_ms),
        }
    }

    /// What is no fact of a job that runs.
    pub(super) fn live_job(&self, job: &Job) -> LiveJob {
        let status = self.status_of(job);
        LiveJob {
            progress: PerKind::new(status.map_progress, status.reduce_progress),
            reserved: self.cluster.scheduler.reserved_nodes(job.app),
            scheduling_info: Some(status.scheduling_info.0).filter(|info| info != NO_INFO),
        }
    }

    fn job_snapshot(&self, job: &Job) -> JobSnapshot {
        let state = job.state().run_state();
        JobSnapshot {
            live: if state == RunState::Running { self.live_job(job) } else { LiveJob::without_run(state) },
            id: job.id,
            name: job.spec.name.clone(),
            user: job.spec.user.clone(),
            queue: job.spec.queue.clone(),
            priority: job.priority,
            state: job.reported_state(),
            submit_ms: job.submit_ms,
            finish_ms: job.is_end_reported().then_some(job.finish_ms),
            tasks: job.total(),
            finished: job.finished(),
            running: job.running(),
            cost: self.cost_of(job).map(|cost| cost.cost.to_string()),
            failure_info: match job.is_over_or_ending() {
                true => None,
                false => self.why_paused(job).map(|why| why.to_string()).or_else(|| self.cannot_run(job.app)),
            }
            .unwrap_or_else(|| job.failure_info().to_owned()),
        }
    }
}
