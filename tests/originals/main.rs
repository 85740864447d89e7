//! Grants of the original schedulers, recorded by `tests/hadoop/differential.sh --record`, against the engine.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "../../examples/load/dice.rs"]
#[allow(dead_code, reason = "the load generator needs more of it")]
mod dice;
mod scripted;

use scripted::in_process::InProcess;
use scripted::play::{PlayError, play};
use scripted::recording::Recording;
use scripted::script::{HOSTS, Script};
use scripted::settings::SchedulerName;

fn recordings(scheduler: SchedulerName) -> Vec<Recording> {
    let path = format!("{}/tests/hadoop/recorded/{scheduler}/grants.txt", env!("CARGO_MANIFEST_DIR"));
    Recording::read_all(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Panics unless the engine answers as recorded.
fn replay(scheduler: SchedulerName) {
    let mut ours = InProcess::new(scheduler).unwrap();
    let recordings = recordings(scheduler);
    assert!(!recordings.is_empty());
    let mut different = Vec::new();
    let mut first = None;
    for recording in recordings {
        let script = Script::random(scheduler, recording.seed);
        let played = runtime().block_on(play(&script, &mut ours, Some(&recording.answers)));
        if let Err(difference) = played {
            different.push(format!("seed {}: {difference}", recording.seed));
            first.get_or_insert(script);
        }
    }
    if let Some(script) = first {
        panic!(
            "{scheduler}: {} scripts are different\n{}\nThe first:\n{script}",
            different.len(),
            different.join("\n")
        );
    }
}

#[test]
fn the_default_scheduler_grants_what_the_original_grants() {
    replay(SchedulerName::Fifo);
}

#[test]
fn the_capacity_scheduler_grants_what_the_original_grants() {
    replay(SchedulerName::Capacity);
}

#[test]
fn the_fair_scheduler_grants_what_the_original_grants() {
    replay(SchedulerName::Fair);
}

#[test]
fn another_grant_than_the_recorded_one_is_found() {
    let recording = &recordings(SchedulerName::Fifo)[0];
    let call = recording.answers.iter().rposition(|answer| answer != "-").unwrap();
    let mut answers = recording.answers.clone();
    answers[call] = "9m9".to_owned();
    let script = Script::random(SchedulerName::Fifo, recording.seed);
    let mut ours = InProcess::new(SchedulerName::Fifo).unwrap();
    match runtime().block_on(play(&script, &mut ours, Some(&answers))) {
        Err(PlayError::Differs { call: found, expected, .. }) => assert_eq!((found, expected.as_str()), (call, "9m9")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_recording_is_of_the_script_that_its_seed_gives() {
    for scheduler in [SchedulerName::Fifo, SchedulerName::Capacity, SchedulerName::Fair] {
        for recording in recordings(scheduler) {
            let script = Script::random(scheduler, recording.seed);
            assert_eq!(script.digest(), recording.digest, "{scheduler} seed {}: record it again", recording.seed);
            let calls = HOSTS.len() + script.calls();
            assert_eq!(recording.answers.len(), calls, "{scheduler} seed {}", recording.seed);
        }
    }
}

#[test]
fn a_recording_reads_as_it_was_written() {
    let answers = ["y", "-", "-", "-", "1s,2m0*3,!1r1", "-", "n"].map(str::to_owned).to_vec();
    let recording = Recording { seed: 7, digest: 0xabc, answers };
    let line = recording.line();
    assert_eq!(line, "7 0000000000000abc y -3 1s,2m0*3,!1r1 - n");
    assert_eq!(Recording::read_all(&format!("# by hand\n{line}\n")).unwrap(), [recording]);
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    for (text, expected) in [
        ("7", "no seed and digest"),
        ("# first\nseven 0 y", "line 2"),
        ("7 xyz y", "no digest: xyz"),
        ("7 0 -x", "no number of empty answers: -x"),
        ("7 0 y  n", "an answer without text"),
    ] {
        let error = format!("{:#}", Recording::read_all(text).unwrap_err());
        assert!(error.contains(expected), "{text}: {error}");
    }
}
