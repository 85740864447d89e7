//! The book of attempts, without threads: orders, events and reports in every order that matters.

use crate::streaming::stage::attempt_id;
use crate::wire::{Phase, RecordRange, SkipRanges, SplitIndex, TaskBody};

use super::*;

fn task(number: u32, state: AttemptState) -> Action {
    let status = TaskStatus {
        attempt: attempt_id('m', number),
        progress: 0.0,
        num_slots: 1,
        state,
        diagnostics: "".into(),
        state_text: "".into(),
        phase: Phase::Map,
        start_ms: 0,
        finish_ms: 0,
        output_bytes: -1,
        counters: None,
        next_record_range: RecordRange::default(),
        reduce: None,
    };
    let task_cleanup = state != AttemptState::Unassigned;
    let split = (!task_cleanup).then(|| SplitIndex { file: "file:/s/job.split".into(), offset_bytes: 0 });
    Action::LaunchTask(Box::new(Task {
        job_file: "file:/s/job.xml".into(),
        partition: 0,
        num_slots: 1,
        status,
        skip_ranges: SkipRanges::default(),
        skipping: false,
        job_cleanup: None,
        job_setup: false,
        write_skipped_records: true,
        task_cleanup,
        user: "alice".into(),
        body: TaskBody::Map { split },
    }))
}

fn launch(number: u32) -> Action {
    task(number, AttemptState::Unassigned)
}

fn book() -> AttemptBook {
    AttemptBook::new(PerKind::new(1, 1))
}

fn started(deeds: &[Deed]) -> Vec<(AttemptId, u64)> {
    let start = |deed: &Deed| match deed {
        Deed::Start { task, launch, .. } => Some((task.status.attempt, *launch)),
        _ => None,
    };
    deeds.iter().filter_map(start).collect()
}

fn states(book: &mut AttemptBook) -> Vec<AttemptState> {
    book.reports(1_000).into_iter().map(|report| report.state).collect()
}

fn succeeded() -> AttemptEvent {
    AttemptEvent::Ended(Ending::Succeeded { output_bytes: Some(7) })
}

#[test]
fn an_end_is_told_until_it_is_heard() {
    let mut book = book();
    let (attempt, launched) = started(&book.obey(vec![launch(0)], 1))[0];
    assert_eq!(states(&mut book), [AttemptState::Unassigned]);
    assert!(!book.take_event(attempt, launched, AttemptEvent::Runs, 2).0, "a start can wait");
    book.obey(Vec::new(), 2);
    assert!(book.take_event(attempt, launched, succeeded(), 3).0, "an end cannot");
    let report = book.reports(4).remove(0);
    assert_eq!((report.state, report.progress, report.output_bytes), (AttemptState::Succeeded, 1.0, 7));
    assert!(report.counters.is_some() && report.finish_ms == 3);
    book.obey(Vec::new(), 5);
    assert_eq!(states(&mut book), []);
    // Its output stays until it is told otherwise.
    let deeds = book.obey(vec![Action::KillTask(attempt)], 6);
    assert!(matches!(deeds[..], [Deed::ForgetOutput(forgotten)] if forgotten == attempt));
}

#[test]
fn what_ends_while_a_heartbeat_is_under_way_is_told_by_the_next() {
    let mut book = book();
    let (attempt, launched) = started(&book.obey(vec![launch(0)], 1))[0];
    states(&mut book);
    book.take_event(attempt, launched, AttemptEvent::Ended(Ending::Failed("why".to_owned())), 2);
    book.obey(Vec::new(), 3);
    let report = book.reports(4).remove(0);
    assert_eq!((report.state, &*report.diagnostics, report.progress), (AttemptState::Failed, "why", 0.0));
    assert_eq!(book.failures(), 1);
}

#[test]
fn a_task_waits_for_the_slot_of_one_that_commits() {
    let mut book = book();
    let (first, launched) = started(&book.obey(vec![launch(0)], 1))[0];
    book.take_event(first, launched, AttemptEvent::Runs, 2);
    assert!(book.take_event(first, launched, AttemptEvent::WaitsForCommit, 2).0);
    assert_eq!(states(&mut book), [AttemptState::CommitPending]);
    // The JobTracker does not count it any more and gives another.
    let deeds = book.obey(vec![launch(1), Action::CommitTask(first)], 3);
    assert_eq!(started(&deeds), []);
    let (_, deeds) = book.take_event(first, launched, AttemptEvent::Ended(Ending::Succeeded { output_bytes: None }), 4);
    assert_eq!(started(&deeds)[0].0, attempt_id('m', 1));
}

#[test]
fn one_that_never_began_is_killed_at_once() {
    let mut book = book();
    book.obey(vec![launch(0), launch(1)], 1);
    assert_eq!(states(&mut book), [AttemptState::Unassigned; 2]);
    book.obey(vec![Action::KillTask(attempt_id('m', 1)), Action::KillTask(attempt_id('m', 0))], 2);
    // The other has a thread, which has yet to end.
    assert_eq!(states(&mut book), [AttemptState::Unassigned, AttemptState::Killed]);
}

#[test]
fn a_lost_output_fails_its_map_even_while_its_success_is_told() {
    for is_heard in [false, true] {
        let mut book = book();
        let (attempt, launched) = started(&book.obey(vec![launch(0)], 1))[0];
        book.take_event(attempt, launched, succeeded(), 2);
        states(&mut book);
        if is_heard {
            book.obey(Vec::new(), 3);
            states(&mut book);
        }
        book.lose_output(attempt, "gone");
        book.obey(Vec::new(), 4);
        let report = book.reports(5).remove(0);
        assert_eq!((report.state, report.output_bytes), (AttemptState::Failed, -1));
        assert_eq!(&*report.diagnostics, "Map output lost, rescheduling: gone");
    }
}

#[test]
fn who_registers_anew_knows_nothing_of_before() {
    let mut book = book();
    let (attempt, launched) = started(&book.obey(vec![launch(0)], 1))[0];
    let deeds = book.obey(vec![Action::ReinitTracker], 2);
    assert!(matches!(deeds[..], [Deed::ForgetAll]));
    assert_eq!(states(&mut book), []);
    // The thread of before ends while the same attempt is here again.
    let (_, again) = started(&book.obey(vec![launch(0)], 3))[0];
    assert_ne!(launched, again);
    assert!(!book.take_event(attempt, launched, succeeded(), 4).0);
    assert_eq!(states(&mut book), [AttemptState::Unassigned]);
}

#[test]
fn a_task_cleanup_ends_as_what_it_cleans_up_after() {
    for (before, after) in
        [(AttemptState::FailedUnclean, AttemptState::Failed), (AttemptState::KilledUnclean, AttemptState::Killed)]
    {
        let mut book = book();
        let (attempt, launched) = started(&book.obey(vec![task(0, before)], 1))[0];
        book.take_event(attempt, launched, AttemptEvent::Runs, 2);
        let report = book.reports(3).remove(0);
        assert_eq!((report.state, report.phase), (before, Phase::Cleanup));
        book.obey(Vec::new(), 3);
        book.take_event(attempt, launched, AttemptEvent::Ended(Ending::Succeeded { output_bytes: None }), 4);
        assert_eq!(states(&mut book), [after]);
        assert_eq!(book.failures(), 0);
    }
}
