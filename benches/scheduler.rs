//! What a heartbeat costs inside the scheduler, with few apps and with many: the two must not differ much.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

use jobtracker::model::{Kind, Now, PerKind, TrackerId};
use jobtracker::scheduler::{
    Allocation, AppId, AppSpec, Distance, FifoOptions, GrantResult, GrantSource, HostId, NodeOffer, Scheduler,
    TaskOrigin,
};

const APPS: [u32; 2] = [10, 10_000];
const NODES: u32 = 1_000;
const QUEUES: u32 = 100;
const SLOTS: PerKind<u32> = PerKind::new(4, 2);

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
    let queues: Vec<_> = (0..QUEUES).map(|i| scheduler.open_group(&format!("queue{i}"))).collect();
    let bought = |i: u32| Allocation { quota: PerKind::new(40, 20), rate_units: i128::from(i % 7) };
    let allocations: Vec<_> = queues.iter().zip(0..).map(|(&queue, i)| (queue, bought(i))).collect();
    scheduler.set_allocations(&allocations);
    let replicas: Arc<[HostId]> = hosts[..3].into();
    for number in 0..apps {
        let id = AppId::new(number);
        let group = queues[(number % QUEUES) as usize];
        let spec =
            AppSpec { id, group, user: "user".into(), priority: 2, start_ms: number.into(), order: number.into() };
        if scheduler.add_app(spec).is_ok() {
            scheduler.add_running(id, Kind::Map, nodes[(number % NODES) as usize]);
            scheduler.request_slots(id, Kind::Map, &replicas, waiting);
            scheduler.request_slots(id, Kind::Reduce, &replicas, waiting);
        }
    }
    (scheduler, nodes[0], replicas)
}

fn offer(node: TrackerId) -> NodeOffer {
    NodeOffer { node, free: SLOTS, now: Now { mono_ms: 0, wall_ms: 0 } }
}

type Named = (&'static str, fn() -> Scheduler);

fn policies() -> [Named; 2] {
    [("fifo", || Scheduler::fifo(FifoOptions::default())), ("dynamic", Scheduler::dynamic)]
}

fn nothing_to_give(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("beat_with_nothing_to_give");
    for (policy, scheduler) in policies() {
        for apps in APPS {
            let (mut scheduler, node, _) = cluster(scheduler(), apps, 0);
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
    for (policy, scheduler) in policies() {
        for apps in APPS {
            let (mut scheduler, node, hosts) = cluster(scheduler(), apps, 100);
            let mut source = Yes { hosts, granted: Vec::new() };
            group.bench_function(BenchmarkId::new(policy, apps), |bencher| {
                bencher.iter(|| {
                    let report = scheduler.assign_slots(offer(node), &mut source);
                    for (app, kind) in source.granted.drain(..) {
                        scheduler.remove_running(app, kind, node);
                        scheduler.request_slots(app, kind, &source.hosts, 1);
                    }
                    black_box(report)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, nothing_to_give, grants);
criterion_main!(benches);
