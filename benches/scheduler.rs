//! What a heartbeat costs inside the scheduler, with few apps and with many: the two must not differ much. Beside it what
//! comes between heartbeats: the update of fair shares, and another policy that takes over.

#![allow(clippy::unwrap_used, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

use jobtracker::model::{Decimal, Kind, Now, PerKind, PerPool, TrackerId};
use jobtracker::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use jobtracker::scheduler::constraint::{AppDeadline, ConstraintConfig, JobPlan, JobWork, KeySpread, TimedWork};
use jobtracker::scheduler::fair::allocations::Allocations;
use jobtracker::scheduler::fair::options::FairOptions;
use jobtracker::scheduler::{
    Allocation, AppId, AppSize, AppSpec, Distance, FifoOptions, GrantResult, GrantSource, GroupId, HostId, NewApp,
    NodeOffer, PolicyOptions, Scheduler, TaskOrigin,
};

const APPS: [u32; 3] = [10, 1_000, 10_000];
const MOST_APPS: u32 = 10_000;
const NODES: u32 = 1_000;
const QUEUES: u32 = 1_000;
/// Enough for one map of each app.
const SLOTS: PerKind<u32> = PerKind::new(40, 20);
const FREE: PerKind<u32> = PerKind::new(4, 2);

/// Says yes to every grant and remembers it, so that it can be undone.
#[derive(Default)]
struct Yes {
    hosts: Arc<[HostId]>,
    granted: Vec<(AppId, Kind)>,
}

impl GrantSource for Yes {
    fn take_task(&mut self, app: AppId, kind: Kind, _node: TrackerId, distance: Distance) -> GrantResult {
        self.granted.push((app, kind));
        GrantResult::Task { hosts: self.hosts.clone(), level: distance.nearest, origin: TaskOrigin::Fresh, slots: 1 }
    }
}

/// A cluster whose apps wait for `waiting` tasks of each kind and run one; returns it with one of its nodes, and three
/// hosts on which all maps have their data.
fn cluster(mut scheduler: Scheduler, apps: u32, waiting: u32) -> (Scheduler, TrackerId, Arc<[HostId]>) {
    let hosts: Vec<HostId> = (0..NODES)
        .map(|i| scheduler.topology_mut().intern_host(&format!("host{i}"), &format!("/rack{}", i % 40)))
        .collect();
    let nodes: Vec<TrackerId> = hosts.iter().map(|&host| scheduler.add_node(host, SLOTS)).collect();
    let queues: Vec<_> = (0..QUEUES).map(|i| scheduler.open_group(&queue_name(i))).collect();
    let bought = |i: u32| Allocation { quota: PerPool::new(40, 20, 0), rate_units: i128::from(i % 7) };
    let allocations: Vec<_> = queues.iter().zip(0..).map(|(&queue, i)| (queue, bought(i))).collect();
    scheduler.set_allocations(&allocations);
    let replicas: Arc<[HostId]> = hosts[..3].into();
    for number in 0..apps {
        let id = AppId::new(number);
        let group = queues[(number % QUEUES) as usize];
        let spec = AppSpec {
            id,
            group,
            user: format!("user{}", number % 7).into(),
            priority: 2,
            start_ms: number.into(),
            order: number.into(),
            slots_per_task: AppSpec::ONE_SLOT,
        };
        if scheduler.add_app(spec).is_ok() {
            let tasks = PerKind::new(waiting + 1, waiting);
            let deadline = AppDeadline { due_us: due_us(number), work: work(tasks), plan: None };
            scheduler.set_deadline(id, Some(AppDeadline { plan: Some(plan(deadline)), ..deadline }));
            scheduler.set_size(id, AppSize { tasks, unfinished: tasks, left: tasks });
            scheduler.add_running(id, Kind::Map, nodes[(number % NODES) as usize], 1);
            scheduler.request_slots(id, Kind::Map, &replicas, waiting);
            scheduler.request_slots(id, Kind::Reduce, &replicas, waiting);
        }
    }
    scheduler.begin_apps(NOW);
    scheduler.tick(NOW);
    (scheduler, nodes[0], replicas)
}

/// A hundred hours of work, and fifty hours for it, a few seconds more for each job: two or three slots of four.
fn due_us(number: u32) -> i64 {
    180_000_000_000 + i64::from(number) * 3_000_000
}

/// Two slots from now on for fifty hours.
fn plan(deadline: AppDeadline) -> JobPlan {
    JobPlan { maps: 2, start_us: 0, latest_reduce_start_us: deadline.due_us - 2_000_000 }
}

fn work(tasks: PerKind<u32>) -> JobWork {
    JobWork {
        maps: tasks.map,
        reduces: tasks.reduce.min(2),
        map_us: 360_000_000_000,
        longest_map_us: 3_600_000_000,
        copy_us: 1_000_000,
        reduce_us: 1_000_000,
        keys: KeySpread::Uniform,
    }
}

fn queue_name(number: u32) -> String {
    format!("queue{number}")
}

const NOW: Now = Now { mono_ms: 1_000, wall_ms: 1_000 };

fn offer(node: TrackerId) -> NodeOffer {
    NodeOffer { node, free: FREE, now: NOW }
}

fn policies() -> [(&'static str, PolicyOptions); 5] {
    let fair = PolicyOptions::Fair { options: FairOptions::default(), allocations: Arc::new(Allocations::default()) };
    [
        ("fifo", PolicyOptions::Fifo(FifoOptions::default())),
        ("capacity", PolicyOptions::Capacity { config: Arc::new(capacity()), is_compatible: false }),
        ("fair", fair),
        ("constraint", PolicyOptions::Constraint(ConstraintConfig { escalates: true, ..ConstraintConfig::default() })),
        ("dynamic", PolicyOptions::Dynamic),
    ]
}

/// Queues of equal capacity, whose users may use all that others leave.
fn capacity() -> CapacityConfig {
    let share = Decimal::parse(&format!("{}", 100.0 / f64::from(QUEUES)));
    let queue = |number: u32| WrittenQueue {
        user_limit_factor: Decimal::whole(1_000),
        ..WrittenQueue::with_defaults(&queue_name(number), share)
    };
    let written = WrittenConfig { queues: (0..QUEUES).map(queue).collect(), ..WrittenConfig::default() };
    CapacityConfig::new(&written).unwrap()
}

fn nothing_to_give(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("beat_with_nothing_to_give");
    for (policy, options) in policies() {
        for apps in APPS {
            let (mut scheduler, node, _) = cluster(Scheduler::new(options.clone()), apps, 0);
            let mut source = Yes::default();
            group.bench_function(BenchmarkId::new(policy, apps), |bencher| {
                bencher.iter(|| black_box(scheduler.assign_slots(offer(node), &mut source)));
            });
        }
    }
    group.finish();
}

/// Six grants, and their ends and new demand, so that each round finds the same cluster.
fn grants(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("beat_that_grants_six");
    for (policy, options) in policies() {
        for apps in APPS {
            let (mut scheduler, node, hosts) = cluster(Scheduler::new(options.clone()), apps, 100);
            let mut source = Yes { hosts, granted: Vec::new() };
            group.bench_function(BenchmarkId::new(policy, apps), |bencher| {
                bencher.iter(|| {
                    let report = scheduler.assign_slots(offer(node), &mut source);
                    for (app, kind) in source.granted.drain(..) {
                        scheduler.remove_running(app, kind, node, 1);
                        scheduler.request_slots(app, kind, &source.hosts, 1);
                    }
                    black_box(report)
                });
            });
        }
    }
    group.finish();
}

/// A map of the node ends, and another is granted in its slot.
fn one_map(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("beat_that_ends_and_gets_a_map");
    for (policy, options) in policies() {
        for apps in APPS {
            let (mut scheduler, node, hosts) = cluster(Scheduler::new(options.clone()), apps, 100);
            let mut source = Yes { hosts, granted: Vec::new() };
            let offer = NodeOffer { free: PerKind::new(1, 0), ..offer(node) };
            group.bench_function(BenchmarkId::new(policy, apps), |bencher| {
                bencher.iter(|| {
                    let report = scheduler.assign_slots(offer, &mut source);
                    assert_eq!(report.granted.map, 1);
                    for (app, kind) in source.granted.drain(..) {
                        scheduler.request_slots(app, kind, &source.hosts, 1);
                        scheduler.remove_running(app, kind, node, 1);
                    }
                    black_box(report)
                });
            });
        }
    }
    group.finish();
}

/// Demands, weights and shares of a thousand pools with all jobs.
fn update_of_shares(criterion: &mut Criterion) {
    let [_, _, (_, fair), ..] = policies();
    let (mut scheduler, _, _) = cluster(Scheduler::new(fair), MOST_APPS, 100);
    let mut now = NOW;
    criterion.bench_function("update_of_shares", |bencher| {
        bencher.iter(|| {
            now.mono_ms += 1_000;
            now.wall_ms += 1_000;
            scheduler.tick(now);
        });
    });
}

/// Whether each of ten thousand jobs keeps its deadline, and whether one more would.
fn deadlines(criterion: &mut Criterion) {
    let [.., (_, constraint), _] = policies();
    let (mut scheduler, _, _) = cluster(Scheduler::new(constraint), MOST_APPS, 100);
    let mut now = NOW;
    criterion.bench_function("check_of_deadlines", |bencher| {
        bencher.iter(|| {
            now.mono_ms += 1;
            now.wall_ms += 1;
            scheduler.tick(now);
        });
    });
    let group = scheduler.open_group(&queue_name(0));
    // In eleven seconds the work takes more maps at a time than are promised to no job.
    for (name, deadline_us, is_admitted) in [("admission", 200_000_000_000, true), ("rejection", 12_000_000, false)] {
        let work = work(PerKind::new(NODES * SLOTS.map, 2));
        let deadline = Some(TimedWork { work, arrival_us: 1_000_000, now_us: 1_000_000, deadline_us });
        let app = NewApp { name: "job", group, user: "user", tasks: u64::from(work.maps) + 2, deadline };
        assert_eq!(scheduler.check_new_app(&app).is_ok(), is_admitted, "{name}");
        criterion.bench_function(name, |bencher| bencher.iter(|| black_box(scheduler.check_new_app(&app)).is_ok()));
    }
}

/// One more deadline beside ten thousand that were planned one after the other: for each slots from the moment on at which
/// those before it end.
fn planned_admission(criterion: &mut Criterion) {
    let mut scheduler = Scheduler::constraint(ConstraintConfig::default());
    for number in 0..NODES {
        let host = scheduler.topology_mut().intern_host(&format!("host{number}"), "/rack");
        scheduler.add_node(host, FREE);
    }
    let group = scheduler.open_group(&queue_name(0));
    let mut dice = 88_172_645_463_325_252_u64;
    let mut draw = |below: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % below
    };
    let test = |maps: u32, map_us: u64, deadline_us: i64| {
        let map_us = 1_000_000 + map_us;
        let all_us = map_us * u64::from(maps);
        let work = JobWork { maps, map_us: all_us, longest_map_us: map_us, ..JobWork::default() };
        TimedWork { work, arrival_us: 1_000_000, now_us: 1_000_000, deadline_us }
    };
    let as_app = |timed: TimedWork| NewApp { name: "job", group, user: "user", tasks: 1, deadline: Some(timed) };
    let (mut planned, mut later) = (0, 0);
    while planned < MOST_APPS {
        // All of them take up a third of a week.
        let maps = 1 + draw(500) as u32;
        let timed = test(maps, draw(600_000_000), (60_000_000 + draw(86_400_000_000)) as i64);
        let Ok(plan) = scheduler.check_new_app(&as_app(timed)) else {
            // The day is full for it: a week is not.
            let timed = TimedWork { deadline_us: 7 * 86_400_000_000, ..timed };
            let plan = scheduler.check_new_app(&as_app(timed)).unwrap();
            later += add_planned(&mut scheduler, group, planned, timed, plan);
            planned += 1;
            continue;
        };
        later += add_planned(&mut scheduler, group, planned, timed, plan);
        planned += 1;
    }
    println!("{planned} jobs are planned, {later} for later");
    for (name, maps, map_us, deadline_us) in [
        ("planned_admission/small", 1, 30_000_000, 86_400_000_000),
        ("planned_admission/usual", 400, 300_000_000, 7 * 86_400_000_000),
        ("planned_admission/large", 20_000, 300_000_000, 14 * 86_400_000_000),
        ("planned_admission/rejected_small", 1, 300_000_000, 200_000_000),
        ("planned_admission/rejected_usual", 400, 300_000_000, 3_600_000_000),
        ("planned_admission/rejected_large", 20_000, 300_000_000, 86_400_000_000),
    ] {
        let app = as_app(test(maps, map_us, deadline_us));
        println!("{name}: {:?}", scheduler.check_new_app(&app).map_err(|refusal| refusal.to_string()));
        criterion.bench_function(name, |bencher| bencher.iter(|| black_box(scheduler.check_new_app(&app)).is_ok()));
    }
}

/// Adds a job with its plan; returns whether that begins later.
fn add_planned(scheduler: &mut Scheduler, group: GroupId, number: u32, timed: TimedWork, plan: Option<JobPlan>) -> u32 {
    let id = AppId::new(number);
    let spec = AppSpec {
        id,
        group,
        user: "user".into(),
        priority: 2,
        start_ms: 1_000,
        order: number.into(),
        slots_per_task: AppSpec::ONE_SLOT,
    };
    scheduler.add_app(spec).unwrap();
    let TimedWork { work, deadline_us: due_us, .. } = timed;
    scheduler.set_deadline(id, Some(AppDeadline { due_us, work, plan }));
    u32::from(plan.is_some_and(|plan| plan.start_us > timed.now_us))
}

/// Another policy takes over all jobs, whichever ruled before.
fn replaced_policy(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("replaced_policy");
    group.sample_size(10);
    for (policy, options) in policies() {
        let (mut scheduler, _, _) = cluster(Scheduler::dynamic(), MOST_APPS, 100);
        group.bench_function(policy, |bencher| {
            bencher.iter_custom(|iterations| {
                let mut took = Duration::ZERO;
                for _ in 0..iterations {
                    scheduler.replace_policy(PolicyOptions::Dynamic);
                    let options = options.clone();
                    let start = Instant::now();
                    scheduler.replace_policy(options);
                    took += start.elapsed();
                }
                took
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    nothing_to_give,
    grants,
    one_map,
    update_of_shares,
    deadlines,
    planned_admission,
    replaced_policy
);
criterion_main!(benches);
