//! Room that is kept: for tasks that wait for the next heartbeat, and for what a round of preemption has found it for.

use super::stage::{GB, Row, Stage, request, rows};
use crate::model::{Capability, Kind, Now, PerKind, Pool};
use crate::scheduler::tests::kit::AnyTasks;
use crate::scheduler::{AppId, Earmark, NodeOffer, PolicyOptions, Scheduler};

/// A node of four map and two reduce slots and so much room, a job and an application.
fn stage(slots: u32) -> (Stage, AppId, AppId) {
    let mut stage = Stage::under(Scheduler::dynamic(), &[("a", "/r", GB.times(slots))]);
    let (job, app) = (stage.add_app_in("q", 1), stage.add_app_in("p", 2));
    (stage, job, app)
}

fn ask(stage: &mut Stage, app: AppId, slots: u32, count: u32) {
    stage.set(app, &rows(request(1, slots * 1_024), &[("*", count) as Row]));
}

/// A heartbeat: tasks, then containers. Returns the tasks, and how many containers.
fn beat(stage: &mut Stage) -> (Vec<Kind>, usize) {
    let (node, mut tasks) = (stage.nodes["a"], AnyTasks::new(u32::MAX));
    let free = stage.scheduler.incoming(node);
    let now = Now { mono_ms: 1, wall_ms: 1 };
    stage.scheduler.assign_slots(NodeOffer { node, free, now }, &mut tasks);
    let containers = stage.beat("a").len();
    (tasks.given.into_iter().map(|(_, kind)| kind).collect(), containers)
}

fn earmark(stage: &mut Stage, app: AppId, pool: Pool, slots: u32) {
    let earmark = Earmark { app, pool, room: GB.times(slots), is_setup: false };
    stage.scheduler.set_earmarks(&[(stage.nodes["a"], earmark)]);
}

#[test]
fn between_heartbeats_containers_leave_the_slots_that_tasks_wait_for() {
    let (mut stage, job, app) = stage(6);
    stage.scheduler.request_slots(job, Kind::Map, &[], 3);
    ask(&mut stage, app, 1, 9);
    assert_eq!(stage.grant().len(), 3, "three of six are kept for the maps");
    assert_eq!(beat(&mut stage), (vec![Kind::Map; 3], 0));
    stage.end(&stage.last());
    assert_eq!(stage.grant().len(), 1, "no task waits any more");
}

#[test]
fn no_more_slots_are_kept_than_are_free_and_at_its_heartbeat_none() {
    let (mut stage, job, app) = stage(6);
    stage.scheduler.set_slots(stage.nodes["a"], PerKind::new(1, 0));
    stage.scheduler.request_slots(job, Kind::Map, &[], 9);
    ask(&mut stage, app, 1, 9);
    assert_eq!(stage.grant().len(), 5);
    assert_eq!(stage.beat("a").len(), 1, "its tasks have had their turn");
}

#[test]
fn room_that_is_earmarked_for_a_container_is_kept_from_tasks_until_all_of_it_is_free() {
    let (mut stage, job, app) = stage(4);
    let other = stage.add_app_in("p", 3);
    ask(&mut stage, other, 2, 1);
    stage.grant();
    ask(&mut stage, app, 4, 1);
    earmark(&mut stage, app, Pool::Container, 4);
    stage.scheduler.request_slots(job, Kind::Map, &[], 9);
    ask(&mut stage, other, 1, 9);
    assert_eq!(beat(&mut stage), (vec![], 0), "two slots are free, and kept");
    assert_eq!(stage.grant(), [], "the heartbeat is over");
    let last = stage.last();
    stage.end(&last);
    assert_eq!(stage.grant().len(), 0, "nor does it go to others, or before the heartbeat");
    assert_eq!(beat(&mut stage), (vec![], 1));
    assert_eq!((stage.last().app, stage.scheduler.earmarks_on(stage.nodes["a"])), (app, &[][..]));
}

#[test]
fn cores_that_only_slots_stand_for_are_kept_from_tasks_too_while_a_container_has_room_earmarked() {
    // Six slots on two cores.
    let mut stage = Stage::under(Scheduler::dynamic(), &[("a", "/r", Capability::new(6 * 1_024, 2))]);
    let (job, app) = (stage.add_app_in("q", 1), stage.add_app_in("p", 2));
    stage.scheduler.request_slots(job, Kind::Map, &[], 9);
    ask(&mut stage, app, 1, 1);
    earmark(&mut stage, app, Pool::Container, 1);
    assert_eq!(beat(&mut stage), (vec![Kind::Map], 1));
    assert_eq!(beat(&mut stage), (vec![Kind::Map; 3], 0), "the container has its core");
}

#[test]
fn room_that_is_earmarked_for_a_reduce_is_kept_from_maps() {
    let (mut stage, job, app) = stage(6);
    ask(&mut stage, app, 4, 1);
    stage.grant();
    stage.scheduler.request_slots(job, Kind::Map, &[], 9);
    stage.scheduler.request_slots(job, Kind::Reduce, &[], 1);
    earmark(&mut stage, job, Pool::Reduce, 1);
    assert_eq!(beat(&mut stage), (vec![Kind::Map, Kind::Reduce], 0));
}

#[test]
fn an_earmark_counts_while_its_app_waits_and_until_the_next_round_or_another_policy() {
    let (mut stage, job, app) = stage(2);
    ask(&mut stage, app, 2, 1);
    earmark(&mut stage, app, Pool::Container, 2);
    stage.scheduler.withdraw_rows(app);
    stage.scheduler.request_slots(job, Kind::Map, &[], 1);
    assert_eq!(beat(&mut stage).0, [Kind::Map]);
    ask(&mut stage, app, 2, 1);
    stage.scheduler.request_slots(job, Kind::Map, &[], 1);
    assert_eq!(beat(&mut stage).0, []);
    stage.scheduler.set_earmarks(&[]);
    assert_eq!(beat(&mut stage).0, [Kind::Map]);
    earmark(&mut stage, app, Pool::Container, 2);
    stage.scheduler.replace_policy(PolicyOptions::Dynamic);
    assert_eq!(stage.scheduler.earmarks_on(stage.nodes["a"]), []);
}
