//! Waits for slots near the data.

use super::cluster::{Cluster, NORMAL, multiple};
use crate::scheduler::fair::locality_wait::LocalityDelayRule;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{Hold, Level, LocalityEnd};

/// Four trackers in two racks; the second job's maps may run anywhere.
fn cluster(maps_near_tt4: u32, other_maps: u32) -> Cluster {
    let mut cluster = Cluster::new(multiple(), "", 4, 2);
    cluster.submit_at("default", (maps_near_tt4, 0), NORMAL, "user1", &[4]);
    if other_maps > 0 {
        cluster.submit("default", other_maps, 0);
    }
    cluster.update();
    cluster
}

#[test]
fn row_23_a_job_waits_for_the_host_of_its_input() {
    let mut cluster = cluster(1, 10);
    for (tracker, given) in [(1, ["m0/j2", "m1/j2"]), (2, ["m2/j2", "m3/j2"]), (3, ["m4/j2", "m5/j2"])] {
        assert_eq!(cluster.beat(tracker), given);
    }
    assert_eq!(cluster.beat(4), ["m0/j1", "m6/j2"]);
}

#[test]
fn row_24_after_the_node_delay_the_rack_will_do() {
    let mut cluster = cluster(4, 10);
    assert_eq!(cluster.beat(1), ["m0/j2", "m1/j2"]);
    cluster.advance_ms(6_000);
    assert_eq!(cluster.beat(2), ["m2/j2", "m3/j2"]);
    // In the rack of tracker 4.
    assert_eq!(cluster.beat(3), ["m0/j1", "m1/j1"]);
    assert_eq!(cluster.beat(4), ["m2/j1", "m3/j1"]);
}

#[test]
fn row_24_after_a_local_map_the_rack_is_refused_again() {
    let mut cluster = cluster(6, 0);
    assert_eq!(cluster.beat(3), [""; 0]);
    cluster.advance_ms(6_000);
    assert_eq!(cluster.beat(3), ["m0/j1", "m1/j1"]);
    assert_eq!(cluster.beat(4), ["m2/j1", "m3/j1"]);
    cluster.finish(1, crate::model::Kind::Map, 2);
    cluster.update();
    assert_eq!(cluster.beat(3), [""; 0]);
}

#[test]
fn row_25_after_both_delays_any_tracker_will_do() {
    let mut cluster = cluster(8, 0);
    // The wait counts from the first heartbeat that asked in vain.
    cluster.advance_ms(6_000);
    assert_eq!(cluster.beat(1), [""; 0]);
    cluster.advance_ms(6_200);
    for tracker in [2, 1] {
        assert_eq!(cluster.beat(tracker), [""; 0], "tracker {tracker}");
    }
    cluster.advance_ms(11_000);
    assert_eq!(cluster.beat(1), ["m0/j1", "m1/j1"]);
    // Level of the rack, from here on.
    assert_eq!(cluster.beat(3), ["m2/j1", "m3/j1"]);
    assert_eq!(cluster.beat(2), [""; 0]);
    assert_eq!(cluster.beat(4), ["m4/j1", "m5/j1"]);
    cluster.finish(1, crate::model::Kind::Map, 4);
    cluster.update();
    assert_eq!(cluster.beat(3), [""; 0]);
}

#[test]
fn a_map_without_hosts_runs_anywhere_at_once() {
    let mut cluster = cluster(0, 2);
    assert_eq!(cluster.beat(1), ["m0/j2"]);
}

#[test]
fn a_second_attempt_does_not_let_maps_run_far_from_their_input() {
    let mut cluster = cluster(1, 0);
    assert_eq!(cluster.beat(4), ["m0/j1"]);
    cluster.request_second_attempt(1);
    cluster.update();
    let wait = |ms| [Hold::Locality { farthest: Level::Node, until: LocalityEnd::AfterMs(ms) }];
    assert_eq!(cluster.holds(1), wait(5_000));
    assert_eq!(cluster.beat(1), [""; 0]);
    cluster.advance_ms(1_000);
    assert_eq!(cluster.beat(1), [""; 0]);
    assert_eq!(cluster.holds(1), wait(4_000));
}

#[test]
fn automatic_delays_follow_the_interval_between_heartbeats_as_it_is_at_each_update() {
    let options = FairOptions { delays: LocalityDelayRule::default(), ..multiple() };
    let mut cluster = Cluster::new(options, "", 4, 2);
    cluster.submit_at("default", (8, 0), NORMAL, "user1", &[4]);
    let wait = |ms| [Hold::Locality { farthest: Level::Node, until: LocalityEnd::AfterMs(ms) }];
    for (interval_ms, delay_ms) in [(2_000, 3_000), (6_000, 9_000), (60_000, 15_000)] {
        cluster.set_heartbeat_interval_ms(interval_ms);
        cluster.update();
        assert_eq!(cluster.holds(1), wait(delay_ms));
    }
}
