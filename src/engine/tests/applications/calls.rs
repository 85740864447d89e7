//! `allocate`: each row of the table of response ids, what one call does, and what it never does twice.

use crate::api::applications::{AllocateCall, AskRow, Placement};
use crate::engine::{ApplicationAnswer, ApplicationQuestion, ApplicationRefusal, ApplicationRequest, Effect, Event};
use crate::model::{Capability, ContainerId, FactNumber};

use super::bench::{Bench, ONE, asking, ids, launching, read, row, statuses};

#[test]
fn an_older_attempt_is_superseded() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let older = program;
    program.register(&mut bench);
    let refusal = bench.ask(older.question(AllocateCall::default())).unwrap_err();
    let application = program.application;
    assert_eq!(refusal, ApplicationRefusal::Superseded { application, attempt: 1, current: 2 });
}

#[test]
fn a_new_call_is_taken_in_and_answered_with_the_next_id() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    assert_eq!((answer.attempt, answer.response_id, answer.num_cluster_nodes), (1, 1, 1));
    assert_eq!(ids(&answer), [program.container(1)]);
}

#[test]
fn a_call_waits_until_there_is_something_and_its_repeat_takes_the_wait_over() {
    let mut bench = Bench::new(&[]);
    let program = bench.register();
    let call = || AllocateCall { wait_ms: 10_000, ..asking(vec![row(1, 1)]) };
    let waits = ApplicationAnswer::Waits(program.wait());
    assert_eq!(bench.ask(program.question(call())), Ok(waits.clone()));
    let changes = bench.cluster.facts.len();
    assert_eq!(bench.ask(program.question(call())), Ok(waits.clone()), "not done again");
    assert_eq!(bench.cluster.facts.len(), changes);
    let other = AllocateCall { wait_ms: 9_999, ..call() };
    assert!(matches!(bench.ask(program.question(other)), Err(ApplicationRefusal::Resync(_))));
    let wait = program.wait();
    let waited = |is_over| ApplicationRequest::Waited { wait, is_over };
    assert_eq!(bench.request(waited(false)), Ok(waits));
    let over = read(bench.request(waited(true)).unwrap());
    assert_eq!((over.response_id, ids(&over)), (1, Vec::<ContainerId>::new()));
}

#[test]
fn news_end_a_wait() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let first = program.call(&mut bench, asking(vec![row(1, 2)]));
    let call = AllocateCall { wait_ms: 10_000, ..launching(&ids(&first), "true") };
    assert!(matches!(bench.ask(program.question(call)), Ok(ApplicationAnswer::Waits(_))));
    bench.settle();
    bench.cluster.effects.clear();
    bench.end(ids(&first)[0], 3);
    assert!(bench.cluster.effects.contains(&Effect::ApplicationHasNews(program.application)));
    let wait = program.wait();
    let answer = read(bench.request(ApplicationRequest::Waited { wait, is_over: false }).unwrap());
    assert_eq!(statuses(&answer), [(1, 3)]);
    assert_eq!(ids(&answer), [program.container(2)], "its room went to the next");
}

#[test]
fn the_last_answer_comes_again_byte_for_byte_and_nothing_is_done() {
    let mut bench = Bench::new(&[ONE, ONE]);
    let program = bench.register();
    let ApplicationAnswer::Allocated(first) = bench.ask(program.question(asking(vec![row(1, 1)]))).unwrap() else {
        panic!("answered");
    };
    let facts = bench.cluster.facts.len();
    for _ in 0..2 {
        let again = bench.ask(program.question(asking(vec![row(1, 1)])));
        assert_eq!(again, Ok(ApplicationAnswer::Allocated(first.clone())));
    }
    assert_eq!(bench.cluster.facts.len(), facts);
    assert_eq!(bench.application(program.application).counts.live.len(), 1);
}

#[test]
fn any_other_id_and_calls_before_register_are_out_of_step() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    for _ in 0..3 {
        program.call(&mut bench, AllocateCall::default());
    }
    for response_id in [0, 1, 4, u64::MAX] {
        let other = super::bench::Program { response_id, ..program };
        let refusal = bench.ask(other.question(AllocateCall::default())).unwrap_err();
        assert!(matches!(refusal, ApplicationRefusal::Resync(_)), "{response_id}");
    }
    let application = bench.submit(|_| {});
    let early = super::bench::Program { application, attempt: 1, response_id: 0 };
    assert!(matches!(bench.ask(early.question(AllocateCall::default())), Err(ApplicationRefusal::Resync(_))));
}

#[test]
fn a_repeated_last_word_never_gets_more_than_it_asked_for() {
    let mut bench = Bench::new(&[]);
    let mut program = bench.register();
    assert!(ids(&program.call(&mut bench, asking(vec![row(1, 2)]))).is_empty());
    // Both are granted before the program calls again.
    let worker = bench.add_worker("h0", Capability::new(8_192, 8));
    bench.heartbeat(worker);
    bench.connect(worker);
    let answer = program.call(&mut bench, asking(vec![row(1, 2)]));
    assert_eq!(ids(&answer).len(), 2);
    assert!(ids(&program.call(&mut bench, AllocateCall::default())).is_empty());
    let answer = program.call(&mut bench, asking(vec![row(1, 2)]));
    assert_eq!(ids(&answer).len(), 2, "now it knows of the others, and wants two more");
}

#[test]
fn a_wrong_row_rejects_the_whole_call() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    let mut wrong = row(1, 1);
    wrong.capability = Capability::new(u32::MAX, 1);
    let call = AllocateCall { release: ids(&answer), ..asking(vec![row(2, 5), wrong]) };
    let facts = bench.cluster.facts.len();
    let Err(ApplicationRefusal::InvalidResourceRequest(faults)) = bench.ask(program.question(call)) else {
        panic!("refused");
    };
    assert_eq!(faults[0].pointer, "#/ask/1/capability/memory");
    assert_eq!(bench.cluster.facts.len(), facts, "nothing was released");
    let answer = program.call(&mut bench, AllocateCall { release: ids(&answer), ..AllocateCall::default() });
    assert_eq!(statuses(&answer), [(1, -100)], "not launched: it goes at once");
}

#[test]
fn a_call_that_asks_for_more_types_or_rows_than_an_application_may_have_does_nothing() {
    let mut bench = Bench::new(&[]);
    let mut program = bench.register();
    program.call(&mut bench, asking(vec![row(1, 1)]));
    let named = |name: String| AskRow { resource_name: Placement::from(name), ..row(1, 1) };
    let facts = bench.cluster.facts.len();
    let mut refused = |rows: Vec<AskRow>| match bench.ask(program.question(asking(rows))) {
        Err(ApplicationRefusal::TooMany(text)) => text,
        other => panic!("{other:?}"),
    };
    let types = refused((2..102).map(|priority| row(priority, 1)).collect());
    assert_eq!(types, "an application has at most 100 types of requests");
    let hosts = refused((0..=10_000).map(|host| named(format!("h{host}"))).collect());
    assert_eq!(hosts, "a type of requests has at most 10000 rows for hosts");
    let racks = refused((0..20_000).map(|rack| named(format!("/r{rack}"))).collect());
    assert_eq!(racks, "an application has at most 20000 rows");
    assert_eq!(bench.cluster.facts.len(), facts);
}

#[test]
fn what_is_unknown_is_listed_and_the_rest_is_done() {
    let mut bench = Bench::new(&[Capability::new(4_096, 4)]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 2)]));
    let [first, second] = ids(&answer)[..] else { panic!("two") };
    let foreign = crate::model::ApplicationId::new(1, 1).container(1, 1);
    let unknown = program.container(9);
    let mut call = launching(&[first, unknown, foreign], "true");
    call.release = vec![second, unknown];
    let answer = program.call(&mut bench, call.clone());
    assert_eq!(answer.unknown_releases, [unknown]);
    let refused: Vec<ContainerId> = answer.unknown_launches.iter().map(|launch| launch.container_id).collect();
    assert_eq!(refused, [unknown, foreign]);
    let answer = program.call(&mut bench, launching(&[first], "true"));
    assert!(answer.unknown_launches.is_empty(), "the same context again is passed over");
    let answer = program.call(&mut bench, launching(&[first], "false"));
    assert_eq!(answer.unknown_launches[0].reason, "it was launched otherwise");
}

#[test]
fn each_end_is_said_once_and_again_until_it_is_acknowledged() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    let answer = program.call(&mut bench, AllocateCall { release: ids(&answer), ..AllocateCall::default() });
    assert_eq!(statuses(&answer), [(1, -100)]);
    // The answer was lost with the program: the next attempt gets the status.
    program.register(&mut bench);
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, -100)]);
    assert_eq!(statuses(&program.call(&mut bench, AllocateCall::default())), []);
    program.register(&mut bench);
    assert_eq!(statuses(&program.call(&mut bench, AllocateCall::default())), [], "acknowledged");
}

#[test]
fn what_is_not_launched_in_time_comes_back() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    program.call(&mut bench, asking(vec![row(1, 1)]));
    bench.cluster.pass_ms(60_001);
    assert!(bench.cluster.engine.next_timer_ms().unwrap() <= bench.cluster.now.mono_ms);
    bench.cluster.timer();
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, -100)]);
    assert_eq!(answer.completed_container_statuses[0].diagnostics, "not launched within 60000 ms");
    assert!(ids(&answer).is_empty(), "the request is not open again");
}

#[test]
fn a_silent_program_has_failed_and_its_containers_are_killed() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    bench.settle();
    for _ in 0..20 {
        bench.cluster.pass_ms(31_000);
        bench.heartbeat(0);
        bench.cluster.timer();
    }
    let refusal = bench.ask(program.question(AllocateCall::default())).unwrap_err();
    assert!(matches!(refusal, ApplicationRefusal::ApplicationOver { .. }), "{refusal}");
    bench.settle();
    assert!(bench.on_workers().is_empty());
    let report = match bench.ask(ApplicationQuestion::Show { application: program.application, known_version: None }) {
        Ok(ApplicationAnswer::Application(report)) => report,
        other => panic!("{other:?}"),
    };
    assert_eq!(report.diagnostics, "silent for 600000 ms");
    assert_eq!((report.completed_containers, report.failed_containers), (1, 0));
}

#[test]
fn nothing_is_too_late_while_the_store_cannot_write() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    assert_eq!(ids(&answer).len(), 1);
    // All calls are refused meanwhile, those of a program and launches.
    let stuck = FactNumber(bench.cluster.facts.len() as u64 - 1);
    for _ in 0..30 {
        bench.cluster.pass_ms(31_000);
        bench.heartbeat(0);
        bench.cluster.step(Event::Timer { durable: stuck });
        assert!(bench.cluster.engine.next_timer_ms().unwrap() > bench.cluster.now.mono_ms, "no timer without a pause");
    }
    let answer = program.call(&mut bench, AllocateCall::default());
    assert!(statuses(&answer).is_empty(), "{answer:?}");
    for _ in 0..3 {
        bench.cluster.pass_ms(5_000);
        bench.heartbeat(0);
        bench.cluster.timer();
    }
    let answer = program.call(&mut bench, AllocateCall::default());
    assert_eq!(statuses(&answer), [(1, -100)], "once it writes, time passes again");
}

#[test]
fn nothing_comes_from_the_blacklist() {
    let mut bench = Bench::new(&[ONE, ONE]);
    let mut program = bench.register();
    let mut call = asking(vec![row(1, 2)]);
    call.blacklist.additions = vec!["h0".to_owned()];
    let answer = program.call(&mut bench, call);
    let nodes: Vec<&str> = answer.allocated_containers.iter().map(|one| one.node_id.as_str()).collect();
    assert_eq!((nodes, answer.limit), (vec!["h1:50060"], Capability::default()));
    bench.crash();
    assert!(ids(&program.call(&mut bench, AllocateCall::default())).is_empty());
    let mut call = AllocateCall::default();
    call.blacklist.removals = vec!["h0".to_owned()];
    assert_eq!(ids(&program.call(&mut bench, call)).len(), 1);
}

#[test]
fn a_launch_that_no_beat_has_carried_is_taken_back_at_once() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    let answer = program.call(&mut bench, AllocateCall { release: ids(&answer), ..AllocateCall::default() });
    assert_eq!(statuses(&answer), [(1, -100)]);
    bench.settle();
    assert!(bench.on_workers().is_empty(), "its worker never had it");
}
