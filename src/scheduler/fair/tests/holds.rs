//! What holds jobs back, and the numbers that pages show.

use super::cluster::{Cluster, NORMAL, multiple};
use crate::model::{Kind, Now, PerKind};
use crate::scheduler::fair::allocations::SchedulingMode;
use crate::scheduler::fair::share::FairShare;
use crate::scheduler::{AppDetail, AppId, BeginLimitUnit, GroupDetail, Hold, Level, LimitOwner, LocalityEnd};

const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

fn limit(of: LimitOwner, limit: u64) -> Vec<Hold> {
    vec![Hold::BeginLimit { of, counts: BeginLimitUnit::Apps, limit, used: limit }]
}

#[test]
fn a_limit_on_running_jobs_is_named() {
    let file = r#"<pool name="p"><maxRunningJobs>1</maxRunningJobs></pool><user name="u2"><maxRunningJobs>1</maxRunningJobs></user>"#;
    let mut cluster = Cluster::small(file);
    for (pool, user) in [("p", "u1"), ("p", "u1"), ("a", "u2"), ("b", "u2")] {
        cluster.submit_at(pool, (1, 1), NORMAL, user, &[]);
    }
    cluster.update();
    assert_eq!((cluster.holds(1), cluster.holds(3)), (vec![], vec![]));
    assert_eq!(cluster.holds(2), limit(LimitOwner::Group("p".to_owned()), 1));
    assert_eq!(cluster.holds(4), limit(LimitOwner::User, 1));
}

#[test]
fn row_15_a_pool_at_its_maximum_is_named_and_its_job_keeps_its_place() {
    let mut cluster = Cluster::small(r#"<pool name="p"><maxMaps>2</maxMaps><maxReduces>1</maxReduces></pool>"#);
    cluster.submit("p", 10, 5);
    cluster.submit("p", 10, 5);
    cluster.update();
    [1, 2].into_iter().for_each(|tracker| drop(cluster.fill(tracker)));
    let full = |kind, maximum| Hold::GroupMaximum { kind, group: "p".to_owned(), maximum, held: maximum };
    assert_eq!(cluster.holds(2), [full(Kind::Map, 2), full(Kind::Reduce, 1)]);
    let place = cluster.scheduler().queue_position(AppId::new(2), Kind::Map).unwrap();
    assert_eq!(place.groups_before, 0);
}

#[test]
fn rows_23_to_25_a_job_says_how_far_its_maps_may_be_and_until_when() {
    let mut cluster = Cluster::new(multiple(), "", 4, 2);
    cluster.submit_at("default", (8, 0), NORMAL, "user1", &[4]);
    cluster.update();
    let wait = |farthest, ms| [Hold::Locality { farthest, until: LocalityEnd::AfterMs(ms) }];
    assert_eq!(cluster.holds(1), wait(Level::Node, 5_000));
    assert_eq!(cluster.beat(1), [""; 0]);
    cluster.advance_ms(4_000);
    assert_eq!(cluster.beat(1), [""; 0]);
    assert_eq!(cluster.holds(1), wait(Level::Node, 1_000));
    cluster.advance_ms(2_000);
    assert_eq!(cluster.beat(1), [""; 0]);
    assert_eq!(cluster.holds(1), wait(Level::Rack, 9_000));
    cluster.advance_ms(9_000);
    assert_eq!(cluster.beat(1), ["m0/j1", "m1/j1"]);
    assert_eq!(cluster.holds(1), [], "any tracker will do");
}

#[test]
fn pools_and_jobs_have_the_numbers_of_the_last_update() {
    let mut cluster = Cluster::small(
        r#"<pool name="fifo"><minMaps>1</minMaps><weight>3</weight><schedulingMode>fifo</schedulingMode></pool>"#,
    );
    cluster.submit("fair", 10, 0);
    cluster.submit("fifo", 10, 0);
    cluster.update();
    let pools: Vec<_> = cluster.scheduler().group_reports(NOW).collect();
    let GroupDetail::Pool(fifo) = pools[1].detail else { panic!("a pool") };
    assert_eq!((pools[1].name, pools[1].apps, fifo.settings.mode), ("fifo", 1, SchedulingMode::Fifo));
    assert_eq!((fifo.share, fifo.demand), (PerKind::new(FairShare::of_slots(3), FairShare(0)), PerKind::new(10, 0)));
    assert_eq!(fifo.starved, None, "without preemption");
    let job = |number| match cluster.scheduler().app_detail(AppId::new(number)) {
        AppDetail::Pooled(job) => job,
        other => panic!("{other:?} is no job of a pool"),
    };
    assert_eq!(job(1).share, Some(PerKind::new(FairShare::of_slots(1), FairShare(0))));
    assert_eq!((job(2).share, job(2).deficit_slot_ms), (None, None));
}
