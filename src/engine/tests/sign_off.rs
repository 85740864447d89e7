//! Trackers that end by themselves: their work starts elsewhere at once. Trackers that a new one has cleared up after.

use core::net::{IpAddr, Ipv4Addr};

use crate::api::PendingReason;
use crate::engine::{Event, Reply};
use crate::fake_tracker::Role;
use crate::model::{AttemptState, JobId, RunState};
use crate::wire::{HealthStatus, HeartbeatRequest, REPLACES, SIGNED_OFF};

use super::cluster::{Cluster, FakeTask, Fate, decode, fifo, spec};

fn hang_maps(task: &FakeTask) -> Fate {
    if task.role == Role::Work { Fate::Hang } else { Fate::Succeed }
}

/// A job whose two maps hang on the first of two trackers.
fn two_trackers() -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("u", "default", 2, 0)).unwrap();
    (0..4).for_each(|_| drop(cluster.beat(0, hang_maps)));
    assert_eq!(cluster.trackers[0].attempts.len(), 2);
    cluster.add_tracker("h1", 2, 1);
    cluster.beat(1, hang_maps);
    (cluster, job)
}

/// The last heartbeat of a tracker that stops.
fn last_heartbeat(cluster: &mut Cluster, index: usize) -> HeartbeatRequest {
    let mut request = cluster.request(index);
    for report in &mut request.status.tasks {
        report.state = AttemptState::Killed;
    }
    request.accept_new_tasks = false;
    (request.status.max_map_slots, request.status.max_reduce_slots) = (0, 0);
    request.status.health = HealthStatus { healthy: false, report: SIGNED_OFF.into(), last_reported_ms: 1 };
    request
}

fn sign_off(cluster: &mut Cluster, request: HeartbeatRequest) {
    let connection = cluster.trackers[0].connection;
    let (reply, wait_for) = cluster.step(Event::Heartbeat { request, connection, address: None });
    assert_eq!(wait_for, cluster.engine.last_fact(), "what it says is said once");
    match reply {
        Reply::Heartbeat(answer) => assert_eq!(decode(answer).actions, []),
        other => panic!("{other:?}"),
    }
}

fn is_registered(cluster: &Cluster, index: usize) -> bool {
    let name = &cluster.trackers[index].name;
    cluster.engine.host_of_tracker(name).is_some()
}

#[test]
fn a_tracker_that_signs_off_leaves_its_tasks_to_others_at_once() {
    let (mut cluster, job) = two_trackers();
    let request = last_heartbeat(&mut cluster, 0);
    sign_off(&mut cluster, request.clone());
    assert!(!is_registered(&cluster, 0));
    cluster.beat(1, hang_maps);
    assert_eq!(cluster.trackers[1].attempts.len(), 2, "no time has passed");
    // It comes a second time, if the first answer was lost.
    sign_off(&mut cluster, request);
    cluster.trackers.remove(0);
    assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
}

/// It was stopped while its heartbeat was on its way.
#[test]
fn a_lost_answer_delays_no_sign_off() {
    let (mut cluster, job) = two_trackers();
    let last = last_heartbeat(&mut cluster, 0);
    cluster.beat_unanswered(0, hang_maps);
    sign_off(&mut cluster, last);
    assert!(!is_registered(&cluster, 0));
    cluster.trackers.remove(0);
    assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn who_still_has_slots_or_tasks_is_ill_and_stays() {
    for change in [
        |request: &mut HeartbeatRequest| request.status.max_map_slots = 1,
        |request: &mut HeartbeatRequest| request.status.health.healthy = true,
        |request: &mut HeartbeatRequest| request.status.health.report = "signed off?".into(),
        |request: &mut HeartbeatRequest| request.status.tasks[0].state = AttemptState::Running,
    ] {
        let (mut cluster, _) = two_trackers();
        let mut request = last_heartbeat(&mut cluster, 0);
        change(&mut request);
        let connection = cluster.trackers[0].connection;
        cluster.step(Event::Heartbeat { request, connection, address: None });
        assert!(is_registered(&cluster, 0));
    }
}

#[test]
fn missing_and_silent_workers_are_explained() {
    let mut cluster = Cluster::new(fifo());
    let job = cluster.submit(spec("u", "default", 2, 0)).unwrap();
    let why = |cluster: &Cluster| cluster.engine.explain(job, true, cluster.now).value.unwrap().finish().why;
    assert_eq!(why(&cluster), [PendingReason::NoWorker, PendingReason::SetupWaits]);
    cluster.add_tracker("h0", 1, 0);
    cluster.add_tracker("h1", 1, 0);
    (0..2).for_each(|index| drop(cluster.beat(index, hang_maps)));
    let silent =
        |cluster: &Cluster| why(cluster).into_iter().find(|why| matches!(why, PendingReason::SilentWorkers { .. }));
    assert_eq!(silent(&cluster), None);
    cluster.pass_ms(5_001);
    cluster.beat(1, hang_maps);
    let expected = PendingReason::SilentWorkers { silent: 1, workers: 2, longest_s: 5, lost_after_s: 600 };
    assert_eq!(silent(&cluster), Some(expected.clone()));
    let text = "1 of 2 workers silent, for up to 5 s; after 600 s one counts as lost, and its tasks run elsewhere";
    assert_eq!(expected.to_string(), text);
    let snapshot = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!(snapshot.trackers.iter().map(|tracker| tracker.is_silent).collect::<Vec<_>>(), [true, false]);
}

const HERE: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
const ELSEWHERE: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));

/// The first tracker calls from here; a new one says that it has cleared up after it.
fn replace(host: &str, address: Option<IpAddr>, is_connected: bool) -> bool {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let (request, connection) = (cluster.request(0), cluster.trackers[0].connection);
    cluster.step(Event::Heartbeat { request, connection, address: HERE });
    if !is_connected {
        cluster.step(Event::ConnectionClosed { connection });
    }
    cluster.add_tracker(host, 1, 1);
    cluster.trackers[1].name += "-new";
    let mut request = cluster.request(1);
    let names = format!("{REPLACES}unknown {} {}", cluster.trackers[0].name, cluster.trackers[1].name);
    request.status.health = HealthStatus { healthy: true, report: names.as_str().into(), last_reported_ms: 0 };
    let connection = cluster.trackers[1].connection;
    let (_, wait_for) = cluster.step(Event::Heartbeat { request, connection, address });
    assert!(is_registered(&cluster, 1));
    let is_replaced = !is_registered(&cluster, 0);
    assert!(!is_replaced || wait_for == cluster.engine.last_fact());
    is_replaced
}

#[test]
fn only_a_tracker_that_is_gone_from_the_same_machine_can_be_replaced() {
    assert!(replace("h0", HERE, false));
    assert!(!replace("h0", HERE, true), "it is connected");
    assert!(!replace("h0", ELSEWHERE, false), "the address is another");
    assert!(!replace("h1", HERE, false), "the host is another");
}
