//! What holds jobs back under the Capacity scheduler, and their places in line meanwhile.

use super::capacity_cluster::{Cluster, Input, Submission, queue};
use crate::model::{Decimal, Kind, Now, PerKind};
use crate::scheduler::capacity::{JobStage, WrittenQueue};
use crate::scheduler::{AppDetail, AppId, GroupDetail, Hold, Level, LocalityEnd, QueuePosition};

const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

fn holds(cluster: &Cluster, number: u32) -> Vec<Hold> {
    cluster.scheduler.holds(AppId::new(number), NOW)
}

fn place(cluster: &Cluster, number: u32, kind: Kind) -> (usize, usize) {
    let QueuePosition { groups_before, apps_before, .. } =
        cluster.scheduler.queue_position(AppId::new(number), kind).unwrap();
    (groups_before, apps_before)
}

fn with_factor(queue: WrittenQueue, factor: i32) -> WrittenQueue {
    WrittenQueue { user_limit_factor: Decimal::whole(factor), ..queue }
}

#[test]
fn a_queue_at_its_maximum_is_named() {
    let limited = WrittenQueue { maximum_capacity: Decimal::whole(50), ..with_factor(queue("default", 25), 2) };
    let mut cluster = Cluster::new(vec![limited, queue("q2", 75)], None);
    cluster.add_trackers(4, 1, 1);
    cluster.submit(Submission::new("default", "u1", 4, 4));
    ["tt1", "tt2", "tt3"].into_iter().for_each(|tracker| drop(cluster.beat(tracker)));
    let at_maximum = |kind| Hold::GroupMaximum { kind, group: "default".to_owned(), maximum: 2, held: 2 };
    assert_eq!(holds(&cluster, 1), [at_maximum(Kind::Map), at_maximum(Kind::Reduce)]);
    assert_eq!(place(&cluster, 1, Kind::Map), (0, 0), "parked, and still the first");
}

#[test]
fn a_user_at_the_limit_is_named_and_keeps_its_place() {
    let mut cluster = Cluster::of_two(vec![queue("default", 50), queue("q2", 50)]);
    cluster.submit(Submission::new("q2", "u1", 10, 10));
    cluster.submit(Submission::new("q2", "u1", 1, 0));
    cluster.submit(Submission::new("default", "u2", 1, 0));
    cluster.beat("tt1");
    cluster.beat("tt2");
    let limited = Hold::UserLimit { kind: Kind::Map, limit: 2, held: 2 };
    assert_eq!(holds(&cluster, 2), [limited]);
    assert_eq!((place(&cluster, 1, Kind::Map).1, place(&cluster, 2, Kind::Map).1), (0, 1));
    let GroupDetail::Queue(detail) = cluster.scheduler.group_reports(NOW).nth(1).unwrap().detail else {
        panic!("a queue with a capacity");
    };
    assert_eq!((detail.slots.map.user_limit, detail.slots.map.active_users), (2, 1));
    assert_eq!(detail.slots.map.usage.by_user.values().copied().collect::<Vec<_>>(), [2]);
    assert_eq!(detail.slots.map.occupied_percent(), "100.0");
}

#[test]
fn a_reserved_tracker_is_counted() {
    let mut cluster = Cluster::new(vec![with_factor(queue("default", 100), 2)], Some(PerKind::new(1024, 1024)));
    cluster.add_tracker("tt1", 2, 0);
    cluster.submit(Submission::new("default", "u1", 1, 0).memory(1024, 1024));
    cluster.beat("tt1");
    cluster.submit(Submission::new("default", "u1", 1, 0).memory(2048, 1024));
    assert_eq!(cluster.beat("tt1"), [""; 0]);
    let reservation = Hold::Reservation { kind: Kind::Map, nodes: 1, slots_per_task: 2 };
    assert!(holds(&cluster, 2).contains(&reservation), "{:?}", holds(&cluster, 2));
    let AppDetail::Queued(detail) = cluster.scheduler.app_detail(AppId::new(2)) else { panic!("a job of a queue") };
    assert_eq!((detail.stage, detail.reserved_slots), (JobStage::Running, PerKind::new(2, 0)));
}

#[test]
fn a_far_map_waits_for_so_many_trackers() {
    let mut cluster = Cluster::new(vec![queue("default", 100)], None);
    cluster.add_trackers(4, 1, 0);
    cluster.submit(Submission { input: Input::Far, ..Submission::new("default", "u1", 9, 0) });
    let wait = |offers| [Hold::Locality { farthest: Level::Rack, until: LocalityEnd::AfterOffers(offers) }];
    // One of four hosts has its input: one tracker must have passed it over.
    assert_eq!(holds(&cluster, 1), wait(1));
    assert_eq!(cluster.beat("tt1"), [""; 0]);
    assert_eq!(holds(&cluster, 1), []);
    assert_eq!(cluster.beat("tt2"), ["m1/j1"]);
}
