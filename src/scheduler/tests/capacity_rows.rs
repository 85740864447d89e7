//! Behaviours that the original's tests assert, by the number of their row: what each heartbeat is given.

use super::capacity_cluster::{Cluster, Input, Submission, queue};
use crate::model::{Decimal, PerKind, Violations};
use crate::scheduler::capacity::{WrittenConfig, WrittenQueue};
use crate::scheduler::{AppId, FifoOptions, PolicyOptions};

const GB: u64 = 1024;
const NONE: [&str; 0] = [];

fn limited(name: &str, capacity: i32, user_limit: i32, factor: i32) -> WrittenQueue {
    WrittenQueue {
        minimum_user_limit_percent: user_limit,
        user_limit_factor: Decimal::whole(factor),
        ..queue(name, capacity)
    }
}

fn with_maximum(queue: WrittenQueue, percent: i32) -> WrittenQueue {
    WrittenQueue { maximum_capacity: Decimal::whole(percent), ..queue }
}

fn job(queue: &'static str, user: &'static str, maps: u32, reduces: u32) -> Submission {
    Submission::new(queue, user, maps, reduces)
}

#[test]
fn row_1_a_queue_stops_at_its_maximum() {
    let mut cluster = Cluster::new(vec![with_maximum(limited("default", 25, 50, 2), 50), queue("q2", 75)], None);
    cluster.add_trackers(4, 1, 1);
    cluster.submit(job("default", "u1", 4, 4));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "r1/j1"]);
    assert_eq!(cluster.beat("tt2"), ["m2/j1", "r2/j1"]);
    assert_eq!(cluster.beat("tt3"), NONE);
}

#[test]
fn row_2_a_heartbeat_gets_all_maps_and_one_reduce() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], None);
    cluster.add_tracker("tt1", 6, 2);
    cluster.submit(job("default", "u1", 6, 2));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1", "m3/j1", "m4/j1", "m5/j1", "m6/j1", "r1/j1"]);
    assert_eq!(cluster.beat("tt1"), ["r2/j1"]);
}

#[test]
fn row_3_two_queues_alternate_and_one_alone_gets_all() {
    let mut cluster = Cluster::new(vec![limited("q1", 50, 50, 4), limited("q2", 50, 50, 4)], None);
    cluster.add_tracker("tt1", 4, 2);
    cluster.submit(job("q1", "u1", 6, 1));
    cluster.submit(job("q2", "u1", 2, 1));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m1/j2", "m2/j2", "m2/j1", "r1/j1"]);
    ["m1/j1", "m1/j2", "m2/j2", "m2/j1"].into_iter().for_each(|task| cluster.finish(task));
    assert_eq!(cluster.beat("tt1"), ["m3/j1", "m4/j1", "m5/j1", "m6/j1", "r1/j2"]);
}

#[test]
fn row_4_each_queue_gets_its_share() {
    let mut cluster = Cluster::of_two(vec![queue("default", 50), queue("q2", 50)]);
    cluster.submit(job("default", "u1", 10, 10));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1", "r1/j1"]);
    cluster.submit(job("q2", "u1", 10, 10));
    assert_eq!(cluster.beat("tt2"), ["m1/j2", "m2/j2", "r1/j2"]);
}

#[test]
fn row_6_a_small_queue_gets_its_first_map_when_its_share_is_a_slot() {
    let mut cluster = Cluster::new(vec![limited("default", 10, 25, 1), limited("q2", 90, 25, 1)], None);
    cluster.add_tracker("tt1", 2, 1);
    cluster.add_tracker("tt2", 2, 1);
    cluster.submit(job("default", "u1", 10, 0));
    cluster.submit(job("q2", "u1", 10, 0));
    let capacities = |cluster: &Cluster, default: u32, q2: u32| {
        let has = |queue, slots| cluster.queue_report(queue).contains(&format!("Map tasks\nCapacity: {slots} slots\n"));
        assert!(has("default", default) && has("q2", q2));
    };
    // A queue without slots counts as full.
    assert_eq!(cluster.beat("tt1"), ["m1/j2", "m2/j2"]);
    capacities(&cluster, 0, 3);
    cluster.add_tracker("tt3", 2, 1);
    assert_eq!(cluster.beat("tt2"), ["m3/j2", "m4/j2"]);
    capacities(&cluster, 0, 5);
    cluster.add_tracker("tt4", 2, 1);
    assert_eq!(cluster.beat("tt3"), ["m5/j2", "m6/j2"]);
    capacities(&cluster, 0, 7);
    cluster.add_tracker("tt5", 2, 1);
    assert_eq!(cluster.beat("tt4"), ["m1/j1", "m7/j2"]);
    capacities(&cluster, 1, 9);
}

#[test]
fn row_7_one_job_uses_what_the_other_queue_leaves() {
    let mut cluster = Cluster::of_two(vec![limited("default", 50, 25, 4), limited("q2", 50, 25, 4)]);
    cluster.submit(job("q2", "u1", 10, 10));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1", "r1/j1"]);
    assert_eq!(cluster.beat("tt2"), ["m3/j1", "m4/j1", "r2/j1"]);
}

#[test]
fn row_8_tasks_of_four_slots_fill_a_queue_to_its_maximum() {
    let queues = vec![queue("default", 50), with_maximum(limited("q1", 50, 50, 2), 80)];
    let mut cluster = Cluster::new(queues, Some(PerKind::new(GB, GB)));
    cluster.add_trackers(5, 4, 4);
    cluster.submit(job("q1", "u1", 5, 1).memory(4 * GB, 4 * GB));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "r1/j1"]);
    for (tracker, task) in [("tt2", "m2/j1"), ("tt3", "m3/j1"), ("tt4", "m4/j1")] {
        assert_eq!(cluster.beat(tracker), [task]);
    }
    assert_eq!(cluster.beat("tt5"), NONE);
    let report = cluster.queue_report("q1");
    assert!(report.contains("Used capacity: 16 (160.0% of Capacity)\n"), "{report}");
    assert!(report.contains("Used capacity: 4 (40.0% of Capacity)\n"), "{report}");
}

#[test]
fn row_9_tasks_of_two_slots_use_the_maximum_of_a_small_queue() {
    let queues = vec![with_maximum(limited("default", 25, 100, 2), 50), queue("q2", 75)];
    let mut cluster = Cluster::new(queues, Some(PerKind::new(GB, GB)));
    cluster.add_trackers(2, 2, 2);
    cluster.submit(job("default", "u1", 2, 1).memory(2 * GB, GB));
    cluster.submit(job("default", "u1", 1, 2).memory(GB, 2 * GB));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "r1/j1"]);
    let report = cluster.queue_report("default");
    assert!(report.contains("Used capacity: 2 (200.0% of Capacity)\n"), "{report}");
    assert!(report.contains("Used capacity: 1 (100.0% of Capacity)\n"), "{report}");
    assert_eq!(cluster.beat("tt2"), NONE);
    cluster.finish("m1/j1");
    cluster.finish("r1/j1");
    assert_eq!(cluster.beat("tt2"), ["m2/j1", "r1/j2"]);
    cluster.finish("m2/j1");
    cluster.finish("r1/j2");
    assert_eq!(cluster.beat("tt2"), ["m1/j2", "r2/j2"]);
}

#[test]
fn row_10_user_limits_grow_with_the_queue_up_to_its_maximum() {
    let mut cluster = Cluster::new(vec![with_maximum(limited("default", 50, 50, 2), 75), queue("q2", 50)], None);
    cluster.add_trackers(2, 2, 2);
    cluster.submit(job("default", "u1", 10, 10));
    cluster.submit(job("default", "u2", 10, 10));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m1/j2", "r1/j1"]);
    assert_eq!(cluster.beat("tt2"), ["m2/j1", "r1/j2"]);
    assert_eq!(cluster.beat("tt2"), ["r2/j1"]);
}

#[test]
fn row_11_a_user_at_the_capacity_waits_and_another_one_goes_beyond() {
    let mut cluster = Cluster::of_two(vec![limited("default", 50, 25, 1), limited("q2", 50, 25, 1)]);
    cluster.submit(job("q2", "u1", 10, 10));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1", "r1/j1"]);
    assert_eq!(cluster.beat("tt2"), NONE);
    cluster.submit(job("q2", "u2", 10, 10));
    assert_eq!(cluster.beat("tt2"), ["m1/j2", "m2/j2", "r1/j2"]);
    cluster.finish("m1/j1");
    assert_eq!(cluster.beat("tt1"), ["m3/j1"]);
    cluster.finish("m1/j2");
    assert_eq!(cluster.beat("tt2"), ["m3/j2"]);
    cluster.finish("m2/j1");
    assert_eq!(cluster.beat("tt1"), ["m4/j1"]);
}

#[test]
fn row_12_a_user_without_slots_comes_before_older_jobs_of_others() {
    let mut cluster = Cluster::new(vec![limited("default", 100, 25, 1)], None);
    cluster.add_trackers(5, 2, 1);
    cluster.submit(job("default", "u1", 10, 10));
    ["tt1", "tt2", "tt3"].into_iter().for_each(|tracker| assert_eq!(cluster.beat(tracker).len(), 3));
    cluster.submit(job("default", "u2", 10, 5));
    ["tt4", "tt5"].into_iter().for_each(|tracker| assert_eq!(cluster.beat(tracker).len(), 3));
    cluster.finish("m1/j1");
    for user in ["u1", "u1", "u1", "u2"] {
        cluster.submit(job("default", user, 2, 2));
    }
    cluster.submit(job("default", "u3", 2, 2));
    assert_eq!(cluster.beat("tt1"), ["m1/j7"]);
    cluster.finish("m2/j1");
    assert_eq!(cluster.beat("tt1"), ["m2/j7"]);
    cluster.finish("m3/j1");
    assert_eq!(cluster.beat("tt2"), ["m7/j1"]);
}

#[test]
fn row_13_two_users_share_a_tracker_by_slots() {
    let mut cluster = Cluster::new(vec![limited("default", 100, 50, 1)], Some(PerKind::new(GB, GB)));
    cluster.add_tracker("tt1", 10, 10);
    cluster.submit(job("default", "u1", 6, 6).memory(GB, GB));
    cluster.submit(job("default", "u2", 6, 6).memory(2 * GB, 2 * GB));
    let given = ["m1/j1", "m2/j1", "m3/j1", "m4/j1", "m5/j1", "m1/j2", "m2/j2", "r1/j1"];
    assert_eq!(cluster.beat("tt1"), given);
}

#[test]
fn row_14_without_memory_scheduling_every_task_takes_one_slot() {
    let mut cluster = Cluster::of_two(vec![queue("default", 100)]);
    cluster.submit(job("default", "u1", 8, 8).memory(64 * GB, 64 * GB));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1", "r1/j1"]);
}

#[test]
fn row_15_nodes_are_reserved_for_tasks_that_do_not_fit_yet() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], Some(PerKind::new(GB, GB)));
    cluster.add_trackers(3, 2, 0);
    for (tracker, task) in [("tt1", "m1/j1"), ("tt2", "m1/j2"), ("tt3", "m1/j3")] {
        cluster.submit(job("default", "u1", 1, 0).memory(GB, GB));
        assert_eq!(cluster.beat(tracker), [task]);
    }
    cluster.submit(job("default", "u2", 2, 0).memory(2 * GB, 0));
    cluster.submit(job("default", "u3", 2, 0).memory(GB, GB));
    let reserved = |cluster: &Cluster| cluster.job_report(4);
    let text = |slots: u32| {
        format!(
            "0 running map tasks using 0 map slots. {slots} additional slots reserved. \
             0 running reduce tasks using 0 reduce slots. 0 additional slots reserved."
        )
    };
    for (tracker, slots) in [("tt1", 2), ("tt2", 4), ("tt1", 4), ("tt2", 4)] {
        assert_eq!(cluster.beat(tracker), NONE);
        assert_eq!(reserved(&cluster), text(slots), "after {tracker}");
    }
    assert_eq!(cluster.beat("tt3"), ["m1/j5"]);
    assert_eq!(cluster.beat("tt1"), NONE);
    // A node whose slot becomes free goes to the job that it is reserved for.
    cluster.finish("m1/j1");
    assert_eq!(cluster.beat("tt1"), ["m1/j4"]);
}

/// A tracker with one of two slots free, which is reserved for job 2, and a job 3 that could use it.
fn cluster_with_a_reservation() -> Cluster {
    let mut cluster = Cluster::new(vec![queue("default", 100)], Some(PerKind::new(GB, GB)));
    cluster.add_tracker("tt1", 2, 0);
    cluster.submit(job("default", "u1", 1, 0).memory(GB, GB));
    assert_eq!(cluster.beat("tt1"), ["m1/j1"]);
    cluster.submit(job("default", "u2", 2, 0).memory(2 * GB, 0));
    cluster.submit(job("default", "u3", 1, 0).memory(GB, GB));
    assert_eq!(cluster.beat("tt1"), NONE);
    assert_eq!(cluster.scheduler.reserved_nodes(AppId::new(2)), PerKind::new(1, 0));
    cluster
}

#[test]
fn nodes_are_reserved_for_a_killed_job_until_its_cleanup_has_ended() {
    let mut cluster = cluster_with_a_reservation();
    cluster.kill_job(2);
    assert_eq!(cluster.beat("tt1"), NONE);
    cluster.end_job(2);
    assert_eq!(cluster.scheduler.take_ended_reservations().len(), 1);
    assert_eq!(cluster.beat("tt1"), ["m1/j3"]);
    assert_eq!(cluster.scheduler.app_pending(AppId::new(2)), PerKind::default());
}

#[test]
fn another_policy_lets_a_killed_job_go() {
    let mut cluster = cluster_with_a_reservation();
    cluster.kill_job(2);
    let pending = |cluster: &Cluster| cluster.scheduler.group_usages().map(|group| group.pending).sum::<u64>();
    assert_eq!(pending(&cluster), 3, "two maps of the killed job and one that waits");
    cluster.scheduler.replace_policy(PolicyOptions::Fifo(FifoOptions::default()));
    cluster.kill_job(2);
    assert_eq!(pending(&cluster), 1);
    assert_eq!(cluster.beat("tt1"), ["m1/j3"]);
    let mut violations = Violations::counting();
    cluster.scheduler.check_sums(&mut violations);
    assert_eq!(violations.take().len(), 0);
}

#[test]
fn row_16_a_node_that_is_too_small_for_ever_is_not_reserved() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], Some(PerKind::new(2 * GB, 2 * GB)));
    cluster.add_tracker("tt1", 4, 0);
    cluster.add_tracker("tt2", 3, 0);
    cluster.submit(job("default", "u1", 2, 0).memory(7 * GB, 0));
    assert_eq!(cluster.beat("tt1"), ["m1/j1"]);
    assert_eq!(cluster.beat("tt2"), NONE);
    assert!(cluster.job_report(1).contains("1 running map tasks using 4 map slots. 0 additional slots reserved."));
    cluster.submit(job("default", "u1", 1, 0).memory(5 * GB, 0));
    assert_eq!(cluster.beat("tt2"), ["m1/j2"]);
}

#[test]
fn row_17_a_reservation_counts_for_its_queue_and_user() {
    let mut cluster = Cluster::new(vec![queue("default", 50), queue("q1", 50)], Some(PerKind::new(GB, GB)));
    cluster.add_trackers(2, 6, 6);
    cluster.submit(job("default", "u1", 6, 6).memory(2 * GB, 2 * GB));
    cluster.submit(job("q1", "u2", 6, 6).memory(GB, GB));
    // The third map of the second queue follows the second, because equal queues keep their order.
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m1/j2", "m2/j2", "m3/j2", "r1/j1"]);
    assert!(cluster.job_report(1).starts_with("1 running map tasks using 2 map slots. 2 additional slots reserved. "));
    for reduce in ["r1/j2", "r2/j2", "r3/j2"] {
        assert_eq!(cluster.beat("tt1"), [reduce]);
    }
    assert_eq!(cluster.beat("tt2"), ["m4/j2", "m5/j2", "m2/j1", "m6/j2", "r2/j1"]);
    assert_eq!(cluster.beat("tt2"), ["r4/j2"]);
    assert!(cluster.job_report(1).starts_with("2 running map tasks using 4 map slots. 2 additional slots reserved. "));
}

/// Ten map slots and five reduce slots, of which a queue has 40 %; its second user's reduces wait for three maps.
fn slow_start_cluster(maximum: i32) -> Cluster {
    let mut cluster = Cluster::new(vec![with_maximum(limited("default", 40, 50, 1), maximum), queue("q2", 60)], None);
    cluster.add_trackers(5, 2, 1);
    cluster.submit(job("default", "u1", 10, 10));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1", "r1/j1"]);
    cluster.submit(Submission { slow_start: 3, ..job("default", "u2", 6, 1) });
    // Before its maps have finished, the second user is no active user of reduces.
    assert_eq!(cluster.beat("tt2"), ["m1/j2", "m2/j2", "r2/j1"]);
    assert_eq!(cluster.beat("tt3"), ["m3/j1", "m3/j2"]);
    cluster
}

#[test]
fn row_18_a_user_before_slow_start_is_no_active_user_of_reduces() {
    let mut cluster = slow_start_cluster(0);
    assert_eq!(cluster.beat("tt4"), ["m4/j1", "m4/j2"]);
    ["m1/j2", "m2/j2", "m3/j2"].into_iter().for_each(|task| cluster.finish(task));
    assert_eq!(cluster.beat("tt5"), ["m5/j2", "m6/j2", "r1/j2"]);
    cluster.finish("m1/j1");
    cluster.finish("r1/j1");
    assert_eq!(cluster.beat("tt1"), ["m5/j1", "r3/j1"]);
}

#[test]
fn row_19_the_same_stops_at_the_maximum() {
    let mut cluster = slow_start_cluster(60);
    assert_eq!(cluster.beat("tt4"), NONE);
    ["m1/j2", "m2/j2", "m3/j2"].into_iter().for_each(|task| cluster.finish(task));
    assert_eq!(cluster.beat("tt5"), ["m4/j2", "m5/j2", "r1/j2"]);
    cluster.finish("m1/j1");
    cluster.finish("r1/j1");
    assert_eq!(cluster.beat("tt1"), ["m4/j1", "r3/j1"]);
}

#[test]
fn row_24_a_cluster_may_lack_the_default_queue() {
    let mut cluster = Cluster::of_two(vec![queue("q1", 100)]);
    cluster.submit(job("q1", "u1", 1, 1));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "r1/j1"]);
}

#[test]
fn row_29_the_second_job_follows_the_first() {
    let mut cluster = Cluster::of_two(vec![limited("default", 50, 25, 1), limited("q2", 50, 25, 1)]);
    cluster.submit(job("default", "u1", 3, 0));
    cluster.submit(job("default", "u1", 3, 0));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m2/j1"]);
    cluster.finish("m1/j1");
    cluster.finish("m2/j1");
    assert_eq!(cluster.beat("tt1"), ["m3/j1", "m1/j2"]);
    cluster.finish("m3/j1");
    assert_eq!(cluster.beat("tt1"), ["m2/j2"]);
    cluster.finish("m2/j2");
    cluster.finish("m1/j2");
    cluster.end_job(1);
    assert_eq!(cluster.beat("tt1"), ["m3/j2"]);
}

#[test]
fn row_30_second_attempts_come_before_the_next_job() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], None);
    cluster.add_trackers(2, 1, 1);
    cluster.submit(job("default", "u1", 1, 1));
    cluster.submit(job("default", "u1", 1, 1));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "r1/j1"]);
    ["m1/j1", "r1/j1"].iter().for_each(|slow| cluster.speculate(slow));
    assert_eq!(cluster.beat("tt2"), ["m1'/j1", "r1'/j1"]);
    assert_eq!(cluster.beat("tt1"), NONE);
    ["m1/j1", "r1/j1"].iter().for_each(|first| cluster.finish(first));
    ["m1'/j1", "r1'/j1"].iter().for_each(|second| cluster.kill(second));
    cluster.end_job(1);
    assert_eq!(cluster.beat("tt1"), ["m1/j2", "r1/j2"]);
    assert_eq!(cluster.beat("tt2"), NONE);
}

/// The slot that is left is too small for a second task, of which there is none.
#[test]
fn a_task_granted_in_this_heartbeat_needs_no_reservation() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], Some(PerKind::new(GB, GB)));
    cluster.add_tracker("tt1", 3, 0);
    cluster.submit(job("default", "u1", 1, 0).memory(2 * GB, 0));
    assert_eq!(cluster.beat("tt1"), ["m1/j1"]);
    assert!(cluster.job_report(1).contains("1 running map tasks using 2 map slots. 0 additional slots reserved."));
}

#[test]
fn row_31_attempts_of_a_killed_job_use_nothing_of_the_queue() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], Some(PerKind::new(512, 512)));
    cluster.add_tracker("tt1", 2, 2);
    cluster.submit(job("default", "u1", 1, 1).memory(512, 512));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "r1/j1"]);
    cluster.end_job(1);
    assert_eq!(cluster.queue_report("default").matches("Used capacity: 0 (0.0% of Capacity)\n").count(), 2);
    cluster.submit(job("default", "u1", 2, 2).memory(512, 512));
    assert_eq!(cluster.beat("tt1"), ["m1/j2", "r1/j2"]);
    assert_eq!(cluster.beat("tt1"), NONE);
    cluster.finish("m1/j1");
    cluster.finish("r1/j1");
    assert_eq!(cluster.beat("tt1"), ["m2/j2", "r2/j2"]);
}

/// One tracker of eight map slots, and a job whose input is not near.
fn far_cluster(input: Input, after_off_switch: i32) -> Cluster {
    let config = WrittenConfig {
        queues: vec![queue("default", 100)],
        maximum_tasks_after_off_switch: after_off_switch,
        ..WrittenConfig::default()
    };
    let mut cluster = Cluster::with_config(&config, None);
    cluster.add_tracker("tt1", 8, 0);
    cluster.submit(Submission { input, ..job("default", "u1", 20, 0) });
    cluster
}

#[test]
fn splits_without_hosts_do_not_wait_and_give_one_map_a_heartbeat() {
    let mut cluster = far_cluster(Input::Unknown, 0);
    assert_eq!(cluster.beat("tt1"), ["m1/j1"]);
    assert_eq!(cluster.beat("tt1"), ["m2/j1"]);
}

#[test]
fn after_an_off_switch_map_only_near_maps_follow_up_to_the_limit() {
    let mut cluster = far_cluster(Input::Unknown, 2);
    cluster.submit(job("default", "u1", 20, 0));
    assert_eq!(cluster.beat("tt1"), ["m1/j1", "m1/j2", "m2/j2"]);
}

#[test]
fn a_far_map_waits_until_enough_trackers_were_passed_over() {
    let mut cluster = far_cluster(Input::Far, 0);
    // One tracker of one host: more than one opportunity.
    assert_eq!(cluster.beat("tt1"), NONE);
    assert_eq!(cluster.beat("tt1"), ["m1/j1"]);
    // An off-switch map does not set the count back.
    assert_eq!(cluster.beat("tt1"), ["m2/j1"]);
}

#[test]
fn a_heartbeat_gets_no_more_maps_than_configured_and_one_at_least() {
    let given = |most| {
        let config = WrittenConfig {
            queues: vec![queue("default", 100)],
            maximum_tasks_per_heartbeat: most,
            ..WrittenConfig::default()
        };
        let mut cluster = Cluster::with_config(&config, None);
        cluster.add_tracker("tt1", 8, 1);
        cluster.submit(job("default", "u1", 20, 20));
        cluster.beat("tt1")
    };
    assert_eq!(given(2), ["m1/j1", "m2/j1", "r1/j1"]);
    assert_eq!(given(0), ["m1/j1", "r1/j1"]);
}
