//! Items: launch on grant, retries of unattended applications, and how these end.

use std::sync::Arc;

use crate::api::WorkerState;
use crate::api::applications::{ApplicationReport, AskRow, FinalStatus, Locality, Placement};
use crate::engine::{ApplicationAnswer, ApplicationFilter, ApplicationQuestion, BeatReply, RowPage};
use crate::model::{ApplicationId, Capability, ContainerId};

use super::bench::{Bench, ONE, asking, context, ids, items_row, row};

fn report(bench: &mut Bench, application: ApplicationId) -> ApplicationReport {
    match bench.ask(ApplicationQuestion::Show { application, known_version: None }).unwrap() {
        ApplicationAnswer::Application(report) => ApplicationReport::clone(&report),
        other => panic!("{other:?}"),
    }
}

/// Lets one after another end with the exit status that `exit` says of its item and attempt.
fn run_all(bench: &mut Bench, application: ApplicationId, exit: impl Fn(u32, u32) -> i32) -> Vec<(u32, u32)> {
    let mut order = Vec::new();
    for _ in 0..10_000 {
        bench.settle();
        let Some(id) = bench.on_workers().into_iter().min_by_key(|id| id.number) else { return order };
        let launch = bench.application(application).containers[&id.number].launch.unwrap();
        let run = (launch.item.unwrap_or(0), launch.item_attempt);
        order.push(run);
        let status = exit(run.0, run.1);
        bench.end(id, status);
        if status == -100 {
            // Its worker rests.
            bench.cluster.pass_ms(60_000);
            bench.heartbeat(0);
        }
    }
    panic!("it does not end");
}

#[test]
fn items_are_launched_in_their_order_and_the_application_ends_by_itself() {
    let mut bench = Bench::new(&[ONE]);
    let application = bench.unattended(vec![items_row("7,1-3", |_| {})]);
    assert_eq!(report(&mut bench, application).resource_requests[0].items.as_deref(), Some("1-3"));
    assert_eq!(run_all(&mut bench, application, |_, _| 0), [(7, 1), (1, 1), (2, 1), (3, 1)]);
    let report = report(&mut bench, application);
    assert_eq!(format!("{:?} {:?}", report.state, report.final_status), "Finished Succeeded");
    assert_eq!((report.completed_containers, report.pending_containers), (4, 0));
    assert!(report.resource_requests.is_empty());
}

#[test]
fn a_failed_item_comes_again_behind_the_others_as_often_as_it_may() {
    let mut bench = Bench::new(&[ONE]);
    let rows = vec![items_row("1-3", |launch| launch.rules.max_attempts = Some(2))];
    let application = bench.unattended(rows);
    let order = run_all(&mut bench, application, |item, attempt| i32::from(item == 1 || (item, attempt) == (2, 1)));
    assert_eq!(order, [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)]);
    let report = report(&mut bench, application);
    assert_eq!((report.failed_items.as_str(), report.failed_containers), ("1", 3));
    let standing = &bench.application(application).standing;
    assert_eq!(
        (standing.final_status, standing.diagnostics.as_str()),
        (Some(FinalStatus::Failed), "1 of its items failed")
    );
}

#[test]
fn an_end_that_is_nobodys_fault_does_not_count_as_an_attempt() {
    let mut bench = Bench::new(&[ONE]);
    let application = bench.unattended(vec![items_row("5", |_| {})]);
    let order = run_all(&mut bench, application, |_, attempt| if attempt < 4 { -100 } else { 0 });
    assert_eq!(order, [(5, 1), (5, 2), (5, 3), (5, 4)]);
    assert_eq!(bench.application(application).standing.final_status, Some(FinalStatus::Succeeded));
    let application = bench.unattended(vec![items_row("5", |_| {})]);
    let order = run_all(&mut bench, application, |_, attempt| if attempt <= 300 { -100 } else { 0 });
    assert_eq!(order.len(), 301, "as often as it takes");
    assert_eq!(bench.application(application).standing.final_status, Some(FinalStatus::Succeeded));
}

#[test]
fn a_worker_that_cannot_start_what_it_gets_rests_twice_as_long_each_time() {
    let mut bench = Bench::new(&[ONE]);
    bench.unattended(vec![items_row("5", |_| {})]);
    bench.settle();
    let rest = |bench: &mut Bench| {
        bench.end(bench.on_workers()[0], -100);
        let from_ms = bench.cluster.now.mono_ms;
        while bench.on_workers().is_empty() {
            bench.cluster.pass_ms(90);
            bench.heartbeat(0);
            bench.settle();
        }
        bench.cluster.now.mono_ms - from_ms
    };
    let rests: Vec<u64> = (0..12).map(|_| rest(&mut bench)).collect();
    assert_eq!(rests, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000]);
    bench.start(bench.on_workers()[0]);
    bench.settle();
    assert_eq!(rest(&mut bench), 100, "it has started one");
}

#[test]
fn what_a_worker_lacks_is_its_state_and_the_reason_of_what_waits() {
    let mut bench = Bench::new(&[ONE]);
    let lack = "its disks have 3 kB free";
    bench.heartbeat_in_need(0, true, lack);
    let page = |bench: &Bench| bench.cluster.engine.worker_page(None, bench.cluster.now).value.workers.remove(0);
    let short = page(&bench);
    assert_eq!((short.state, short.complaints.as_str()), (WorkerState::Short, lack));
    bench.heartbeat_in_need(0, false, lack);
    let ill = page(&bench);
    assert_eq!((ill.state, ill.complaints.as_str()), (WorkerState::Unhealthy, lack));
    // An ill worker is still believed: it reports ends.
    assert_eq!(bench.beat(0), BeatReply::Waits);
    let application = bench.unattended(vec![items_row("5", |_| {})]);
    bench.settle();
    assert_eq!(bench.on_workers(), []);
    let why = report(&mut bench, application).cannot_run.unwrap();
    assert!(why.contains(lack), "{why}");
    bench.heartbeat(0);
    bench.settle();
    assert_eq!((page(&bench).state, bench.on_workers().len()), (WorkerState::Ok, 1));
    assert_eq!(report(&mut bench, application).cannot_run, None);
}

#[test]
fn too_many_failed_items_end_the_rest() {
    let mut bench = Bench::new(&[Capability::new(2_048, 2)]);
    let rows = vec![items_row("1-1000", |launch| launch.rules.max_fails = Some(1))];
    let application = bench.unattended(rows);
    let order = run_all(&mut bench, application, |item, _| i32::from(item < 3));
    assert!(order.len() <= 3, "{order:?}");
    let report = report(&mut bench, application);
    assert_eq!((report.failed_items.as_str(), report.pending_containers), ("1-2", 0));
    assert_eq!(bench.application(application).standing.final_status, Some(FinalStatus::Failed));
}

#[test]
fn no_more_run_at_a_time_than_may() {
    let mut bench = Bench::new(&[Capability::new(8_192, 8)]);
    let application = bench.unattended(vec![items_row("1-20", |launch| launch.max_running = Some(3))]);
    bench.settle();
    assert_eq!(bench.on_workers().len(), 3);
    assert_eq!(run_all(&mut bench, application, |_, _| 0).len(), 20);
}

#[test]
fn containers_without_items_may_be_launched_on_grant_too() {
    let mut bench = Bench::new(&[ONE]);
    let mut asked = items_row("1", |launch| launch.items = None);
    asked.num_containers = 3;
    let application = bench.unattended(vec![asked.clone()]);
    assert_eq!(run_all(&mut bench, application, |_, _| 0).len(), 3);
    assert_eq!(bench.application(application).standing.final_status, Some(FinalStatus::Succeeded));
    let application = bench.unattended(vec![asked]);
    run_all(&mut bench, application, |_, _| 1);
    assert_eq!(bench.application(application).standing.final_status, Some(FinalStatus::Failed));
}

#[test]
fn a_program_asks_for_items_as_it_sees_them() {
    let mut bench = Bench::new(&[Capability::new(2_048, 2)]);
    let mut program = bench.register();
    let items = |items: &str| -> Vec<AskRow> { vec![items_row(items, |_| {})] };
    let mut call = asking(items("1-4"));
    call.specs.insert("s".to_owned(), context("true"));
    call.wait_ms = 0;
    let answer = program.call(&mut bench, call);
    assert_eq!(answer.allocated_containers.iter().map(|one| one.item).collect::<Vec<_>>(), [Some(1), Some(2)]);
    bench.settle();
    // Item 1 ends, and 3 is granted before the program knows: it repeats what it has not seen granted.
    let first: ContainerId = ids(&answer)[0];
    bench.end(first, 0);
    let answer = program.call(&mut bench, asking(items("3-4")));
    assert_eq!(answer.allocated_containers[0].item, Some(3));
    let left = |bench: &mut Bench| {
        let report = report(bench, program.application);
        report.resource_requests.first().and_then(|row| row.items.clone())
    };
    assert_eq!(left(&mut bench).as_deref(), Some("4"), "3 is not run again");
}

#[test]
fn an_application_of_nothing_ends_at_once() {
    let mut bench = Bench::new(&[ONE]);
    let mut none = items_row("1", |launch| launch.items = None);
    none.num_containers = 0;
    let application = bench.unattended(vec![none]);
    assert_eq!(bench.application(application).standing.final_status, Some(FinalStatus::Succeeded));
    assert_eq!(row(1, 0).num_containers, 0);
}

/// The row for any node changes how containers start: that must not part it from the rows before it.
#[test]
fn items_go_where_rows_of_hosts_want_them() {
    let mut bench = Bench::new(&[ONE, ONE]);
    let near = AskRow { resource_name: Placement::Host("h1".to_owned()), ..row(1, 1) };
    let application = bench.unattended(vec![near, items_row("5", |_| {})]);
    let container = bench.application(application).live().next().unwrap();
    assert_eq!((&*container.node.host, container.locality), ("h1", Locality::NodeLocal));
}

/// Who looks at applications must not hold up those that run.
#[test]
fn no_report_is_made_beyond_its_bounds_in_one_step() {
    let mut bench = Bench::new(&[ONE]);
    let mut program = bench.register();
    let host = |number| AskRow { resource_name: Placement::Host(format!("h{number}")), ..row(1, 1) };
    program.call(&mut bench, asking((0..3_000).map(host).chain([row(1, 3_000)]).collect()));
    let shown = |bench: &mut Bench, question| match bench.ask(question).unwrap() {
        ApplicationAnswer::Application(report) => report,
        other => panic!("{other:?}"),
    };
    let application = program.application;
    let show = || ApplicationQuestion::Show { application, known_version: None };
    let first = shown(&mut bench, show());
    assert_eq!((first.resource_requests.len(), first.resource_requests_left_out), (100, 2_901));
    assert!(Arc::ptr_eq(&first, &shown(&mut bench, show())), "one report for all who ask at a time");
    let rows = RowPage { after: 2_990, most: 1_000 };
    let last = shown(&mut bench, ApplicationQuestion::ShowRows { application, rows });
    assert_eq!((last.resource_requests.len(), last.resource_requests_left_out), (11, 2_990));
    let filter = ApplicationFilter { limit: 10, ..ApplicationFilter::default() };
    let ApplicationAnswer::Applications { applications, .. } = bench.ask(ApplicationQuestion::List(filter)).unwrap()
    else {
        panic!("a list")
    };
    assert!(applications.iter().all(|listed| listed.resource_requests.is_empty()), "rows are for who asks for them");
}
