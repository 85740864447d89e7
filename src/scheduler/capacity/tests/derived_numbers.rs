//! Numbers derived from percentages: the table of six queues.

use super::*;
use crate::scheduler::capacity::SlotShare;

struct Row {
    initialized: u64,
    initialized_per_user: u64,
    accepted: u64,
    accepted_per_user: u64,
    slots: u32,
}

/// Capacity, user limit factor and accept factor of each queue; 3,000 jobs, a user limit of 20 %.
const SIX: [(&str, &str, i32, i32); 6] = [
    ("queueA", "8", 10, 100),
    ("queueB", "2", 1, 10),
    ("queueC", "30", 1, 10),
    ("queueD", "1", 20, 10),
    ("queueE", "31", 1, 10),
    ("queueF", "28", 1, 10),
];

fn six_queues() -> CapacityConfig {
    let mut config = WrittenConfig { maximum_system_jobs: 3000, ..WrittenConfig::default() };
    for (name, capacity, factor, accept_factor) in SIX {
        config.queues.push(WrittenQueue {
            minimum_user_limit_percent: 20,
            user_limit_factor: Decimal::whole(factor),
            init_accept_jobs_factor: accept_factor,
            ..WrittenQueue::with_defaults(name, Some(decimal(capacity)))
        });
    }
    CapacityConfig::new(&config).unwrap()
}

fn check(name: &str, row: &Row) {
    let config = six_queues();
    let queue = config.queue(name).unwrap();
    let limits = queue.job_limits();
    assert_eq!((limits.initialized, limits.initialized_per_user), (row.initialized, row.initialized_per_user));
    assert_eq!((limits.accepted, limits.accepted_per_user), (row.accepted, row.accepted_per_user));
    assert_eq!((limits.active_tasks, limits.active_tasks_per_user), (200_000, 100_000));
    assert_eq!(queue.slot_share(1000), SlotShare { capacity: row.slots, maximum: None });
    assert!(!queue.supports_priority());
}

#[test]
fn row_queue_a() {
    let row = Row { initialized: 240, initialized_per_user: 48, accepted: 24_000, accepted_per_user: 4800, slots: 80 };
    check("queueA", &row);
}

#[test]
fn row_queue_b() {
    check(
        "queueB",
        &Row { initialized: 60, initialized_per_user: 12, accepted: 600, accepted_per_user: 120, slots: 20 },
    );
}

#[test]
fn row_queue_c() {
    let row = Row { initialized: 900, initialized_per_user: 180, accepted: 9000, accepted_per_user: 1800, slots: 300 };
    check("queueC", &row);
}

#[test]
fn row_queue_d() {
    check("queueD", &Row { initialized: 30, initialized_per_user: 6, accepted: 300, accepted_per_user: 60, slots: 10 });
}

#[test]
fn row_queue_e() {
    let row = Row { initialized: 930, initialized_per_user: 186, accepted: 9300, accepted_per_user: 1860, slots: 310 };
    check("queueE", &row);
}

#[test]
fn row_queue_f() {
    let row = Row { initialized: 840, initialized_per_user: 168, accepted: 8400, accepted_per_user: 1680, slots: 280 };
    check("queueF", &row);
}

#[test]
fn slots_are_cut_to_whole_ones_and_jobs_rounded_up() {
    let share = |capacity, maximum, slots| SlotShare::new(decimal(capacity), Some(decimal(maximum)), slots);
    assert_eq!(share("12.5", "37.5", 10), SlotShare { capacity: 1, maximum: Some(3) });
    assert_eq!(share("0.1", "0.1", 999), SlotShare { capacity: 0, maximum: Some(0) });
    let mut written = written(&[("q1", "50"), ("q2", "50")]);
    written.maximum_system_jobs = 7;
    written.queues[0].minimum_user_limit_percent = 30;
    let limits = *CapacityConfig::new(&written).unwrap().queues()[0].job_limits();
    // 3.5 and 1.05.
    assert_eq!((limits.initialized, limits.initialized_per_user), (4, 2));
}

#[test]
fn a_maximum_of_no_slot_limits_nothing() {
    assert!(SlotShare { capacity: 0, maximum: Some(0) }.has_room(5, 1));
    assert!(SlotShare { capacity: 0, maximum: Some(6) }.has_room(5, 1));
    assert!(!SlotShare { capacity: 0, maximum: Some(5) }.has_room(5, 1));
}

#[test]
fn a_queue_without_slots_sorts_as_a_full_one() {
    let fill = |capacity, occupied| {
        let (part, whole) = SlotShare { capacity, maximum: None }.fill(occupied);
        (part, whole.get())
    };
    assert_eq!([fill(0, 0), fill(0, 9), fill(4, 2)], [(1, 1), (1, 1), (2, 4)]);
}

#[test]
fn row_6_capacities_follow_a_growing_cluster() {
    let config = config(&[("default", "10"), ("q2", "90")]);
    let capacities = |slots| {
        let capacity = |name| config.queue(name).unwrap().slot_share(slots).capacity;
        (capacity("default"), capacity("q2"))
    };
    assert_eq!([4, 6, 8, 10].map(capacities), [(0, 3), (0, 5), (0, 7), (1, 9)]);
}
