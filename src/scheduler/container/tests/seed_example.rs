//! The worked example of "The Next Generation of Apache Hadoop MapReduce: The Scheduler": two maps of 1 GB with three
//! places each, then one reduce of 2 GB. All rows after each step.

use super::stage::{GB, Stage, fixed, request, row, rows};
use crate::model::{Capability, Placement};
use crate::scheduler::container::{AskedRow, RequestType};
use crate::scheduler::{AppId, Level};

const MAPS: RequestType = request(1, 1_024);
const REDUCES: RequestType = request(2, 2_048);

/// The rows of maps in the order of [`Stage::table`].
const NAMES: [&str; 10] = ["h1001", "h1010", "h2121", "h3118", "h4123", "/r11", "/r22", "/r31", "/r45", "*"];

const INITIAL: [u32; 10] = [1, 1, 2, 1, 1, 2, 2, 1, 1, 2];
const GRANTED_ON_H2121: [u32; 10] = [1, 1, 1, 1, 1, 2, 1, 1, 1, 1];
const MAP0_KEPT: [u32; 10] = [0, 1, 1, 0, 1, 1, 1, 0, 1, 1];
const GRANTED_ON_H1010: [u32; 10] = [0, 0, 1, 0, 1, 0, 1, 0, 1, 0];

/// What the application lowers once map0 runs on h2121.
const MAP0_DELTA: [(&str, u32); 4] = [("h1001", 0), ("h3118", 0), ("/r11", 1), ("/r31", 0)];
/// What it lowers once map1 runs on h1010.
const MAP1_DELTA: [(&str, u32); 4] = [("h2121", 0), ("h4123", 0), ("/r22", 0), ("/r45", 0)];

const HOSTS: [(&str, &str); 5] =
    [("h1001", "/r11"), ("h1010", "/r11"), ("h2121", "/r22"), ("h3118", "/r31"), ("h4123", "/r45")];

/// The nodes are full until a test makes room, so that it chooses where containers come from.
fn stage() -> (Stage, AppId) {
    let mut stage = Stage::new(&HOSTS);
    HOSTS.iter().for_each(|(host, _)| close(&mut stage, host));
    let app = stage.add_app(1);
    let initial: Vec<AskedRow> = NAMES.iter().zip(INITIAL).map(|(name, count)| row(MAPS, name, count)).collect();
    stage.set(app, &initial);
    stage.set(app, &rows(REDUCES, &[("*", 1)]));
    assert_eq!(stage.grant(), []);
    (stage, app)
}

fn close(stage: &mut Stage, host: &str) {
    stage.scheduler.set_takes_containers(stage.nodes[host], false);
}

/// Grants at once, on that host alone.
fn open(stage: &mut Stage, host: &str) -> Vec<(String, Level)> {
    stage.scheduler.set_takes_containers(stage.nodes[host], true);
    let granted = stage.grant();
    close(stage, host);
    granted
}

fn assert_maps(stage: &Stage, app: AppId, counts: [u32; 10]) {
    let expected: Vec<_> = NAMES.iter().map(|name| (*name).to_owned()).zip(counts).collect();
    assert_eq!(stage.table(app, MAPS), expected);
    assert_eq!(stage.table(app, REDUCES), [("*".to_owned(), 1)]);
}

fn one(host: &str) -> Vec<(String, Level)> {
    vec![(host.to_owned(), Level::Node)]
}

/// Each node has room for one map.
fn leave_room_for_one(stage: &mut Stage) {
    for host in HOSTS.map(|(host, _)| host) {
        stage.scheduler.set_bag(stage.nodes[host], Some(GB));
    }
}

#[test]
fn each_step_leaves_the_rows_of_the_example() {
    let (mut stage, app) = stage();
    leave_room_for_one(&mut stage);
    assert_maps(&stage, app, INITIAL);

    assert_eq!(open(&mut stage, "h2121"), one("h2121"));
    assert_maps(&stage, app, GRANTED_ON_H2121);
    assert_eq!(stage.last().row_name(), Placement::from("h2121".to_owned()));
    let map0 = stage.last();

    stage.set(app, &rows(MAPS, &MAP0_DELTA));
    assert_maps(&stage, app, MAP0_KEPT);
    stage.set(app, &rows(MAPS, &MAP0_DELTA));
    assert_maps(&stage, app, MAP0_KEPT);

    assert_eq!(open(&mut stage, "h1010"), one("h1010"));
    assert_maps(&stage, app, GRANTED_ON_H1010);

    // The last delta has not come: nothing more is granted for maps, and the reduce does not fit anywhere yet.
    stage.end(&map0);
    assert_eq!(open(&mut stage, "h2121"), []);
    assert_eq!(open(&mut stage, "h4123"), []);
    assert_maps(&stage, app, GRANTED_ON_H1010);

    stage.set(app, &rows(MAPS, &MAP1_DELTA));
    assert_eq!(stage.table(app, MAPS), []);
    assert_eq!(stage.table(app, REDUCES), [("*".to_owned(), 1)]);
}

#[test]
fn the_reduce_is_served_only_after_the_maps_and_then_on_any_node() {
    let (mut stage, app) = stage();
    // Three slots run: h3118 has 5 GB free, so only the order of types keeps the reduce away.
    let job = stage.add_app(9);
    stage.run_maps(job, "h3118", 3);
    stage.set(app, &[fixed(row(MAPS, "*", 2))]);
    stage.set(app, &rows(MAPS, &[("h3118", 0)]));
    // Gates exclude this node from the maps, so they do not keep the reduce from it.
    assert_eq!(open(&mut stage, "h3118"), [("h3118".to_owned(), Level::Any)]);
    assert_eq!(stage.last().request, REDUCES);

    let (mut stage, app) = self::stage();
    leave_room_for_one(&mut stage);
    open(&mut stage, "h2121");
    stage.set(app, &rows(MAPS, &MAP0_DELTA));
    // The second map wants a slot here first, so the reduce waits although 2 GB would be free.
    stage.scheduler.set_bag(stage.nodes["h1010"], Some(Capability::new(3_072, 3)));
    assert_eq!(open(&mut stage, "h1010"), [("h1010".to_owned(), Level::Node), ("h1010".to_owned(), Level::Any)]);
    let kinds: Vec<RequestType> = stage.source.grants.iter().map(|grant| grant.request).collect();
    assert_eq!(kinds, [MAPS, MAPS, REDUCES]);
}

#[test]
fn a_place_that_was_not_lowered_may_still_be_granted_and_returned() {
    let (mut stage, app) = stage();
    leave_room_for_one(&mut stage);
    open(&mut stage, "h2121");
    assert_eq!(open(&mut stage, "h1001"), one("h1001"));
    let before = stage.scheduler.app_containers(app);
    stage.end(&stage.last());
    let after = stage.scheduler.app_containers(app);
    assert_eq!((before.running, after.running), (2, 1));
    // Returning a container asks for no other one.
    assert_eq!(stage.table(app, MAPS).last().unwrap(), &("*".to_owned(), 0));
}

#[test]
fn a_closed_host_and_its_closed_rack_get_nothing_more_near() {
    let (mut stage, app) = stage();
    stage.scheduler.set_strict_gates(app, true);
    leave_room_for_one(&mut stage);
    open(&mut stage, "h2121");
    stage.set(app, &rows(MAPS, &MAP0_DELTA));
    assert_eq!(open(&mut stage, "h3118"), []);
    // The rack of h1001 still wants one, but the host itself is closed.
    assert_eq!(open(&mut stage, "h1001"), []);
    assert_maps(&stage, app, MAP0_KEPT);
    assert_eq!(open(&mut stage, "h4123"), one("h4123"));
}
