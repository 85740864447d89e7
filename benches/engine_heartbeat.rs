//! What a heartbeat costs from its bytes to the bytes of its answer, with few jobs and with many: the two must not differ
//! much. Beside it what is done seldom, but must not hold heartbeats up: a large job.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

mod world;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use world::{BusyTracker, World};

use jobtracker::engine::{Caller, Event, LongRead, PolicyConfig, ReadProgress, TaskReportKind};
use jobtracker::model::Kind;
use jobtracker::scheduler::FifoOptions;

const JOBS: [usize; 2] = [10, 10_000];
const TRACKERS: [usize; 3] = [10, 1_000, 4_000];
/// Slots of the tracker that is measured.
const SLOTS: usize = 4;

fn fifo() -> PolicyConfig {
    PolicyConfig::Fifo(FifoOptions::default())
}

fn dynamic() -> PolicyConfig {
    PolicyConfig::Dynamic { alloc_interval_ms: 1_000, kill_interval_ms: None }
}

type Named = (&'static str, fn() -> PolicyConfig);
const POLICIES: [Named; 2] = [("fifo", fifo), ("dynamic", dynamic)];

fn heartbeats(criterion: &mut Criterion) {
    for (name, finishes) in [("idle_heartbeat", false), ("heartbeat_that_ends_and_gets_a_map", true)] {
        let mut group = criterion.benchmark_group(name);
        for (policy, config) in POLICIES {
            for jobs in JOBS {
                let mut world = World::with_jobs(config(), jobs);
                let mut tracker = BusyTracker::new(&mut world, 7, SLOTS);
                group.bench_function(BenchmarkId::new(policy, jobs), |bencher| {
                    bencher.iter_custom(|iterations| {
                        let mut took = Duration::ZERO;
                        for _ in 0..iterations {
                            took += tracker.beat(&mut world, finishes);
                            if tracker.has_room() {
                                // All maps are done: another cluster.
                                world = World::with_jobs(config(), jobs);
                                tracker = BusyTracker::new(&mut world, 7, SLOTS);
                            }
                        }
                        took
                    });
                });
            }
        }
        group.finish();
    }
}

/// Trackers without work call in turn. Their number must make no difference.
fn idle_trackers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("idle_trackers");
    for count in TRACKERS {
        let mut world = World::new(fifo(), &["user0".to_owned()]);
        let mut trackers: Vec<BusyTracker> =
            (0..count).map(|host| BusyTracker::registered(&mut world, host, SLOTS)).collect();
        let mut next = 0;
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut took = Duration::ZERO;
                for _ in 0..iterations {
                    took += trackers[next].beat(&mut world, false);
                    next = (next + 1) % count;
                }
                took
            });
        });
    }
    group.finish();
}

/// A job with 100,000 maps: from its files, typed, to its first launches.
fn large_job(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("large_job");
    group.sample_size(10);
    let prepared = || {
        let mut world = World::new(fifo(), &["user0".to_owned()]);
        let read = world.submission("user0", 100_000);
        (world, read)
    };
    group.bench_function("ready", |bencher| {
        bencher.iter_batched(
            prepared,
            |(mut world, read)| {
                world.accept(read);
                world.set_up();
                world
            },
            BatchSize::PerIteration,
        );
    });
    let ready = || {
        let (mut world, read) = prepared();
        let id = world.accept(read);
        world.set_up();
        (world, id)
    };
    group.bench_function("killed", |bencher| {
        bencher.iter_batched(
            ready,
            |(mut world, id)| {
                world.step(Event::KillJob { id, caller: Caller::named("user0") });
                world
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("reports", |bencher| {
        let (world, id) = ready();
        let kind = TaskReportKind::Work(Kind::Map);
        bencher.iter(|| black_box(world.engine.task_reports(id, kind).value.len()));
    });
    // What a heartbeat may have to wait for.
    group.bench_function("reports_slice", |bencher| {
        let (world, id) = ready();
        let begin = || LongRead::task_reports(id, TaskReportKind::Work(Kind::Map));
        let (mut read, mut bytes) = (begin(), Vec::new());
        bencher.iter(|| {
            bytes.clear();
            if read.next(&world.engine, &mut bytes).progress != ReadProgress::More {
                read = begin();
            }
            black_box(bytes.len())
        });
    });
    group.bench_function("counters", |bencher| {
        let (world, id) = ready();
        bencher.iter(|| black_box(world.engine.job_counters(id).value.is_ok()));
    });
    group.finish();
}

criterion_group!(benches, heartbeats, idle_trackers, large_job);
criterion_main!(benches);
