//! Deadlines from submission to their end, over restarts and under other schedulers.

use crate::engine::PolicyConfig;
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::{JobId, Kind, RunState};
use crate::scheduler::constraint::{ConstraintConfig, DeadlineSpec, Due, KeySpread, OnMissed, StatedCost};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};
use super::scheduler_switch::{done, wish};

fn constraint(config: ConstraintConfig) -> PolicyConfig {
    PolicyConfig::Constraint(config)
}

/// Four map slots and two reduce slots.
fn cluster(config: ConstraintConfig) -> Cluster {
    let mut cluster = Cluster::new(constraint(config));
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    beat_all(&mut cluster, 1, hang);
    cluster
}

/// Maps and reduces of ten seconds each.
fn due(maps: u32, reduces: u32, deadline_ms: u64) -> JobSpec {
    let deadline = DeadlineSpec {
        due: Due::AfterMs(deadline_ms),
        map: Some(StatedCost::TaskMs(10_000)),
        reduce: Some(StatedCost::TaskMs(10_000)),
        copy_us_per_mb: None,
        filter_millionths: Some(0),
        keys: KeySpread::Uniform,
    };
    JobSpec { deadline: Some(deadline), ..spec("alice", "default", maps, reduces) }
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn beat_all(cluster: &mut Cluster, times: usize, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..times {
        cluster.pass_ms(100);
        cluster.timer();
        (0..cluster.trackers.len()).for_each(|index| drop(cluster.beat(index, &fate)));
    }
}

fn report(cluster: &Cluster, id: JobId) -> String {
    cluster.engine.job_status(id).value.unwrap().scheduling_info.0
}

fn running(cluster: &Cluster, id: JobId) -> (u32, u32) {
    let running = cluster.engine.jobs.get(id).unwrap().running();
    (running[Kind::Map], running[Kind::Reduce])
}

#[test]
fn a_deadline_that_cannot_be_kept_is_refused_at_the_submission_and_leaves_nothing() {
    let mut cluster = cluster(ConstraintConfig::default());
    let jobs = cluster.engine.jobs.iter().count();
    let refusal = cluster.submit(due(8, 0, 19_000)).unwrap_err().to_string();
    assert!(
        refusal.contains("rejected by the constraint scheduler: deadline 19.0 s needs 5 map slots, 4 free"),
        "{refusal}"
    );
    assert!(refusal.ends_with("earliest feasible deadline now 20.1 s"), "{refusal}");
    assert_eq!(cluster.engine.jobs.iter().count(), jobs);
    cluster.submit(due(8, 0, 21_000)).unwrap();
    let refusal = cluster.submit(due(1, 0, 60_000)).unwrap_err().to_string();
    assert!(refusal.contains("needs 1 map slots, 0 free"), "{refusal}");
    cluster.submit(spec("bob", "default", 4, 0)).unwrap();
}

#[test]
fn a_job_gets_its_minimum_and_its_reduces_after_its_last_map() {
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(due(4, 2, 40_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!(running(&cluster, id), (2, 0));
    let other = cluster.submit(spec("bob", "default", 8, 0)).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!((running(&cluster, id), running(&cluster, other)), ((2, 0), (2, 0)));
    assert_eq!(
        report(&cluster, id),
        "Deadline 40.0 s (left 38.8 s, ON_TIME). Maps 2/2 minimum. Reduces 0/2 minimum. Reduce start limit 30.0 s."
    );
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_deadline_stays_over_restarts_and_other_schedulers() {
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(due(4, 2, 40_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    let plan = |cluster: &Cluster| report(cluster, id).split_once("). ").map(|(_, plan)| plan.to_owned());
    let before = plan(&cluster).unwrap();
    cluster.crash(1_000, hang);
    beat_all(&mut cluster, 2, hang);
    assert_eq!(plan(&cluster).unwrap(), before);
    for _ in 0..2 {
        done(&mut cluster, wish(fifo()));
        assert_eq!(plan(&cluster), None);
        beat_all(&mut cluster, 2, hang);
        done(&mut cluster, wish(constraint(ConstraintConfig::default())));
        beat_all(&mut cluster, 2, hang);
        assert!(plan(&cluster).unwrap().ends_with("Reduce start limit 30.0 s."), "{:?}", plan(&cluster));
    }
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_missed_deadline_demotes_or_kills() {
    for (on_missed, state) in [(OnMissed::Demote, RunState::Running), (OnMissed::Kill, RunState::Killed)] {
        let mut cluster = cluster(ConstraintConfig { on_missed, ..ConstraintConfig::default() });
        let id = cluster.submit(due(4, 0, 21_000)).unwrap();
        beat_all(&mut cluster, 6, hang);
        cluster.pass_ms(21_000);
        beat_all(&mut cluster, 20, hang);
        assert_eq!(cluster.state(id), state);
        if state == RunState::Killed {
            let reason = cluster.engine.job_status(id).value.unwrap().failure_info.to_string();
            assert!(reason.ends_with("missed its deadline (mapred.constraint-scheduler.on-missed = kill)"), "{reason}");
        } else {
            assert!(report(&cluster, id).contains("LATE). Maps 4/"), "{}", report(&cluster, id));
        }
    }
}

#[test]
fn a_switch_takes_deadlines_that_cannot_be_kept_too() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(due(40, 2, 60_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    let plan = done(&mut cluster, wish(constraint(ConstraintConfig::default())));
    assert!(plan.is_permitted());
    beat_all(&mut cluster, 20, hang);
    assert!(report(&cluster, id).contains("AT_RISK"), "{}", report(&cluster, id));
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}
