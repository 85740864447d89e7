//! Answers to beats: in portions, and each context once for a worker.

use std::collections::BTreeSet;

use crate::api::applications::{AllocateCall, ContainerStart, LaunchSource};
use crate::api::{BEAT_ANSWER_BYTES, BeatAnswer};
use crate::engine::BeatReply;
use crate::model::{Capability, ContainerId, LaunchContext};

use super::bench::{Bench, Program, asking, context, ids, items_row, row};

fn answer(reply: BeatReply) -> BeatAnswer {
    match reply {
        BeatReply::Answer(answer) => answer,
        other => panic!("{other:?}"),
    }
}

/// A context of 400 kB.
fn large(number: usize) -> LaunchContext {
    let arguments = (0..400).map(|_| format!("{number}").repeat(1_000)).collect();
    LaunchContext { command: arguments, ..context("sim") }
}

/// A worker of so many slots that keeps contexts.
fn stage(slots: u32) -> Bench {
    let mut bench = Bench::new(&[Capability::new(1_024, 1).times(slots)]);
    bench.workers[0].keeps_contexts = true;
    bench.connect(0);
    bench
}

/// A program launches a container in each of so many contexts.
fn launch_each(bench: &mut Bench, contexts: usize) -> (Program, Vec<ContainerId>) {
    let mut program = bench.register();
    let granted = ids(&program.call(bench, asking(vec![row(1, contexts as u32)])));
    let launch = granted.iter().enumerate().map(|(number, id)| ContainerStart {
        container_id: *id,
        source: LaunchSource::Context(Box::new(large(number % 10))),
        item: None,
    });
    let call = AllocateCall { launch: launch.collect(), ..AllocateCall::default() };
    bench.ask(program.question(call)).unwrap();
    program.response_id += 1;
    (program, granted)
}

/// The attack: 190 launches with contexts of 400 kB were one answer of 80 MB, which no worker reads.
#[test]
fn launches_with_large_contexts_come_in_portions_and_all_come() {
    let mut bench = stage(190);
    let (_, granted) = launch_each(&mut bench, 190);
    let mut portions = 0;
    loop {
        let portion = answer(bench.beat(0));
        let bytes = serde_json::to_vec(&portion).unwrap().len();
        assert!(bytes < BEAT_ANSWER_BYTES + (500 << 10), "{bytes}");
        portions += 1;
        if !portion.has_more {
            break;
        }
    }
    assert!((18..=24).contains(&portions), "{portions}");
    assert_eq!(bench.on_workers(), granted);
    bench.settle();
}

#[test]
fn a_context_goes_to_a_worker_once_until_it_is_dropped() {
    let mut bench = stage(4);
    let application = bench.submit(|submission| {
        submission.specs.insert("s".to_owned(), large(1));
        submission.unattended = Some(vec![items_row("1-9", |_| {})]);
    });
    let first = answer(bench.beat(0));
    assert_eq!((first.contexts.len(), first.launches_by_context.len(), first.launches.len()), (1, 4, 0));
    for number in 1..=5 {
        bench.end(application.container(0, number), 0);
    }
    assert_eq!(bench.workers[0].contexts.len(), 1, "the bench has refused a second one");
    // A connection that begins says what the worker keeps; the daemon's own restart too.
    bench.connect(0);
    bench.crash();
    let running: BTreeSet<ContainerId> = bench.on_workers().into_iter().collect();
    assert_eq!(running.len(), 4);
    for id in running {
        bench.end(id, 0);
    }
    assert!(bench.application(application).is_over());
    bench.beat(0);
    bench.connect(0);
    bench.beat(0);
    assert_eq!(bench.workers[0].contexts.len(), 0, "nothing will run it any more");
}

/// An answer that gets lost is repeated with its contexts.
#[test]
fn what_a_worker_never_received_comes_again() {
    let mut bench = stage(4);
    let (_, granted) = launch_each(&mut bench, 4);
    let lost = answer(bench.lose_answer(0));
    assert_eq!((lost.contexts.len(), lost.launches_by_context.len()), (4, 4));
    let again = answer(bench.connect(0));
    assert_eq!((again.contexts.len(), again.launches_by_context.len()), (4, 4));
    assert_eq!(bench.on_workers(), granted);
}

/// Workers of before need no word of contexts: each launch brings its own.
#[test]
fn a_worker_that_keeps_no_contexts_gets_them_with_the_launches() {
    let mut bench = Bench::new(&[Capability::new(1_024, 1).times(30)]);
    let (_, granted) = launch_each(&mut bench, 30);
    let first = answer(bench.beat(0));
    assert!(first.has_more && first.contexts.is_empty() && first.launches.len() < 15, "{}", first.launches.len());
    bench.settle();
    assert_eq!(bench.on_workers(), granted);
}
