//! Which level a node has for a type, and which rows a grant lowers.

use super::stage::{Stage, counted, fixed, request, row, rows};
use crate::model::Capability;
use crate::scheduler::container::RequestType;
use crate::scheduler::{CacheLevels, FifoOptions, Level, Scheduler};

const TYPE: RequestType = request(1, 4_096);

fn stage() -> Stage {
    let mut stage = Stage::new(&[("a", "/r1"), ("b", "/r1"), ("c", "/r2")]);
    stage.scheduler.set_locality_delay(0);
    stage
}

/// What one heartbeat of a host is granted for these rows.
fn beat(host: &str, asked: &[(&'static str, u32)], strict: bool) -> Vec<Level> {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.scheduler.set_strict_gates(app, strict);
    stage.set(app, &rows(TYPE, asked));
    stage.beat(host)
}

#[test]
fn a_host_row_needs_its_rack_open_or_absent() {
    assert_eq!(beat("a", &[("a", 1), ("/r1", 1), ("*", 1)], true), [Level::Node]);
    assert_eq!(beat("a", &[("a", 1), ("*", 1)], true), [Level::Node]);
    assert_eq!(beat("a", &[("a", 1), ("/r1", 0), ("*", 1)], true), []);
    assert_eq!(beat("a", &[("a", 1), ("/r1", 1), ("*", 0)], true), []);
}

#[test]
fn a_rack_row_serves_its_open_hosts() {
    assert_eq!(beat("b", &[("/r1", 1), ("*", 1)], true), [Level::Rack]);
    assert_eq!(beat("b", &[("b", 0), ("/r1", 1), ("*", 1)], true), []);
    assert_eq!(beat("b", &[("b", 0), ("/r1", 1), ("*", 1)], false), [Level::Any]);
}

#[test]
fn a_node_without_rows_is_far() {
    assert_eq!(beat("c", &[("*", 2)], true), [Level::Any, Level::Any]);
    assert_eq!(beat("c", &[("/r2", 0), ("*", 2)], true), []);
}

#[test]
fn without_relax_locality_a_rack_serves_only_hosts_with_rows_and_any_only_what_is_named() {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.set(app, &[row(TYPE, "a", 1), fixed(row(TYPE, "/r1", 2)), row(TYPE, "*", 2)]);
    assert_eq!(stage.beat("b"), []);
    assert_eq!(stage.beat("a"), [Level::Node]);
    assert_eq!(stage.beat("a"), []);
    assert_eq!(stage.beat("c"), [Level::Any]);

    let mut stage = self::stage();
    let app = stage.add_app(1);
    stage.set(app, &[row(TYPE, "/r1", 2), fixed(row(TYPE, "*", 2))]);
    assert_eq!(stage.beat("c"), []);
    assert_eq!(stage.beat("b"), [Level::Rack, Level::Rack]);
}

#[test]
fn a_grant_is_counted_on_the_rows_of_its_level() {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("a", 1), ("b", 1), ("/r1", 3), ("*", 4)]));
    assert_eq!(stage.beat("a"), [Level::Node]);
    assert_eq!(counted(&stage.last()), ["a", "/r1"]);
    stage.set(app, &rows(TYPE, &[("b", 0), ("*", 2)]));
    assert_eq!(stage.beat("c"), [Level::Any, Level::Any]);
    assert!(counted(&stage.last()).is_empty());
    let counts: Vec<u32> = stage.table(app, TYPE).into_iter().map(|(_, count)| count).collect();
    assert_eq!(counts, [0, 0, 2, 0]);

    let mut stage = self::stage();
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("/r1", 1), ("*", 1)]));
    assert_eq!(stage.beat("b"), [Level::Rack]);
    assert_eq!(counted(&stage.last()), ["/r1"]);
}

#[test]
fn a_blacklisted_host_or_rack_gets_nothing_and_keeps_no_lower_type_away() {
    let mut stage = stage();
    let app = stage.add_app(1);
    stage.scheduler.blacklist(app, &["a".into(), "/r2".into()], &[]);
    stage.set(app, &rows(TYPE, &[("a", 1), ("*", 2)]));
    assert_eq!((stage.beat("a"), stage.beat("c")), (vec![], vec![]));
    assert_eq!(stage.scheduler.headroom(app).memory_mb, 8_192);
    stage.scheduler.blacklist(app, &[], &["a".into()]);
    assert_eq!(stage.beat("a"), [Level::Node, Level::Any]);
}

/// Nodes in racks of two buildings, with three levels.
fn deep_stage() -> Stage {
    let mut scheduler = Scheduler::fifo(FifoOptions::default());
    scheduler.topology_mut().set_levels(CacheLevels::new(3));
    let bag = Capability::new(8_192, 8);
    let mut stage = Stage::under(scheduler, &[("a", "/x/r1", bag), ("b", "/x/r2", bag), ("c", "/y/r1", bag)]);
    stage.scheduler.set_locality_delay(0);
    stage
}

#[test]
fn a_row_of_a_group_of_racks_speaks_for_those_without_rows() {
    let mut stage = deep_stage();
    let app = stage.add_app(1);
    stage.scheduler.set_strict_gates(app, true);
    stage.set(app, &[row(TYPE, "/x", 3), row(TYPE, "/x/r1", 1), fixed(row(TYPE, "*", 4))]);
    assert_eq!((stage.beat("c"), stage.beat("b")), (vec![], vec![Level::Rack, Level::Rack]));
    assert_eq!(stage.beat("a"), [Level::Rack], "its own rack has a row, which counts");
    let left = [("/x", 1), ("/x/r1", 0), ("*", 1)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(stage.table(app, TYPE), left);
}

#[test]
fn a_blacklisted_group_gets_nothing_and_counts_once() {
    let mut stage = deep_stage();
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("*", 9)]));
    let all = stage.scheduler.headroom(app);
    stage.scheduler.blacklist(app, &["/x".into(), "/x/r1".into(), "a".into()], &[]);
    assert_eq!(all.memory_mb, 3 * stage.scheduler.headroom(app).memory_mb);
    assert_eq!((stage.beat("a"), stage.beat("b")), (vec![], vec![]));
    assert_eq!(stage.beat("c").len(), 2);
}
