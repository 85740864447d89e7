//! What limits of queues and users refuse: it keeps nothing else from nodes, and is offered again once the limit allows it.

use super::policies::{any, capacity, queue};
use super::stage::{Stage, fixed, request, row, rows};
use crate::model::Kind;
use crate::scheduler::AppId;
use crate::scheduler::container::RequestType;

/// Four slots, on h1 alone.
const LARGE: RequestType = request(1, 4_096);
/// One slot, anywhere.
const SMALL: RequestType = request(2, 1_024);

/// A user that may have 18 of 36 slots and holds 16, on h0 and h1.
fn near_the_limit() -> (Stage, AppId) {
    let mut stage = capacity(vec![queue("a", 50, -1, 100, 1), queue("b", 50, -1, 100, 1)]);
    let app = stage.add_app_of("a", "u", 1);
    stage.set(app, &any(1_024, 16));
    stage.grant();
    assert_eq!(stage.held(app), 16);
    (stage, app)
}

fn ask_for_large(stage: &mut Stage, app: AppId) {
    stage.set(app, &[row(LARGE, "h1", 1), fixed(row(LARGE, "*", 1))]);
}

#[test]
fn a_type_that_a_limit_refuses_on_one_node_keeps_no_other_from_the_next_node() {
    let (mut stage, app) = near_the_limit();
    ask_for_large(&mut stage, app);
    stage.set(app, &rows(SMALL, &[("*", 9)]));
    assert_eq!(stage.beat("h1"), []);
    assert_eq!(stage.beat("h2").len(), 2);
    assert_eq!(stage.held(app), 18);
}

#[test]
fn a_type_that_a_limit_refuses_ends_no_search_for_another_one() {
    let (mut stage, app) = near_the_limit();
    ask_for_large(&mut stage, app);
    stage.set(app, &rows(SMALL, &[("*", 9)]));
    let granted = stage.grant();
    assert_eq!(granted.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>(), ["h2", "h2"]);
}

#[test]
fn what_a_limit_kept_out_is_offered_again_when_it_asks() {
    let (mut stage, app) = near_the_limit();
    ask_for_large(&mut stage, app);
    assert_eq!(stage.beat("h1"), []);
    stage.set(app, &rows(SMALL, &[("*", 9)]));
    assert_eq!(stage.beat("h2").len(), 2);
}

#[test]
fn a_user_refused_by_the_factor_may_have_what_is_larger() {
    // A queue of one slot counts as large enough for one container: four times as much is all that its user may hold.
    let mut stage = capacity(vec![queue("a", 3, -1, 100, 4), queue("b", 97, -1, 100, 1)]);
    let (small, large) = (stage.add_app_of("a", "u", 1), stage.add_app_of("a", "u", 2));
    stage.set(small, &any(1_024, 99));
    stage.grant();
    assert_eq!(stage.held(small), 4);
    stage.set(large, &any(8_192, 1));
    stage.beat("h1");
    assert_eq!((stage.held(small), stage.held(large)), (4, 8));
}

#[test]
fn attempts_of_a_job_that_is_over_leave_room_below_the_limit() {
    let mut stage = capacity(vec![queue("a", 50, 50, 100, 9), queue("b", 50, -1, 100, 9)]);
    let (job, app) = (stage.add_job_of("a", "u1", 1), stage.add_app_of("a", "u2", 2));
    stage.run_maps(job, "h0", 4);
    stage.run_maps(job, "h1", 1);
    stage.set(app, &any(2_048, 20));
    stage.beat_all();
    assert_eq!(stage.held(app), 12, "one of 18 slots is left");
    stage.scheduler.remove_app(job);
    stage.scheduler.end_app(job);
    stage.beat_all();
    stage.scheduler.remove_running(job, Kind::Map, stage.nodes["h0"], 1);
    stage.beat_all();
    assert_eq!(stage.held(app), 14);
}

#[test]
fn many_that_a_limit_refuses_again_and_again_keep_no_room_from_others() {
    let mut stage = capacity(vec![queue("a", 50, 50, 100, 9), queue("b", 50, -1, 100, 9)]);
    let holder = stage.add_app_of("a", "u", 100);
    stage.set(holder, &any(1_024, 8));
    stage.grant();
    for number in 1..=60 {
        let large = stage.add_app_of("a", "u", number);
        stage.set(large, &any(12_288, 1));
    }
    let small = stage.add_app_of("a", "u", 101);
    stage.set(small, &any(1_024, 99));
    // Each grant to the last lets all others be looked at again.
    assert_eq!(stage.beat("h1").len(), 10);
    assert_eq!((stage.held(holder), stage.held(small)), (8, 10));
}

#[test]
fn what_a_limit_lets_go_after_a_heartbeat_may_use_what_is_left_of_its_node() {
    let mut stage = capacity(vec![queue("a", 100, -1, 50, 1)]);
    let (one, other) = (stage.add_app_of("a", "u1", 1), stage.add_app_of("a", "u2", 2));
    // No node is as large as that.
    stage.set(other, &any(13 * 1_024, 1));
    stage.set(one, &any(1_024, 99));
    stage.beat_all();
    assert_eq!(stage.held(one), 18);
    stage.beat("h1");
    stage.scheduler.withdraw_rows(other);
    assert_eq!(stage.grant().len(), 6);
}
