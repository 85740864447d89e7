//! What the market costs: a tick with many queues while 100,000 tasks run, a heartbeat under it with few jobs and with many
//! (the two must not differ much), a signed request from its bytes to those of its answer.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

mod world;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use world::{BusyTracker, HOSTS, World};

use jobtracker::engine::PolicyConfig;
use jobtracker::mapreduce::JobSpec;

const QUEUES: [usize; 3] = [100, 1_000, 10_000];
/// Deadline orders, each of another queue.
const ORDERS: usize = 1_000;
/// Ticks of a second until orders are renewed.
const TICKS_OF_ORDERS: u64 = 100;
const RUNNING: usize = 100_000;
const JOBS: [usize; 2] = [10, 1_000];
const SLOTS: usize = 4;

fn market() -> PolicyConfig {
    preempting(None)
}

fn preempting(kill_interval_ms: Option<u64>) -> PolicyConfig {
    PolicyConfig::Dynamic { alloc_interval_ms: 1_000, kill_interval_ms }
}

/// All slots of a thousand trackers are in use, and three times as many tasks wait.
fn full_cluster(policy: PolicyConfig, queues: usize) -> World {
    filled(World::with_jobs(policy, queues))
}

fn filled(mut world: World) -> World {
    for host in 0..HOSTS {
        BusyTracker::new(&mut world, host, RUNNING / HOSTS);
    }
    world.tick();
    world
}

fn ticks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(20);
    for queues in QUEUES {
        // Each is built only if a benchmark that runs needs it.
        let mut full = None;
        let filled_once = || full_cluster(market(), queues);
        group.bench_function(BenchmarkId::new("same_bids", queues), |bencher| {
            let world = full.get_or_insert_with(filled_once);
            assert_eq!(world.engine.build_snapshot(world.now).value.running.map as usize, RUNNING);
            bencher.iter(|| world.tick());
        });
        let mut round = 0;
        group.bench_function(BenchmarkId::new("all_bids_changed", queues), |bencher| {
            let world = full.get_or_insert_with(filled_once);
            bencher.iter_custom(|iterations| {
                let mut took = Duration::ZERO;
                for _ in 0..iterations {
                    round += 1;
                    world.change_bids(round);
                    let start = Instant::now();
                    world.tick();
                    took += start.elapsed();
                }
                took
            });
        });
        let mut ticks = 0;
        group.bench_function(BenchmarkId::new("with_orders", queues), |bencher| {
            let world = full.get_or_insert_with(filled_once);
            bencher.iter_custom(|iterations| {
                let mut took = Duration::ZERO;
                for _ in 0..iterations {
                    // Before their deadlines pass.
                    if ticks % TICKS_OF_ORDERS == 0 {
                        world.order(ORDERS.min(queues));
                    }
                    ticks += 1;
                    let start = Instant::now();
                    world.tick();
                    took += start.elapsed();
                }
                took
            });
        });
        if let Some(world) = full {
            println!("{} of {queues} queues bid the rate of an order", world.raised_queues());
        }
        // Every other job runs on stock TaskTrackers only, and there is one that is not.
        let is_choosy = |number: usize, spec: &mut JobSpec| {
            spec.only_stock = number.is_multiple_of(2).then(|| "mapred.mapper.class is \"a.B\"".to_owned());
        };
        let mut choosy = None;
        group.bench_function(BenchmarkId::new("with_choosy_jobs", queues), |bencher| {
            let world = choosy.get_or_insert_with(|| {
                let mut world = filled(World::with_jobs_of(market(), queues, is_choosy));
                world.add_builtin_tracker();
                world
            });
            bencher.iter(|| world.tick());
        });
        // With a round of preemption behind each, which finds few to kill: what it kills is told at heartbeats, and none come.
        let mut preempted = None;
        group.bench_function(BenchmarkId::new("and_preemption", queues), |bencher| {
            let world = preempted.get_or_insert_with(|| full_cluster(preempting(Some(1_000)), queues));
            bencher.iter(|| world.tick());
        });
    }
    group.finish();
}

fn heartbeats(criterion: &mut Criterion) {
    for (name, finishes) in [("idle_heartbeat", false), ("heartbeat_that_ends_and_gets_a_map", true)] {
        let mut group = criterion.benchmark_group(name);
        for jobs in JOBS {
            let mut world = World::with_jobs(market(), jobs);
            let mut tracker = BusyTracker::new(&mut world, 7, SLOTS);
            group.bench_function(BenchmarkId::new("jobs", jobs), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut took = Duration::ZERO;
                    for _ in 0..iterations {
                        took += tracker.beat(&mut world, finishes);
                        if tracker.has_room() {
                            // All maps are done: another cluster.
                            world = World::with_jobs(market(), jobs);
                            tracker = BusyTracker::new(&mut world, 7, SLOTS);
                        }
                    }
                    took
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, ticks, heartbeats);
criterion_main!(benches);
