//! Permission to commit: one attempt of a task at a time, and never without its fact.

use crate::mapreduce::{AttemptOrder, JobFact};
use crate::model::{AttemptId, AttemptState, Kind};

use super::stage::Stage;

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
