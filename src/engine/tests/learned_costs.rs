//! What jobs cost, learned from jobs before them and from their first maps. A map of these clusters reads 100 bytes in a
//! second.

use crate::engine::PolicyConfig;
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::{JobId, RunState};
use crate::scheduler::constraint::{
    ConstraintConfig, DeadlineSpec, Due, HistoryConfig, JobEstimate, KeySpread, KnownCosts,
};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};
use super::scheduler_switch::{done, wish};

/// A second for 100 bytes.
const MAP_US_PER_MB: u64 = (1_000_000 << 20) / 100;

fn constraint(enabled: bool) -> PolicyConfig {
    let history = HistoryConfig { enabled, ..HistoryConfig::default() };
    PolicyConfig::Constraint(ConstraintConfig { history, ..ConstraintConfig::default() })
}

/// Four map slots.
fn cluster(policy: PolicyConfig) -> Cluster {
    let mut cluster = Cluster::new(policy);
    cluster.add_tracker("h0", 4, 1);
    beat(&mut cluster, 1);
    cluster
}

fn beat(cluster: &mut Cluster, times: usize) {
    for _ in 0..times {
        cluster.pass_ms(100);
        cluster.timer();
        drop(cluster.beat(0, hang));
    }
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn named(user: &str, name: &str, maps: u32, deadline_ms: Option<u64>) -> JobSpec {
    let deadline = deadline_ms.map(|ms| DeadlineSpec {
        due: Due::AfterMs(ms),
        map: None,
        reduce: None,
        copy_us_per_mb: None,
        filter_millionths: None,
        keys: KeySpread::Uniform,
    });
    JobSpec { deadline, name: name.to_owned(), ..spec(user, "default", maps, 0) }
}

fn run(cluster: &mut Cluster, spec: JobSpec) {
    let id = cluster.submit(spec).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

fn estimate(cluster: &Cluster, id: JobId) -> JobEstimate {
    cluster.engine.jobs.get(id).unwrap().estimate
}

#[test]
fn three_jobs_of_a_class_show_what_the_next_one_costs_over_restarts_too() {
    let mut cluster = cluster(constraint(true));
    for day in 1..=3 {
        let free = cluster.submit(named("alice", "nightly 2026-12-09", 8, Some(1_500))).unwrap();
        assert_eq!(estimate(&cluster, free), JobEstimate::default(), "{day}");
        assert_eq!(cluster.run(free, |_| Fate::Fail), RunState::Failed, "nothing is learned from it");
        run(&mut cluster, named("alice", &format!("nightly 2026-11-0{day}"), 2, None));
    }
    for _ in 0..2 {
        let refusal = cluster.submit(named("alice", "nightly 2026-12-09", 8, Some(1_500))).unwrap_err().to_string();
        assert!(refusal.contains("deadline 1.5 s needs 6 map slots, 4 free"), "{refusal}");
        let other = cluster.submit(named("bob", "nightly 2026-12-09", 8, Some(1_500))).unwrap();
        assert_eq!(estimate(&cluster, other), JobEstimate::default());
        assert_eq!(cluster.run(other, |_| Fate::Fail), RunState::Failed);
        cluster.crash(1_000, hang);
        beat(&mut cluster, 3);
    }
    let id = cluster.submit(named("alice", "nightly 2026-12-10", 8, Some(3_000))).unwrap();
    let history = KnownCosts { map_us_per_mb: Some(MAP_US_PER_MB), ..KnownCosts::default() };
    assert_eq!(estimate(&cluster, id), JobEstimate { history, ..JobEstimate::default() });
}

#[test]
fn nothing_is_believed_where_history_is_off() {
    let mut cluster = cluster(constraint(false));
    (1..=3).for_each(|_| run(&mut cluster, named("alice", "nightly", 2, None)));
    let id = cluster.submit(named("alice", "nightly", 8, Some(1_500))).unwrap();
    assert_eq!(estimate(&cluster, id), JobEstimate::default());
}

#[test]
fn the_first_maps_show_what_the_others_cost_and_a_restart_believes_it_too() {
    let mut cluster = cluster(constraint(true));
    let id = cluster.submit(named("alice", "new", 20, Some(10_000))).unwrap();
    let minimum = |cluster: &Cluster| {
        let text = cluster.engine.job_status(id).value.unwrap().scheduling_info.0;
        let (_, maps) = text.split_once("Maps ").unwrap();
        maps.split_once('/').and_then(|(_, maps)| maps.split(' ').next()?.parse::<u32>().ok()).unwrap()
    };
    beat(&mut cluster, 4);
    let done = |cluster: &Cluster| cluster.engine.jobs.get(id).unwrap().finished().map;
    while done(&cluster) < 3 {
        // Maps of a few bytes were believed to take no time: the promise is over, and the slowest of them is known.
        let slowest_map_us = (done(&cluster) > 0).then_some(1_000_000);
        let believed = JobEstimate { slowest_map_us, ..JobEstimate::default() };
        assert_eq!((minimum(&cluster), estimate(&cluster, id)), (1, believed));
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(estimate(&cluster, id).first_maps_us_per_mb, Some(MAP_US_PER_MB));
    // It is planned again at the next look at deadlines.
    cluster.pass_ms(1_000);
    beat(&mut cluster, 1);
    assert_eq!(minimum(&cluster), 2, "twenty seconds of work in ten");
    cluster.crash(100, hang);
    beat(&mut cluster, 3);
    assert_eq!(estimate(&cluster, id).first_maps_us_per_mb, Some(MAP_US_PER_MB));
    cluster.pass_ms(1_000);
    beat(&mut cluster, 1);
    assert!(minimum(&cluster) >= 2);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_switch_estimates_the_jobs_that_wait_and_what_has_a_deadline_teaches_under_any_scheduler() {
    let mut cluster = cluster(fifo());
    (1..=3).for_each(|_| run(&mut cluster, named("alice", "nightly", 2, Some(60_000))));
    let id = cluster.submit(named("alice", "nightly", 8, Some(60_000))).unwrap();
    assert_eq!(estimate(&cluster, id), JobEstimate::default());
    done(&mut cluster, wish(constraint(true)));
    assert_eq!(estimate(&cluster, id).history.map_us_per_mb, Some(MAP_US_PER_MB));
    cluster.crash(100, hang);
    assert_eq!(estimate(&cluster, id).history.map_us_per_mb, Some(MAP_US_PER_MB));
}
