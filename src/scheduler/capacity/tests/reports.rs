//! Texts about queues and jobs, line by line.

use std::sync::Arc;

use super::*;
use crate::model::PerKind;
use crate::scheduler::capacity::{CapacityQueue, JobReport, KindReport, QueueReport, SlotUsage, StageCounts};

fn queue(maximum: &str) -> CapacityQueue {
    let mut written = written(&[("default", "50"), ("q2", "50")]);
    written.queues[0].maximum_capacity = decimal(maximum);
    written.queues[0].minimum_user_limit_percent = 25;
    written.queues[0].supports_priority = true;
    CapacityConfig::new(&written).unwrap().queues()[0].clone()
}

fn usage(running_tasks: u32, by_user: &[(&str, u32)]) -> SlotUsage {
    let occupied = by_user.iter().map(|(_, slots)| slots).sum();
    SlotUsage {
        running_tasks,
        occupied,
        by_user: by_user.iter().map(|&(user, slots)| (Arc::from(user), slots)).collect(),
    }
}

fn report(maximum: &str, usage: &SlotUsage) -> String {
    let queue = queue(maximum);
    let slots = KindReport { share: queue.slot_share(2), usage };
    let jobs = StageCounts { waiting: 3, initializing: 0, running: 1 };
    QueueReport { queue: &queue, slots: PerKind::new(slots, slots), jobs, users: 1 }.to_string()
}

#[test]
fn a_queue_in_use_prints_each_line() {
    assert_eq!(
        report("100", &usage(1, &[("u1", 1)])),
        "Queue configuration\n\
         Capacity Percentage: 50.0%\n\
         User Limit: 25%\n\
         Priority Supported: YES\n\
         -------------\n\
         Map tasks\n\
         Capacity: 1 slots\n\
         Maximum capacity: 2 slots\n\
         Used capacity: 1 (100.0% of Capacity)\n\
         Running tasks: 1\n\
         Active users:\n\
         User 'u1': 1 (100.0% of used capacity)\n\
         -------------\n\
         Reduce tasks\n\
         Capacity: 1 slots\n\
         Maximum capacity: 2 slots\n\
         Used capacity: 1 (100.0% of Capacity)\n\
         Running tasks: 1\n\
         Active users:\n\
         User 'u1': 1 (100.0% of used capacity)\n\
         -------------\n\
         Job info\n\
         Number of Waiting Jobs: 3\n\
         Number of Initializing Jobs: 0\n\
         Number of users who have submitted jobs: 1\n"
    );
}

#[test]
fn an_idle_queue_has_19_lines_and_23_with_a_user_of_both_kinds() {
    let lines = |usage| report("0", &usage).matches('\n').count();
    assert_eq!((lines(usage(0, &[])), lines(usage(1, &[("u1", 1)]))), (19, 23));
}

#[test]
fn users_are_sorted_by_name_and_those_without_slots_left_out() {
    let text = report("0", &usage(3, &[("zoe", 1), ("adam", 2), ("idle", 0)]));
    let users: Vec<&str> = text.lines().filter(|line| line.starts_with("User '")).take(2).collect();
    assert_eq!(users, ["User 'adam': 2 (66.7% of used capacity)", "User 'zoe': 1 (33.3% of used capacity)"]);
    assert!(!text.contains("idle"));
}

#[test]
fn a_queue_without_capacity_prints_no_percentage() {
    let queue = queue("0");
    let usage = usage(1, &[("u1", 1)]);
    let slots = KindReport { share: queue.slot_share(1), usage: &usage };
    assert!(slots.to_string().starts_with("Capacity: 0 slots\nUsed capacity: 1 (0.0% of Capacity)\n"));
}

#[test]
fn priorities_that_are_not_supported_print_no() {
    let config = config(&[("q", "100")]);
    let usage = SlotUsage::default();
    let slots = KindReport { share: config.queues()[0].slot_share(0), usage: &usage };
    let slots = PerKind::new(slots, slots);
    let report = QueueReport { queue: &config.queues()[0], slots, jobs: StageCounts::default(), users: 0 };
    assert!(report.to_string().contains("\nPriority Supported: NO\n"));
}

#[test]
fn a_job_prints_its_attempts_slots_and_reservations() {
    let report = JobReport {
        running: PerKind::new(1, 2),
        slots_per_task: PerKind::new(2, 3),
        reserved_nodes: PerKind::new(2, 1),
    };
    assert_eq!(
        report.to_string(),
        "1 running map tasks using 2 map slots. 4 additional slots reserved. \
         2 running reduce tasks using 6 reduce slots. 3 additional slots reserved."
    );
    assert_eq!(
        JobReport::default().to_string(),
        "0 running map tasks using 0 map slots. 0 additional slots reserved. \
         0 running reduce tasks using 0 reduce slots. 0 additional slots reserved."
    );
}
