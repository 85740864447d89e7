//! What ends count, and what they change when they come late.

use crate::mapreduce::{AttemptOrder, JobFact, JobState, Outcome, TaskState};
use crate::model::{AttemptId, AttemptState, CounterLimits, Kind};
use crate::wire::{CompletionStatus, TaskStatus};

use super::stage::Stage;

/// Slot time of maps in the counters that clients see, ms.
fn map_slot_ms(stage: &Stage) -> i64 {
    let counters =
        stage.job.counters(&CounterLimits::default()).unwrap().groups.into_iter().flat_map(|group| group.counters);
    counters.filter(|counter| &*counter.name == "SLOTS_MILLIS_MAPS").map(|counter| counter.value).sum()
}

fn ran(start_ms: i64, finish_ms: i64) -> impl FnOnce(&mut TaskStatus) {
    move |report| (report.start_ms, report.finish_ms) = (start_ms, finish_ms)
}

#[test]
fn the_time_of_an_attempt_counts_once_its_cleanup_included() {
    let mut stage = Stage::running(1, 1);
    let node = stage.add_node("h1");
    let attempt = stage.launch(Kind::Map, 0, node);
    stage.report_with(node, attempt, AttemptState::FailedUnclean, ran(1_000, 1_500));
    assert_eq!(map_slot_ms(&stage), 0);
    stage.act(|job, context| job.launch_task_cleanup(Kind::Map, node, context)).unwrap();
    stage.report_with(node, attempt, AttemptState::Failed, ran(1_700, 1_900));
    assert_eq!(map_slot_ms(&stage), 900);
    let attempt = stage.launch(Kind::Map, 0, node);
    stage.report_with(node, attempt, AttemptState::Succeeded, ran(2_000, 2_100));
    stage.report(node, attempt, AttemptState::Failed);
    assert_eq!(map_slot_ms(&stage), 1_000, "its loss costs no time");
}

#[test]
fn absurd_times_are_survived() {
    let mut stage = Stage::running(2, 1);
    let node = stage.add_node("h1");
    for map in 0..2 {
        let attempt = stage.launch(Kind::Map, map, node);
        stage.report_with(node, attempt, AttemptState::Succeeded, ran(1, i64::MAX));
    }
    assert_eq!(map_slot_ms(&stage), i64::MAX);
    let backwards = stage.launch(Kind::Reduce, 0, node);
    stage.report_with(node, backwards, AttemptState::Succeeded, ran(i64::MAX, i64::MIN));
}

#[test]
fn lost_output_that_nobody_will_read_changes_nothing() {
    let mut stage = Stage::running(1, 1);
    let node = stage.add_node("h1");
    let map = stage.launch(Kind::Map, 0, node);
    stage.report(node, map, AttemptState::Succeeded);
    let reduce = stage.launch(Kind::Reduce, 0, node);
    stage.report(node, reduce, AttemptState::Succeeded);
    stage.report(node, map, AttemptState::Failed);
    assert_eq!(stage.job.finished().map, 1);
    let cleanup = stage.act(|job, context| job.launch_cleanup(Kind::Map, node, context)).attempt;
    stage.report(node, cleanup, AttemptState::Succeeded);
    assert_eq!(stage.job.state(), JobState::Over(Outcome::Succeeded));
    let facts = stage.facts.len();
    stage.report(node, map, AttemptState::Failed);
    assert_eq!(stage.facts.len(), facts);
}

#[test]
fn lost_output_that_is_read_is_made_again() {
    let mut stage = Stage::running(1, 1);
    let node = stage.add_node("h1");
    let map = stage.launch(Kind::Map, 0, node);
    stage.report(node, map, AttemptState::Succeeded);
    stage.report(node, map, AttemptState::Failed);
    assert_eq!((stage.job.finished().map, stage.job.pending().map), (0, 1));
}

#[test]
fn a_success_after_its_task_was_given_up_comes_too_late() {
    let mut stage = Stage::changed(2, 0, |spec| {
        spec.map_max_attempts = 1;
        spec.max_map_failures_percent = 50;
    });
    let (left, right) = (stage.add_node("h1"), stage.add_node("h2"));
    let fails = stage.launch(Kind::Map, 0, left);
    let late = stage.launch(Kind::Map, 0, right);
    stage.report(left, fails, AttemptState::Failed);
    assert_eq!(stage.report(right, late, AttemptState::Succeeded).order, Some(AttemptOrder::Kill));
    let key = stage.job.key_of(late.task).unwrap();
    assert_eq!(stage.job.task(key).state, TaskState::Failed);
    assert_eq!(stage.job.finished().map, 0);
    assert!(!stage.facts.iter().any(|fact| matches!(fact, JobFact::Ended { .. })));
}

fn event_of(stage: &Stage, attempt: AttemptId) -> CompletionStatus {
    stage.job.completion_events(0, 100).into_iter().find(|event| event.attempt == attempt).unwrap().status
}

#[test]
fn whatever_ends_after_its_task_was_given_up_says_so() {
    let mut stage = Stage::changed(2, 0, |spec| {
        spec.map_max_attempts = 1;
        spec.max_map_failures_percent = 50;
    });
    let (left, right) = (stage.add_node("h1"), stage.add_node("h2"));
    let (fails, rival) = (stage.launch(Kind::Map, 0, left), stage.launch(Kind::Map, 0, right));
    let other = stage.launch(Kind::Map, 1, right);
    stage.report(left, fails, AttemptState::Failed);
    stage.report(right, rival, AttemptState::Killed);
    stage.report(right, other, AttemptState::Killed);
    assert_eq!(event_of(&stage, fails), CompletionStatus::TipFailed);
    assert_eq!(event_of(&stage, rival), CompletionStatus::TipFailed);
    assert_eq!(event_of(&stage, other), CompletionStatus::Killed, "it is tried again");
}

#[test]
fn what_ends_after_its_job_was_killed_says_that_the_task_is_given_up() {
    let mut stage = Stage::running(3, 0);
    let node = stage.add_node("h1");
    let [done, runs, unclean] = [0, 1, 2].map(|map| stage.launch(Kind::Map, map, node));
    let loser = stage.launch(Kind::Map, 0, node);
    stage.report(node, done, AttemptState::Succeeded);
    stage.report(node, unclean, AttemptState::KilledUnclean);
    stage.act(|job, context| job.decide_end(Outcome::Killed, "test".into(), context));
    stage.report(node, runs, AttemptState::Killed);
    stage.report(node, loser, AttemptState::Killed);
    assert_eq!(event_of(&stage, runs), CompletionStatus::TipFailed);
    assert_eq!(event_of(&stage, unclean), CompletionStatus::Killed, "it was over before");
    assert_eq!(event_of(&stage, loser), CompletionStatus::Killed, "its task is done");
}

#[test]
fn a_slow_start_above_all_maps_is_all_maps() {
    let mut stage = Stage::changed(1, 1, |spec| spec.slowstart_millionths = 3_000_000);
    let node = stage.add_node("h1");
    assert_eq!(stage.waiting().reduce, 0);
    let map = stage.launch(Kind::Map, 0, node);
    stage.report(node, map, AttemptState::Succeeded);
    assert_eq!(stage.waiting().reduce, 1);
}

#[test]
fn a_job_that_is_over_stays_as_it_is() {
    for outcome in [Outcome::Succeeded, Outcome::Failed, Outcome::Killed] {
        let over = JobState::Over(outcome);
        let all =
            [JobState::Prep, JobState::Running, JobState::Over(Outcome::Succeeded), JobState::Over(Outcome::Killed)];
        assert!(all.iter().all(|next| !over.can_become(*next)));
        assert!(JobState::Running.can_become(over));
        assert_eq!(JobState::Prep.can_become(over), outcome != Outcome::Succeeded, "success needs the setup");
    }
    assert!(!JobState::Running.can_become(JobState::Prep));
}
