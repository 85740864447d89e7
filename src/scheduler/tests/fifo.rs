//! First in, first out: order, spread, and the original's caps.

use std::collections::BTreeSet;

use crate::model::{Kind, PerKind, TrackerId};
use crate::scheduler::*;

use super::world::{Order, World};

fn filling() -> World {
    World::new(Scheduler::fifo(FifoOptions::default()), Order::Fifo, 2)
}

fn compatible(pad_millionths: u32) -> World {
    World::new(Scheduler::fifo(FifoOptions { compatible: true, pad_millionths }), Order::Fifo, 1)
}

fn occupy_slots(world: &mut World, node: TrackerId, maps: u32) {
    world.cluster.scheduler.occupy_slots(node, Kind::Map, maps);
    world.cluster.jobs.nodes.get_mut(&node).unwrap().occupied.map += maps;
}

#[test]
fn jobs_go_by_priority_then_start_then_id_whatever_their_queue() {
    let mut world = filling();
    let nodes = world.cluster(1, 8, 0);
    for (number, group, priority, start_ms) in [(1, 0, 2, 50), (2, 1, 2, 40), (3, 0, 1, 90), (4, 1, 2, 50)] {
        let job = world.job(number, group, priority, start_ms);
        world.tasks(job, Kind::Map, &[], 2);
    }
    assert_eq!(world.maps_to(nodes[0]), [3, 3, 2, 2, 1, 1, 4, 4]);
}

#[test]
fn a_changed_priority_counts_at_once() {
    let mut world = filling();
    let nodes = world.cluster(1, 2, 0);
    let (first, second) = (world.job(1, 0, 2, 0), world.job(2, 0, 2, 0));
    world.tasks(first, Kind::Map, &[], 1);
    world.tasks(second, Kind::Map, &[], 1);
    world.cluster.scheduler.set_priority(second, 0);
    world.cluster.jobs.jobs.get_mut(&second).unwrap().spec.priority = 0;
    assert_eq!(world.maps_to(nodes[0]), [2, 1]);
}

#[test]
fn the_first_job_gets_its_far_map_before_the_second_its_near_one() {
    let mut world = filling();
    let nodes = world.cluster(2, 2, 0);
    let (here, there) = (world.host(0, 2), world.host(1, 2));
    let (first, second) = (world.job(1, 0, 2, 0), world.job(2, 0, 2, 0));
    world.tasks(first, Kind::Map, &[there], 2);
    world.tasks(first, Kind::Map, &[here], 1);
    world.tasks(second, Kind::Map, &[here], 1);
    world.maps_to(nodes[0]);
    let levels: Vec<_> = world.log.iter().map(|&(app, _, _, level)| (app, level)).collect();
    assert_eq!(levels, [(1, Level::Node), (1, Level::Any)]);
}

#[test]
fn all_free_slots_are_filled_in_one_answer() {
    let mut world = filling();
    let nodes = world.cluster(2, 4, 3);
    let job = world.job(1, 0, 2, 0);
    world.tasks(job, Kind::Map, &[], 20);
    world.tasks(job, Kind::Reduce, &[], 20);
    assert_eq!(world.beat(nodes[0]).granted, PerKind::new(4, 3));
}

#[test]
fn a_light_load_is_spread() {
    let mut world = filling();
    let nodes = world.cluster(4, 4, 2);
    let job = world.job(1, 0, 2, 0);
    world.tasks(job, Kind::Map, &[], 5);
    world.tasks(job, Kind::Reduce, &[], 4);
    let given: Vec<_> = nodes.iter().map(|&node| world.beat(node).granted).collect();
    // 5 of 16 slots: 1.25 rounded up for each until the maps are gone.
    assert_eq!(given.iter().map(|granted| granted.map).collect::<Vec<_>>(), [2, 2, 1, 0]);
    assert_eq!(given.iter().map(|granted| granted.reduce).collect::<Vec<_>>(), [1, 1, 1, 1]);
}

#[test]
fn slots_of_setup_attempts_are_no_room_for_load() {
    let given = |node: usize, load| {
        let mut world = filling();
        let nodes = world.cluster(2, 4, 0);
        occupy_slots(&mut world, nodes[0], 2);
        let job = world.job(1, 0, 2, 0);
        world.tasks(job, Kind::Map, &[], load);
        world.beat(nodes[node]).granted.map
    };
    // Room of two and of four: a third and two thirds of the load, rounded up.
    assert_eq!((given(0, 3), given(1, 3)), (1, 2));
    assert_eq!(given(1, 5), 4);
}

#[test]
fn what_spreading_held_back_is_given_at_the_next_heartbeat() {
    let mut world = filling();
    let nodes = world.cluster(2, 2, 0);
    let job = world.job(1, 0, 2, 0);
    let elsewhere = BTreeSet::from([world.host(0, 2)]);
    world.tasks_that_failed_on(job, Kind::Map, &[], 2, &elsewhere);
    assert_eq!(world.beat(nodes[0]).granted.map, 0);
    assert_eq!(world.beat(nodes[1]).granted.map, 1);
    assert_eq!(world.beat(nodes[1]).granted.map, 1);
}

#[test]
fn a_node_is_not_held_back_for_a_load_that_is_gone() {
    let mut world = filling();
    let nodes = world.cluster(2, 2, 0);
    let job = world.job(1, 0, 2, 0);
    world.tasks(job, Kind::Map, &[], 2);
    let given: Vec<_> = [0, 1, 0].into_iter().map(|node| world.beat(nodes[node]).granted.map).collect();
    assert_eq!(given, [1, 1, 0]);
    (0..2).for_each(|task| world.end(task));
    world.tasks(job, Kind::Map, &[], 2);
    assert_eq!(world.beat(nodes[0]).granted.map, 1);
}

#[test]
fn a_cluster_almost_full_fills_slowly() {
    let mut world = filling();
    let nodes = world.cluster(4, 4, 0);
    let job = world.job(1, 0, 2, 0);
    world.tasks(job, Kind::Map, &[], 400);
    // Pad: 1 % of 400 tasks, four slots of sixteen.
    let given: Vec<_> = nodes.iter().map(|&node| world.beat(node).granted.map).collect();
    assert_eq!(given, [4, 4, 4, 1]);
    assert_eq!(world.beat(nodes[3]).granted.map, 3);
}

#[test]
fn three_nodes_need_no_padding() {
    let mut world = filling();
    let nodes = world.cluster(3, 4, 0);
    let job = world.job(1, 0, 2, 0);
    world.tasks(job, Kind::Map, &[], 400);
    assert!(nodes.iter().all(|&node| world.beat(node).granted.map == 4));
}

#[test]
fn compatible_stops_after_one_far_map_and_one_reduce() {
    let mut world = compatible(10_000);
    let nodes = world.cluster(2, 4, 2);
    let here = world.host(0, 2);
    let (first, second) = (world.job(1, 0, 2, 0), world.job(2, 0, 2, 0));
    world.tasks(first, Kind::Map, &[here], 2);
    world.tasks(first, Kind::Map, &[], 8);
    world.tasks(second, Kind::Map, &[here], 8);
    world.tasks(first, Kind::Reduce, &[], 8);
    assert_eq!(world.beat(nodes[0]).granted, PerKind::new(3, 1));
    assert_eq!(world.beat(nodes[0]).granted, PerKind::new(1, 1));
}

#[test]
fn compatible_near_the_full_cluster_gives_one_near_map() {
    let mut world = compatible(500_000);
    let nodes = world.cluster(4, 2, 1);
    let job = world.job(1, 0, 2, 0);
    let (left, right) = (world.host(0, 2), world.host(1, 2));
    world.tasks(job, Kind::Map, &[left, right], 40);
    world.resize(job, PerKind::new(40, 1));
    // A node counts as in its last heartbeat: all as empty, in the first round.
    assert!(nodes.iter().all(|&node| world.beat(node).granted.map == 2));
    assert!(nodes.iter().all(|&node| world.beat(node).granted.map == 0));
    (0..2).for_each(|task| world.end(task));
    // Now two slots of eight are free, no more than the pad of two.
    assert_eq!(world.beat(nodes[0]).granted.map, 1);
    assert_eq!(world.beat(nodes[0]).granted.map, 1);
}

#[test]
fn compatible_ignores_jobs_without_reduces_when_it_pads() {
    let given = |reduces| {
        let mut world = compatible(1_000_000);
        let nodes = world.cluster(4, 2, 1);
        let here = world.host(0, 2);
        let job = world.job(1, 0, 2, 0);
        world.tasks(job, Kind::Map, &[here], 40);
        world.resize(job, PerKind::new(400, reduces));
        // Three full nodes leave two slots, no more than the pad of two.
        for &node in &nodes[1..] {
            occupy_slots(&mut world, node, 2);
            world.beat(node);
        }
        world.beat(nodes[0]).granted.map
    };
    assert_eq!((given(0), given(1)), (2, 1));
}

#[test]
fn compatible_never_pads_without_a_job_that_has_reduces() {
    let mut world = compatible(10_000);
    let nodes = world.cluster(4, 2, 1);
    let (left, right) = (world.host(0, 2), world.host(1, 2));
    let job = world.job(1, 0, 2, 0);
    world.tasks(job, Kind::Map, &[left, right], 40);
    nodes[1..].iter().for_each(|&node| assert_eq!(world.beat(node).granted.map, 2));
    nodes[1..].iter().for_each(|&node| assert_eq!(world.beat(node).granted.map, 0));
    // Slots that are gone leave more tasks than slots.
    nodes[1..].iter().for_each(|&node| world.cluster.scheduler.set_slots(node, PerKind::default()));
    assert_eq!(world.beat(nodes[0]).granted.map, 2);
}

#[test]
fn compatible_near_the_full_cluster_asks_only_the_first_job_for_reduces() {
    let mut world = compatible(1_000_000);
    let nodes = world.cluster(4, 1, 1);
    let (first, second) = (world.job(1, 0, 2, 0), world.job(2, 0, 2, 0));
    world.resize(first, PerKind::new(1, 100));
    world.resize(second, PerKind::new(1, 100));
    world.tasks(second, Kind::Reduce, &[], 9);
    let given = |world: &mut World| nodes.iter().map(|&node| world.beat(node).granted.reduce).collect::<Vec<_>>();
    assert_eq!(given(&mut world), [1, 1, 1, 1]);
    assert_eq!(given(&mut world), [0, 0, 0, 0]);
    // The one free slot is the pad: the second job leaves it to the first, which has nothing to run yet.
    world.end(3);
    assert_eq!(given(&mut world), [0, 0, 0, 0]);
    world.cluster.scheduler.remove_app(first);
    assert_eq!(given(&mut world), [0, 0, 0, 1]);
}
