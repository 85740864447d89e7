//! What a million items or tasks take of memory while they wait: no more than a thousand. What is left of those that have ended is
//! bounded, too. A binary of its own, since it counts what its process allocates.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "../benches/container_world/mod.rs"]
mod container_world;

use std::alloc::System;
use std::sync::Arc;

use container_world::ContainerWorld;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use jobtracker::engine::{BeatReply, PolicyConfig, Reply};
use jobtracker::model::Kind;
use jobtracker::scheduler::{AppId, AppSpec, FifoOptions, HostId, Scheduler};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Of the difference between few and many, bytes.
const NOTHING: isize = 4 << 10;
/// The same where many were added and removed: nodes of trees are filled by chance.
const SLACK: isize = 64 << 10;
/// Complete containers of an application that stay in memory.
const KEPT: usize = 10_000;
/// More than what memory has of a complete container, bytes.
const OF_A_CONTAINER: isize = 2 << 10;

fn fifo() -> PolicyConfig {
    PolicyConfig::Fifo(FifoOptions::default())
}

/// What is there afterwards and was not before, bytes.
fn growth<T>(make: impl FnOnce() -> T) -> (T, isize) {
    let region = Region::new(ALLOCATOR);
    let made = make();
    let change = region.change();
    let bytes = |count: usize| isize::try_from(count).unwrap();
    // What was reallocated is in both.
    (made, bytes(change.bytes_allocated) - bytes(change.bytes_deallocated))
}

/// Memory that an application takes with so many items that wait.
fn waiting_items(items: u32) -> isize {
    let mut world = ContainerWorld::new(fifo(), 1, 10, 16);
    growth(|| world.submit_items(0, items)).1
}

/// Memory that the requests of a job take whose maps have three copies of their input each.
fn waiting_maps(maps: u32) -> isize {
    const HOSTS: u32 = 1_000;
    let mut scheduler = Scheduler::fifo(FifoOptions::default());
    let hosts: Vec<HostId> = (0..HOSTS)
        .map(|host| scheduler.topology_mut().intern_host(&format!("host{host}"), &format!("/rack{}", host % 40)))
        .collect();
    let group = scheduler.open_group("default");
    let id = AppId::new(1);
    let spec = AppSpec {
        id,
        group,
        user: "user".into(),
        priority: 2,
        start_ms: 1,
        order: 1,
        slots_per_task: AppSpec::ONE_SLOT,
    };
    scheduler.add_app(spec).unwrap();
    scheduler.resume_app(id);
    growth(|| {
        for map in 0..maps {
            let copies: Arc<[HostId]> = [0, 1, 2].map(|copy| hosts[((map * 7 + copy * 331) % HOSTS) as usize]).into();
            scheduler.request_slots(id, Kind::Map, &copies, 1);
        }
    })
    .1
}

/// Memory that an application of `items` has taken when that many of them have ended.
fn ended_items(items: u32, ended: usize) -> isize {
    const WORKERS: usize = 10;
    let mut world = ContainerWorld::new(fifo(), 1, WORKERS, 100);
    world.submit_items(0, items);
    world.fill();
    growth(|| {
        let mut left = ended;
        for number in (0..WORKERS).cycle() {
            if left == 0 {
                break;
            }
            let event = world.ends(number, 100);
            let Reply::Beat(BeatReply::Answer(answer)) = world.step(event).reply else { panic!("no answer") };
            left -= answer.noted.len();
            world.obey(number, &answer);
        }
    })
    .1
}

#[test]
fn a_million_items_or_tasks_take_no_more_memory_than_a_thousand() {
    let [few, many] = [1_000, 1_000_000].map(waiting_items);
    assert!((many - few).abs() < NOTHING, "waiting items: {few} and {many} bytes");
    let [few, many] = [10_000, 1_000_000].map(waiting_maps);
    assert!((many - few).abs() < NOTHING, "requests of maps: {few} and {many} bytes");
    let [some, more] = [2 * KEPT, 4 * KEPT].map(|ended| ended_items(1_000_000, ended));
    let most = KEPT as isize * OF_A_CONTAINER;
    assert!((more - some).abs() < SLACK, "after {} and {} ends: {some} and {more} bytes", 2 * KEPT, 4 * KEPT);
    assert!(more < most, "{KEPT} complete containers take {more} bytes");
}
