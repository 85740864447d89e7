//! Bounds that only the job itself enforces.

use crate::mapreduce::attempt::Diagnostics;
use crate::mapreduce::{Attempt, AttemptOrder, JobFact, Task, TaskState};
use crate::model::{AttemptState, Kind, RunState, START_FAILURE, WORKER_SHORTAGE};
use crate::wire::limits::{JOB_DIAGNOSTICS_BYTES, SHORT_DIAGNOSTICS_BYTES};

use super::stage::Stage;

#[test]
fn a_task_that_is_killed_without_end_is_given_up() {
    let mut stage = Stage::running(1, 0);
    let tracker = stage.add_tracker("h1");
    for _ in 0..Task::MAX_ATTEMPTS {
        assert!(stage.job.ending().is_none());
        let attempt = stage.launch(Kind::Map, 0, tracker);
        stage.report(tracker, attempt, AttemptState::Killed);
    }
    let key = stage.job.key_of(stage.job.id.task(Kind::Map, 0)).unwrap();
    assert_eq!(stage.job.task(key).state, TaskState::Failed);
    let is_failing = |fact: &JobFact| matches!(fact, JobFact::Ending { outcome: RunState::Failed, .. });
    assert!(stage.facts.iter().any(is_failing));
}

/// An owner that ends its attempts itself does not keep slots from others by that; after five hundred preemptions a task stays.
#[test]
fn only_preemptions_bring_preemptions_to_an_end() {
    let mut stage = Stage::running(1, 0);
    let tracker = stage.add_tracker("h1");
    let may_go = |stage: &Stage| stage.job.preemptible_attempts(Kind::Map).count() == 1;
    for _ in 0..Task::MAX_ATTEMPTS / 2 - 1 {
        let attempt = stage.launch(Kind::Map, 0, tracker);
        stage.report(tracker, attempt, AttemptState::Killed);
    }
    for _ in 0..Task::MAX_ATTEMPTS / 2 {
        let attempt = stage.launch(Kind::Map, 0, tracker);
        assert!(may_go(&stage));
        stage.act(|job, context| job.preempt(attempt, &"Preempted".into(), context.scheduler));
        let reported = stage.report(tracker, attempt, AttemptState::Running);
        assert!(matches!(reported.order, Some(AttemptOrder::Kill)));
        stage.report(tracker, attempt, AttemptState::Killed);
    }
    stage.launch(Kind::Map, 0, tracker);
    assert!(!may_go(&stage));
}

/// What its worker lacks is no fault of a task: only kills of other kinds are counted, also where they are read from the store.
#[test]
fn kills_for_want_of_something_on_the_worker_give_no_task_up() {
    let mut stage = Stage::running(1, 0);
    let tracker = stage.add_tracker("h1");
    let key = stage.job.key_of(stage.job.id.task(Kind::Map, 0)).unwrap();
    let kill = |stage: &mut Stage, why: &str| {
        let attempt = stage.launch(Kind::Map, 0, tracker);
        stage.report_with(tracker, attempt, AttemptState::Killed, |report| report.diagnostics = why.into());
    };
    (0..Task::MAX_ATTEMPTS + 5).for_each(|_| kill(&mut stage, &format!("{WORKER_SHORTAGE}cannot start a thread")));
    (1..Task::MAX_ATTEMPTS).for_each(|_| kill(&mut stage, "killed on request"));
    assert_eq!((stage.job.task(key).state, stage.job.ending().is_none()), (TaskState::Waiting, true));
    kill(&mut stage, "killed on request");
    assert_eq!(stage.job.task(key).state, TaskState::Failed);
}

#[test]
fn a_command_that_cannot_be_started_is_tried_twice() {
    let mut stage = Stage::running(1, 0);
    let tracker = stage.add_tracker("h1");
    let key = stage.job.key_of(stage.job.id.task(Kind::Map, 0)).unwrap();
    for (say, state) in
        [(START_FAILURE, TaskState::Waiting), ("other words", TaskState::Waiting), (START_FAILURE, TaskState::Failed)]
    {
        assert!(!stage.job.task(key).is_over());
        let attempt = stage.launch(Kind::Map, 0, tracker);
        stage.report_with(tracker, attempt, AttemptState::Failed, |report| report.diagnostics = say.into());
        assert_eq!(stage.job.task(key).state, state);
    }
}

#[test]
fn texts_of_a_task_are_cut_at_characters() {
    let mut stage = Stage::running(1, 0);
    let tracker = stage.add_tracker("h1");
    let attempt = stage.launch(Kind::Map, 0, tracker);
    stage.report_with(tracker, attempt, AttemptState::Running, |report| {
        report.state_text = "x\u{1f600}".repeat(10_000).as_str().into();
        report.diagnostics = "\u{1f600}".repeat(10_000).as_str().into();
    });
    let key = stage.job.key_of(attempt.task).unwrap();
    let attempt = stage.job.attempt(key, attempt.number).unwrap();
    assert_eq!(attempt.state_text.len(), Attempt::MAX_STATE_TEXT_BYTES - 4 + 1);
    assert_eq!(attempt.diagnostics.joined().len(), Diagnostics::MAX_BYTES);
}

#[test]
fn attempts_of_a_job_that_has_said_enough_are_kept_short() {
    let maps = u32::try_from(2 * JOB_DIAGNOSTICS_BYTES / Diagnostics::MAX_BYTES).unwrap();
    let mut stage = Stage::running(maps, 0);
    let tracker = stage.add_tracker("h1");
    let mut said = Vec::new();
    for map in 0..maps {
        let attempt = stage.launch(Kind::Map, map, tracker);
        stage.report_with(tracker, attempt, AttemptState::Running, |report| {
            report.diagnostics = "x".repeat(Diagnostics::MAX_BYTES).as_str().into();
        });
        let key = stage.job.key_of(attempt.task).unwrap();
        said.push(stage.job.attempt(key, attempt.number).unwrap().diagnostics.joined().len());
    }
    assert_eq!((said[0], said[said.len() - 1]), (Diagnostics::MAX_BYTES, SHORT_DIAGNOSTICS_BYTES));
    assert!(said.iter().sum::<usize>() < JOB_DIAGNOSTICS_BYTES + (128 << 10));
}
