//! The table of attempts, without threads: orders, events and reports in every order that matters.

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

fn launch_in(slots: i32, number: u32) -> Action {
    let Action::LaunchTask(mut task) = launch(number) else { unreachable!() };
    task.num_slots = slots;
    Action::LaunchTask(task)
}

fn launch(number: u32) -> Action {
    task(number, AttemptState::Unassigned)
}

fn table() -> AttemptTable {
    AttemptTable::new(PerKind::new(1, 1))
}

fn started(commands: &[AttemptCommand]) -> Vec<(AttemptId, u64)> {
    let start = |deed: &AttemptCommand| match deed {
        AttemptCommand::Start { task, launch, .. } => Some((task.status.attempt, *launch)),
        _ => None,
    };
    commands.iter().filter_map(start).collect()
}

fn states(table: &mut AttemptTable) -> Vec<AttemptState> {
    table.build_reports(1_000).into_iter().map(|report| report.state).collect()
}

fn succeeded() -> AttemptEvent {
    AttemptEvent::Ended(AttemptOutcome::Succeeded { output_bytes: Some(7) })
}

#[test]
fn an_end_is_told_until_it_is_heard() {
    let mut table = table();
    let (attempt, launched) = started(&table.apply_actions(vec![launch(0)], 1))[0];
    assert_eq!(states(&mut table), [AttemptState::Unassigned]);
    assert!(!table.apply_event(attempt, launched, AttemptEvent::Running, 2).0, "a start can wait");
    table.apply_actions(Vec::new(), 2);
    assert!(table.apply_event(attempt, launched, succeeded(), 3).0, "an end cannot");
    let report = table.build_reports(4).remove(0);
    assert_eq!((report.state, report.progress, report.output_bytes), (AttemptState::Succeeded, 1.0, 7));
    assert!(report.counters.is_some() && report.finish_ms == 3);
    table.apply_actions(Vec::new(), 5);
    assert_eq!(states(&mut table), []);
    // Its output stays until the JobTracker drops it.
    let commands = table.apply_actions(vec![Action::KillTask(attempt)], 6);
    assert!(matches!(commands[..], [AttemptCommand::ForgetOutput(forgotten)] if forgotten == attempt));
}

#[test]
fn what_ends_while_a_heartbeat_is_under_way_is_told_by_the_next() {
    let mut table = table();
    let (attempt, launched) = started(&table.apply_actions(vec![launch(0)], 1))[0];
    states(&mut table);
    table.apply_event(attempt, launched, AttemptEvent::Ended(AttemptOutcome::Failed("why".to_owned())), 2);
    table.apply_actions(Vec::new(), 3);
    let report = table.build_reports(4).remove(0);
    assert_eq!((report.state, &*report.diagnostics, report.progress), (AttemptState::Failed, "why", 0.0));
    assert_eq!(table.failure_count(), 1);
}

#[test]
fn a_task_waits_for_the_slot_of_one_that_commits() {
    let mut table = table();
    let (first, launched) = started(&table.apply_actions(vec![launch(0)], 1))[0];
    table.apply_event(first, launched, AttemptEvent::Running, 2);
    assert!(table.apply_event(first, launched, AttemptEvent::CommitPending, 2).0);
    assert_eq!(states(&mut table), [AttemptState::CommitPending]);
    // The JobTracker does not count it any more and gives another.
    let commands = table.apply_actions(vec![launch(1), Action::CommitTask(first)], 3);
    assert_eq!(started(&commands), []);
    let (_, commands) =
        table.apply_event(first, launched, AttemptEvent::Ended(AttemptOutcome::Succeeded { output_bytes: None }), 4);
    assert_eq!(started(&commands)[0].0, attempt_id('m', 1));
}

#[test]
fn a_task_of_several_slots_waits_until_all_are_free() {
    let mut table = AttemptTable::new(PerKind::new(3, 1));
    let first = started(&table.apply_actions(vec![launch_in(2, 0)], 1))[0];
    assert_eq!(table.build_reports(2)[0].num_slots, 2);
    assert_eq!(started(&table.apply_actions(vec![launch_in(2, 1)], 3)), []);
    let (_, commands) = table.apply_event(first.0, first.1, succeeded(), 4);
    assert_eq!(started(&commands)[0].0, attempt_id('m', 1));
    assert!(table.has_free_slot());
    let all = started(&table.apply_actions(vec![launch_in(1, 2), launch_in(9, 3)], 5));
    assert_eq!(all.len(), 1, "one of more slots than there are waits for all");
}

#[test]
fn one_that_never_began_is_killed_at_once() {
    let mut table = table();
    table.apply_actions(vec![launch(0), launch(1)], 1);
    assert_eq!(states(&mut table), [AttemptState::Unassigned; 2]);
    table.apply_actions(vec![Action::KillTask(attempt_id('m', 1)), Action::KillTask(attempt_id('m', 0))], 2);
    // The other has a thread, which has yet to end.
    assert_eq!(states(&mut table), [AttemptState::Unassigned, AttemptState::Killed]);
}

#[test]
fn a_lost_output_fails_its_map_even_while_its_success_is_told() {
    for is_heard in [false, true] {
        let mut table = table();
        let (attempt, launched) = started(&table.apply_actions(vec![launch(0)], 1))[0];
        table.apply_event(attempt, launched, succeeded(), 2);
        states(&mut table);
        if is_heard {
            table.apply_actions(Vec::new(), 3);
            states(&mut table);
        }
        table.on_output_lost(attempt, "gone");
        table.apply_actions(Vec::new(), 4);
        let report = table.build_reports(5).remove(0);
        assert_eq!((report.state, report.output_bytes), (AttemptState::Failed, -1));
        assert_eq!(&*report.diagnostics, "Map output lost, rescheduling: gone");
    }
}

#[test]
fn who_registers_anew_knows_nothing_of_before() {
    let mut table = table();
    let (attempt, launched) = started(&table.apply_actions(vec![launch(0)], 1))[0];
    let commands = table.apply_actions(vec![Action::ReinitTracker], 2);
    assert!(matches!(commands[..], [AttemptCommand::ForgetAll]));
    assert_eq!(states(&mut table), []);
    // The thread of before ends while the same attempt is here again.
    let (_, again) = started(&table.apply_actions(vec![launch(0)], 3))[0];
    assert_ne!(launched, again);
    assert!(!table.apply_event(attempt, launched, succeeded(), 4).0);
    assert_eq!(states(&mut table), [AttemptState::Unassigned]);
}

#[test]
fn a_task_cleanup_ends_as_what_it_cleans_up_after() {
    for (before, after) in
        [(AttemptState::FailedUnclean, AttemptState::Failed), (AttemptState::KilledUnclean, AttemptState::Killed)]
    {
        let mut table = table();
        let (attempt, launched) = started(&table.apply_actions(vec![task(0, before)], 1))[0];
        table.apply_event(attempt, launched, AttemptEvent::Running, 2);
        let report = table.build_reports(3).remove(0);
        assert_eq!((report.state, report.phase), (before, Phase::Cleanup));
        table.apply_actions(Vec::new(), 3);
        table.apply_event(attempt, launched, AttemptEvent::Ended(AttemptOutcome::Succeeded { output_bytes: None }), 4);
        assert_eq!(states(&mut table), [after]);
        assert_eq!(table.failure_count(), 0);
    }
}

#[test]
fn the_last_heartbeat_reports_all_as_over() {
    let mut table = table();
    let (attempt, launched) = started(&table.apply_actions(vec![launch(0), launch(1)], 1))[0];
    table.apply_event(attempt, launched, AttemptEvent::Running, 2);
    table.apply_event(attempt, launched, succeeded(), 3);
    table.finish_all(4);
    let reports = table.build_reports(5);
    let states: Vec<_> = reports.iter().map(|report| (report.state, &*report.diagnostics)).collect();
    assert_eq!(states, [(AttemptState::Succeeded, ""), (AttemptState::Killed, "the worker was stopped")]);
}
