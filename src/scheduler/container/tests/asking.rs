//! Setting rows: each replaces one, all or none, less what was granted and not received.

use super::stage::{Stage, request, row, rows};
use crate::scheduler::container::{AskError, AskedRow, CountedRows, MAX_COUNT, MAX_HOST_ROWS, MAX_TYPES, RequestType};
use crate::scheduler::{AppId, Level};

const TYPE: RequestType = request(1, 1_024);

fn stage() -> (Stage, AppId) {
    let mut stage = Stage::new(&[("a", "/r1"), ("b", "/r2")]);
    let app = stage.add_app(1);
    (stage, app)
}

#[test]
fn a_row_replaces_and_the_same_row_twice_has_no_effect() {
    let (mut stage, app) = stage();
    stage.set(app, &rows(TYPE, &[("a", 3), ("*", 5)]));
    stage.set(app, &rows(TYPE, &[("a", 2)]));
    stage.set(app, &rows(TYPE, &[("a", 2)]));
    assert_eq!(stage.table(app, TYPE), [("a".to_owned(), 2), ("*".to_owned(), 5)]);
}

#[test]
fn numbers_are_as_the_caller_sees_them_so_its_last_rows_again_get_nothing_more() {
    let (mut stage, app) = stage();
    let asked = rows(TYPE, &[("a", 2), ("/r1", 2), ("*", 3)]);
    stage.scheduler.set_strict_gates(app, true);
    stage.set(app, &asked);
    assert_eq!(
        stage.grant(),
        [("a".to_owned(), Level::Node), ("a".to_owned(), Level::Node), ("b".to_owned(), Level::Any)]
    );
    let grants = stage.source.grants.clone();
    stage.set_unreported(app, &asked, &grants);
    assert_eq!((stage.grant(), stage.table(app, TYPE)), (vec![], vec![]));
    // Two of them were received: what is asked beyond the third counts.
    stage.set_unreported(app, &rows(TYPE, &[("a", 1), ("/r1", 1), ("*", 2)]), &grants[..1]);
    assert_eq!(stage.table(app, TYPE), [("a", 0), ("/r1", 0), ("*", 1)].map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn a_type_that_wants_nothing_keeps_its_rows_until_a_call_asks_for_it() {
    let (mut stage, app) = stage();
    let other = request(2, 512);
    stage.set(app, &rows(TYPE, &[("a", 1), ("b", 4), ("*", 1)]));
    assert_eq!(stage.grant().len(), 1);
    stage.set(app, &rows(other, &[("*", 1)]));
    assert_eq!(stage.table(app, TYPE), [("a", 0), ("b", 4), ("*", 0)].map(|(name, count)| (name.to_owned(), count)));
    stage.set(app, &rows(TYPE, &[("b", 3)]));
    assert_eq!(stage.table(app, TYPE), []);
    // Rows without an `*` ask for nothing.
    stage.set(app, &rows(TYPE, &[("b", 3)]));
    assert_eq!(stage.table(app, TYPE), []);
}

#[test]
fn rows_are_listed_by_type_then_hosts_racks_and_any_by_name() {
    let (mut stage, app) = stage();
    let (first, second) = (request(1, 512), request(1, 1_024));
    let ids = RequestType { request_id: 7, ..first };
    stage.set(app, &rows(second, &[("*", 1)]));
    stage.set(app, &rows(ids, &[("*", 2)]));
    stage.set(app, &rows(first, &[("/r2", 1), ("h2", 1), ("*", 9), ("/r1", 1), ("h1", 1)]));
    let listed: Vec<_> = stage.scheduler.rows_of(app).iter().map(|row| (row.request, row.name.to_string())).collect();
    let names = ["h1", "h2", "/r1", "/r2", "*"].map(|name| (first, name.to_owned()));
    assert_eq!(listed[..5], names);
    assert_eq!(listed[5..], [(second, "*".to_owned()), (ids, "*".to_owned())]);
}

#[test]
fn one_bad_row_rejects_all() {
    let (mut stage, app) = stage();
    stage.set(app, &rows(TYPE, &[("*", 1)]));
    let before = stage.scheduler.rows_of(app);
    let mut refused = |rows: &[AskedRow]| {
        assert_eq!(stage.scheduler.check_ask(app, rows), stage.scheduler.ask(app, rows, &[]));
        stage.scheduler.ask(app, rows, &[]).unwrap_err()
    };
    let too_many = refused(&[row(TYPE, "*", 7), row(TYPE, "a", MAX_COUNT + 1)]);
    assert_eq!(
        too_many.to_string(),
        "a at priority 1, request id 0, 1024 MB, 1 core wants 2147483648 containers, more than 2147483647"
    );
    let types: Vec<AskedRow> = (2..).take(MAX_TYPES).map(|priority| row(request(priority, 512), "*", 1)).collect();
    assert_eq!(refused(&types), AskError::TooManyTypes(MAX_TYPES + 1));
    let hosts: Vec<AskedRow> = (0..=MAX_HOST_ROWS).map(|host| row(TYPE, &format!("h{host}"), 1)).collect();
    assert_eq!(refused(&hosts), AskError::TooManyHostRows { request: TYPE, rows: MAX_HOST_ROWS + 1 });
    let racks: Vec<AskedRow> = (0..20_000).map(|rack| row(TYPE, &format!("/r{rack}"), 1)).collect();
    assert_eq!(refused(&racks), AskError::TooManyRows(20_001));
    assert_eq!(stage.scheduler.rows_of(app), before);
    assert_eq!(stage.scheduler.ask(AppId::new(9), &[], &[]), Err(AskError::UnknownApp(AppId::new(9))));
}

#[test]
fn a_type_that_goes_makes_way_for_another_in_the_same_call() {
    let (mut stage, app) = stage();
    let types: Vec<AskedRow> = (0..).take(MAX_TYPES).map(|priority| row(request(priority, 512), "*", 1)).collect();
    stage.set(app, &types);
    let new = request(1_000, 512);
    stage.set(app, &[row(request(0, 512), "*", 0), row(new, "*", 1)]);
    assert_eq!(stage.table(app, new).len(), 1);
}

#[test]
fn an_application_that_is_removed_asks_for_nothing_more_and_keeps_what_it_holds_until_it_ends() {
    let (mut stage, app) = stage();
    stage.set(app, &rows(TYPE, &[("*", 20)]));
    assert_eq!(stage.grant().len(), 16);
    stage.scheduler.remove_app(app);
    stage.check();
    let grants = stage.source.grants.clone();
    assert_eq!(stage.scheduler.app_containers(app).running, 16);
    assert_eq!(stage.scheduler.check_ask(app, &[]), Err(AskError::UnknownApp(app)));
    grants.iter().for_each(|grant| stage.end(grant));
    assert_eq!(stage.grant(), []);
    assert_eq!(stage.scheduler.group_of(app), None);
}

#[test]
fn a_restart_sets_rows_and_grants_as_they_were() {
    let (mut stage, app) = stage();
    stage.set(app, &rows(TYPE, &[("a", 1), ("b", 4), ("*", 1)]));
    stage.grant();
    let before = stage.scheduler.rows_of(app);
    let (mut restored, again) = self::stage();
    restored.scheduler.restore_rows(again, &before);
    restored.scheduler.restore_container(again, restored.nodes["a"], TYPE);
    restored.check();
    assert_eq!(restored.scheduler.rows_of(again), before);

    let (mut replayed, again) = self::stage();
    replayed.set(again, &rows(TYPE, &[("a", 1), ("b", 4), ("*", 1)]));
    let counted = CountedRows { host: Some("a".into()), rack: None };
    replayed.scheduler.count_grant(again, TYPE, &counted);
    replayed.check();
    assert_eq!(replayed.scheduler.rows_of(again), before);
}
