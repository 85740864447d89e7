//! What a configuration is refused for, what a reload changes, keeps and refuses, and slots by memory.

use crate::model::{Kind, PerKind};
use crate::scheduler::capacity::{CapacityConfigError, SlotMemory};

use super::*;

fn refusal(change: impl FnOnce(&mut WrittenConfig)) -> String {
    let mut written = written(&[("q1", "50"), ("q2", "50")]);
    change(&mut written);
    CapacityConfig::new(&written).unwrap_err().to_string()
}

/// The same after a change of `q2` alone.
fn refusal_of_queue(change: impl FnOnce(&mut WrittenQueue)) -> String {
    refusal(|written| change(&mut written.queues[1]))
}

fn is_accepted(change: impl FnOnce(&mut WrittenConfig)) -> bool {
    let mut written = written(&[("q1", "50"), ("q2", "50")]);
    change(&mut written);
    CapacityConfig::new(&written).is_ok()
}

#[test]
fn maximum_system_jobs_is_positive() {
    assert_eq!(refusal(|written| written.maximum_system_jobs = 0), "Invalid maximum system jobs: 0");
    assert_eq!(refusal(|written| written.maximum_system_jobs = -7), "Invalid maximum system jobs: -7");
}

#[test]
fn init_poll_interval_is_positive() {
    assert_eq!(refusal(|written| written.init_poll_interval_ms = 0), "Invalid initializater poller interval 0");
}

#[test]
fn init_worker_threads_is_positive() {
    assert_eq!(refusal(|written| written.init_worker_threads = 0), "Invalid initializater worker thread number 0");
}

#[test]
fn heartbeat_limits_default_and_negative_ones_count_as_the_original_counts_them() {
    let config = |most, after| {
        let mut written = written(&[("q", "100")]);
        written.maximum_tasks_per_heartbeat = most;
        written.maximum_tasks_after_off_switch = after;
        let config = CapacityConfig::new(&written).unwrap();
        (config.maximum_tasks_per_heartbeat(), config.maximum_tasks_after_off_switch())
    };
    let default = WrittenConfig::default();
    let default = (default.maximum_tasks_per_heartbeat, default.maximum_tasks_after_off_switch);
    assert_eq!(config(default.0, default.1), (32_767, 0));
    assert_eq!(config(-1, -1), (0, u32::MAX));
}

#[test]
fn capacity_is_required() {
    let text = refusal_of_queue(|queue| queue.capacity = None);
    assert_eq!(text, "Queue 'q2' doesn't have configured capacity!");
}

#[test]
fn capacity_is_between_0_and_100() {
    let text = |value: &str| refusal_of_queue(|queue| queue.capacity = Some(decimal(value)));
    assert_eq!(text("100.5"), "Illegal capacity for queue q2 of 100.5");
    assert_eq!(text("-1"), "Illegal capacity for queue q2 of -1.0");
}

#[test]
fn maximum_capacity_of_zero_and_below_is_none() {
    for value in ["0", "-5"] {
        let mut written = written(&[("q", "100")]);
        written.queues[0].maximum_capacity = decimal(value);
        assert_eq!(CapacityConfig::new(&written).unwrap().queues()[0].maximum_capacity(), None);
    }
}

#[test]
fn maximum_capacity_is_at_most_100() {
    let text = refusal_of_queue(|queue| queue.maximum_capacity = decimal("101"));
    assert_eq!(text, "Illegal maximum-capacity for queue q2 of 101.0");
}

#[test]
fn maximum_capacity_is_not_below_capacity() {
    let text = refusal_of_queue(|queue| {
        queue.capacity = Some(decimal("70"));
        queue.maximum_capacity = decimal("50");
    });
    assert_eq!(text, "maximum-capacity 50.0 for a queue should be greater than or equal to capacity ");
    assert!(is_accepted(|written| written.queues[0].maximum_capacity = decimal("50")));
}

#[test]
fn minimum_user_limit_percent_is_between_1_and_100() {
    for value in [0, -1, 101] {
        let text = refusal_of_queue(|queue| queue.minimum_user_limit_percent = value);
        assert_eq!(text, format!("Invalid user limit : {value} for queue : q2"));
    }
    assert!(is_accepted(|written| written.queues[0].minimum_user_limit_percent = 1));
}

#[test]
fn user_limit_factor_gives_each_user_something() {
    for (value, printed) in [("0", "0.0"), ("-2", "-2.0")] {
        let text = refusal_of_queue(|queue| queue.user_limit_factor = decimal(value));
        assert_eq!(text, format!("Invalid user limit factor : {printed} for queue : q2"));
    }
}

#[test]
fn init_accept_jobs_factor_is_positive() {
    let text = refusal_of_queue(|queue| queue.init_accept_jobs_factor = 0);
    assert_eq!(text, "Invalid maximum jobs per user configuration 0");
}

#[test]
fn a_system_has_a_queue() {
    assert_eq!(refusal(|written| written.queues.clear()), "System has no queue configured");
}

#[test]
fn a_queue_is_named_once() {
    let error = CapacityConfig::new(&written(&[("q", "50"), ("q", "50")])).unwrap_err();
    assert_eq!(error, CapacityConfigError::NamedTwice { queue: "q".to_owned() });
}

#[test]
fn capacities_add_to_a_whole_of_100() {
    let sum = |value: &str| refusal_of_queue(|queue| queue.capacity = Some(decimal(value)));
    assert_eq!(sum("49.99"), "Sum of queue capacities not 100% at 99.99");
    assert_eq!(sum("51"), "Sum of queue capacities not 100% at 101.0");
    assert!(is_accepted(|written| written.queues[1].capacity = Some(decimal("50.4"))));
}

#[test]
fn a_thousand_queues_of_a_tenth_add_to_100() {
    let names: Vec<String> = (0..1000).map(|number| format!("q{number}")).collect();
    let queues: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "0.1")).collect();
    assert_eq!(config(&queues).queues().len(), 1000);
}

#[test]
fn the_active_tasks_of_a_user_are_at_most_those_of_the_queue() {
    let text = refusal_of_queue(|queue| queue.maximum_active_tasks = 99_999);
    assert_eq!(text, "Illegal queue configuration for queue 'q2'");
    assert!(is_accepted(|written| written.queues[0].maximum_active_tasks = 100_000));
}

#[test]
fn the_first_error_in_the_originals_order_is_reported() {
    let text = refusal(|written| {
        written.init_worker_threads = 0;
        written.maximum_system_jobs = 0;
        written.queues[0].init_accept_jobs_factor = 0;
        written.queues[1].capacity = None;
    });
    assert_eq!(text, "Invalid maximum system jobs: 0");
    assert_eq!(
        CapacityConfigError::UserLimit { queue: "a".to_owned(), value: 0 }.queue(),
        Some("a"),
        "an error names its queue"
    );
}

#[test]
fn row_5_a_maximum_below_capacity_fails_the_start() {
    let mut written = written(&[("q1", "50"), ("q2", "50")]);
    written.queues[0].maximum_capacity = decimal("40");
    let error = CapacityConfig::new(&written).unwrap_err();
    assert_eq!(error, CapacityConfigError::MaximumBelowCapacity { queue: "q1".to_owned(), value: decimal("40") });
}

#[test]
fn a_task_takes_as_many_slots_as_its_memory_fills() {
    let memory = SlotMemory::new(PerKind::new(1024, 2048));
    assert_eq!([1, 1024, 1025, 4096].map(|task_mb| memory.slots_per_task(Kind::Map, task_mb)), [1, 1, 2, 4]);
    assert_eq!([0, 2048, 7168].map(|task_mb| memory.slots_per_task(Kind::Reduce, task_mb)), [1, 1, 4]);
}

#[test]
fn a_node_has_room_for_what_its_free_slots_hold() {
    let memory = SlotMemory::new(PerKind::new(1024, 2048));
    assert!(memory.has_room(Kind::Map, 2048, 2, 0));
    assert!(!memory.has_room(Kind::Map, 2048, 2, 1));
    assert!(!memory.has_room(Kind::Map, 1, 2, 3));
    assert!(memory.has_room(Kind::Reduce, 7168, 4, 0) && !memory.has_room(Kind::Reduce, 7168, 3, 0));
}

#[test]
fn a_removed_queue_is_refused() {
    let running = config(&[("q1", "50"), ("q2", "50")]);
    let error = running.reload(config(&[("q1", "100")])).unwrap_err();
    assert_eq!(error.to_string(), "Couldn't find queue 'q2' during refresh!");
}

#[test]
fn changed_and_new_queues_are_in_force() {
    let running = config(&[("q1", "50"), ("q2", "50")]);
    let reloaded = running.reload(config(&[("q1", "20"), ("q2", "50"), ("q3", "30")])).unwrap();
    let capacities: Vec<_> = reloaded.queues().iter().map(|queue| (queue.name(), queue.capacity())).collect();
    let of = Decimal::whole;
    assert_eq!(capacities, [("q1", of(20)), ("q2", of(50)), ("q3", of(30))]);
}

#[test]
fn an_existing_queue_keeps_its_priorities_and_a_new_one_brings_its_own() {
    let running = config(&[("q1", "100")]);
    let mut read = written(&[("q1", "50"), ("q2", "50")]);
    read.queues.iter_mut().for_each(|queue| queue.supports_priority = true);
    let reloaded = running.reload(CapacityConfig::new(&read).unwrap()).unwrap();
    assert_eq!(reloaded.queues().iter().map(|queue| queue.supports_priority()).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_removed_maximum_is_lifted() {
    let mut limited = written(&[("q1", "100")]);
    limited.queues[0].maximum_capacity = Decimal::whole(100);
    let running = CapacityConfig::new(&limited).unwrap();
    assert_eq!(running.queues()[0].slot_share(10).maximum, Some(10));
    let reloaded = running.reload(config(&[("q1", "100")])).unwrap();
    assert_eq!(reloaded.queues()[0].slot_share(10).maximum, None);
}

#[test]
fn heartbeat_limits_are_reloaded() {
    let mut read = written(&[("q1", "100")]);
    read.maximum_tasks_per_heartbeat = 3;
    read.maximum_tasks_after_off_switch = 2;
    let reloaded = config(&[("q1", "100")]).reload(CapacityConfig::new(&read).unwrap()).unwrap();
    assert_eq!((reloaded.maximum_tasks_per_heartbeat(), reloaded.maximum_tasks_after_off_switch()), (3, 2));
}
