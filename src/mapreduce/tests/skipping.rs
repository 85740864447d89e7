//! Bad records: which ones attempts skip, and what the success of a test proves.

use crate::mapreduce::{AttemptRole, JobSpec, Launch};
use crate::model::{AttemptId, AttemptState, Kind, PerKind, TrackerId};
use crate::wire::{CompletionStatus, RecordRange, Task};

use super::stage::Stage;

fn skips(spec: &mut JobSpec) {
    spec.map_max_attempts = 20;
    spec.max_skipped = PerKind::new(1, 0);
}

fn range(start: i64, length: i64) -> RecordRange {
    RecordRange { start, length }
}

/// The wire task of that attempt.
fn sent(stage: &Stage, attempt: AttemptId) -> Task {
    let key = stage.job.key_of(attempt.task).unwrap();
    stage.job.wire_task(&Launch { key, attempt, role: AttemptRole::Work })
}

fn launch(stage: &mut Stage, kind: Kind, tracker: TrackerId) -> (AttemptId, Task) {
    let attempt = stage.launch(kind, 0, tracker);
    (attempt, sent(stage, attempt))
}

fn fail_at(stage: &mut Stage, tracker: TrackerId, attempt: AttemptId, at: RecordRange) {
    stage.report_with(tracker, attempt, AttemptState::Running, |report| report.next_record_range = at);
    stage.report_with(tracker, attempt, AttemptState::Failed, |report| report.next_record_range = at);
}

#[test]
fn a_bad_record_is_narrowed_down_and_skipped() {
    let mut stage = Stage::changed(1, 0, skips);
    let tracker = stage.add_tracker("h1");
    for _ in 0..2 {
        let (attempt, task) = launch(&mut stage, Kind::Map, tracker);
        assert_eq!((task.skipping, task.skip_ranges.ranges.len(), task.write_skipped_records), (false, 0, true));
        stage.report(tracker, attempt, AttemptState::Failed);
    }
    let (attempt, task) = launch(&mut stage, Kind::Map, tracker);
    assert_eq!((task.skipping, task.skip_ranges.ranges.len(), task.write_skipped_records), (true, 0, true));
    fail_at(&mut stage, tracker, attempt, range(10, 2));

    let (test, task) = launch(&mut stage, Kind::Map, tracker);
    assert_eq!((task.skipping, task.write_skipped_records), (true, false));
    assert_eq!(task.skip_ranges.ranges, [range(0, 10), range(11, i64::MAX - 11)], "record 10 alone");
    let reported = stage.report(tracker, test, AttemptState::Succeeded);
    assert!(reported.has_left_node && reported.must_be_durable);
    assert_eq!(stage.job.finished().map, 0, "a test has not done the task");
    let events = stage.job.completion_events(0, 100);
    assert!(events.iter().filter(|event| event.is_map).all(|event| event.status == CompletionStatus::Failed));

    let (last, task) = launch(&mut stage, Kind::Map, tracker);
    assert_eq!((task.skip_ranges.records, task.skip_ranges.ranges), (1, vec![range(11, 1)]));
    assert!(task.write_skipped_records);
    stage.report(tracker, last, AttemptState::Succeeded);
    assert_eq!(stage.job.finished().map, 1);
}

#[test]
fn a_test_that_is_killed_is_made_again() {
    let mut stage = Stage::changed(1, 0, skips);
    let tracker = stage.add_tracker("h1");
    for _ in 0..3 {
        let (attempt, _) = launch(&mut stage, Kind::Map, tracker);
        fail_at(&mut stage, tracker, attempt, range(0, 8));
    }
    let (killed, first) = launch(&mut stage, Kind::Map, tracker);
    stage.report(tracker, killed, AttemptState::Killed);
    let (again, second) = launch(&mut stage, Kind::Map, tracker);
    assert_eq!(first.skip_ranges, second.skip_ranges);
    stage.report(tracker, again, AttemptState::Succeeded);
    assert_eq!(stage.job.finished().map, 0);
}

#[test]
fn nothing_is_skipped_where_it_was_not_asked_for() {
    let mut stage = Stage::changed(1, 1, skips);
    let tracker = stage.add_tracker("h1");
    for _ in 0..3 {
        let (attempt, task) = launch(&mut stage, Kind::Reduce, tracker);
        assert!(!task.skipping && task.skip_ranges.ranges.is_empty());
        fail_at(&mut stage, tracker, attempt, range(1, 1));
    }
}

#[test]
fn lost_output_is_no_bad_record() {
    let mut stage = Stage::changed(1, 1, skips);
    let tracker = stage.add_tracker("h1");
    let (attempt, _) = launch(&mut stage, Kind::Map, tracker);
    stage.report_with(tracker, attempt, AttemptState::Running, |report| report.next_record_range = range(3, 1));
    stage.report_with(tracker, attempt, AttemptState::Succeeded, |report| report.next_record_range = range(4, 1));
    stage.report(tracker, attempt, AttemptState::Failed);
    let (_, task) = launch(&mut stage, Kind::Map, tracker);
    assert_eq!(task.skip_ranges.ranges, []);
}

#[test]
fn a_task_in_skipping_mode_gets_no_second_attempt() {
    let mut stage = Stage::changed(4, 0, skips);
    let tracker = stage.add_tracker("h1");
    for _ in 0..2 {
        let (attempt, _) = launch(&mut stage, Kind::Map, tracker);
        fail_at(&mut stage, tracker, attempt, range(0, 1));
    }
    let (slow, _) = launch(&mut stage, Kind::Map, tracker);
    stage.report(tracker, slow, AttemptState::Running);
    let tasks: Vec<bool> = (0..4)
        .map(|map| stage.job.key_of(stage.job.id.task(Kind::Map, map)).unwrap())
        .map(|key| stage.job.task(key).straggler_key.is_some())
        .collect();
    assert_eq!(tasks, [false; 4]);
    let other = stage.launch(Kind::Map, 1, tracker);
    stage.report(tracker, other, AttemptState::Running);
    let key = stage.job.key_of(other.task).unwrap();
    assert!(stage.job.task(key).straggler_key.is_some());
}
