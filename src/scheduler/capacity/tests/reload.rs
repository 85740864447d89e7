//! What a reload changes, keeps and refuses.

use super::*;

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
