//! Setting rows: each replaces one.

use super::stage::{Stage, request, rows};
use crate::scheduler::AppId;
use crate::scheduler::container::RequestType;

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
    let listed: Vec<_> =
        stage.scheduler.rows_of(app).iter().map(|row| (row.request, row.name.clone().into())).collect();
    let names = ["h1", "h2", "/r1", "/r2", "*"].map(|name| (first, name.to_owned()));
    assert_eq!(listed[..5], names);
    assert_eq!(listed[5..], [(second, "*".to_owned()), (ids, "*".to_owned())]);
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
    stage.set(app, &rows(TYPE, &[("*", 20)]));
    assert_eq!(stage.scheduler.rows_of(app), []);
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
}
