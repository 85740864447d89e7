//! Apps move between groups in the middle of anything: laws over random clusters.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{Kind, PerKind};
use crate::scheduler::*;

use super::laws::{GROUPS, pick, step, take_step};
use super::replace_policy::assert_as_built_afresh;
use super::world::{Order, World};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_moved_app_is_as_if_it_had_always_been_there(
        steps in prop::collection::vec((step(), any::<Index>(), 0..GROUPS), 1..80),
    ) {
        let mut world = World::new(Scheduler::dynamic(), Order::Market, GROUPS);
        for (step, app, group) in &steps {
            take_step(&mut world, step);
            let live = world.cluster.jobs.jobs.keys().copied().filter(|app| world.cluster.scheduler.group_of(*app).is_some());
            if let Some(app) = pick(live, app) {
                let to = world.cluster.groups[*group];
                world.cluster.scheduler.move_app(app, to).unwrap();
                world.cluster.jobs.jobs.get_mut(&app).unwrap().spec.group = to;
            }
            assert_as_built_afresh(&world, &PolicyOptions::Dynamic);
        }
    }
}

#[test]
fn its_releasing_slots_move_along_and_the_old_group_may_close() {
    let mut scheduler = Scheduler::dynamic();
    let [from, to] = ["from", "to"].map(|name| scheduler.open_group(name));
    let host = scheduler.topology_mut().intern_host("h", "/r");
    let node = scheduler.add_node(host, PerKind::new(4, 1));
    let app = AppId::new(1);
    scheduler.add_app(AppSpec::plain(app, from)).unwrap();
    (0..3).for_each(|_| scheduler.add_running(app, Kind::Map, node, 1));
    scheduler.mark_releasing(app, Kind::Map, node, 1);
    scheduler.set_pending(app, PerKind::new(5, 0));
    assert!(scheduler.close_group(from).is_err());
    scheduler.move_app(app, to).unwrap();
    assert_eq!((scheduler.retained(from).map, scheduler.retained(to).map), (0, 2));
    assert_eq!(scheduler.group_usages().map(|usage| usage.pending).collect::<Vec<_>>(), [0, 5]);
    assert_eq!(scheduler.close_group(from), Ok(()));
    let gone = scheduler.move_app(app, from);
    assert_eq!(gone, Err(MoveAppError::GroupNotOpen { app, group: from }));
    assert_eq!(scheduler.move_app(AppId::new(9), to), Err(MoveAppError::UnknownApp(AppId::new(9))));
    assert_eq!(scheduler.group_of(app), Some(to));
    scheduler.unmark_releasing(app, Kind::Map, node, 1);
    assert_eq!(scheduler.retained(to).map, 3);
}
