//! What is shown of a stored state where no JobTracker runs: its facts, and of what is no fact what they imply.

use std::collections::BTreeMap;

use crate::api::{BoughtSlots, PolicyName, ReportedGroup};
use crate::engine::{
    ChangedList, ClusterSnapshot, ContainersSnapshot, JobSnapshot, LiveJob, MoneySnapshot, QueueSnapshot,
    TrackerSnapshot, VolatileDelta,
};
use crate::market::LedgerTotals;
use crate::model::{Kind, Now, PerKind, RunState};
use crate::wire::worker_name;

use super::job_view::JobView;
use super::published::Publication;
use super::read_model::{ReadModel, Views};
use super::samples::Samples;
use super::shown::Shown;
use super::volatile::Volatile;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredScheduler {
    pub(crate) policy: PolicyName,
    pub(crate) name: String,
    /// Since when it ruled, epoch ms.
    pub(crate) since_ms: i64,
}

/// The views of a stored state. They never change.
#[derive(Debug)]
pub(crate) struct StoredViews(Publication);

impl StoredViews {
    /// `totals`: of the ledger, if there is one.
    pub(crate) fn new(model: &ReadModel, scheduler: &StoredScheduler, totals: Option<LedgerTotals>) -> Self {
        let views = model.views().clone();
        let mut volatile = Volatile::default();
        volatile.apply(implied(&views, scheduler, totals));
        let mut samples = Samples::default();
        samples.take_tick(views.market());
        Self(Publication::new(views, volatile, samples, 0))
    }

    /// All of it.
    pub(crate) fn shown(&self) -> Shown {
        self.0.shown().unwrap_or_default()
    }

    /// The newest jobs that are wanted, at most so many, and how many more there are.
    pub(crate) fn jobs(&self, is_wanted: impl Fn(&JobSnapshot) -> bool, most: usize) -> (Vec<JobSnapshot>, u64) {
        self.0.jobs(is_wanted, most)
    }
}

/// What the owner said last, as far as facts imply it.
fn all_slots(trackers: &[TrackerSnapshot]) -> PerKind<u32> {
    trackers.iter().fold(PerKind::default(), |sum: PerKind<u32>, tracker| {
        PerKind::new(sum.map.saturating_add(tracker.slots.map), sum.reduce.saturating_add(tracker.slots.reduce))
    })
}

fn implied(views: &Views, scheduler: &StoredScheduler, totals: Option<LedgerTotals>) -> VolatileDelta {
    let queues = queues_of(views);
    let trackers = trackers_of(views);
    let unfinished = || views.jobs().filter(|job| job.finish_ms().is_none());
    let in_state = |state| unfinished().filter(|job| job.state() == state).count() as u64;
    let sum = |of: fn(&QueueSnapshot) -> PerKind<u64>| {
        queues
            .values()
            .map(of)
            .fold(PerKind::default(), |sum: PerKind<u64>, one| PerKind::new(sum.map + one.map, sum.reduce + one.reduce))
    };
    let slots = all_slots(&trackers);
    let rules = scheduler.policy == PolicyName::Dynamic;
    let price = views.market().tick().filter(|_| rules).map(|tick| tick.price.to_string());
    let containers = views.applications().map(|application| application.live_count() as u64).sum();
    let at_ms = last_moment_ms(views);
    let mut head = ClusterSnapshot {
        scheduler: scheduler.name.clone(),
        at_ms,
        slots,
        running: sum(|queue| PerKind::new(queue.running.map.into(), queue.running.reduce.into())).narrow(),
        waiting: sum(|queue| queue.waiting),
        preparing_jobs: in_state(RunState::Prep),
        running_jobs: in_state(RunState::Running),
        known_jobs: views.jobs().count() as u64,
        containers: views.applications().next().map(|_| ContainersSnapshot {
            held_slots: containers,
            waiting: views.applications().map(|application| application.wanted()).sum(),
            ..ContainersSnapshot::default()
        }),
        price: price.clone(),
        money: totals.map(|totals| MoneySnapshot {
            balances: Vec::new(),
            issued: totals.issued,
            charged: totals.charged,
        }),
        ..ClusterSnapshot::default()
    };
    head.report.policy = scheduler.policy;
    head.report.since_ms = scheduler.since_ms;
    head.report.at_ms = at_ms;
    head.report.slots = slots;
    head.report.price = price;
    head.report.jobs_left_out = unfinished().count() as u64;
    let balances = views.market().accounts().map(|(queue, account)| (queue.to_string(), account.balance()));
    let live_jobs = unfinished().filter(|job| job.state() == RunState::Running).map(|job| (job.id(), live_job(job)));
    VolatileDelta {
        // A moment of no clock: the first delta is shown from any on.
        at: Now { mono_ms: 1, wall_ms: at_ms },
        wait_for: views.number(),
        balances: all(balances),
        groups: all(queues.values().map(|queue| group_of(views, queue)).filter(|_| rules)),
        queues: all(queues.into_values()),
        jobs: Some(Vec::new()),
        live_jobs: all(live_jobs),
        trackers: trackers.into_iter().map(|tracker| (tracker.name.as_str().into(), tracker)).collect(),
        head,
        ..VolatileDelta::default()
    }
}

fn all<T>(values: impl Iterator<Item = T>) -> ChangedList<T> {
    let set: Vec<(usize, T)> = values.enumerate().collect();
    ChangedList { len: set.len(), set }
}

/// The last moment that any fact names, epoch ms.
fn last_moment_ms(views: &Views) -> i64 {
    let of_job = |job: &JobView| {
        let attempts = Kind::ALL.into_iter().flat_map(|kind| job.tasks(kind).iter());
        let of_attempts = attempts.map(|attempt| attempt.finish_ms().unwrap_or(0).max(attempt.launch_ms())).max();
        job.submit_ms().max(job.finish_ms().unwrap_or(0)).max(of_attempts.unwrap_or(0))
    };
    let of_jobs = views.jobs().map(|job| of_job(job)).max();
    let of_applications = views
        .applications()
        .map(|application| application.submitted().submitted_ms.max(application.standing().finished_ms.unwrap_or(0)));
    let tick = views.market().tick().map(|tick| tick.at_ms);
    [of_jobs, of_applications.max(), tick].into_iter().flatten().max().unwrap_or(0)
}

/// The queues with accounts or with work, by name.
fn queues_of(views: &Views) -> BTreeMap<String, QueueSnapshot> {
    let mut queues: BTreeMap<String, QueueSnapshot> = BTreeMap::new();
    for (name, account) in views.market().accounts() {
        let share = account.interval().map(|interval| interval.share.to_string());
        queues.insert(name.to_string(), QueueSnapshot { share, ..QueueSnapshot::default() });
    }
    for job in views.jobs().filter(|job| job.finish_ms().is_none()) {
        let queue = queues.entry(job.spec().queue.clone()).or_default();
        for kind in Kind::ALL {
            let live = job.tasks(kind).iter().filter(|attempt| attempt.is_live());
            let held = live.map(|attempt| attempt.slots()).fold(0, u32::saturating_add);
            queue.running[kind] = queue.running[kind].saturating_add(held);
            let counts = job.counts()[kind];
            let waiting = job.total()[kind].saturating_sub(counts.finished).saturating_sub(counts.running);
            queue.waiting[kind] += u64::from(waiting);
        }
    }
    for application in views.applications().filter(|application| !application.is_done()) {
        let queue = queues.entry(application.submitted().queue.to_string()).or_default();
        let held = u32::try_from(application.live_count()).unwrap_or(u32::MAX);
        queue.containers.held = queue.containers.held.saturating_add(held);
        queue.containers.wanted = queue.containers.wanted.saturating_add(application.wanted());
    }
    for (name, queue) in &mut queues {
        queue.name.clone_from(name);
        queue.paused = views.pause_of(None, name).map(|pause| pause.reason().to_string());
    }
    queues
}

fn group_of(views: &Views, queue: &QueueSnapshot) -> ReportedGroup {
    let interval = views.market().account(&queue.name).and_then(|account| account.interval().copied());
    let interval = interval.unwrap_or_default();
    let jobs = views.jobs().filter(|job| job.finish_ms().is_none() && job.spec().queue == queue.name).count();
    ReportedGroup {
        name: queue.name.clone(),
        parent: None,
        jobs: u32::try_from(jobs).unwrap_or(u32::MAX),
        running: queue.running,
        held: queue.running,
        waiting: queue.waiting.narrow(),
        capacity: None,
        pool: None,
        bought: Some(BoughtSlots {
            share: interval.share.to_string(),
            quota: interval.quota,
            rate: interval.share.rate(),
        }),
    }
}

fn trackers_of(views: &Views) -> Vec<TrackerSnapshot> {
    let drained: Vec<_> = views.drains().map(|drain| drain.worker.clone()).collect();
    let mut held: BTreeMap<&str, PerKind<u32>> = BTreeMap::new();
    for job in views.jobs().filter(|job| job.finish_ms().is_none()) {
        for kind in Kind::ALL {
            for attempt in job.tasks(kind).iter().filter(|attempt| attempt.is_live()) {
                let slots = held.entry(attempt.tracker()).or_default();
                slots[kind] = slots[kind].saturating_add(attempt.slots());
            }
        }
    }
    let trackers = views.trackers().map(|presence| {
        let worker = worker_name(&presence.tracker).to_owned();
        TrackerSnapshot {
            name: presence.tracker.to_string(),
            host: presence.host.to_string(),
            slots: presence.slots,
            listed_slots: presence.slots,
            running: held.get(&*presence.tracker).copied().unwrap_or_default(),
            is_draining: drained.iter().any(|drained| **drained == *worker),
            healthy: true,
            worker,
            ..TrackerSnapshot::default()
        }
    });
    trackers.collect()
}

/// How far a job is by the tasks that are done.
fn live_job(job: &JobView) -> LiveJob {
    let part = |kind: Kind| match job.total()[kind] {
        0 => 1.0,
        total => job.counts()[kind].finished as f32 / total as f32,
    };
    LiveJob { progress: PerKind::new(part(Kind::Map), part(Kind::Reduce)), ..LiveJob::default() }
}
