//! Racks of more than one level (`mapred.task.cache.levels`): what counts as near, counters, hosts with too few levels.

use crate::engine::{Effect, EngineConfig, Event};
use crate::model::{JobId, RunState};
use crate::scheduler::CacheLevels;

use super::cluster::{Cluster, Fate, config, fifo, spec};

const SERVER: &str = "org.apache.hadoop.mapred.JobInProgress$Counter";

/// A cluster of so many levels, with these hosts in their racks. Input is on h0 and h1, in `/d1/r1`.
fn cluster(levels: usize, hosts: &[(&str, &str)]) -> Cluster {
    let mut cluster = Cluster::of(EngineConfig { cache_levels: CacheLevels::new(levels), ..config(fifo()) });
    "/d1/r1".clone_into(&mut cluster.rack);
    for (host, rack) in hosts {
        let index = cluster.add_tracker(host, 2, 1);
        cluster.beat(index, |_| Fate::Succeed);
        cluster.step(Event::RackResolved { host: (*host).into(), rack: (*rack).to_owned() });
    }
    cluster
}

/// Data-local, rack-local and other local maps of a job.
fn locality(cluster: &Cluster, id: JobId) -> [i64; 3] {
    let counters = cluster.engine.job_counters(id).value.unwrap().unwrap();
    let group = counters.groups.iter().find(|group| &*group.name == SERVER).unwrap();
    ["DATA_LOCAL_MAPS", "RACK_LOCAL_MAPS", "OTHER_LOCAL_MAPS"]
        .map(|name| group.counters.iter().find(|counter| &*counter.name == name).map_or(0, |counter| counter.value))
}

/// What four maps count as on one tracker on this host.
fn counted(levels: usize, host: &str, rack: &str) -> [i64; 3] {
    let mut cluster = cluster(levels, &[(host, rack)]);
    let id = cluster.submit(spec("alice", "default", 4, 0)).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    locality(&cluster, id)
}

#[test]
fn maps_count_as_what_the_levels_reach() {
    let in_rack = [0, 4, 0];
    assert_eq!([1, 2, 3].map(|levels| counted(levels, "x", "/d1/r1")), [[0; 3], in_rack, in_rack]);
    assert_eq!([1, 2, 3, 4].map(|levels| counted(levels, "x", "/d1/r2")), [[0; 3], [0; 3], [0, 0, 4], [0, 0, 4]]);
    assert_eq!(counted(3, "x", "/d2/r1"), [0; 3]);
    assert_eq!(counted(3, "h0", "/d1/r1"), [2, 2, 0], "two maps have their input on h1");
}

#[test]
fn the_same_counts_after_a_restart() {
    let mut cluster = cluster(3, &[("x", "/d1/r2")]);
    let id = cluster.submit(spec("alice", "default", 4, 0)).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let restored = crate::store::loaded_after(&cluster.facts).restored();
    let again = crate::engine::Engine::new(cluster.config.clone(), restored, cluster.now);
    assert_eq!(again.job_counters(id).value.unwrap().unwrap(), cluster.engine.job_counters(id).value.unwrap().unwrap());
}

#[test]
fn a_host_with_too_few_levels_is_far_and_is_named_once() {
    let lines = |cluster: &Cluster| {
        let line = |effect: &Effect| match effect {
            Effect::Log { text, .. } if text.contains("mapred.task.cache.levels") => Some(text.clone()),
            _ => None,
        };
        cluster.effects.iter().filter_map(line).collect::<Vec<_>>()
    };
    let mut cluster = cluster(3, &[("shallow", "/default-rack"), ("deep", "/d1/r9")]);
    let text = "host shallow is in /default-rack, but mapred.task.cache.levels is 3: expected a path of 2 names from \
                topology.script.file.name; the host counts as far from all outside /default-rack";
    assert_eq!(lines(&cluster), [text]);
    let index = cluster.add_tracker("shallow", 2, 1);
    cluster.beat(index, |_| Fate::Succeed);
    cluster.step(Event::RackResolved { host: "shallow".into(), rack: "/default-rack".to_owned() });
    assert_eq!(lines(&cluster).len(), 1);
    let id = cluster.submit(spec("alice", "default", 4, 0)).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded, "the daemon continues");
    assert_eq!(counted(3, "shallow", "/default-rack"), [0; 3]);
}
