//! Spans cover all of the time, and say why where it was sampled.

use proptest::prelude::*;

use super::WaitState::{Cleanup, Limited, Prep, Runs, Setup, Waits};
use super::*;
use crate::model::{Identifier, JobId, Kind};

const START_MS: i64 = 1_000_000;

/// An attempt of a task, from and to seconds after the submission.
fn attempt(task: &'static str, number: i32, from_s: i64, to_s: Option<i64>, state: AttemptState) -> AttemptDetail {
    AttemptDetail {
        attempt: JobId::new(Identifier::from_number(1), 1).task(Kind::Map, number).attempt(0),
        task,
        state,
        is_preempted: false,
        tracker: "t".into(),
        launch_ms: START_MS + from_s * 1_000,
        finish_ms: to_s.map(|to_s| START_MS + to_s * 1_000),
        shuffle_ms: None,
        sort_ms: None,
        slots: 1,
        diagnostics: Box::default(),
        status: Box::default(),
    }
}

fn job(tasks: u64, to_s: i64, has_begun: bool, attempts: &[AttemptDetail]) -> TimedJob<'_> {
    TimedJob { submit_ms: START_MS, to_ms: START_MS + to_s * 1_000, tasks, has_begun, attempts }
}

/// State and end of each span, seconds after the submission.
fn ends(spans: &[WaitSpan]) -> Vec<(WaitState, i64)> {
    spans.iter().map(|span| (span.state, (span.to_ms - START_MS) / 1_000)).collect()
}

const DONE: AttemptState = AttemptState::Succeeded;

#[test]
fn each_state_has_its_span_and_together_they_are_all_of_the_time() {
    let attempts = [
        attempt("setup", 9, 5, Some(7), AttemptState::Failed),
        attempt("setup", 9, 8, Some(10), DONE),
        attempt("map", 0, 12, Some(20), DONE),
        // It fails and runs again: in between it waits.
        attempt("map", 1, 15, Some(18), AttemptState::Failed),
        attempt("map", 1, 22, Some(30), DONE),
        attempt("cleanup", 8, 33, Some(35), DONE),
    ];
    let spans = waits(&job(2, 36, true, &attempts), None, false);
    let expected = [
        (Prep, 5),
        (Setup, 10),
        (Waits, 12),
        (Limited, 15),
        (Runs, 18),
        (Limited, 20),
        (Waits, 22),
        (Runs, 30),
        (Waits, 33),
        (Cleanup, 35),
        (Waits, 36),
    ];
    assert_eq!(ends(&spans), expected);
    assert_eq!(spans[0].from_ms, START_MS);
    assert!(spans.windows(2).all(|pair| pair[0].to_ms == pair[1].from_ms));
    assert_eq!((spans[0].reason.as_deref(), spans[1].reason.as_deref()), (Some("not_sampled"), None));
}

#[test]
fn a_job_without_a_setup_waits_and_one_that_has_not_begun_prepares() {
    assert_eq!(ends(&waits(&job(2, 9, false, &[]), None, false)), [(Prep, 9)]);
    assert_eq!(ends(&waits(&job(2, 9, true, &[]), None, false)), [(Waits, 9)]);
    let attempts = [attempt("map", 0, 3, None, AttemptState::Running)];
    assert_eq!(ends(&waits(&job(1, 9, true, &attempts), None, false)), [(Waits, 3), (Runs, 9)]);
}

#[test]
fn reasons_are_those_of_the_samples_and_what_was_bought_is_hidden_from_strangers() {
    let attempts = [attempt("map", 0, 20, None, AttemptState::Running)];
    let log: ReasonLog = ReasonLog::of_samples([
        (START_MS + 5_000, "none_free", false),
        (START_MS + 15_000, "quota_full", true),
        (START_MS + 25_000, "quota_full", true),
    ]);
    let reasons = |hides| {
        let spans = waits(&job(2, 40, true, &attempts), Some(&log), hides);
        let text = |span: &WaitSpan| (span.reason.clone().unwrap(), (span.to_ms - START_MS) / 1_000);
        spans.iter().map(text).collect::<Vec<_>>()
    };
    let expected = |market: &str| {
        [("not_sampled", 5), ("none_free", 15), (market, 20), (market, 35), ("not_sampled", 40)]
            .map(|(reason, to_s)| (reason.to_owned(), to_s))
    };
    assert_eq!(reasons(false), expected("quota_full"));
    assert_eq!(reasons(true), expected("not_shown"));
}

proptest! {
    #[test]
    fn spans_cover_all_of_any_time_and_are_few(
        attempts in proptest::collection::vec((0..400_i32, 0..5_000_i64, 0..50_i64, 0..4_u8), 0..600),
        tasks in 1..500_u64,
    ) {
        let attempts: Vec<AttemptDetail> = attempts.into_iter().map(|(number, from_s, length_s, kind)| {
            let task = ["map", "map", "setup", "cleanup"][usize::from(kind)];
            let to_s = (length_s < 45).then_some(from_s + length_s);
            attempt(task, number, from_s, to_s, if number % 3 == 0 { AttemptState::Killed } else { DONE })
        }).collect();
        let spans = waits(&job(tasks, 4_000, true, &attempts), None, false);
        prop_assert!(spans.len() <= 201, "{}", spans.len());
        prop_assert_eq!((spans[0].from_ms, spans[spans.len() - 1].to_ms), (START_MS, START_MS + 4_000_000));
        prop_assert!(spans.windows(2).all(|pair| pair[0].to_ms == pair[1].from_ms && pair[0].from_ms < pair[0].to_ms));
    }
}
