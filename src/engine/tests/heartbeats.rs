//! Registration, repetition, order of answers, and what an answer waits for.

use crate::engine::{Event, Refusal, Reply};
use crate::model::{FactNumber, RunState};
use crate::wire::{Action, HeartbeatRequest};

use super::cluster::{Cluster, Fate, decode, fifo, spec};

#[test]
fn an_unknown_tracker_is_reinitialised_under_its_own_id() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.trackers[0].is_registered = true;
    cluster.trackers[0].response_id = 1099;
    let (response, wait_for) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!((response.response_id, response.actions), (1099, vec![Action::ReinitTracker]));
    assert_eq!(wait_for, cluster.engine.last_fact(), "it may be unknown by a loss that a crash would undo");
    // The old id continues after the reinit.
    let (response, _) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(response.response_id, 1100);
}

#[test]
fn a_lost_answer_is_repeated_and_nothing_is_processed_twice() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    for _ in 0..3 {
        cluster.beat(0, |_| Fate::Succeed);
    }
    // The answer with launches does not arrive: the same request comes again.
    let request = cluster.request(0);
    let connection = cluster.trackers[0].connection;
    let answers: Vec<_> = (0..3)
        .map(|_| match cluster.step(Event::Heartbeat { request: request.clone(), connection, address: None }).0 {
            Reply::Heartbeat(answer) => decode(answer),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1], answers[2]);
    // Received at last.
    cluster.send(0, request);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn response_ids_wrap() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.beat(0, |_| Fate::Succeed);
    cluster.trackers[0].is_registered = false;
    cluster.trackers[0].response_id = i16::MAX;
    let (response, _) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(response.response_id, i16::MIN);
    let (response, _) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(response.response_id, i16::MIN + 1);
}

#[test]
fn only_what_depends_on_facts_waits_for_them() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let (_, idle) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(idle, FactNumber(0));
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let (launch, wait_for) = cluster.beat(0, |_| Fate::Succeed);
    assert!(matches!(launch.actions[0], Action::LaunchTask(_)));
    assert_eq!(wait_for.0, cluster.facts.len() as u64, "a launch waits");
    let (_, running) = cluster.beat(0, |_| Fate::Hang);
    assert_eq!(running, FactNumber(0), "a running task's report waits for nothing");
    let (_, ended) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(ended.0, cluster.facts.len() as u64, "an end waits: the tracker forgets it once answered");
}

/// Sends a heartbeat twice, as after a lost answer, with a submission in between; for each answer the number of its
/// actions and what it waits for, and the last facts before and after the submission.
fn wait_of_answer_and_repetition(cluster: &mut Cluster, request: &HeartbeatRequest) -> [(usize, u64); 3] {
    let connection = cluster.trackers[0].connection;
    let beat = |cluster: &mut Cluster| {
        let (reply, wait_for) = cluster.step(Event::Heartbeat { request: request.clone(), connection, address: None });
        let Reply::Heartbeat(answer) = reply else { panic!("{reply:?}") };
        (decode(answer).actions.len(), wait_for.0)
    };
    let first = beat(cluster);
    let before = cluster.facts.len();
    cluster.submit(spec("bob", "default", 1, 0)).unwrap();
    let repeated = beat(cluster);
    [first, repeated, (before, cluster.facts.len() as u64)]
}

#[test]
fn a_repeated_answer_without_actions_waits_for_no_later_fact() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.beat(0, |_| Fate::Succeed);
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let launch = cluster.request(0);
    let [first, repeated, (before, after)] = wait_of_answer_and_repetition(&mut cluster, &launch);
    assert_eq!([first, repeated], [(1, before as u64), (1, after)], "a launch waits for all facts so far");
    cluster.send(0, launch);
    cluster.beat(0, |_| Fate::Hang);
    let mut report = cluster.request(0);
    report.accept_new_tasks = false;
    let [first, repeated, _] = wait_of_answer_and_repetition(&mut cluster, &report);
    assert_eq!([first, repeated], [(0, 0), (0, 0)], "a running task's report waits for nothing");
}

#[test]
fn a_second_tracker_under_the_name_of_a_living_one_is_sent_away() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.beat(0, |_| Fate::Succeed);
    let mut twin = cluster.request(0);
    twin.initial_contact = true;
    twin.response_id = -1;
    match cluster.step(Event::Heartbeat { request: twin.clone(), connection: 99, address: None }).0 {
        Reply::Refused(Refusal::DisallowedTracker(text)) => assert!(text.contains("slave.host.name"), "{text}"),
        other => panic!("{other:?}"),
    }
    // The first continues undisturbed.
    cluster.beat(0, |_| Fate::Succeed);
    // Once its connection is closed, a tracker of this name is its successor.
    cluster.step(Event::ConnectionClosed { connection: 1 });
    let (reply, _) = cluster.step(Event::Heartbeat { request: twin, connection: 99, address: None });
    assert!(matches!(reply, Reply::Heartbeat(_)));
}

#[test]
fn unknown_attempts_and_jobs_are_killed() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 4, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    cluster.beat(0, |_| Fate::Succeed);
    let mut request = cluster.request(0);
    let mut stranger = request.status.tasks[0].clone();
    stranger.attempt = id.task(crate::model::Kind::Map, 0).attempt(17);
    request.status.tasks.push(stranger.clone());
    stranger.attempt = id.task(crate::model::Kind::Map, 77).attempt(0);
    request.status.tasks.push(stranger.clone());
    stranger.attempt = "attempt_1_0001_m_000000_0".parse().unwrap();
    request.status.tasks.push(stranger);
    let (response, _) = cluster.send(0, request);
    let killed: Vec<String> = response
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::KillTask(attempt) => Some(attempt.to_string()),
            Action::KillJob(job) => Some(job.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(killed, ["attempt_202611210913_0001_m_000000_17", "attempt_202611210913_0001_m_000077_0", "job_1_0001"]);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn excluded_hosts_are_turned_away() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.hosts.excluded.insert("h0".into());
    cluster.add_tracker("h0", 1, 1);
    let request = cluster.request(0);
    let (reply, _) = cluster.step(Event::Heartbeat { request, connection: 1, address: None });
    assert!(matches!(reply, Reply::Refused(Refusal::DisallowedTracker(_))));
}

#[test]
fn absurd_numbers_of_slots_are_survived() {
    let mut cluster = Cluster::new(fifo());
    // As heartbeats carry them: the second is -1.
    cluster.add_tracker("h0", i32::MAX as u32, u32::MAX);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    cluster.beat(0, |_| Fate::Hang);
    let mut request = cluster.request(0);
    let mut stranger = request.status.tasks[0].clone();
    stranger.num_slots = i32::MAX;
    stranger.attempt = id.task(crate::model::Kind::Map, 77).attempt(0);
    request.status.tasks.extend(std::iter::repeat_n(stranger, 50_000));
    let (response, _) = cluster.send(0, request);
    assert!(!response.actions.iter().any(|action| matches!(action, Action::LaunchTask(_))), "it is full");
}

#[test]
fn what_a_successor_does_not_report_is_lost_for_good_before_it_is_answered() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    cluster.beat(0, |_| Fate::Hang);
    cluster.trackers[0].is_registered = false;
    cluster.trackers[0].attempts.clear();
    let mut request = cluster.request(0);
    request.accept_new_tasks = false;
    let (response, wait_for) = cluster.send(0, request);
    assert_eq!(response.actions, []);
    assert_eq!(wait_for.0, cluster.facts.len() as u64);
}

#[test]
fn a_tracker_that_waits_for_the_store_is_not_silent() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let (_, held_for) = cluster.beat(0, |_| Fate::Succeed);
    for _ in 0..10 {
        cluster.pass_ms(300_000);
        cluster.step(Event::Timer { durable: FactNumber(held_for.0 - 1) });
    }
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.trackers.len(), 1);
    // From its answer on it has a whole interval.
    cluster.pass_ms(300_000);
    cluster.timer();
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.trackers.len(), 1);
    cluster.pass_ms(600_000);
    cluster.timer();
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.trackers.len(), 0);
}

#[test]
fn files_go_when_the_end_is_durable_and_lines_of_the_log_at_once() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let (_, wait_for) = cluster.beat(0, |_| Fate::Succeed);
    assert!(wait_for.0 > 0 && !cluster.effects.is_empty());
    assert_eq!(cluster.effects_wait_for, FactNumber(0), "its rack is asked for while the launch is being stored");
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    cluster.effects.clear();
    // The tracker with a pending KILL_JOB never reconnects: no answer is pending.
    cluster.pass_ms(2_000_000);
    assert_eq!(cluster.timer(), FactNumber(0));
    assert!(cluster.effects.iter().any(crate::engine::Effect::needs_facts));
    assert_eq!(cluster.effects_wait_for.0, cluster.facts.len() as u64);
}

#[test]
fn the_rack_of_a_host_that_only_splits_named_is_asked_for_when_it_registers() {
    let mut cluster = Cluster::new(fifo());
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    cluster.add_tracker("h0", 1, 1);
    cluster.beat(0, |_| Fate::Succeed);
    assert!(cluster.effects.contains(&crate::engine::Effect::ResolveRack { host: "h0".into() }));
    cluster.step(Event::RackResolved { host: "h0".into(), rack: "/r7".into() });
    let trackers = cluster.engine.build_snapshot(cluster.now).value.trackers;
    assert_eq!(trackers[0].rack, "/r7");
}
