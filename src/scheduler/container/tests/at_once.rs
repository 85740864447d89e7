//! Granting at once: when an application asks, a container ends, or a node gets room.

use super::stage::{Stage, fixed, request, row, rows};
use crate::model::{Capability, Kind, PerPool};
use crate::scheduler::container::RequestType;
use crate::scheduler::fair::allocations::Allocations;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{Allocation, Level, Scheduler};

const TYPE: RequestType = request(1, 1_024);

fn hosts(granted: &[(String, Level)]) -> Vec<&str> {
    granted.iter().map(|(host, _)| host.as_str()).collect()
}

fn one_each(hosts: &[(&str, &str)]) -> Stage {
    let bag = Capability::new(1_024, 1);
    Stage::with_bags(&hosts.iter().map(|&(host, rack)| (host, rack, bag)).collect::<Vec<_>>())
}

#[test]
fn nodes_of_host_rows_come_first_then_those_of_racks_then_any_by_number() {
    let mut stage = one_each(&[("x", "/r9"), ("c", "/r1"), ("b", "/r1"), ("a", "/r2"), ("y", "/r9")]);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("a", 1), ("/r2", 1), ("/r1", 2), ("*", 4)]));
    let granted = stage.grant();
    assert_eq!(hosts(&granted), ["a", "c", "b", "x"]);
    assert_eq!(
        granted.iter().map(|(_, level)| *level).collect::<Vec<_>>(),
        [Level::Node, Level::Rack, Level::Rack, Level::Any]
    );
}

#[test]
fn a_container_that_ends_makes_room_for_the_first_application_that_waits() {
    let mut stage = one_each(&[("a", "/r1")]);
    let (first, second) = (stage.add_app(1), stage.add_app(2));
    stage.set(second, &rows(TYPE, &[("*", 2)]));
    assert_eq!(stage.grant().len(), 1);
    stage.set(first, &rows(TYPE, &[("*", 1)]));
    assert_eq!(stage.grant(), []);
    stage.end(&stage.last());
    assert_eq!(hosts(&stage.grant()), ["a"]);
    assert_eq!(stage.last().app, first);
}

#[test]
fn a_new_node_and_one_that_takes_containers_again_are_offered() {
    let mut stage = one_each(&[]);
    let app = stage.add_app(1);
    stage.set(app, &rows(TYPE, &[("*", 2)]));
    assert_eq!(stage.grant(), []);
    stage.add_node("a", "/r1", Capability::new(1_024, 1));
    assert_eq!(hosts(&stage.grant()), ["a"]);
    stage.scheduler.set_bag(stage.nodes["a"], Some(Capability::new(2_048, 2)));
    assert_eq!(hosts(&stage.grant()), ["a"]);
}

#[test]
fn a_removed_application_leaves_its_reservation_to_others() {
    let mut stage = Stage::with_bags(&[("a", "/r1", Capability::new(2_048, 2))]);
    let (big, small, running) = (stage.add_app(1), stage.add_app(2), stage.add_app(3));
    stage.set(running, &rows(TYPE, &[("*", 1)]));
    stage.grant();
    stage.set(big, &rows(request(1, 2_048), &[("*", 1)]));
    (0..2).for_each(|_| drop(stage.beat("a")));
    stage.set(small, &rows(TYPE, &[("*", 1)]));
    assert_eq!(stage.grant(), []);
    stage.scheduler.remove_app(big);
    assert_eq!(hosts(&stage.grant()), ["a"]);
}

#[test]
fn a_small_ask_finds_the_one_node_with_room() {
    let nodes: Vec<(String, String)> =
        (0..2_000).map(|node| (format!("h{node}"), format!("/r{}", node % 40))).collect();
    let mut stage = one_each(&nodes.iter().map(|(host, rack)| (host.as_str(), rack.as_str())).collect::<Vec<_>>());
    let first = stage.add_app(1);
    stage.set(first, &rows(TYPE, &[("*", 1_999)]));
    assert_eq!(stage.grant().len(), 1_999);
    let second = stage.add_app(2);
    stage.set(second, &rows(TYPE, &[("*", 5)]));
    assert_eq!(hosts(&stage.grant()), ["h1999"]);
}

#[test]
fn a_type_whose_nodes_are_all_excluded_gives_up_after_a_bounded_number_of_them() {
    let nodes: Vec<String> = (0..300).map(|node| format!("h{node}")).collect();
    let mut stage = one_each(&nodes.iter().map(|host| (host.as_str(), "/r1")).collect::<Vec<_>>());
    let app = stage.add_app(1);
    // Each node is too small for the first type, which keeps the second from it.
    stage.set(app, &rows(request(1, 4_096), &[("*", 1)]));
    stage.set(app, &rows(request(2, 512), &[("*", 1)]));
    assert_eq!(stage.grant(), []);
    stage.set(app, &[fixed(row(request(1, 4_096), "*", 1))]);
    assert_eq!(stage.grant().len(), 1);
}

#[test]
fn of_those_that_ask_together_the_first_in_the_order_is_served_first() {
    let mut stage = Stage::under(Scheduler::dynamic(), &[("a", "/r1", Capability::new(1_024, 1))]);
    let (poor, rich) = (stage.add_app_in("poor", 1), stage.add_app_in("rich", 2));
    let bought = Allocation { quota: PerPool::new(0, 0, 1), rate_units: 1 };
    let group = stage.scheduler.group("rich").unwrap();
    stage.scheduler.set_allocations(&[(group, bought)]);
    [poor, rich].into_iter().for_each(|app| stage.set(app, &rows(TYPE, &[("*", 1)])));
    assert_eq!(hosts(&stage.grant()), ["a"]);
    assert_eq!(stage.last().app, rich);
}

#[test]
fn of_those_that_ask_together_each_is_served_until_another_one_comes_first() {
    let fair = Scheduler::fair(FairOptions::default(), Allocations::default());
    let mut stage = Stage::under(fair, &[("a", "/r1", Capability::new(4_096, 8))]);
    let apps = [1, 2].map(|number| stage.add_app_in(&format!("q{number}"), number));
    apps.iter().for_each(|app| stage.set(*app, &rows(TYPE, &[("*", 4)])));
    assert_eq!(stage.grant().len(), 4);
    let served: Vec<u32> = stage.source.grants.iter().map(|grant| grant.app.get()).collect();
    assert_eq!(served, [1, 2, 1, 2]);
}

#[test]
fn room_that_came_free_unseen_goes_to_those_that_stand_before_one_that_asks() {
    let mut stage = Stage::under(Scheduler::dynamic(), &[("a", "/r1", Capability::new(1_024, 1))]);
    let (poor, rich, job) = (stage.add_app_in("poor", 1), stage.add_app_in("rich", 2), stage.add_app_in("poor", 3));
    let bought = Allocation { quota: PerPool::new(0, 0, 1), rate_units: 1 };
    let group = stage.scheduler.group("rich").unwrap();
    stage.scheduler.set_allocations(&[(group, bought)]);
    stage.scheduler.request_slots(job, Kind::Map, &[], 1);
    stage.set(rich, &rows(TYPE, &[("*", 1)]));
    assert_eq!(stage.grant(), [], "a map may take the room at the next heartbeat");
    stage.scheduler.withdraw_request(job, Kind::Map, &[], 1);
    stage.set(poor, &rows(TYPE, &[("*", 1)]));
    assert_eq!(hosts(&stage.grant()), ["a"]);
    assert_eq!(stage.last().app, rich);
}

#[test]
fn until_a_heartbeat_is_over_its_node_keeps_no_room_for_tasks_that_have_had_their_turn() {
    let mut stage = Stage::with_bags(&[("a", "/r1", Capability::new(2_048, 2))]);
    let (app, job) = (stage.add_app(1), stage.add_app(2));
    stage.scheduler.request_slots(job, Kind::Map, &[], 1);
    stage.set(app, &rows(TYPE, &[("*", 2)]));
    assert_eq!(stage.grant().len(), 1);
    stage.scheduler.withdraw_rows(app);
    assert_eq!(stage.beat("a"), []);
    stage.set(app, &rows(TYPE, &[("*", 1)]));
    assert_eq!(stage.grant().len(), 1);
}
