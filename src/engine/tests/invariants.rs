//! Each sum that the engine keeps is compared with a recount, and what is broken comes out as an effect.

use crate::engine::{Effect, Event};
use crate::model::{FactNumber, Violations};

use super::cluster::{Cluster, Fate, dynamic, spec};

/// A cluster with a running job, that counts what it finds broken.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new(super::cluster::fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.submit(spec("alice", "default", 4, 1)).unwrap();
    (0..4).for_each(|_| drop(cluster.beat(0, |task| if task.setup_or_cleanup { Fate::Succeed } else { Fate::Hang })));
    cluster.engine.invariants.violations = Violations::counting();
    cluster
}

fn texts(cluster: &mut Cluster) -> Vec<String> {
    cluster.engine.check_whole_state();
    cluster.engine.invariants.violations.take().into_iter().map(|broken| broken.text).collect()
}

#[test]
fn a_sound_state_breaks_nothing() {
    assert_eq!(texts(&mut cluster()), [""; 0]);
}

#[test]
fn each_wrong_sum_is_found() {
    type Damage = fn(&mut Cluster);
    let damages: [(Damage, &str); 7] = [
        (|cluster| cluster.engine.live_job_count += 1, "1 jobs are unfinished, 2 are counted"),
        (|cluster| cluster.engine.live_jobs.clear(), "1 jobs are unfinished, 0 are in queues"),
        (|cluster| cluster.engine.live_tasks += 1, "unfinished jobs have "),
        (
            |cluster| assert!(cluster.engine.running_jobs.insert("job_1_0001".parse().unwrap())),
            "job_1_0001 counts as running",
        ),
        (|cluster| cluster.engine.busy_slots.map += 1, "trackers report 2 busy Map slots, the sum is 3"),
        (
            |cluster| {
                let (app, node) = (cluster.engine.jobs.iter().next().unwrap().app, cluster.engine.trackers["h0"].node);
                cluster.engine.scheduler.add_running(app, crate::model::Kind::Map, node);
            },
            "job_202611210913_0001 holds PerKind { map: 2, reduce: 0 } slots",
        ),
        (
            |cluster| {
                let host = cluster.engine.scheduler.topology_mut().intern_host("h0", "/default-rack");
                cluster.engine.scheduler.set_slots(cluster.engine.trackers["h0"].node, Default::default());
                let other = cluster.engine.scheduler.add_node(host, Default::default());
                let app = cluster.engine.jobs.iter().next().unwrap().app;
                cluster.engine.scheduler.add_running(app, crate::model::Kind::Map, other);
                cluster.engine.scheduler.remove_running(
                    app,
                    crate::model::Kind::Map,
                    cluster.engine.trackers["h0"].node,
                );
            },
            "PerKind { map: 2, reduce: 0 } attempts run on node 1, the scheduler counts PerKind { map: 1, reduce: 0 }",
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
    cluster.engine.invariants.violations = Violations::counting();
    cluster.engine.invariants.violations.add("a count is wrong".to_owned());
    let step = cluster.engine.step(Event::Timer { durable: FactNumber(0) }, cluster.now);
    let broken = |effect: &Effect| match effect {
        Effect::ReportBrokenInvariant(broken) => Some((broken.text.clone(), broken.times)),
        _ => None,
    };
    let found: Vec<_> = step.effects.iter().filter_map(broken).collect();
    assert_eq!(found, [("a count is wrong".to_owned(), 1)]);
    assert_eq!(step.effects_wait_for, FactNumber(0), "it waits for nothing");
}
