//! What `explain` names as holding a job back, under each policy.

use crate::api::{PendingReason, PlaceInLine};
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::{JobId, PerKind, Priority};

use super::cluster::{Cluster, Fate, fifo, spec};
use super::policies;
use super::scheduler_report::{fair, report, two_queues, why, with_trackers};

#[test]
fn capacity_explains_a_user_limit_and_a_maximum() {
    let jobs = [spec("alice", "default", 5, 0), spec("alice", "default", 2, 0)];
    let (cluster, jobs) = with_trackers(two_queues(), jobs);
    insta::assert_snapshot!(why(&cluster, jobs[0]).join("\n"), @"its user may hold 2 map slots of the queue now and holds 2");
    insta::assert_snapshot!(why(&cluster, jobs[1]).join("\n"), @"
    its user may hold 2 map slots of the queue now and holds 2
    1 other job stands before it in line for map slots
    ");
    let place = |job: usize| report(&cluster).jobs.iter().find(|other| other.job == jobs[job]).unwrap().place.map;
    assert_eq!(place(1), Some(PlaceInLine { groups_before: 0, jobs_before: 1 }), "though both are parked");
}

#[test]
fn fair_explains_limits_on_running_jobs_and_a_maximum() {
    let file = r#"<pool name="alice"><maxMaps>3</maxMaps><maxRunningJobs>1</maxRunningJobs></pool><user name="bob"><maxRunningJobs>0</maxRunningJobs></user>"#;
    let jobs = [spec("alice", "default", 5, 0), spec("alice", "default", 2, 0), spec("bob", "default", 1, 0)];
    let (cluster, jobs) = with_trackers(fair(file), jobs);
    insta::assert_snapshot!(why(&cluster, jobs[0]).join("\n"), @"pool alice may hold 3 map slots and holds 3");
    insta::assert_snapshot!(why(&cluster, jobs[1]).join("\n"), @"
    it waits until the scheduler lets it begin
    pool alice may have 1 job begun at once, and 1 has begun
    1 other job stands before it in line for map slots
    ");
    insta::assert_snapshot!(why(&cluster, jobs[2]).join("\n"), @"
    it waits until the scheduler lets it begin
    its user may have 0 jobs begun at once, and 0 have begun
    ");
    // Lists say it, too, unless something of the job runs.
    let listed = |job| cluster.engine.job_status(job).value.unwrap().scheduling_info.0;
    assert_eq!(listed(jobs[1]), "may not begin yet: pool alice may have 1 job begun at once, and 1 has begun");
    assert_eq!(listed(jobs[2]), "may not begin yet: its user may have 0 jobs begun at once, and 0 have begun");
    assert!(!listed(jobs[0]).contains("begin"), "{}", listed(jobs[0]));
}

#[test]
fn fair_explains_a_wait_for_near_slots_and_until_when() {
    let mut cluster = Cluster::new(policies::fair());
    cluster.add_tracker("far", 2, 1);
    let job = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    for _ in 0..4 {
        cluster.pass_ms(100);
        cluster.timer();
        cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    }
    let why = why(&cluster, job).join("\n");
    assert!(why.starts_with("its maps run only on hosts with their data for at least 4."), "{why}");
    let held_back_by = &report(&cluster).jobs[0].held_back_by;
    let [PendingReason::Locality { until_ms: Some(until_ms), for_ms: Some(for_ms), .. }] = held_back_by[..] else {
        panic!("{held_back_by:?}")
    };
    assert_eq!(until_ms - cluster.now.wall_ms, for_ms as i64);
    cluster.pass_ms(for_ms);
    cluster.beat(0, |_| Fate::Hang);
    cluster.pass_ms(1);
    cluster.beat(0, |_| Fate::Hang);
    assert_eq!(report(&cluster).jobs[0].running.map, 2, "the rack will do then");
}

/// What is held by a distance would be given a slot but for that: not while no slot is free, and not where one is near.
#[test]
fn fair_names_the_distance_only_where_it_keeps_a_slot_free() {
    let wait = |cluster: &Cluster| report(cluster).jobs[0].held_back_by.clone();
    let mut cluster = Cluster::new(policies::fair());
    let far = cluster.add_tracker("far", 1, 1);
    cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    let pass = |cluster: &mut Cluster, tracker: usize| {
        cluster.pass_ms(100);
        cluster.timer();
        cluster.beat(tracker, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    };
    (0..3).for_each(|_| pass(&mut cluster, far));
    assert!(matches!(wait(&cluster)[..], [PendingReason::Locality { .. }]), "{:?}", wait(&cluster));
    let near = cluster.add_tracker("h0", 1, 1);
    pass(&mut cluster, near);
    assert_eq!(report(&cluster).jobs[0].running.map, 1);
    assert!(matches!(wait(&cluster)[..], [PendingReason::Locality { .. }]), "the data of the other is on h1");
    cluster.trackers[far].slots = PerKind::new(0, 1);
    pass(&mut cluster, far);
    assert_eq!(wait(&cluster), [], "no slot is free");
}

#[test]
fn fifo_explains_how_many_jobs_stand_before() {
    let jobs = [spec("alice", "default", 9, 0), spec("bob", "default", 2, 0)];
    let (cluster, jobs) = with_trackers(fifo(), jobs);
    insta::assert_snapshot!(why(&cluster, jobs[1]).join("\n"), @"
    1 other job stands before it in line for map slots
    no map slot is free
    ");
    let report = report(&cluster);
    let place = PlaceInLine { groups_before: 0, jobs_before: 1 };
    assert_eq!(report.jobs[0].place, PerKind::new(Some(place), None));
}

#[test]
fn a_job_that_waits_to_begin_stands_in_line_by_priority_behind_those_that_have_begun() {
    let high = JobSpec { priority: Priority::High, ..spec("ann", "default", 4, 0) };
    let first = JobSpec { priority: Priority::VeryHigh, ..high.clone() };
    let (cluster, jobs) = with_trackers(
        fair("<pool name='ann'><maxRunningJobs>1</maxRunningJobs></pool>"),
        [first, spec("ann", "default", 1, 0), spec("ann", "default", 1, 0), high, spec("bob", "default", 1, 0)],
    );
    let report = report(&cluster);
    let before = |job: &JobId| {
        let reported = report.jobs.iter().find(|reported| reported.job == *job).unwrap();
        assert_eq!(reported.place.reduce, None);
        reported.place.map.map(|place| place.jobs_before)
    };
    // The first one still waits for slots.
    assert_eq!(jobs.iter().map(before).collect::<Vec<_>>(), [Some(0), Some(2), Some(3), Some(1), None]);
    let line = "3 other jobs stand before it in line for map slots";
    assert!(why(&cluster, jobs[2]).iter().any(|reason| reason == line), "{:#?}", why(&cluster, jobs[2]));
}
