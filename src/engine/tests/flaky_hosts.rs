//! A job avoids hosts on which too much of it failed.

use std::collections::BTreeMap;

use crate::fake_tracker::Role;
use crate::mapreduce::{AttemptRole, JobFact, JobSpec};
use crate::model::{JobId, Kind, PerKind, RunState};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

/// Five trackers; the first one's host is the bad one.
pub(crate) fn five_hosts() -> Cluster {
    let mut cluster = Cluster::new(fifo());
    for host in ["bad", "h1", "h2", "h3", "h4"] {
        let index = cluster.add_tracker(host, 2, 1);
        cluster.beat(index, |_| Fate::Hang);
    }
    cluster
}

pub(crate) fn touchy(maps: u32, failures: u32) -> JobSpec {
    JobSpec { max_tracker_failures: failures, map_max_attempts: 100, ..spec("alice", "default", maps, 0) }
}

fn launched_on_bad(cluster: &Cluster, id: JobId) -> BTreeMap<AttemptRole, usize> {
    let mut counts = BTreeMap::new();
    for fact in &cluster.facts {
        if let crate::engine::Fact::Job(JobFact::AttemptLaunched { attempt, role, tracker, .. }) = fact
            && attempt.task.job == id
            && tracker.contains("bad")
        {
            *counts.entry(*role).or_default() += 1;
        }
    }
    counts
}

/// Beats until the job is over: maps fail on the bad host, whose tracker calls ten times as often.
pub(crate) fn run(cluster: &mut Cluster, id: JobId, bad_fate: impl Fn(&FakeTask) -> Fate) -> RunState {
    for _ in 0..300 {
        for _ in 0..10 {
            cluster.beat(0, &bad_fate);
        }
        for index in 1..cluster.trackers.len() {
            cluster.beat(index, |_| Fate::Succeed);
        }
        if !matches!(cluster.state(id), RunState::Prep | RunState::Running) {
            return cluster.state(id);
        }
    }
    panic!("{id} does not end")
}

pub(crate) fn fail_work(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Fail }
}

#[test]
fn a_host_gets_no_more_of_a_job_after_the_last_failure_allowed() {
    let mut cluster = five_hosts();
    let id = cluster.submit(touchy(60, 3)).unwrap();
    assert_eq!(run(&mut cluster, id, fail_work), RunState::Succeeded);
    // Its two slots may have been filled with two when the second failed.
    let maps = launched_on_bad(&cluster, id).get(&AttemptRole::Work).copied().unwrap_or(0);
    assert!((3..=4).contains(&maps), "{maps}");
    // Only that job is touchy about the host.
    let other = cluster.submit(touchy(60, 3)).unwrap();
    assert_eq!(run(&mut cluster, other, |_| Fate::Succeed), RunState::Succeeded);
    assert!(launched_on_bad(&cluster, other)[&AttemptRole::Work] > 3);
}

#[test]
fn of_four_hosts_none_is_avoided() {
    let mut cluster = five_hosts();
    cluster.trackers.pop();
    cluster.pass_ms(500_000);
    (0..4).for_each(|index| drop(cluster.beat(index, |_| Fate::Hang)));
    cluster.pass_ms(200_000);
    cluster.timer();
    let id = cluster.submit(touchy(40, 1)).unwrap();
    assert_eq!(run(&mut cluster, id, fail_work), RunState::Succeeded);
    assert!(launched_on_bad(&cluster, id)[&AttemptRole::Work] > 10);
}

#[test]
fn what_a_job_could_use_follows_the_trackers_it_has_to_choose_from() {
    let mut cluster = five_hosts();
    let id = cluster.submit(touchy(60, 1)).unwrap();
    let set_up = |task: &FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    (0..3).for_each(|_| (1..5).for_each(|index| drop(cluster.beat(index, set_up))));
    (0..3).for_each(|_| drop(cluster.beat(0, fail_work)));
    let want = |cluster: &Cluster| {
        let scheduler = &cluster.engine.cluster.scheduler;
        let app = cluster.engine.jobs.get(id).unwrap().app;
        scheduler.wants().of(scheduler.group_of(app).unwrap()).map
    };
    assert_eq!(want(&cluster), 8, "all slots but those of the bad host");
    cluster.trackers.pop();
    cluster.pass_ms(500_000);
    (0..4).for_each(|index| drop(cluster.beat(index, |_| Fate::Hang)));
    cluster.pass_ms(200_000);
    // It loses the tracker; the next one finds that none of four is avoided.
    cluster.timer();
    cluster.timer();
    assert_eq!(want(&cluster), 8, "all slots of four hosts");
}

#[test]
fn an_unhealthy_tracker_does_not_count_as_one_more_to_choose_from() {
    let mut cluster = five_hosts();
    let mut request = cluster.request(4);
    request.status.health.healthy = false;
    cluster.send(4, request.clone());
    cluster.trackers.truncate(4);
    let id = cluster.submit(touchy(40, 1)).unwrap();
    assert_eq!(run(&mut cluster, id, fail_work), RunState::Succeeded);
    assert!(launched_on_bad(&cluster, id)[&AttemptRole::Work] > 10);
}

#[test]
fn neither_cleanup_nor_task_cleanup_goes_to_an_avoided_host() {
    let mut cluster = five_hosts();
    let id = cluster.submit(touchy(4, 1)).unwrap();
    // The setup there and two maps, which fail; two maps fail on the next host and leave something behind.
    (0..5).for_each(|_| drop(cluster.beat(0, fail_work)));
    let before = launched_on_bad(&cluster, id);
    assert_eq!(before, BTreeMap::from([(AttemptRole::JobSetup, 1), (AttemptRole::Work, 2)]));
    (0..3).for_each(|_| drop(cluster.beat(1, |_| Fate::FailUnclean)));
    (0..3).for_each(|_| drop(cluster.beat(0, fail_work)));
    assert_eq!(launched_on_bad(&cluster, id), before, "the task-cleanups wait for another host");
    assert_eq!(run(&mut cluster, id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(launched_on_bad(&cluster, id), before);
}

#[test]
fn losing_a_tracker_counts_as_one_failure_there() {
    let mut cluster = five_hosts();
    let id = cluster.submit(touchy(60, 1)).unwrap();
    while launched_on_bad(&cluster, id).get(&AttemptRole::Work) != Some(&2) {
        cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    }
    cluster.restart(0);
    assert_eq!(run(&mut cluster, id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(launched_on_bad(&cluster, id)[&AttemptRole::Work], 2, "it is flaky by the loss alone");
}

#[test]
fn a_task_that_failed_on_every_other_host_goes_back_to_one_of_them() {
    let mut cluster = five_hosts();
    cluster.trackers[0].slots = PerKind::new(1, 1);
    let id = cluster.submit(touchy(3, 2)).unwrap();
    // Two maps fail on the bad host, which is avoided from then on; then the third on each other host, once.
    (0..10).for_each(|_| drop(cluster.beat(0, fail_work)));
    assert_eq!(launched_on_bad(&cluster, id)[&AttemptRole::Work], 2);
    let fail_first = |task: &FakeTask| match (task.id.task.number, task.id.number) {
        (2, 0..4) => Fate::Fail,
        _ => Fate::Succeed,
    };
    assert_eq!(cluster.run(id, fail_first), RunState::Succeeded);
}

/// Found by the simulator: hosts without slots of a kind count for nothing where a task of that kind may run.
#[test]
fn a_reduce_goes_back_to_the_only_host_with_reduce_slots() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    for host in 1..4 {
        cluster.add_tracker(&format!("h{host}"), 1, 0);
    }
    let id = cluster.submit(JobSpec { reduces: 1, ..touchy(1, 4) }).unwrap();
    let fail_first = |task: &FakeTask| match (task.id.task.kind, task.role == Role::Housekeeping, task.id.number) {
        (Kind::Reduce, false, 0) => Fate::Fail,
        _ => Fate::Succeed,
    };
    assert_eq!(cluster.run(id, fail_first), RunState::Succeeded);
}

#[test]
fn the_only_host_with_reduce_slots_is_not_avoided() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 2);
    for host in 1..6 {
        cluster.add_tracker(&format!("h{host}"), 1, 0);
    }
    let id = cluster.submit(JobSpec { reduces: 4, ..touchy(1, 1) }).unwrap();
    let fail_first = |task: &FakeTask| match (task.id.task.kind, task.role == Role::Housekeeping, task.id.number) {
        (Kind::Reduce, false, 0) => Fate::Fail,
        _ => Fate::Succeed,
    };
    assert_eq!(cluster.run(id, fail_first), RunState::Succeeded);
}
