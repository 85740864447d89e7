//! The graylist and the blacklist, as clients and pages see them.

use crate::engine::TrackerSnapshot;
use crate::fake_tracker::Role;
use crate::model::RunState;
use crate::wire::ClusterStatus;

use super::cluster::{Cluster, Fate};
use super::flaky_hosts::{fail_work, five_hosts, run, touchy};

const WINDOW_MS: u64 = 180 * 60_000;

fn status(cluster: &Cluster) -> ClusterStatus {
    cluster.engine.cluster_status(true).value
}

fn bad_tracker(cluster: &Cluster) -> TrackerSnapshot {
    let trackers = cluster.engine.build_snapshot(cluster.now).value.trackers;
    trackers.into_iter().find(|tracker| tracker.host == "bad").unwrap()
}

/// Four jobs succeed, each with failures on the bad host.
fn graylisted() -> Cluster {
    let mut cluster = five_hosts();
    for faults in 0..4 {
        assert_eq!(status(&cluster).graylisted.count, 0, "{faults} faults");
        let id = cluster.submit(touchy(20, 2)).unwrap();
        assert_eq!(run(&mut cluster, id, fail_work), RunState::Succeeded);
    }
    cluster
}

#[test]
fn a_host_that_four_succeeded_jobs_avoided_is_shown_and_still_works() {
    let mut cluster = graylisted();
    let shown = status(&cluster);
    assert_eq!((shown.active.count, shown.blacklisted.count, shown.graylisted.count), (5, 0, 1));
    assert_eq!(&*shown.graylisted.names[0], "tracker_bad:localhost/127.0.0.1:1");
    assert!(cluster.engine.cluster_status(false).value.graylisted.names.is_empty());
    let tracker = bad_tracker(&cluster);
    assert_eq!((tracker.graylisted, tracker.complaints.as_str()), (true, "4 failures on the tracker"));
    let id = cluster.submit(touchy(20, 2)).unwrap();
    let launched = cluster.engine.build_snapshot(cluster.now).value.attempts_launched;
    (0..5).for_each(|_| drop(cluster.beat(0, |_| Fate::Succeed)));
    assert!(cluster.engine.build_snapshot(cluster.now).value.attempts_launched > launched, "it gets work of {id}");
}

#[test]
fn jobs_that_fail_charge_no_host() {
    let mut cluster = five_hosts();
    for _ in 0..5 {
        let id = cluster.submit(touchy(20, 2)).unwrap();
        let other = |cluster: &mut Cluster| {
            cluster.beat(1, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang })
        };
        for _ in 0..10 {
            cluster.beat(0, fail_work);
            other(&mut cluster);
        }
        let caller = crate::engine::Caller::named("alice");
        cluster.step(crate::engine::Event::KillJob { id, caller });
        assert_eq!(run(&mut cluster, id, fail_work), RunState::Killed);
    }
    assert_eq!(status(&cluster).graylisted.count, 0);
}

#[test]
fn faults_pass_with_their_window() {
    let mut cluster = graylisted();
    cluster.pass_ms(WINDOW_MS - 16 * 60_000);
    cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(status(&cluster).graylisted.count, 1);
    cluster.pass_ms(16 * 60_000);
    cluster.beat(1, |_| Fate::Succeed);
    assert_eq!(status(&cluster).graylisted.count, 1, "another host's call says nothing of this one");
    cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(status(&cluster).graylisted.count, 0);
    assert_eq!(bad_tracker(&cluster).complaints, "");
}

#[test]
fn a_new_process_starts_without_faults_and_a_reinit_does_not() {
    let mut cluster = graylisted();
    let mut request = cluster.request(0);
    request.initial_contact = true;
    cluster.send(0, request);
    assert_eq!(status(&cluster).graylisted.count, 1);
    cluster.restart(0);
    cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(status(&cluster).graylisted.count, 0);
    // All four are forgotten: one more fault is the first.
    let id = cluster.submit(touchy(20, 2)).unwrap();
    assert_eq!(run(&mut cluster, id, fail_work), RunState::Succeeded);
    assert_eq!(status(&cluster).graylisted.count, 0);
}

#[test]
fn an_unhealthy_tracker_is_blacklisted_until_it_says_otherwise_or_is_restarted() {
    for restarts in [false, true] {
        let mut cluster = five_hosts();
        let mut request = cluster.request(0);
        request.status.health.healthy = false;
        request.status.health.report = "ERROR disk is full".into();
        cluster.send(0, request);
        let shown = status(&cluster);
        assert_eq!((shown.active.count, shown.blacklisted.count, shown.graylisted.count), (4, 1, 0));
        assert_eq!(&*shown.blacklisted.names[0], "tracker_bad:localhost/127.0.0.1:1");
        assert_eq!((shown.max_map_slots, shown.max_reduce_slots), (8, 4));
        assert_eq!(bad_tracker(&cluster).complaints, "ERROR disk is full");
        if restarts {
            cluster.restart(0);
        }
        cluster.beat(0, |_| Fate::Succeed);
        let shown = status(&cluster);
        assert_eq!((shown.active.count, shown.blacklisted.count, shown.max_map_slots), (5, 0, 10));
        assert_eq!(bad_tracker(&cluster).complaints, "");
    }
}
