//! The consequences of ends, on time and late.

use crate::mapreduce::{AttemptOrder, JobFact, JobOutcome, JobState, TaskKey, TaskState};
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
    let tracker = stage.add_tracker("h1");
    let attempt = stage.launch(Kind::Map, 0, tracker);
    stage.report_with(tracker, attempt, AttemptState::FailedUnclean, ran(1_000, 1_500));
    assert_eq!(map_slot_ms(&stage), 0);
    stage.act(|job, context| job.launch_task_cleanup(Kind::Map, tracker, context)).unwrap();
    stage.report_with(tracker, attempt, AttemptState::Failed, ran(1_700, 1_900));
    assert_eq!(map_slot_ms(&stage), 900);
    let attempt = stage.launch(Kind::Map, 0, tracker);
    stage.report_with(tracker, attempt, AttemptState::Succeeded, ran(2_000, 2_100));
    stage.report(tracker, attempt, AttemptState::Failed);
    assert_eq!(map_slot_ms(&stage), 1_000, "its loss costs no time");
}

#[test]
fn tasks_that_fail_or_are_killed_have_an_end_too() {
    let mut stage = Stage::running(2, 1);
    let tracker = stage.add_tracker("h1");
    let (ran_task, waiting) = (TaskKey::Work(Kind::Map, 0), TaskKey::Work(Kind::Map, 1));
    let attempt = stage.launch(Kind::Map, 0, tracker);
    assert_eq!(stage.job.task_end_ms(ran_task), 0);
    let twins = [Kind::Map, Kind::Reduce].map(|kind| stage.job.task_end_ms(TaskKey::Setup(kind)));
    assert!(twins[0] > 0 && twins[0] == twins[1], "the setup that did not run ends with the other: {twins:?}");
    stage.act(|job, context| job.decide_end(JobOutcome::Killed, "killed".to_owned(), context));
    stage.report_with(tracker, attempt, AttemptState::Killed, ran(1_000, 1_500));
    assert_eq!(stage.job.task_end_ms(ran_task), 1_500);
    let cleanup = stage.act(|job, context| job.launch_cleanup(Kind::Map, tracker, context)).attempt;
    stage.report(tracker, cleanup, AttemptState::Succeeded);
    assert_eq!(stage.job.task_end_ms(waiting), stage.job.finish_ms, "it never ran");
    assert_eq!(stage.job.task_report(waiting).finish_ms, stage.job.finish_ms);
}

#[test]
fn absurd_times_are_survived() {
    let mut stage = Stage::running(2, 1);
    let tracker = stage.add_tracker("h1");
    for map in 0..2 {
        let attempt = stage.launch(Kind::Map, map, tracker);
        stage.report_with(tracker, attempt, AttemptState::Succeeded, ran(1, i64::MAX));
    }
    assert_eq!(map_slot_ms(&stage), i64::MAX);
    let backwards = stage.launch(Kind::Reduce, 0, tracker);
    stage.report_with(tracker, backwards, AttemptState::Succeeded, ran(i64::MAX, i64::MIN));
}

#[test]
fn lost_output_that_no_reduce_reads_changes_nothing() {
    let mut stage = Stage::running(1, 1);
    let tracker = stage.add_tracker("h1");
    let map = stage.launch(Kind::Map, 0, tracker);
    stage.report(tracker, map, AttemptState::Succeeded);
    let reduce = stage.launch(Kind::Reduce, 0, tracker);
    stage.report(tracker, reduce, AttemptState::Succeeded);
    stage.report(tracker, map, AttemptState::Failed);
    assert_eq!(stage.job.finished().map, 1);
    let cleanup = stage.act(|job, context| job.launch_cleanup(Kind::Map, tracker, context)).attempt;
    stage.report(tracker, cleanup, AttemptState::Succeeded);
    assert_eq!(stage.job.state(), JobState::Over(JobOutcome::Succeeded));
    let facts = stage.facts.len();
    stage.report(tracker, map, AttemptState::Failed);
    assert_eq!(stage.facts.len(), facts);
}

#[test]
fn lost_output_that_is_read_is_made_again() {
    let mut stage = Stage::running(1, 1);
    let tracker = stage.add_tracker("h1");
    let map = stage.launch(Kind::Map, 0, tracker);
    stage.report(tracker, map, AttemptState::Succeeded);
    stage.report(tracker, map, AttemptState::Failed);
    assert_eq!((stage.job.finished().map, stage.job.pending().map), (0, 1));
}

#[test]
fn a_success_after_its_task_was_given_up_comes_too_late() {
    let mut stage = Stage::changed(2, 0, |spec| {
        spec.map_max_attempts = 1;
        spec.max_map_failures_percent = 50;
    });
    let (left, right) = (stage.add_tracker("h1"), stage.add_tracker("h2"));
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
    let (left, right) = (stage.add_tracker("h1"), stage.add_tracker("h2"));
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
    let tracker = stage.add_tracker("h1");
    let [done, runs, unclean] = [0, 1, 2].map(|map| stage.launch(Kind::Map, map, tracker));
    let loser = stage.launch(Kind::Map, 0, tracker);
    stage.report(tracker, done, AttemptState::Succeeded);
    stage.report(tracker, unclean, AttemptState::KilledUnclean);
    stage.act(|job, context| job.decide_end(JobOutcome::Killed, "test".into(), context));
    stage.report(tracker, runs, AttemptState::Killed);
    stage.report(tracker, loser, AttemptState::Killed);
    assert_eq!(event_of(&stage, runs), CompletionStatus::TipFailed);
    assert_eq!(event_of(&stage, unclean), CompletionStatus::Killed, "it was over before");
    assert_eq!(event_of(&stage, loser), CompletionStatus::Killed, "its task is done");
}

#[test]
fn reduces_wait_for_so_many_maps_whose_output_is_there_and_at_most_for_all() {
    let mut stage = Stage::changed(1, 1, |spec| spec.slowstart_millionths = 3_000_000);
    let tracker = stage.add_tracker("h1");
    assert_eq!(stage.waiting().reduce, 0);
    let map = stage.launch(Kind::Map, 0, tracker);
    stage.report(tracker, map, AttemptState::Succeeded);
    assert_eq!(stage.waiting().reduce, 1);
    stage.report(tracker, map, AttemptState::Failed);
    assert_eq!(stage.waiting().reduce, 0, "its output is lost");
    let again = stage.launch(Kind::Map, 0, tracker);
    stage.report(tracker, again, AttemptState::Succeeded);
    assert_eq!(stage.waiting().reduce, 1);
}

#[test]
fn a_job_that_is_over_stays_as_it_is() {
    for outcome in [JobOutcome::Succeeded, JobOutcome::Failed, JobOutcome::Killed] {
        let over = JobState::Over(outcome);
        let all = [
            JobState::Accepted,
            JobState::Prep,
            JobState::Running,
            JobState::Over(JobOutcome::Succeeded),
            JobState::Over(JobOutcome::Killed),
        ];
        assert!(all.iter().all(|next| !over.can_become(*next)));
        assert!(JobState::Running.can_become(over));
        for before in [JobState::Accepted, JobState::Prep] {
            assert_eq!(before.can_become(over), outcome != JobOutcome::Succeeded, "success needs the setup");
        }
    }
    assert!(!JobState::Running.can_become(JobState::Prep));
    assert!(!JobState::Accepted.can_become(JobState::Running), "it begins first");
    assert!(!JobState::Prep.can_become(JobState::Accepted), "it begins once");
}

fn granted(stage: &Stage) -> Vec<AttemptId> {
    let grant = |fact: &JobFact| match fact {
        JobFact::CommitGranted { attempt } => Some(*attempt),
        _ => None,
    };
    stage.facts.iter().filter_map(grant).collect()
}

#[test]
fn the_first_to_ask_may_commit_and_a_rival_is_killed() {
    let mut stage = Stage::running(0, 1);
    let (left, right) = (stage.add_tracker("h1"), stage.add_tracker("h2"));
    let first = stage.launch(Kind::Reduce, 0, left);
    let rival = stage.launch(Kind::Reduce, 0, right);
    assert_eq!(stage.report(left, first, AttemptState::CommitPending).order, Some(AttemptOrder::Commit));
    assert_eq!(stage.report(right, rival, AttemptState::CommitPending).order, Some(AttemptOrder::Kill));
    assert_eq!(stage.report(left, first, AttemptState::CommitPending).order, Some(AttemptOrder::Commit), "repeated");
    assert_eq!(stage.report(right, rival, AttemptState::CommitPending).order, None, "ordered once");
    assert_eq!(granted(&stage), [first]);
}

#[test]
fn after_a_failure_an_attempt_ordered_to_end_gets_no_permission_but_the_next_does() {
    let mut stage = Stage::running(0, 1);
    let (left, right) = (stage.add_tracker("h1"), stage.add_tracker("h2"));
    let first = stage.launch(Kind::Reduce, 0, left);
    let rival = stage.launch(Kind::Reduce, 0, right);
    stage.report(left, first, AttemptState::CommitPending);
    stage.report(right, rival, AttemptState::CommitPending);
    stage.report(left, first, AttemptState::Failed);
    assert_eq!(stage.report(right, rival, AttemptState::CommitPending).order, None, "it is being killed");
    let third = stage.launch(Kind::Reduce, 0, left);
    assert_eq!(stage.report(left, third, AttemptState::CommitPending).order, Some(AttemptOrder::Commit));
    assert_eq!(granted(&stage), [first, third]);
}

#[test]
fn what_is_launched_after_the_winner_is_killed_however_it_ends() {
    let mut stage = Stage::running(2, 1);
    let (left, right) = (stage.add_tracker("h1"), stage.add_tracker("h2"));
    let first = stage.launch(Kind::Map, 0, left);
    let rival = stage.launch(Kind::Map, 0, right);
    assert_eq!(stage.report(left, first, AttemptState::Succeeded).order, None, "its output must stay");
    assert_eq!(stage.report(right, rival, AttemptState::Running).order, Some(AttemptOrder::Kill));
    assert_eq!(stage.report(right, rival, AttemptState::Succeeded).order, None, "ordered once");
    assert_eq!(stage.job.finished().map, 1);
    let rival = stage.job.attempt(stage.job.key_of(rival.task).unwrap(), rival.number).unwrap();
    assert_eq!(rival.state, AttemptState::Killed);
    assert_eq!(rival.diagnostics.joined(), "Already completed TIP");
}
