//! The fake tracker against recorded answers of the Java JobTracker.

use super::*;
use crate::model::{AttemptState, Kind, PerKind};
use crate::wire::frame::LENGTH_BYTES;
use crate::wire::protocol::{
    Call, CallOutcome, InterTrackerCall, Protocol, ReturnType, Value, decode_call, decode_response,
};
use crate::wire::{Action, HeartbeatResponse};

macro_rules! recorded {
    ($name:literal) => {
        answer(include_bytes!(concat!("../../tests/fixtures/hadoop1/rpc/InterTrackerProtocol.heartbeat.", $name)))
    };
}

fn answer(bytes: &[u8]) -> HeartbeatResponse {
    match decode_response(ReturnType::Heartbeat, bytes).unwrap().unwrap().0.outcome {
        CallOutcome::Value(Value::Heartbeat(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

fn with(answer: &HeartbeatResponse, actions: Vec<Action>) -> HeartbeatResponse {
    HeartbeatResponse { actions, ..answer.clone() }
}

/// One that runs the attempt of an answer.
fn at_work(answer: &HeartbeatResponse) -> FakeTracker {
    let mut tracker = FakeTracker::new("tracker_h1:localhost/127.0.0.1:1", "h1", PerKind::new(1, 1));
    assert_eq!(tracker.obey(answer, |_| ()).launched.len(), 1);
    tracker.attempts[0].advance(AttemptStep::Advance);
    assert_eq!(tracker.attempts[0].state, AttemptState::Running);
    tracker
}

/// So what is made of a recorded heartbeat is a stock tracker as far as the JobTracker can see.
#[test]
fn a_tracker_without_tasks_says_what_a_stock_one_said() {
    let bytes = include_bytes!("../../tests/fixtures/hadoop1/rpc/InterTrackerProtocol.heartbeat.idle.request.bin");
    let call = decode_call(Protocol::InterTracker, &bytes[LENGTH_BYTES..]).unwrap().call;
    let Call::InterTracker(InterTrackerCall::Heartbeat { request: recorded }) = call else { panic!("{call:?}") };
    let mut tracker: FakeTracker = FakeTracker::of_status(&recorded.status);
    tracker.obey(&HeartbeatResponse { response_id: recorded.response_id, ..recorded!("idle.response.bin") }, |_| ());
    assert_eq!(tracker.request(Vec::new()), *recorded);
}

#[test]
fn a_tracker_registers_once_and_again_when_it_is_told_to_or_restarts() {
    let mut tracker: FakeTracker = FakeTracker::new("t", "h1", PerKind::new(1, 1));
    let flags = |tracker: &mut FakeTracker| {
        let request = tracker.request(Vec::new());
        (request.restarted, request.initial_contact, request.response_id)
    };
    assert_eq!(flags(&mut tracker), (true, true, -1));
    let idle = HeartbeatResponse { response_id: 0, ..recorded!("idle.response.bin") };
    assert!(tracker.expects(&idle));
    tracker.obey(&idle, |_| ());
    assert_eq!(flags(&mut tracker), (false, false, 0));
    assert!(!tracker.expects(&idle));
    let reinit = with(&idle, vec![Action::ReinitTracker]);
    assert!(tracker.expects(&reinit));
    assert!(tracker.obey(&reinit, |_| ()).is_reinit);
    assert_eq!(flags(&mut tracker), (false, true, 0));
    tracker.restart();
    assert_eq!(flags(&mut tracker), (true, true, -1));
}

#[test]
fn a_reduce_waits_for_its_permission_and_holds_its_slot_until_it_is_reported() {
    let launch = recorded!("launch-reduce.response.bin");
    let mut tracker = at_work(&launch);
    let id = tracker.attempts[0].id;
    for _ in 0..2 {
        tracker.attempts[0].advance(AttemptStep::Advance);
        assert_eq!(tracker.attempts[0].state, AttemptState::CommitPending);
        assert_eq!((tracker.busy(Kind::Map), tracker.busy(Kind::Reduce)), (0, 1));
    }
    tracker.obey(&with(&launch, vec![Action::CommitTask(id)]), |_| ());
    tracker.attempts[0].advance(AttemptStep::Advance);
    assert_eq!((tracker.attempts[0].state, tracker.busy(Kind::Reduce)), (AttemptState::Succeeded, 0));
    assert_eq!(tracker.obey(&with(&launch, Vec::new()), |_| ()).succeeded, 0, "it is not reported yet");
    tracker.request(Vec::new());
    let obeyed = tracker.obey(&with(&launch, Vec::new()), |_| ());
    assert_eq!((obeyed.succeeded, tracker.attempts.len(), tracker.outputs.len()), (1, 0, 0));
}

#[test]
fn the_output_of_a_map_stays_until_its_job_is_over() {
    let launch = recorded!("launch-map.response.bin");
    let mut tracker = at_work(&launch);
    let id = tracker.attempts[0].id;
    tracker.attempts[0].advance(AttemptStep::Advance);
    tracker.request(Vec::new());
    tracker.obey(&with(&launch, Vec::new()), |_| ());
    assert!(tracker.attempts.is_empty() && tracker.outputs.contains(&id));
    tracker.obey(&with(&launch, vec![Action::KillJob(id.task.job)]), |_| ());
    assert!(tracker.outputs.is_empty());
}

#[test]
fn a_kill_leaves_something_to_clean_up_only_where_work_has_begun() {
    use AttemptState as S;
    let launch = recorded!("launch-map.response.bin");
    for (role, before, after) in [
        (Role::Work, S::Unassigned, S::Killed),
        (Role::Work, S::Running, S::KilledUnclean),
        (Role::Work, S::CommitPending, S::KilledUnclean),
        (Role::Housekeeping, S::Running, S::Killed),
        (Role::TaskCleanup, S::FailedUnclean, S::Failed),
        (Role::TaskCleanup, S::KilledUnclean, S::Killed),
        (Role::Work, S::Succeeded, S::Succeeded),
    ] {
        let mut attempt = at_work(&launch).attempts.remove(0);
        (attempt.role, attempt.state) = (role, before);
        attempt.kill();
        assert_eq!(attempt.state, after, "{role:?} {before:?}");
    }
}

#[test]
fn a_task_cleanup_comes_to_the_end_of_its_attempt() {
    let launch = recorded!("launch-task-cleanup.response.bin");
    let mut tracker: FakeTracker = FakeTracker::new("t", "h1", PerKind::new(1, 1));
    tracker.obey(&launch, |_| ());
    let attempt = tracker.attempts.iter_mut().find(|attempt| attempt.role == Role::TaskCleanup).unwrap();
    let before = attempt.state;
    assert!(attempt.is_kept());
    attempt.advance(AttemptStep::Advance);
    let after = if before == AttemptState::FailedUnclean { AttemptState::Failed } else { AttemptState::Killed };
    assert_eq!((attempt.state, attempt.is_kept()), (after, false));
}
