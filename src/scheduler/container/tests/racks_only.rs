//! The second worked example: ten maps that name racks only.

use super::stage::{Stage, request, rows};
use crate::model::{Capability, Placement};
use crate::scheduler::container::RequestType;
use crate::scheduler::{AppId, Level};

const MAPS: RequestType = request(1, 1_024);

/// Ten nodes in /rA, four in /rB, many in /rC, each with room for one container.
fn stage(nodes_in_c: u32) -> Stage {
    let nodes =
        |rack: &'static str, count: u32| (0..count).map(move |number| (format!("{}{number}", &rack[2..]), rack));
    let nodes: Vec<_> = nodes("/rA", 10).chain(nodes("/rB", 4)).chain(nodes("/rC", nodes_in_c)).collect();
    let bag = Capability::new(1_024, 1);
    Stage::with_bags(&nodes.iter().map(|(host, rack)| (host.as_str(), *rack, bag)).collect::<Vec<_>>())
}

fn ask(stage: &mut Stage, strict: bool) -> AppId {
    let app = stage.add_app(1);
    stage.scheduler.set_strict_gates(app, strict);
    stage.set(app, &rows(MAPS, &[("/rA", 6), ("/rB", 4), ("*", 10)]));
    app
}

fn counts(stage: &Stage, app: AppId) -> Vec<u32> {
    stage.table(app, MAPS).into_iter().map(|(_, count)| count).collect()
}

#[test]
fn a_rack_gets_as_many_as_it_asked_for_and_is_closed_then() {
    let mut stage = stage(0);
    let app = ask(&mut stage, true);
    for number in 0..6 {
        assert_eq!(stage.beat(&format!("A{number}")), [Level::Rack]);
    }
    assert_eq!(counts(&stage, app), [0, 4, 4]);
    assert_eq!(stage.beat("A6"), []);
    assert_eq!(stage.last().row_name(), Placement::from("/rA".to_owned()));
    for number in 0..4 {
        assert_eq!(stage.beat(&format!("B{number}")), [Level::Rack]);
    }
    assert_eq!(counts(&stage, app), [0, 0, 0]);
    assert_eq!(stage.beat("A7"), []);
}

#[test]
fn without_strict_gates_a_closed_rack_only_counts_as_far() {
    let mut stage = stage(0);
    let app = ask(&mut stage, false);
    (0..6).for_each(|number| drop(stage.beat(&format!("A{number}"))));
    // Of 14 nodes one rack is left: more than 4 * 1 / 14 misses, this one included.
    assert_eq!(stage.beat("A6"), [Level::Any]);
    assert_eq!(counts(&stage, app), [0, 4, 3]);
}

#[test]
fn other_racks_get_nothing_before_the_delay() {
    // 2 rows of 16 nodes: more than 10 * 2 / 16 misses.
    let mut stage = stage(2);
    ask(&mut stage, false);
    assert_eq!(stage.beat("C0"), []);
    assert_eq!(stage.beat("C0"), [Level::Any]);
}
