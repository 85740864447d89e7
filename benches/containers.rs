//! What granting a container costs the engine: on the beat of a worker whose containers have ended, and on the call of an
//! application. A thousand workers, a hundred applications. Time is that of the processor, of this thread alone.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod container_world;

use std::hint::black_box;
use std::time::Duration;

use container_world::{ContainerWorld, Program, host_of};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use jobtracker::engine::{BeatReply, Event, PolicyConfig, Reply};
use jobtracker::scheduler::FifoOptions;

const WORKERS: usize = 1_000;
const APPLICATIONS: usize = 100;
/// Containers that a worker has room for.
const ROOM: u32 = 16;
/// Containers that are wished where they cannot be.
const WISHES: usize = 500;
/// Containers that end on one beat, or are asked for by one call.
const AT_ONCE: [usize; 2] = [1, 16];

type Named = (&'static str, fn() -> PolicyConfig);
/// The market gives containers by what queues have bought.
const POLICIES: [Named; 2] = [
    ("fifo", || PolicyConfig::Fifo(FifoOptions::default())),
    ("market", || PolicyConfig::Dynamic { alloc_interval_ms: 1_000, kill_interval_ms: None }),
];

/// Time that this thread has had a processor for.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

/// Each worker beats in turn: some of its containers have ended, and it gets others in their place.
fn beats(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("container_beat_that_ends_and_gets");
    for (policy, config) in POLICIES {
        for count in AT_ONCE {
            let mut world = ContainerWorld::new(config(), APPLICATIONS, WORKERS, ROOM);
            for user in 0..APPLICATIONS {
                world.submit_items(user, 10_000_000);
            }
            world.tick();
            world.fill();
            // What queues have bought follows what they want and hold.
            world.tick();
            group.throughput(Throughput::Elements((WORKERS * count) as u64));
            group.bench_function(BenchmarkId::new(policy, count), |bencher| {
                bencher.iter_custom(|rounds| (0..rounds).map(|_| round_of_beats(&mut world, count)).sum());
            });
        }
    }
    group.finish();
}

/// Steps through events; the replies, and the time of the processor that the steps took.
fn timed(world: &mut ContainerWorld, events: Vec<Event>) -> (Vec<Reply>, Duration) {
    let mut replies = Vec::with_capacity(events.len());
    let before = cpu();
    for event in events {
        let step = world.step(event);
        black_box(&step.facts);
        replies.push(step.reply);
    }
    (replies, cpu() - before)
}

fn round_of_beats(world: &mut ContainerWorld, count: usize) -> Duration {
    let events: Vec<_> = (0..WORKERS).map(|number| world.ends(number, count)).collect();
    let (replies, took) = timed(world, events);
    for (number, reply) in replies.into_iter().enumerate() {
        let Reply::Beat(BeatReply::Answer(answer)) = reply else { panic!("{reply:?}") };
        assert_eq!((answer.noted.len(), answer.launches.len()), (count, count));
        world.obey(number, &answer);
    }
    took
}

/// Each application calls in turn: it gives back what it has and asks for as many.
fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("allocate_call_that_releases_and_gets");
    for (policy, config) in POLICIES {
        for count in AT_ONCE {
            let mut world = ContainerWorld::new(config(), APPLICATIONS, WORKERS, ROOM);
            let mut programs: Vec<Program> = (0..APPLICATIONS).map(|user| world.register(user)).collect();
            world.tick();
            group.throughput(Throughput::Elements((APPLICATIONS * count) as u64));
            group.bench_function(BenchmarkId::new(policy, count), |bencher| {
                bencher
                    .iter_custom(|rounds| (0..rounds).map(|_| round_of_calls(&mut world, &mut programs, count)).sum());
            });
        }
    }
    group.finish();
}

fn round_of_calls(world: &mut ContainerWorld, programs: &mut [Program], count: usize) -> Duration {
    let wanted = u32::try_from(count).unwrap();
    let events: Vec<_> = programs.iter_mut().enumerate().map(|(user, program)| program.call(user, wanted)).collect();
    let (replies, took) = timed(world, events);
    for (program, reply) in programs.iter_mut().zip(replies) {
        assert_eq!(program.read(&reply), count);
    }
    took
}

/// An application wishes each of its containers on another host, where none has room or no worker is; the other workers beat in
/// turn until it has them all.
fn unmet_wishes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wishes_that_cannot_be_met");
    let full: Vec<String> = (0..WISHES).map(host_of).collect();
    let absent: Vec<String> = (0..WISHES).map(|number| format!("absent{number}.example.org")).collect();
    for (name, hosts) in [("full", &full), ("absent", &absent)] {
        let mut world = ContainerWorld::new((POLICIES[0].1)(), 2, WORKERS, 1);
        let [mut first, mut other] = [0, 1].map(|user| world.register(user));
        let reply = world.step(first.call_near(0, WISHES as u32, &full)).reply;
        assert_eq!(first.read(&reply), WISHES);
        group.throughput(Throughput::Elements(WISHES as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| round_of_wishes(&mut world, &mut other, hosts)).sum());
        });
    }
    group.finish();
}

fn round_of_wishes(world: &mut ContainerWorld, program: &mut Program, hosts: &[String]) -> Duration {
    let call = program.call_near(1, WISHES as u32, hosts);
    let (replies, mut took) = timed(world, vec![call]);
    let mut granted = program.read(&replies[0]);
    for round in 0.. {
        if granted == WISHES {
            break;
        }
        assert!(round < 3, "what is far is waited for again and again: {granted} containers");
        let beats: Vec<Event> = (WISHES..WORKERS).map(|number| world.ends(number, 0)).collect();
        took += timed(world, beats).1;
        let call = program.ask_for_no_more(1);
        let (replies, of_call) = timed(world, vec![call]);
        took += of_call;
        granted += program.read(&replies[0]);
    }
    took
}

criterion_group!(benches, beats, calls, unmet_wishes);
criterion_main!(benches);
