//! Submissions, who may do what, timestamps, and lists.

use crate::api::applications::{ApplicationState, FinalStatus, UnregisterCall};
use crate::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationFilter, ApplicationQuestion, ApplicationRefusal,
    ApplicationRequest, Caller, SignedTime,
};
use crate::market::{KeyId, SignedTextId};
use crate::model::ApplicationId;

use super::bench::{Bench, ONE, asking, ids, launching, row, submission, submit_question};

#[test]
fn the_same_body_again_is_answered_again_and_another_is_refused() {
    let mut bench = Bench::new(&[]);
    let id = bench.new_id("alice");
    let first = bench.ask(submit_question(submission(id))).unwrap();
    assert_eq!(bench.ask(submit_question(submission(id))), Ok(first));
    let other = crate::api::applications::Submission { name: "other".to_owned(), ..submission(id) };
    assert_eq!(bench.ask(submit_question(other)), Err(ApplicationRefusal::ApplicationExists(id)));
    let refused = bench.ask_as("bob", submit_question(submission(id)));
    assert!(matches!(refused, Err(ApplicationRefusal::Forbidden(_))));
}

#[test]
fn an_id_is_good_for_its_owner_for_ten_minutes() {
    let mut bench = Bench::new(&[]);
    let id = bench.new_id("alice");
    let refused = bench.ask_as("bob", submit_question(submission(id)));
    assert!(matches!(refused, Err(ApplicationRefusal::Forbidden(_))));
    bench.cluster.pass_ms(600_000);
    assert_eq!(bench.ask(submit_question(submission(id))), Err(ApplicationRefusal::NoSuchApplication(id)));
}

#[test]
fn a_restart_takes_no_time_from_an_id_and_gives_it_none() {
    let mut bench = Bench::new(&[]);
    let (first, second, third) = (bench.new_id("alice"), bench.new_id("alice"), bench.new_id("alice"));
    bench.ask(submit_question(submission(first))).unwrap();
    bench.cluster.pass_ms(300_000);
    bench.crash();
    let refused = bench.ask_as("bob", submit_question(submission(second)));
    assert!(matches!(refused, Err(ApplicationRefusal::Forbidden(_))));
    assert!(bench.ask(submit_question(submission(second))).is_ok());
    assert!(bench.new_id("alice") > third, "none comes twice");
    bench.crash();
    bench.cluster.pass_ms(299_000);
    bench.crash();
    bench.cluster.pass_ms(2_000);
    assert_eq!(bench.ask(submit_question(submission(third))), Err(ApplicationRefusal::NoSuchApplication(third)));
}

#[test]
fn a_clock_that_was_set_back_brings_no_id_again() {
    let mut bench = Bench::new(&[]);
    let first = bench.new_id("alice");
    bench.cluster.now.wall_ms -= 100_000;
    bench.crash();
    let second = bench.new_id("alice");
    assert!(second > first);
    bench.cluster.now.wall_ms -= 100_000;
    bench.crash();
    assert!(bench.new_id("alice") > second);
}

#[test]
fn a_user_has_so_many_unused_ids() {
    let mut bench = Bench::new(&[]);
    for _ in 0..1_000 {
        bench.new_id("alice");
    }
    assert!(matches!(bench.ask(ApplicationQuestion::NewId), Err(ApplicationRefusal::TooMany(_))));
    bench.new_id("bob");
}

#[test]
fn another_user_may_neither_see_nor_change_it() {
    let mut bench = Bench::new(&[ONE]);
    let program = bench.register();
    let application = program.application;
    for question in [
        ApplicationQuestion::Show { application, known_version: None },
        ApplicationQuestion::Kill(application),
        ApplicationQuestion::State(application),
        program.question(Default::default()),
    ] {
        assert!(matches!(bench.ask_as("bob", question), Err(ApplicationRefusal::Forbidden(_))));
    }
    let administrator = ApplicationCaller::User { caller: Caller::named("bob"), is_administrator: true, signed: None };
    let question = Box::new(ApplicationQuestion::Kill(application));
    let killed = bench.request(ApplicationRequest::Asked { caller: administrator, question });
    assert_eq!(killed, Ok(ApplicationAnswer::State { state: ApplicationState::Killed, is_ending: false }));
}

#[test]
fn a_signature_is_good_once_and_each_application_has_stamps_of_its_own() {
    let mut bench = Bench::new(&[]);
    let (first, second) = (bench.submit(|_| {}), bench.submit(|_| {}));
    let now_ms = bench.cluster.now.wall_ms;
    let of_application =
        |application| ApplicationCaller::Application { application, timestamp_ms: now_ms + 1, text: SignedTextId(1) };
    let mut ask = |caller, application| {
        let question = Box::new(ApplicationQuestion::State(application));
        bench.request(ApplicationRequest::Asked { caller, question })
    };
    assert!(ask(of_application(first), first).is_ok());
    assert!(matches!(ask(of_application(first), first), Err(ApplicationRefusal::Timestamp { .. })));
    assert!(ask(of_application(second), second).is_ok());
    let later = ApplicationCaller::Application { application: first, timestamp_ms: now_ms + 2, text: SignedTextId(1) };
    assert!(matches!(ask(later, second), Err(ApplicationRefusal::Forbidden(_))), "good for its own addresses alone");
    let signed = |timestamp_ms| ApplicationCaller::User {
        caller: Caller::named("alice"),
        is_administrator: false,
        signed: Some(SignedTime { key_id: KeyId(1), timestamp_ms, text: SignedTextId(1) }),
    };
    let earlier = ApplicationCaller::Application { application: first, timestamp_ms: now_ms, text: SignedTextId(1) };
    assert!(ask(earlier, first).is_ok(), "their order does not matter");
    assert!(ask(signed(now_ms + 1), first).is_ok());
    assert!(matches!(ask(signed(now_ms + 1), first), Err(ApplicationRefusal::Timestamp { .. })));
    bench.crash();
    let question = || Box::new(ApplicationQuestion::State(first));
    let again = ApplicationRequest::Asked { caller: signed(now_ms + 1), question: question() };
    assert!(matches!(bench.request(again), Err(ApplicationRefusal::Timestamp { .. })), "also after a restart");
    let again = ApplicationRequest::Asked { caller: of_application(first), question: question() };
    assert!(matches!(bench.request(again), Err(ApplicationRefusal::Timestamp { .. })));
}

#[test]
fn a_program_ends_its_application_and_says_so_again() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    bench.settle();
    let call = UnregisterCall { attempt: 1, final_status: FinalStatus::Succeeded, diagnostics: "done".to_owned() };
    let application = program.application;
    for _ in 0..2 {
        let question = ApplicationQuestion::Unregister { application, call: call.clone() };
        assert_eq!(bench.ask(question), Ok(ApplicationAnswer::Unregistered(ApplicationState::Finished)));
    }
    bench.settle();
    let container = bench.application(application).containers[&1].clone();
    assert_eq!(container.exit().0, -107);
    let secret = bench.request(ApplicationRequest::Secret(application)).unwrap();
    assert!(matches!(secret, ApplicationAnswer::Secret(Some(_))), "also of one that is over");
}

#[test]
fn a_list_has_the_newest_first_and_continues() {
    let mut bench = Bench::new(&[]);
    let all: Vec<_> = (0..5).map(|_| bench.submit(|_| {})).collect();
    let mut list = |filter: ApplicationFilter| match bench.ask(ApplicationQuestion::List(filter)).unwrap() {
        ApplicationAnswer::Applications { applications, next, .. } => {
            (applications.into_iter().map(|one| one.id).collect::<Vec<_>>(), next)
        }
        other => panic!("{other:?}"),
    };
    let (first, next) = list(ApplicationFilter { limit: 2, ..ApplicationFilter::default() });
    assert_eq!((first, next), (vec![all[4], all[3]], Some(all[3])));
    let (rest, next) = list(ApplicationFilter { limit: 3, after: next, ..ApplicationFilter::default() });
    assert_eq!((rest, next), (vec![all[2], all[1], all[0]], None));
    let running = ApplicationFilter { states: vec![ApplicationState::Running], limit: 9, ..Default::default() };
    assert_eq!(list(running), (Vec::new(), None));
}

#[test]
fn submissions_and_kills_are_in_the_audit_log() {
    let mut bench = Bench::new(&[]);
    let application = bench.submit(|_| {});
    let _: Result<_, _> = bench.ask_as("bob", ApplicationQuestion::Kill(application));
    for _ in 0..2 {
        bench.ask(ApplicationQuestion::Kill(application)).unwrap();
    }
    let entries = bench.cluster.effects.iter().filter_map(|effect| match effect {
        crate::engine::Effect::Audit(entry) => Some(entry.to_string()),
        _ => None,
    });
    let expected = [
        format!("submit user=alice application={application} name=trial"),
        format!("denied kill user=bob application={application} owner=alice"),
        format!("kill user=alice application={application}"),
    ];
    assert_eq!(entries.collect::<Vec<_>>(), expected);
}

#[test]
fn what_memory_has_forgotten_is_left_to_the_store() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let answer = program.call(&mut bench, asking(vec![row(1, 1)]));
    program.call(&mut bench, launching(&ids(&answer), "true"));
    bench.settle();
    let first = program.application;
    let state = ApplicationState::Killed;
    let killed = bench.ask(ApplicationQuestion::Kill(first));
    assert_eq!(killed, Ok(ApplicationAnswer::State { state, is_ending: true }));
    bench.settle();
    let totals = bench.application(first).standing.totals.unwrap();
    assert_eq!((totals.complete, totals.failed), (1, 0), "the sums outlive the containers");
    for _ in 0..100 {
        let id = bench.submit(|_| {});
        bench.ask(ApplicationQuestion::Kill(id)).unwrap();
    }
    let sees_all = |answer: Result<ApplicationAnswer, ApplicationRefusal>| match answer.unwrap() {
        ApplicationAnswer::NotInMemory(id, store) if id == first => store.sees_all,
        other => panic!("{other:?}"),
    };
    for question in [
        || ApplicationQuestion::Show { application: ApplicationId::new(0, 0), known_version: None },
        || ApplicationQuestion::State(ApplicationId::new(0, 0)),
    ] {
        assert!(
            matches!(bench.ask(question()), Ok(ApplicationAnswer::NotInMemory(_, _))),
            "the store says there is none"
        );
    }
    assert!(!sees_all(bench.ask_as("bob", ApplicationQuestion::State(first))));
    let caller = ApplicationCaller::User { caller: Caller::named("bob"), is_administrator: true, signed: None };
    let question = Box::new(ApplicationQuestion::Logs(first.container(1, 1)));
    assert!(sees_all(bench.request(ApplicationRequest::Asked { caller, question })));
    let timestamp_ms = bench.cluster.now.wall_ms;
    let itself = |timestamp_ms| ApplicationRequest::Asked {
        caller: ApplicationCaller::Application { application: first, timestamp_ms, text: SignedTextId(1) },
        question: Box::new(ApplicationQuestion::State(first)),
    };
    assert!(!sees_all(bench.request(itself(timestamp_ms))));
    let late = bench.request(itself(timestamp_ms - 300_001));
    assert!(matches!(late, Err(ApplicationRefusal::Timestamp { .. })), "{late:?}");
}
