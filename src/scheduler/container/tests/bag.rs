//! Memory and cores of a node: shared by containers and tasks, promised once.

use super::stage::{GB, Stage, request, rows};
use crate::model::{Capability, Kind, Now, PerKind, TrackerId};
use crate::scheduler::container::RequestType;
use crate::scheduler::tests::kit::AnyTasks;
use crate::scheduler::{AppId, NodeOffer};

const TYPE: RequestType = request(1, 1_024);
const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

fn assign(stage: &mut Stage, tasks: u32) -> PerKind<u32> {
    let offer = NodeOffer { node: stage.nodes["a"], free: PerKind::new(4, 2), now: NOW };
    let granted = stage.scheduler.assign_slots(offer, &mut AnyTasks::new(tasks)).granted;
    stage.check();
    granted
}

fn stage(memory_mb: u32, vcores: u32) -> (Stage, AppId, AppId) {
    let mut stage = Stage::with_bags(&[("a", "/r", Capability::new(memory_mb, vcores))]);
    let (app, job) = (stage.add_app(1), stage.add_app(2));
    (stage, app, job)
}

fn request_tasks(stage: &mut Stage, job: AppId, maps: u32, reduces: u32) {
    stage.scheduler.request_slots(job, Kind::Map, &[], maps);
    stage.scheduler.request_slots(job, Kind::Reduce, &[], reduces);
}

#[test]
fn containers_take_what_running_tasks_leave() {
    let (mut stage, app, job) = stage(4_096, 8);
    stage.run_maps(job, "a", 1);
    stage.scheduler.occupy_slots(stage.nodes["a"], Kind::Reduce, 1);
    assert_eq!(stage.scheduler.room_on(stage.nodes["a"]), Some(Capability::new(2_048, 6)));
    stage.set(app, &rows(TYPE, &[("*", 10)]));
    assert_eq!(stage.grant().len(), 2);
    stage.scheduler.remove_running(job, Kind::Map, stage.nodes["a"], 1);
    assert_eq!(stage.beat("a").len(), 1);
    stage.scheduler.release_slots(stage.nodes["a"], Kind::Reduce, 1);
    assert_eq!(stage.beat("a").len(), 1);
    assert_eq!(stage.beat("a").len(), 0);
}

/// What ran in a slot that the books have released may still run, until the node says otherwise.
#[test]
fn the_room_of_a_task_is_free_once_its_node_says_so_too() {
    let (mut stage, app, job) = stage(4_096, 8);
    let node = stage.nodes["a"];
    stage.scheduler.set_said_in_use(node, 0);
    stage.run_maps(job, "a", 1);
    stage.scheduler.occupy_slots(node, Kind::Reduce, 1);
    stage.set(app, &rows(TYPE, &[("*", 10)]));
    assert_eq!(stage.grant().len(), 2);
    stage.scheduler.remove_running(job, Kind::Map, node, 1);
    stage.scheduler.release_slots(node, Kind::Reduce, 1);
    assert_eq!((stage.grant().len(), stage.beat("a").len()), (0, 0));
    stage.scheduler.set_said_in_use(node, 1);
    assert_eq!(stage.beat("a").len(), 1);
    stage.scheduler.set_said_in_use(node, 0);
    assert_eq!(stage.beat("a").len(), 1);
    stage.run_maps(job, "a", 1);
    stage.scheduler.set_said_in_use(node, 0);
    assert_eq!(stage.scheduler.room_on(node), Some(Capability::new(0, 3)), "the books count too");
}

#[test]
fn cores_limit_as_memory_does() {
    let (mut stage, app, _) = stage(65_536, 3);
    stage.set(app, &rows(TYPE, &[("*", 10)]));
    assert_eq!(stage.grant().len(), 3);
}

#[test]
fn tasks_take_what_containers_leave_over_both_kinds_together() {
    let (mut stage, app, job) = stage(6_144, 6);
    stage.set(app, &rows(TYPE, &[("*", 3)]));
    stage.grant();
    request_tasks(&mut stage, job, 10, 10);
    assert_eq!(stage.scheduler.slot_room(stage.nodes["a"]), Some(3));
    let granted = assign(&mut stage, 20);
    assert_eq!(granted.map + granted.reduce, 3);
    assert_eq!(stage.scheduler.slot_room(stage.nodes["a"]), Some(0));
    assert_eq!(assign(&mut stage, 20), PerKind::new(0, 0));
    stage.end(&stage.source.grants[0].clone());
    let granted = assign(&mut stage, 20);
    assert_eq!(granted.map + granted.reduce, 1);
}

#[test]
fn a_node_without_a_bag_has_its_slots_and_no_containers() {
    let (mut stage, app, job) = stage(1_024, 1);
    stage.scheduler.set_bag(stage.nodes["a"], None);
    stage.set(app, &rows(TYPE, &[("*", 3)]));
    assert_eq!((stage.grant().len(), stage.beat("a").len(), stage.scheduler.container_nodes()), (0, 0, 0));
    request_tasks(&mut stage, job, 10, 10);
    assert_eq!(assign(&mut stage, 20), PerKind::new(4, 2));
    assert_eq!(stage.scheduler.slot_room(stage.nodes["a"]), None);
}

#[test]
fn a_node_gets_containers_only_while_it_takes_them() {
    let (mut stage, app, _) = stage(2_048, 2);
    stage.scheduler.set_takes_containers(stage.nodes["a"], false);
    stage.set(app, &rows(TYPE, &[("*", 3)]));
    assert_eq!((stage.grant().len(), stage.beat("a").len()), (0, 0));
    assert_eq!(stage.scheduler.headroom(app), Capability::default());
    stage.scheduler.set_takes_containers(stage.nodes["a"], true);
    assert_eq!(stage.grant().len(), 2);
}

#[test]
fn a_bag_that_shrinks_keeps_what_runs_and_a_removed_node_forgets_it() {
    let (mut stage, app, job) = stage(8_192, 8);
    stage.set(app, &rows(TYPE, &[("*", 4)]));
    stage.grant();
    stage.scheduler.set_bag(stage.nodes["a"], Some(Capability::new(2_048, 2)));
    assert_eq!(stage.scheduler.room_on(stage.nodes["a"]), Some(Capability::default()));
    assert_eq!(stage.scheduler.slot_room(stage.nodes["a"]), Some(0));
    request_tasks(&mut stage, job, 1, 1);
    assert_eq!(assign(&mut stage, 2), PerKind::new(0, 0));
    stage.scheduler.remove_node(stage.nodes["a"]);
    stage.source.grants.clone().iter().for_each(|grant| stage.end(grant));
    assert_eq!((stage.scheduler.app_containers(app).held, stage.scheduler.container_nodes()), (0, 0));
}

#[test]
fn a_container_found_after_a_restart_holds_its_part_once_its_node_is_back() {
    let (mut stage, app, _) = stage(4_096, 4);
    let node = stage.nodes["a"];
    stage.scheduler.set_takes_containers(node, false);
    stage.scheduler.restore_container(app, TrackerId::NONE, TYPE);
    stage.scheduler.restore_container(app, node, TYPE);
    assert_eq!(stage.scheduler.app_containers(app).running, 2);
    assert_eq!(stage.scheduler.held_by_containers(node), (1_024, 1));
    stage.scheduler.place_container(node, TYPE);
    assert_eq!(stage.scheduler.room_on(node), Some(GB.times(2)));
}

#[test]
fn room_being_released_is_incoming_and_not_retained() {
    let (mut stage, app, job) = stage(6_144, 6);
    let node = stage.nodes["a"];
    let big = request(1, 2_048);
    stage.set(app, &rows(big, &[("*", 2)]));
    stage.grant();
    stage.run_maps(job, "a", 2);
    stage.check();
    assert_eq!(stage.scheduler.incoming_room(node), Some(Capability::new(0, 2)));
    stage.scheduler.mark_releasing(job, Kind::Map, node, 1);
    stage.check();
    assert_eq!(stage.scheduler.incoming_room(node), Some(Capability::new(1_024, 3)));
    assert_eq!(stage.scheduler.room_on(node), Some(Capability::new(0, 2)));
    stage.end(&stage.last());
    assert_eq!(stage.scheduler.incoming_room(node), Some(Capability::new(3_072, 4)));
}

#[test]
fn slots_beyond_tasks_are_those_that_no_map_or_reduce_slot_stands_for() {
    let bags = [("a", "/r", Capability::new(16_384, 8)), ("b", "/r", Capability::new(4_096, 4))];
    let stage = Stage::with_bags(&bags);
    // 4 map and 2 reduce slots each: 8 - 6, and none.
    assert_eq!(stage.scheduler.slots_beyond_tasks(), 2);
}
