//! Each sum that the engine keeps is compared with a recount, and what is broken comes out as an effect.

use crate::engine::state::LiveJobs;
use crate::engine::{Effect, Event};
use crate::fake_tracker::Role;
use crate::mapreduce::Job;
use crate::model::{FactNumber, Kind, TrackerId, Violations};

use super::cluster::{Cluster, Fate, dynamic, spec};

/// A cluster with a running job, that counts what it finds broken.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new(super::cluster::fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.submit(spec("alice", "default", 4, 1)).unwrap();
    (0..4).for_each(|_| {
        drop(cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }))
    });
    cluster.engine.outbox.violations = Violations::counting();
    cluster
}

fn h0(cluster: &Cluster) -> TrackerId {
    cluster.engine.trackers.iter().next().unwrap().id
}

/// Changes the table of unfinished jobs with the cluster's job at hand.
fn with_job(cluster: &mut Cluster, change: impl FnOnce(&mut LiveJobs, &Job)) {
    let mut live = std::mem::take(&mut cluster.engine.jobs.live);
    change(&mut live, cluster.engine.jobs.iter().next().unwrap());
    cluster.engine.jobs.live = live;
}

fn texts(cluster: &mut Cluster) -> Vec<String> {
    cluster.engine.check_whole_state();
    cluster.engine.outbox.violations.take().into_iter().map(|broken| broken.text).collect()
}

#[test]
fn a_sound_state_breaks_nothing() {
    assert_eq!(texts(&mut cluster()), [""; 0]);
}

#[test]
fn each_wrong_sum_is_found() {
    type Damage = fn(&mut Cluster);
    let damages: [(Damage, &str); 7] = [
        (|cluster| with_job(cluster, |live, job| live.insert(job)), "1 jobs are unfinished, 2 are counted"),
        (|cluster| with_job(cluster, |live, job| live.insert(job)), "unfinished jobs have "),
        (
            |cluster| with_job(cluster, |live, job| live.remove(job, &mut Violations::default())),
            "1 jobs are unfinished, 0 are in queues",
        ),
        (
            |cluster| cluster.engine.jobs.live.mark_running("job_1_0001".parse().unwrap()),
            "job_1_0001 counts as running",
        ),
        (
            |cluster| {
                let id = h0(cluster);
                cluster.engine.trackers.get_mut(id).unwrap().busy.map += 1;
            },
            "trackers report 3 busy Map slots, the sum is 2",
        ),
        (
            |cluster| {
                let (app, tracker) = (cluster.engine.jobs.iter().next().unwrap().app, h0(cluster));
                cluster.engine.cluster.scheduler.add_running(app, Kind::Map, tracker);
            },
            "job_202611210913_0001 holds PerKind { map: 2, reduce: 0 } slots",
        ),
        (
            |cluster| {
                let (app, tracker) = (cluster.engine.jobs.iter().next().unwrap().app, h0(cluster));
                let scheduler = &mut cluster.engine.cluster.scheduler;
                let host = scheduler.topology_mut().intern_host("h0", "/default-rack");
                scheduler.set_slots(tracker, Default::default());
                let other = scheduler.add_node(host, Default::default());
                scheduler.add_running(app, Kind::Map, other);
                scheduler.remove_running(app, Kind::Map, tracker);
            },
            "PerKind { map: 2, reduce: 0 } attempts run on tracker 1, the scheduler counts PerKind { map: 1, reduce: 0 }",
        ),
    ];
    for (damage, expected) in damages {
        let mut cluster = cluster();
        damage(&mut cluster);
        let found = texts(&mut cluster);
        assert!(found.iter().any(|text| text.starts_with(expected)), "{expected}: {found:?}");
    }
}

#[test]
fn what_a_step_breaks_is_an_effect_of_it() {
    let mut cluster = Cluster::new(dynamic());
    cluster.engine.outbox.violations = Violations::counting();
    cluster.engine.outbox.violations.add("a count is wrong".to_owned());
    let step = cluster.engine.step(Event::Timer { durable: FactNumber(0) }, cluster.now);
    let broken = |effect: &Effect| match effect {
        Effect::ReportBrokenInvariant(broken) => Some((broken.text.clone(), broken.times)),
        _ => None,
    };
    let found: Vec<_> = step.effects.iter().filter_map(broken).collect();
    assert_eq!(found, [("a count is wrong".to_owned(), 1)]);
    assert_eq!(step.effects_wait_for, FactNumber(0), "it waits for nothing");
}
