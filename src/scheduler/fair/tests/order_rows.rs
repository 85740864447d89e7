//! Who gets the next slot: limits, minimums, weights, modes and the load cap.

use crate::model::{Kind, PerKind};
use crate::scheduler::fair::options::{FairOptions, JobOrdering};

use super::cluster::{Cluster, HIGH, NORMAL, jobs_of, multiple, single};

fn fill_all(cluster: &mut Cluster, trackers: usize) -> Vec<String> {
    (1..=trackers).flat_map(|tracker| cluster.fill(tracker)).collect()
}

#[test]
fn row_1_without_jobs_there_are_no_tasks() {
    let mut cluster = Cluster::small("");
    cluster.update();
    assert_eq!((cluster.beat(1), cluster.beat(2)), (vec![], vec![]));
}

#[test]
fn row_2_two_small_jobs() {
    let mut cluster = Cluster::small("");
    cluster.submit("default", 2, 1);
    cluster.submit("default", 1, 2);
    cluster.update();
    assert_eq!(cluster.fill(1), ["m0/j1", "r0/j1", "m0/j2", "r0/j2"]);
    assert_eq!(cluster.running(1), PerKind::new(1, 1));
    assert_eq!(cluster.fill(2), ["m1/j1", "r1/j2"]);
    assert_eq!((cluster.running(1), cluster.running(2)), (PerKind::new(2, 1), PerKind::new(1, 2)));
    assert_eq!((cluster.beat(1), cluster.beat(2)), (vec![], vec![]));
}

#[test]
fn row_3_rows_2_4_and_7_with_one_answer_for_each_tracker() {
    let mut small = Cluster::new(multiple(), "", 2, 1);
    small.submit("default", 2, 1);
    small.submit("default", 1, 2);
    small.update();
    assert_eq!(small.beat(1), ["m0/j1", "r0/j1", "m0/j2", "r0/j2"]);
    assert_eq!(small.beat(2), ["m1/j1", "r1/j2"]);

    let mut large = Cluster::new(multiple(), "", 2, 1);
    large.submit("default", 10, 10);
    large.submit("default", 10, 10);
    large.update();
    assert_eq!(large.beat(1), ["m0/j1", "r0/j1", "m0/j2", "r0/j2"]);
    assert_eq!(large.beat(2), ["m1/j1", "r1/j1", "m1/j2", "r1/j2"]);

    let mut pools = Cluster::new(multiple(), A_MIN_2, 2, 1);
    pools.submit("default", 10, 10);
    pools.submit("poolA", 10, 10);
    pools.submit("poolA", 10, 10);
    pools.update();
    assert_eq!(pools.beat(1), ["m0/j2", "r0/j2", "m0/j3", "r0/j3"]);
    assert_eq!(pools.beat(2), ["m0/j1", "r0/j1", "m1/j1", "r1/j1"]);
}

#[test]
fn row_4_two_large_jobs_alternate() {
    let mut cluster = Cluster::small("");
    cluster.submit("default", 10, 10);
    cluster.submit("default", 10, 10);
    cluster.update();
    let given = fill_all(&mut cluster, 2);
    assert_eq!(jobs_of(&given, 'm'), [1, 2, 1, 2]);
    assert_eq!(jobs_of(&given, 'r'), [1, 2, 1, 2]);
    for (job, kind) in [(1, Kind::Map), (1, Kind::Reduce), (2, Kind::Map), (2, Kind::Reduce)] {
        cluster.finish(job, kind, 2);
    }
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 2), 'm'), [1, 2, 1, 2]);
}

#[test]
fn row_5_a_high_priority_gets_twice_as_much() {
    let mut cluster = Cluster::new(single(), "", 3, 1);
    cluster.submit("default", 10, 10);
    cluster.submit_at("default", (10, 10), HIGH, "user1", &[]);
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 3), 'm'), [1, 2, 2, 1, 2, 2]);
}

#[test]
fn a_changed_priority_counts_from_the_next_heartbeat_on() {
    let mut cluster = Cluster::new(single(), "", 3, 1);
    cluster.submit("default", 10, 10);
    let second = cluster.submit("default", 10, 10);
    cluster.update();
    cluster.set_priority(second, HIGH);
    assert_eq!(jobs_of(&fill_all(&mut cluster, 3), 'm'), [1, 2, 2, 1, 2, 2]);
}

#[test]
fn row_6_minimums_come_first() {
    let file = "<pool name='poolA'><minMaps>1</minMaps><minReduces>2</minReduces></pool>
        <pool name='poolB'><minMaps>2</minMaps><minReduces>1</minReduces></pool>";
    let mut cluster = Cluster::small(file);
    let [default, a, b] = ["default", "poolA", "poolB"].map(|pool| cluster.submit(pool, 10, 10));
    cluster.update();
    let given = fill_all(&mut cluster, 2);
    assert_eq!(jobs_of(&given, 'm'), [a, b, b, default]);
    assert_eq!(jobs_of(&given, 'r'), [a, b, a, default]);
}

const A_MIN_2: &str = "<pool name='poolA'><minMaps>2</minMaps><minReduces>2</minReduces></pool>";

#[test]
fn row_7_jobs_of_a_pool_divide_its_minimum() {
    let mut cluster = Cluster::small(A_MIN_2);
    cluster.submit("default", 10, 10);
    cluster.submit("poolA", 10, 10);
    cluster.submit("poolA", 10, 10);
    cluster.update();
    let given = fill_all(&mut cluster, 2);
    assert_eq!(jobs_of(&given, 'm'), [2, 3, 1, 1]);
    assert_eq!(jobs_of(&given, 'r'), [2, 3, 1, 1]);
}

#[test]
fn row_8_a_minimum_above_the_demand_is_left_to_others() {
    let mut cluster = Cluster::small("<pool name='poolA'><minMaps>4</minMaps><minReduces>4</minReduces></pool>");
    cluster.submit("default", 10, 10);
    cluster.submit("poolA", 1, 1);
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 2), 'm'), [2, 1, 1, 1]);
}

#[test]
fn row_9_a_pool_runs_as_many_jobs_as_its_limit() {
    let mut cluster = Cluster::small("<pool name='default'><maxRunningJobs>2</maxRunningJobs></pool>");
    (0..4).for_each(|_| _ = cluster.submit("default", 10, 10));
    assert_eq!((cluster.begin(), cluster.begin()), (vec![1, 2], vec![]));
    cluster.update();
    assert_eq!(cluster.begin(), [0; 0]);
    let given = fill_all(&mut cluster, 2);
    assert_eq!((jobs_of(&given, 'm'), jobs_of(&given, 'r')), (vec![1, 2, 1, 2], vec![1, 2, 1, 2]));
}

#[test]
fn row_10_a_user_runs_as_many_jobs_as_the_limit() {
    let mut cluster = Cluster::small("<user name='user1'><maxRunningJobs>1</maxRunningJobs></user>");
    for user in ["user1", "user1", "user2", "user2"] {
        cluster.submit_at("default", (10, 10), NORMAL, user, &[]);
    }
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 2), 'm'), [1, 3, 4, 1]);
}

#[test]
fn row_13_a_pool_of_twice_the_weight_gets_twice_as_much() {
    let mut cluster = Cluster::new(single(), "<pool name='poolA'><weight>2.0</weight></pool>", 3, 1);
    cluster.submit("default", 10, 10);
    cluster.submit("poolA", 10, 10);
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 3), 'm'), [1, 2, 2, 1, 2, 2]);
}

#[test]
fn row_15_a_pool_gets_no_more_than_its_maximum() {
    let file = "<pool name='limited'><maxMaps>2</maxMaps><maxReduces>1</maxReduces></pool>";
    let mut cluster = Cluster::small(file);
    let limited = cluster.submit("limited", 10, 5);
    let default = cluster.submit("default", 10, 5);
    cluster.update();
    fill_all(&mut cluster, 2);
    assert_eq!((cluster.running(limited), cluster.running(default)), (PerKind::new(2, 1), PerKind::new(2, 3)));
    cluster.finish(limited, Kind::Reduce, 1);
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 2), 'r'), [limited]);
}

#[test]
fn a_pool_of_weight_zero_gets_what_no_other_pool_wants() {
    let file = "<pool name='lowly'><weight>0</weight><minMaps>1</minMaps></pool>";
    let mut cluster = Cluster::small(file);
    let lowly = cluster.submit("lowly", 10, 10);
    let default = cluster.submit("default", 2, 10);
    cluster.update();
    let given = fill_all(&mut cluster, 2);
    assert_eq!(jobs_of(&given, 'm'), [lowly, default, default, lowly]);
    assert_eq!(jobs_of(&given, 'r'), [default; 4]);
}

#[test]
fn row_26_a_light_load_is_spread() {
    let mut cluster = Cluster::new(multiple(), "", 4, 1);
    cluster.submit("default", 4, 3);
    cluster.update();
    for tracker in 1..=3 {
        assert_eq!(cluster.beat(tracker).len(), 2, "tracker {tracker}");
        assert_eq!(cluster.beat(tracker), [""; 0]);
    }
    assert_eq!(cluster.beat(4), ["m3/j1"]);
}

#[test]
fn row_27_jobs_of_a_fifo_pool_go_by_priority_and_start() {
    let mut cluster = Cluster::small("<pool name='default'><schedulingMode>fifo</schedulingMode></pool>");
    cluster.submit("default", 1, 1);
    cluster.submit("default", 3, 3);
    cluster.submit_at("default", (1, 1), HIGH, "user1", &[]);
    cluster.submit("default", 3, 3);
    cluster.update();
    let given = fill_all(&mut cluster, 2);
    assert_eq!((jobs_of(&given, 'm'), jobs_of(&given, 'r')), (vec![3, 1, 2, 2], vec![3, 1, 2, 2]));
}

#[test]
fn row_28_first_jobs_of_fifo_pools_alternate() {
    let mut cluster = Cluster::small("<defaultPoolSchedulingMode>fifo</defaultPoolSchedulingMode>");
    ["poolA", "poolA", "poolB", "poolB"].iter().for_each(|pool| _ = cluster.submit(pool, 10, 10));
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 2), 'm'), [1, 3, 1, 3]);
}

#[test]
fn row_29_each_pool_has_a_mode_of_its_own() {
    let mut cluster = Cluster::small("<pool name='poolA'><schedulingMode>fifo</schedulingMode></pool>");
    ["poolA", "poolA", "poolB", "poolB"].iter().for_each(|pool| _ = cluster.submit(pool, 10, 10));
    cluster.update();
    assert_eq!(jobs_of(&fill_all(&mut cluster, 2), 'm'), [1, 3, 1, 4]);
}

#[test]
fn an_attempt_that_outlives_its_job_counts_until_the_next_update() {
    let mut cluster = Cluster::new(FairOptions { is_compatible: true, ..single() }, "", 2, 1);
    cluster.submit("a", 1, 0);
    cluster.update();
    assert_eq!(cluster.beat(1), ["m0/j1"]);
    ["a", "b"].iter().for_each(|pool| _ = cluster.submit(pool, 2, 0));
    cluster.update();
    cluster.remove(1);
    cluster.end(1);
    cluster.finish(1, Kind::Map, 1);
    // Both pools hold nothing.
    assert_eq!(cluster.beat(2), ["m0/j3"]);
    cluster.update();
    assert_eq!(cluster.beat(2), ["m0/j2"]);
}

#[test]
fn a_pool_that_was_full_with_attempts_of_an_ended_job_gives_slots_again_after_the_next_update() {
    let file = r#"<pool name="p"><maxMaps>1</maxMaps></pool>"#;
    let mut cluster = Cluster::new(FairOptions { is_compatible: true, ..multiple() }, file, 2, 1);
    cluster.submit("p", 2, 0);
    cluster.update();
    assert_eq!(cluster.beat(1), ["m0/j1"]);
    cluster.submit("p", 1, 0);
    cluster.remove(1);
    cluster.update();
    assert_eq!(cluster.beat(2), [""; 0]);
    cluster.end(1);
    cluster.update();
    assert_eq!(cluster.beat(2), ["m0/j2"]);
}

fn by_deficit(options: FairOptions) -> FairOptions {
    FairOptions { ordering: JobOrdering::Deficit, ..options }
}

#[test]
fn the_job_that_got_least_so_far_comes_first() {
    let mut cluster = Cluster::new(by_deficit(single()), "", 2, 1);
    cluster.submit("default", 10, 0);
    cluster.update();
    cluster.advance_ms(1_000);
    cluster.update();
    assert_eq!(jobs_of(&(1..=2).flat_map(|tracker| cluster.fill(tracker)).collect::<Vec<_>>(), 'm'), [1, 1, 1, 1]);
    cluster.submit("default", 10, 0);
    cluster.update();
    // The first job holds all slots; the second is owed two of them.
    cluster.advance_ms(5_000);
    cluster.update();
    cluster.finish(1, Kind::Map, 2);
    assert_eq!(cluster.fill(1), ["m0/j2", "m1/j2"]);
}

#[test]
fn jobs_below_their_minimum_come_before_larger_deficits() {
    let file = "<pool name='poolA'><minMaps>1</minMaps></pool>";
    let mut cluster = Cluster::new(by_deficit(multiple()), file, 2, 1);
    cluster.submit("default", 10, 0);
    cluster.update();
    cluster.advance_ms(60_000);
    cluster.update();
    cluster.submit("poolA", 10, 0);
    cluster.update();
    assert_eq!(jobs_of(&cluster.beat(1), 'm'), [2, 1]);
}

#[test]
fn a_pool_gets_no_more_than_its_maximum() {
    let file = "<pool name='limited'><maxMaps>1</maxMaps></pool>";
    let mut cluster = Cluster::new(by_deficit(multiple()), file, 2, 1);
    cluster.submit("limited", 10, 0);
    cluster.submit("default", 10, 0);
    cluster.update();
    let given: Vec<String> = (1..=2).flat_map(|tracker| cluster.beat(tracker)).collect();
    assert_eq!(jobs_of(&given, 'm'), [1, 2, 2, 2]);
}

#[test]
fn row_22_only_the_pool_that_has_less_wants_slots_though_no_clock_was_renewed() {
    let file = r#"<pool name="pool1"><minMaps>2</minMaps><minReduces>2</minReduces>
        <minSharePreemptionTimeout>5</minSharePreemptionTimeout></pool>
        <fairSharePreemptionTimeout>5</fairSharePreemptionTimeout>"#;
    let mut cluster = Cluster::new(FairOptions { preempts: true, ..single() }, file, 2, 1);
    cluster.submit("pool1", 10, 10);
    cluster.update();
    [1, 2].into_iter().for_each(|tracker| drop(cluster.fill(tracker)));
    assert_eq!(cluster.running(1), PerKind::new(4, 4));
    cluster.submit("default", 10, 10);
    cluster.update();
    cluster.advance_ms(6_000);
    for kind in Kind::ALL {
        assert_eq!(cluster.wanted(kind), [("default".to_owned(), 2), ("pool1".to_owned(), 0)], "{kind:?}");
    }
}
