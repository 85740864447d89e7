//! The market: quotas first, then rates, then the rest, and never an idle slot.

use std::collections::BTreeSet;

use crate::model::{Kind, PerKind};
use crate::scheduler::*;

use super::world::{Order, World};

fn market(groups: usize) -> World {
    World::new(Scheduler::dynamic(), Order::Market, groups)
}

/// A world with one job of many maps in each queue.
fn with_jobs(groups: usize) -> World {
    let mut world = market(groups);
    for group in 0..groups {
        let job = world.job(group as u32, group, 2, 100 - group as i64);
        world.tasks(job, Kind::Map, &[], 50);
    }
    world
}

#[test]
fn quotas_fill_side_by_side_then_the_higher_rate_takes_the_rest() {
    let mut world = with_jobs(3);
    let nodes = world.cluster(1, 8, 0);
    world.set_allocations(&[(0, 4, 0, 20), (1, 2, 0, 10)]);
    // Fills 0/4 0/2, the later queue submitted first; then 1/4 1/2, 2/4 ...
    assert_eq!(world.maps_to(nodes[0]), [1, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn an_unfunded_queue_runs_when_no_funded_one_can() {
    let mut world = with_jobs(1);
    let broke = world.job(7, 0, 2, 0);
    world.tasks(broke, Kind::Map, &[], 3);
    let nodes = world.cluster(1, 2, 0);
    assert_eq!(world.maps_to(nodes[0]), [7, 7]);
}

#[test]
fn an_allocation_that_ends_puts_the_queue_last() {
    let mut world = with_jobs(2);
    let nodes = world.cluster(2, 2, 0);
    world.set_allocations(&[(0, 2, 0, 5), (1, 2, 0, 1)]);
    assert_eq!(world.maps_to(nodes[0]), [1, 0]);
    world.set_allocations(&[(0, 4, 0, 5)]);
    assert_eq!(world.maps_to(nodes[1]), [0, 0]);
}

#[test]
fn an_attempt_that_ends_gives_its_quota_back_at_once() {
    let mut world = with_jobs(2);
    let nodes = world.cluster(3, 1, 0);
    world.set_allocations(&[(0, 1, 0, 1), (1, 0, 0, 9)]);
    assert_eq!(world.maps_to(nodes[0]), [0]);
    assert_eq!(world.maps_to(nodes[1]), [1]);
    world.end(0);
    assert_eq!(world.maps_to(nodes[2]), [0]);
}

#[test]
fn job_priority_buys_nothing() {
    let mut world = market(1);
    let nodes = world.cluster(1, 2, 0);
    let (low, high) = (world.job(1, 0, 4, 10), world.job(2, 0, 0, 20));
    world.tasks(low, Kind::Map, &[], 1);
    world.tasks(high, Kind::Map, &[], 1);
    assert_eq!(world.maps_to(nodes[0]), [1, 2]);
}

#[test]
fn maps_and_reduces_fill_in_one_answer() {
    let mut world = with_jobs(1);
    let nodes = world.cluster(1, 3, 2);
    world.tasks(AppId::new(0), Kind::Reduce, &[], 9);
    assert_eq!(world.beat(nodes[0]).granted, PerKind::new(3, 2));
}

#[test]
fn an_app_behind_more_refusals_than_the_budget_is_asked_in_the_end() {
    let mut world = market(2);
    let nodes = world.cluster(1, 1, 0);
    let here = BTreeSet::from([world.host(0, 2)]);
    for number in 0..250 {
        let job = world.job(number, (number % 2) as usize, 2, number.into());
        world.tasks_that_failed_on(job, Kind::Map, &[], 1, &here);
    }
    let last = world.job(250, 0, 2, 250);
    world.tasks(last, Kind::Map, &[], 1);
    // One heartbeat in the order of the market, then queue by queue: 125 and 125 refuse, the last of the first does not.
    let reports: Vec<_> =
        (0..3).map(|_| world.beat(nodes[0])).map(|report| (report.skipped, report.granted.map)).collect();
    assert_eq!(reports, [(100, 0), (100, 0), (25, 1)]);
    // The next heartbeat begins at the front again.
    world.end(250);
    world.tasks(AppId::new(0), Kind::Map, &[], 1);
    assert_eq!(world.maps_to(nodes[0]), [0]);
}

#[test]
fn a_removed_app_holds_its_slots_and_its_queue_until_they_are_left() {
    let mut world = with_jobs(1);
    let nodes = world.cluster(1, 2, 0);
    world.beat(nodes[0]);
    let group = world.cluster.groups[0];
    world.cluster.scheduler.remove_app(AppId::new(0));
    assert_eq!((world.cluster.scheduler.waiting(group).map, world.cluster.scheduler.usage(group).map), (0, 2));
    assert_eq!(world.cluster.scheduler.close_group(group).unwrap_err().apps, 1);
    (0..2).for_each(|task| world.end(task));
    assert_eq!(world.cluster.scheduler.close_group(group), Ok(()));
    assert_eq!(world.cluster.scheduler.group("q0"), None);
}

#[test]
fn an_app_needs_an_open_group_and_an_id_of_its_own() {
    let mut world = with_jobs(2);
    let spec = |id, group| AppSpec::plain(AppId::new(id), group);
    let taken = spec(0, world.cluster.groups[0]);
    assert_eq!(world.cluster.scheduler.add_app(taken), Err(AddAppError::Exists(AppId::new(0))));
    let empty = world.cluster.scheduler.open_group("empty");
    world.cluster.scheduler.close_group(empty).unwrap();
    let late = spec(5, empty);
    assert_eq!(
        world.cluster.scheduler.add_app(late),
        Err(AddAppError::GroupNotOpen { app: AppId::new(5), group: empty })
    );
}
