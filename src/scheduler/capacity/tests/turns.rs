//! Every queue gets its turn, however small its part of a small cluster.

use std::collections::BTreeMap;

use super::*;
use crate::model::{Kind, Now, PerKind};
use crate::scheduler::tests::kit::AnyTasks;
use crate::scheduler::{AppId, AppSize, AppSpec, NodeOffer, Scheduler};

/// The six map slots of a cluster, each freed and given again so many times, by queue.
fn slots_given(is_compatible: bool, queues: &[(&str, &str)], busy: &[&str], rounds: u32) -> BTreeMap<String, u32> {
    let mut config = written(queues);
    // One user may hold more than one slot of a queue.
    config.queues.iter_mut().for_each(|queue| queue.user_limit_factor = Decimal::whole(100));
    let mut scheduler = Scheduler::capacity(CapacityConfig::new(&config).unwrap(), is_compatible);
    let groups: Vec<_> = queues.iter().map(|(name, _)| scheduler.open_group(name)).collect();
    let host = scheduler.topology_mut().intern_host("h", "/r");
    let node = scheduler.add_node(host, PerKind::new(6, 0));
    let now = Now { mono_ms: 0, wall_ms: 0 };
    let mut apps = BTreeMap::new();
    for ((group, (name, _)), number) in
        groups.iter().zip(queues).zip(1_u32..).filter(|((_, (name, _)), _)| busy.contains(name))
    {
        let app = AppId::new(number);
        scheduler.add_app(AppSpec { order: number.into(), ..AppSpec::plain(app, *group) }).unwrap();
        apps.insert(app, (*name).to_owned());
    }
    scheduler.begin_apps(now);
    for app in apps.keys() {
        let tasks = PerKind::new(1_000, 0);
        scheduler.set_size(*app, AppSize { tasks, unfinished: tasks, left: tasks });
        scheduler.set_pending(*app, tasks);
        scheduler.request_slots(*app, Kind::Map, &[], 1_000);
    }
    let (mut total, mut running) = (BTreeMap::<String, u32>::new(), Vec::new());
    for _ in 0..rounds {
        let mut given = AnyTasks::new(u32::MAX);
        let free = PerKind::new(6 - running.len() as u32, 0);
        scheduler.assign_slots(NodeOffer { node, free, now }, &mut given);
        given.given.sort();
        for (app, _) in given.given {
            *total.entry(apps[&app].clone()).or_default() += 1;
            running.push(app);
        }
        // The one that has run longest ends.
        if running.len() == 6 {
            scheduler.remove_running(running.remove(0), Kind::Map, node, 1);
        }
    }
    total
}

/// 8 % of six slots are no whole slot, nor are 1 % and 2 %: by whole slots all of them would be exactly full for ever, and
/// the first have all there is.
#[test]
fn queues_of_less_than_one_slot_have_their_turns() {
    let queues = [("large", "89"), ("eight", "8"), ("two", "2"), ("one", "1")];
    let small = &["eight", "two", "one"];
    let given = slots_given(false, &queues, small, 600);
    let part = |name: &str| f64::from(given.get(name).copied().unwrap_or(0)) / f64::from(given.values().sum::<u32>());
    assert!(part("one") > 0.05 && part("two") > 0.1 && part("eight") > 0.5, "{given:?}");
    // As the original does.
    let given = slots_given(true, &queues, small, 600);
    assert_eq!(given.keys().collect::<Vec<_>>(), ["eight"], "{given:?}");
}

/// With whole slots the order is that of whole slots, whatever the first heartbeat gave.
#[test]
fn queues_of_whole_slots_share_as_before() {
    let queues = [("half", "50"), ("other", "50")];
    for is_compatible in [false, true] {
        let given = slots_given(is_compatible, &queues, &["half", "other"], 600);
        let [half, other] = ["half", "other"].map(|name| given.get(name).copied().unwrap_or(0));
        assert!(half.abs_diff(other) <= 12, "{given:?}");
    }
}
