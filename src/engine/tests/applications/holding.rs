//! Holding is using: how long somebody may keep what others wait for, launched or not.

use crate::api::applications::{AllocateCall, ContainerStart, LaunchSource, WaitingReason};
use crate::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRequest, Caller, ContainerSignal,
};
use crate::model::{ApplicationId, Capability, ContainerExit, ContainerId, LaunchContext};

use super::bench::{Bench, Program, asking, context, ids, launching, row, statuses, submit_as};

const FOUR: Capability = Capability::new(4_096, 4);

/// A program of bob's that asks for so many containers, and is not answered.
fn rival(bench: &mut Bench, count: u32) -> Program {
    let application = submit_as(bench, "bob", |_| {});
    let mut program = Program { application, attempt: 0, response_id: 0 };
    program.register(bench);
    bench.ask_as("bob", program.question(AllocateCall { wait_ms: 30_000, ..asking(vec![row(1, count)]) })).unwrap();
    program
}

fn live(bench: &Bench, application: ApplicationId) -> usize {
    bench.application(application).counts.live.len()
}

/// Time passes, and the timer rings where it is due.
fn pass(bench: &mut Bench, ms: u64) {
    bench.cluster.pass_ms(ms);
    if bench.cluster.engine.next_timer_ms().is_some_and(|due| due <= bench.cluster.now.mono_ms) {
        bench.cluster.timer();
    }
}

fn reason(bench: &mut Bench, application: ApplicationId) -> Vec<WaitingReason> {
    match bench.ask(ApplicationQuestion::Show { application, known_version: None }).unwrap() {
        ApplicationAnswer::Application(report) => report.why.iter().map(|waiting| waiting.reason).collect(),
        other => panic!("{other:?}"),
    }
}

/// Two seconds, or twice the wait of its last call, after its last answer.
#[test]
fn a_silent_program_loses_what_it_has_not_launched_where_others_wait() {
    let mut bench = Bench::new(&[FOUR]);
    let mut silent = bench.register();
    let granted = ids(&silent.call(&mut bench, AllocateCall { wait_ms: 1_500, ..asking(vec![row(1, 9)]) }));
    assert_eq!(granted.len(), 4);
    bench.ask(silent.question(AllocateCall { wait_ms: 1_500, ..launching(&granted[..1], "sleep") })).unwrap();
    bench.request(ApplicationRequest::Waited { wait: silent.wait(), is_over: true }).unwrap();
    silent.response_id += 1;
    let other = rival(&mut bench, 9);
    pass(&mut bench, 2_990);
    assert_eq!((live(&bench, silent.application), live(&bench, other.application)), (4, 0));
    pass(&mut bench, 20);
    assert_eq!((live(&bench, silent.application), live(&bench, other.application)), (1, 3), "what it launched stays");
    assert_eq!(reason(&mut bench, silent.application), [WaitingReason::NoCall]);
    // Room does not help it before it calls, not even after a restart.
    bench.crash();
    bench.ask_as("bob", ApplicationQuestion::Kill(other.application)).unwrap();
    bench.settle();
    assert_eq!((live(&bench, silent.application), live(&bench, other.application)), (1, 0));
    let answer = silent.call(&mut bench, AllocateCall::default());
    assert_eq!(ids(&answer).len(), 3, "it has called");
    assert_eq!(statuses(&answer), [(2, -100), (3, -100), (4, -100)]);
    let ended = bench.application(silent.application).containers.get(&2).and_then(|one| one.end.clone()).unwrap();
    let text = "not launched, and its application has not called for 3000 ms while others wait";
    assert_eq!(ended.diagnostics, text);
}

#[test]
fn a_program_that_calls_keeps_what_it_holds_and_so_does_a_silent_one_while_nobody_waits() {
    let mut bench = Bench::new(&[FOUR]);
    let mut program = bench.register();
    program.call(&mut bench, asking(vec![row(1, 4)]));
    pass(&mut bench, 5_000);
    assert_eq!(live(&bench, program.application), 4, "nothing waits");
    let other = rival(&mut bench, 1);
    assert_eq!((live(&bench, program.application), live(&bench, other.application)), (0, 1), "now somebody does");
    let mut bench = Bench::new(&[FOUR]);
    let mut program = bench.register();
    program.call(&mut bench, asking(vec![row(1, 4)]));
    let other = rival(&mut bench, 1);
    for _ in 0..5 {
        pass(&mut bench, 1_900);
        let call = AllocateCall { wait_ms: 0, ..AllocateCall::default() };
        bench.ask(program.question(call)).map(|_| program.response_id += 1).unwrap();
    }
    assert_eq!((live(&bench, program.application), live(&bench, other.application)), (4, 0));
}

/// A program without rivals, too: what was granted once and not launched is not granted again to who does not call.
#[test]
fn who_let_grants_expire_gets_no_more_before_the_next_call() {
    let mut bench = Bench::new(&[FOUR]);
    let mut program = bench.register();
    assert_eq!(ids(&program.call(&mut bench, asking(vec![row(1, 9)]))).len(), 4);
    pass(&mut bench, 60_100);
    assert_eq!(live(&bench, program.application), 0, "the launch expiry");
    bench.heartbeat(0);
    bench.settle();
    assert_eq!(
        (live(&bench, program.application), reason(&mut bench, program.application)),
        (0, vec![WaitingReason::NoCall])
    );
    assert_eq!(ids(&program.call(&mut bench, AllocateCall::default())).len(), 4);
}

/// A context that asks for so long a grace.
fn patient(grace_ms: u64) -> LaunchContext {
    LaunchContext { kill_grace_ms: grace_ms, ..context("sleep") }
}

/// A program of alice's with containers that run and ask for so long a grace.
fn running(bench: &mut Bench, count: u32, grace_ms: u64) -> (Program, Vec<ContainerId>) {
    let application = bench.submit(|submission| submission.expiry_ms = 10_000);
    let mut program = Program { application, attempt: 0, response_id: 0 };
    program.register(bench);
    let granted = ids(&program.call(bench, asking(vec![row(1, count)])));
    let launch = granted.iter().map(|id| ContainerStart {
        container_id: *id,
        source: LaunchSource::Context(Box::new(patient(grace_ms))),
        item: None,
    });
    let call = AllocateCall { launch: launch.collect(), ..AllocateCall::default() };
    bench.ask(program.question(call)).unwrap();
    program.response_id += 1;
    bench.settle();
    granted.iter().for_each(|id| bench.start(*id));
    bench.settle();
    (program, granted)
}

fn grace(bench: &Bench, id: ContainerId) -> Option<(i32, u64)> {
    let container = bench.application(id.application).containers.get(&id.number)?;
    container.kill.as_ref().map(|kill| (kill.exit.0, kill.grace_ms))
}

fn ask_as_administrator(bench: &mut Bench, question: ApplicationQuestion) {
    let caller = ApplicationCaller::User { caller: Caller::named("root"), is_administrator: true, signed: None };
    bench.request(ApplicationRequest::Asked { caller, question: Box::new(question) }).unwrap();
}

#[test]
fn who_ends_a_container_that_is_not_theirs_waits_for_a_bounded_grace() {
    let mut bench = Bench::new(&[FOUR]);
    let (program, containers) = running(&mut bench, 3, 600_000);
    let signal = |container| ApplicationQuestion::Signal { container, signal: ContainerSignal::Graceful };
    ask_as_administrator(&mut bench, signal(containers[0]));
    bench.ask(signal(containers[1])).unwrap();
    assert_eq!(grace(&bench, containers[0]), Some((ContainerExit::KILLED_BY_ADMINISTRATOR.0, 30_000)));
    assert_eq!(grace(&bench, containers[1]), Some((ContainerExit::KILLED_BY_OWNER.0, 600_000)), "its owner's own wish");
    ask_as_administrator(&mut bench, ApplicationQuestion::Kill(program.application));
    let killed = containers.iter().map(|id| grace(&bench, *id).unwrap().1).collect::<Vec<_>>();
    assert_eq!(killed, [30_000, 30_000, 30_000], "and the owner's is cut short");
    let (program, containers) = running(&mut bench, 1, 600_000);
    bench.ask(ApplicationQuestion::Kill(program.application)).unwrap();
    assert_eq!(grace(&bench, containers[0]).unwrap().1, 600_000);
    // The silence of a program is no wish of its owner.
    let mut bench = Bench::new(&[FOUR]);
    let (_, containers) = running(&mut bench, 1, 600_000);
    pass(&mut bench, 10_100);
    assert_eq!(grace(&bench, containers[0]).unwrap().1, 30_000);
    let mut bench = Bench::new(&[FOUR]);
    let (_, containers) = running(&mut bench, 1, 4_000);
    ask_as_administrator(&mut bench, signal(containers[0]));
    assert_eq!(grace(&bench, containers[0]).unwrap().1, 4_000, "a shorter one stays");
}
