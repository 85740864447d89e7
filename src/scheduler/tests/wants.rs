//! What queues want of map and reduce slots: what their jobs hold or could use.

use std::num::NonZeroU32;

use crate::model::{Kind, PerKind, TrackerId};
use crate::scheduler::*;

/// Three nodes of four map and two reduce slots: a stock one, and two that run only Hadoop Streaming.
struct Stage {
    scheduler: Scheduler,
    nodes: Vec<TrackerId>,
    hosts: Vec<HostId>,
    queue: GroupId,
}

impl Stage {
    fn new() -> Self {
        let mut scheduler = Scheduler::dynamic();
        let hosts: Vec<HostId> =
            ["a", "b", "c"].iter().map(|host| scheduler.topology_mut().intern_host(host, "/r")).collect();
        let nodes: Vec<TrackerId> = hosts.iter().map(|host| scheduler.add_node(*host, PerKind::new(4, 2))).collect();
        nodes[1..].iter().for_each(|node| scheduler.set_streaming_only(*node, true));
        let queue = scheduler.open_group("q");
        Self { scheduler, nodes, hosts, queue }
    }

    fn add_job(&mut self, number: u32, maps: u32, reduces: u32, needs: TaskNeeds) -> AppId {
        let app = AppId::new(number);
        let tasks = PerKind::new(maps, reduces);
        self.scheduler.add_app(AppSpec::plain(app, self.queue)).unwrap();
        self.scheduler.set_pending(app, tasks);
        self.scheduler.set_awaits_setup(app, false);
        Kind::ALL.into_iter().for_each(|kind| self.scheduler.request_slots(app, kind, &[], tasks[kind]));
        self.scheduler.set_task_needs(app, needs);
        app
    }

    fn want(&self) -> (u32, u32) {
        let want = self.scheduler.wants().of(self.queue);
        (want.map, want.reduce)
    }

    fn later(&self) -> (u32, u32) {
        let later = self.scheduler.wants().later(self.queue);
        (later.map, later.reduce)
    }
}

fn stock() -> TaskNeeds {
    TaskNeeds { needs_stock: true, ..TaskNeeds::default() }
}

fn room(room_per_map_bytes: u64) -> TaskNeeds {
    TaskNeeds { room_per_map_bytes, ..TaskNeeds::default() }
}

#[test]
fn a_queue_wants_what_it_holds_and_what_waits_up_to_all_slots() {
    let mut stage = Stage::new();
    assert_eq!(stage.want(), (0, 0));
    let app = stage.add_job(1, 3, 1, TaskNeeds::default());
    assert_eq!(stage.want(), (3, 1));
    stage.scheduler.add_running(app, Kind::Map, stage.nodes[0], 1);
    assert_eq!(stage.want(), (4, 1));
    stage.add_job(2, 1_000, 1_000, TaskNeeds::default());
    assert_eq!(stage.want(), (12, 6));
}

/// Before its setup is done nothing else of a job could run: one whose setup hangs does not want all its maps now.
#[test]
fn a_job_that_is_set_up_wants_a_slot() {
    let mut stage = Stage::new();
    let app = AppId::new(1);
    stage.scheduler.add_app(AppSpec::plain(app, stage.queue)).unwrap();
    stage.scheduler.set_pending(app, PerKind::new(400, 3));
    assert_eq!((stage.want(), stage.later()), ((1, 0), (12, 3)));
    stage.scheduler.set_awaits_setup(app, false);
    assert_eq!((stage.want(), stage.later()), ((0, 0), (12, 3)), "its setup runs");
    stage.scheduler.request_slots(app, Kind::Map, &[], 400);
    assert_eq!(stage.want(), (12, 0));
    stage.scheduler.remove_app(app);
    assert_eq!(stage.want(), (0, 0));
    let mut violations = crate::model::Violations::default();
    stage.scheduler.check_sums(&mut violations);
    assert!(violations.is_empty());
}

#[test]
fn jobs_that_need_a_stock_node_want_what_such_nodes_have() {
    let mut stage = Stage::new();
    let [first, _] = [1, 2].map(|number| stage.add_job(number, 400, 400, stock()));
    assert_eq!(stage.want(), (4, 2), "both want the same node");
    stage.add_job(3, 2, 0, TaskNeeds::default());
    assert_eq!(stage.want(), (6, 2));
    assert_eq!(stage.scheduler.misfit(first), None);
    stage.scheduler.set_slots(stage.nodes[0], PerKind::default());
    assert_eq!((stage.want(), stage.scheduler.misfit(first)), ((2, 0), Some(Misfit::NeedsStock)));
    stage.scheduler.set_streaming_only(stage.nodes[1], false);
    assert_eq!((stage.want(), stage.scheduler.misfit(first)), ((6, 2), None));
}

#[test]
fn reduces_whose_maps_run_nowhere_are_no_want_later() {
    let mut stage = Stage::new();
    stage.scheduler.set_slots(stage.nodes[0], PerKind::default());
    let app = AppId::new(1);
    stage.scheduler.add_app(AppSpec::plain(app, stage.queue)).unwrap();
    stage.scheduler.set_pending(app, PerKind::new(2, 1));
    assert_eq!(stage.later(), (2, 1));
    stage.scheduler.set_task_needs(app, stock());
    assert_eq!((stage.want(), stage.later()), ((0, 0), (0, 0)));
    stage.scheduler.set_awaits_setup(app, false);
    assert_eq!(stage.later(), (0, 0), "its setup is done");
    stage.nodes[1..].iter().for_each(|node| stage.scheduler.set_disk_room(*node, Some(10)));
    stage.scheduler.set_task_needs(app, room(11));
    assert_eq!(stage.later(), (0, 0), "its reduces alone could run");
}

#[test]
fn maps_that_fit_no_disk_are_no_want() {
    let mut stage = Stage::new();
    let app = stage.add_job(1, 400, 1, room(1_000));
    assert_eq!(stage.want(), (12, 1), "nodes that report no room have room");
    for (node, bytes) in stage.nodes.clone().into_iter().zip([999, 1_000, 5_000]) {
        stage.scheduler.set_disk_room(node, Some(bytes));
    }
    assert_eq!(stage.want(), (8, 1));
    stage.scheduler.set_task_needs(app, room(5_001));
    assert_eq!((stage.want(), stage.scheduler.misfit(app)), ((0, 1), None), "its reduce could run");
    stage.scheduler.withdraw_request(app, Kind::Reduce, &[], 1);
    assert_eq!((stage.want(), stage.scheduler.misfit(app)), ((0, 0), Some(Misfit::Room(5_001))));
    // What it holds it wants.
    stage.scheduler.add_running(app, Kind::Map, stage.nodes[0], 1);
    assert_eq!(stage.want(), (1, 0));
}

#[test]
fn what_is_avoided_and_what_has_too_few_slots_for_a_task_is_not_wanted() {
    let mut stage = Stage::new();
    let avoided = stage.hosts[..2].to_vec();
    let app = stage.add_job(1, 400, 0, TaskNeeds { avoided, ..TaskNeeds::default() });
    assert_eq!(stage.want(), (4, 0));
    stage.scheduler.set_task_needs(app, TaskNeeds::default());
    let slots = |slots| PerKind::new(NonZeroU32::new(slots).unwrap(), NonZeroU32::MIN);
    stage.scheduler.set_slots_per_task(app, slots(3));
    assert_eq!(stage.want(), (9, 0), "one task on each node");
    stage.scheduler.set_pending(app, PerKind::new(2, 0));
    assert_eq!(stage.later(), (6, 0), "of three slots each");
    stage.scheduler.set_slots_per_task(app, slots(5));
    assert_eq!((stage.want(), stage.scheduler.misfit(app)), ((0, 0), Some(Misfit::SlotsPerTask(Kind::Map, 5))));
    stage.scheduler.remove_app(app);
    assert_eq!(stage.scheduler.misfit(app), None);
}

#[test]
fn without_any_slots_there_is_nothing_that_could_not_run() {
    let mut stage = Stage::new();
    stage.nodes.clone().into_iter().for_each(|node| stage.scheduler.remove_node(node));
    let app = stage.add_job(1, 7, 2, stock());
    assert_eq!((stage.want(), stage.scheduler.misfit(app)), ((7, 2), None));
}
