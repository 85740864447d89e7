//! The daemon dies in the middle of everything, and continues as if nothing had happened.

use crate::api::applications::{AllocateCall, ApplicationState, ContainerState, FinalStatus, SubmittedMaster};
use crate::engine::tests::cluster::{Fate, spec};
use crate::engine::{ApplicationAnswer, ApplicationRequest};
use crate::model::{Capability, Kind, PerKind};

use super::bench::{Bench, ONE, asking, context, ids, items_row, launching, read, row, statuses};

#[test]
fn a_repeated_call_is_answered_with_the_same_bytes_after_a_restart() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let before = program;
    let question = || before.question(asking(vec![row(1, 3)]));
    let first = bench.ask(question()).unwrap();
    bench.crash();
    assert_eq!(bench.ask(question()), Ok(first.clone()));
    program.response_id = read(first).response_id;
    let answer = program.call(&mut bench, AllocateCall::default());
    assert!(ids(&answer).is_empty(), "two still wait for room");
    assert_eq!(bench.application(program.application).outstanding(), 2);
}

#[test]
fn a_call_that_waits_is_taken_in_once() {
    let mut bench = Bench::new(&[]);
    let program = bench.register();
    let call = || AllocateCall { wait_ms: 5_000, ..asking(vec![row(1, 3)]) };
    let waits = Ok(ApplicationAnswer::Waits(program.wait()));
    assert_eq!(bench.ask(program.question(call())), waits);
    bench.crash();
    assert_eq!(bench.ask(program.question(call())), waits);
    assert_eq!(bench.application(program.application).outstanding(), 3);
    let wait = program.wait();
    let answer = read(bench.request(ApplicationRequest::Waited { wait, is_over: true }).unwrap());
    assert_eq!(answer.response_id, 1);
}

#[test]
fn what_a_registration_has_listed_is_not_granted_again() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let granted = ids(&program.call(&mut bench, asking(vec![row(1, 2)])));
    program.call(&mut bench, launching(&granted, "true"));
    bench.settle();
    // Its room goes to the second, which no answer names.
    bench.end(granted[0], 0);
    let application = program.application;
    let states = |bench: &Bench| -> Vec<_> {
        bench.application(application).live().map(|one| (one.id.number, one.state)).collect()
    };
    assert_eq!(states(&bench), [(2, ContainerState::Allocated)]);
    program.register(&mut bench);
    assert_eq!(states(&bench), [(2, ContainerState::Acquired)]);
    bench.crash();
    assert_eq!(ids(&program.call(&mut bench, AllocateCall::default())), []);
}

#[test]
fn containers_run_on_and_nothing_is_launched_or_said_twice() {
    let mut bench = Bench::new(&[Capability::new(3_072, 3)]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 3)]));
    let [runs, unlaunched, launching_now] = ids(&answer)[..] else { panic!("three") };
    program.call(&mut bench, launching(&[runs], "true"));
    bench.settle();
    bench.start(runs);
    bench.settle();
    program.call(&mut bench, launching(&[launching_now], "false"));
    bench.crash();
    assert_eq!(bench.on_workers(), [runs, launching_now], "the launch that no beat had carried");
    bench.crash();
    bench.settle();
    assert_eq!(bench.on_workers(), [runs, launching_now]);
    bench.end(runs, 4);
    bench.crash();
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, 4)]);
    bench.crash();
    assert_eq!(statuses(&program.call(&mut bench, AllocateCall::default())), []);
    let release = AllocateCall { release: vec![unlaunched], ..AllocateCall::default() };
    assert_eq!(statuses(&program.call(&mut bench, release)), [(2, -100)]);
}

#[test]
fn what_ended_while_the_daemon_was_down_counts() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    bench.settle();
    let id = ids(&answer)[0];
    bench.workers[0].containers.insert(id, super::bench::ended(crate::model::ContainerExit(0), ""));
    bench.crash();
    assert_eq!(statuses(&program.call(&mut bench, AllocateCall::default())), [(1, 0)]);
}

#[test]
fn a_worker_that_does_not_come_back_is_lost_with_its_containers() {
    let mut bench = Bench::new(&[ONE, ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 2)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    bench.settle();
    let lost = bench.workers[1].containers.keys().next().unwrap().number;
    bench.cluster.crash(1_000, |_| crate::engine::tests::cluster::Fate::Hang);
    for _ in 0..30 {
        bench.cluster.pass_ms(25_000);
        bench.heartbeat(0);
        bench.cluster.timer();
        program.call(&mut bench, AllocateCall::default());
    }
    let totals = bench.application(program.application).counts.totals;
    assert_eq!(totals.complete, 1);
    assert!(!bench.application(program.application).counts.live.contains(&lost));
}

#[test]
fn items_go_on_where_they_were() {
    let mut bench = Bench::new(&[Capability::new(2_048, 2)]);
    let rows = vec![items_row("1-6", |launch| launch.rules.max_attempts = Some(2))];
    let application = bench.unattended(rows);
    let mut runs = Vec::new();
    for _ in 0..100 {
        bench.settle();
        let Some(id) = bench.on_workers().into_iter().min_by_key(|id| id.number) else { break };
        let launch = bench.application(application).containers[&id.number].launch.unwrap();
        runs.push((launch.item.unwrap(), launch.item_attempt));
        bench.end(id, i32::from(launch.item == Some(2)));
        bench.crash();
    }
    assert_eq!(runs, [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (2, 2)]);
    let standing = &bench.application(application).standing;
    assert_eq!((standing.state, standing.final_status), (ApplicationState::Finished, Some(FinalStatus::Failed)));
}

#[test]
fn a_master_is_started_again_until_it_may_not() {
    let mut bench = Bench::new(&[ONE]);
    let application = bench.submit(|submission| {
        let master = SubmittedMaster { context: context("master"), capability: ONE, max_attempts: 2 };
        submission.master = Some(Box::new(master));
    });
    bench.settle();
    let first = bench.on_workers()[0];
    bench.crash();
    assert_eq!(bench.on_workers(), [first]);
    bench.end(first, 1);
    bench.crash();
    bench.settle();
    let second = bench.on_workers()[0];
    assert_ne!(first, second);
    bench.end(second, 1);
    let standing = &bench.application(application).standing;
    assert_eq!(standing.state, ApplicationState::Failed);
    assert_eq!(standing.diagnostics, "its master ended 2 times, last with exit status 1: ");
}

#[test]
fn ids_of_another_run_are_never_given_again() {
    let mut bench = Bench::new(&[]);
    let first = bench.submit(|_| {});
    // The clock was set back.
    bench.cluster.now.wall_ms -= 1_000_000;
    bench.crash();
    assert!(bench.new_id("alice") > first);
}

#[test]
fn no_task_takes_the_room_of_containers_whose_worker_is_not_back() {
    let mut bench = Bench::new(&[Capability::new(2_048, 2)]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    bench.settle();
    bench.cluster.trackers[0].slots = PerKind::new(2, 0);
    bench.cluster.submit(spec("alice", "default", 4, 0)).unwrap();
    bench.cluster.crash(1_000, |_| Fate::Hang);
    (0..3).for_each(|_| bench.heartbeat(0));
    assert_eq!(bench.cluster.trackers[0].busy(Kind::Map), 0, "what is free beside the container is not known");
    bench.connect(0);
    bench.heartbeat(0);
    assert_eq!(bench.cluster.trackers[0].busy(Kind::Map), 1);
}
