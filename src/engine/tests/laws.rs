//! Laws over random clusters, jobs and faults: every job ends, no attempt is launched twice, no slot leaks, the same
//! events give the same facts. What else must always hold is asserted by the cluster itself at every step.

use proptest::prelude::*;

use crate::engine::{Caller, Event};
use crate::mapreduce::JobSpec;
use crate::model::RunState;

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

const HOSTS: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "h5"];

#[derive(Clone, Debug)]
enum Operation {
    Beat(usize),
    LoseAnswer(usize),
    Restart(usize),
    Kill(usize),
    Pass(u16),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        20 => (0..HOSTS.len()).prop_map(Operation::Beat),
        2 => (0..HOSTS.len()).prop_map(Operation::LoseAnswer),
        1 => (0..HOSTS.len()).prop_map(Operation::Restart),
        1 => (0..3_usize).prop_map(Operation::Kill),
        3 => any::<u16>().prop_map(Operation::Pass),
    ];
    prop::collection::vec(operation, 0..120)
}

/// Fails the first attempts of some tasks, in a way that depends on the ids alone.
fn fate(task: &FakeTask) -> Fate {
    let salt = task.id.task.number * 7 + task.id.task.job.number * 3 + task.id.number;
    match salt % 5 {
        _ if task.id.number > 2 => Fate::Succeed,
        0 => Fate::Fail,
        1 => Fate::FailUnclean,
        _ => Fate::Succeed,
    }
}

fn play(operations: &[Operation]) -> (Vec<RunState>, String) {
    let mut cluster = Cluster::new(fifo());
    for host in HOSTS {
        cluster.add_tracker(host, 2, 1);
    }
    // So many that some hosts may be avoided, by jobs that are quick to do so.
    let mut submit = |maps, reduces, max_tracker_failures| {
        let spec = JobSpec { max_tracker_failures, ..spec("alice", "default", maps, reduces) };
        cluster.submit(spec).unwrap()
    };
    let jobs = [submit(3, 1, 1), submit(9, 2, 2), submit(1, 0, 4)];
    for operation in operations {
        match operation {
            Operation::Beat(index) => {
                cluster.beat(*index, fate);
            }
            Operation::LoseAnswer(index) => cluster.beat_unanswered(*index, fate),
            Operation::Restart(index) => cluster.restart(*index),
            Operation::Kill(index) => {
                let caller = Caller::named("alice");
                cluster.step(Event::KillJob { id: jobs[*index], caller });
            }
            Operation::Pass(ms) => {
                cluster.pass_ms(u64::from(*ms));
                cluster.timer();
            }
        }
    }
    let ends = jobs.iter().map(|id| cluster.run(*id, fate)).collect();
    // Everyone learns of the end; then no slot is held and no demand is left.
    for _ in 0..3 {
        for index in 0..HOSTS.len() {
            cluster.beat(index, fate);
        }
    }
    let overview = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((overview.running.map, overview.running.reduce), (0, 0), "a slot leaked");
    assert_eq!((overview.waiting.map, overview.waiting.reduce), (0, 0), "demand leaked");
    (ends, format!("{:?}", cluster.facts))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_job_ends_and_nothing_leaks(operations in operations()) {
        let (ends, facts) = play(&operations);
        prop_assert!(ends.iter().all(|end| matches!(end, RunState::Succeeded | RunState::Failed | RunState::Killed)));
        prop_assert_eq!(facts, play(&operations).1, "same events, same decisions");
    }
}
