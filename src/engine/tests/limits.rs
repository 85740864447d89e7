//! Limits that fail a job, or keep it from being taken in.

use super::cluster::{Cluster, Fate, fifo, spec};
use crate::engine::Fact;
use crate::mapreduce::{CountersExceeded, JobFact};
use crate::wire::{Action, CleanupOutcome, Counters, RunState};

fn failure(cluster: &Cluster, id: crate::wire::JobId) -> String {
    cluster.engine.job_status(id).value.unwrap().failure_info.to_string()
}

#[test]
fn a_job_with_too_many_counters_fails_once_its_work_is_done() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.limits.counters.counters = 2;
    cluster.add_tracker("h0", 4, 1);
    let id = cluster.submit(spec("alice", "default", 2, 1)).unwrap();
    // Both maps are done.
    while cluster.trackers[0].outputs.len() < 2 {
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(id), RunState::Running, "until its reduce is done too");
    assert_eq!(failure(&cluster, id), "NA");
    let exceeded = Err(CountersExceeded::Counters { limit: 2 });
    assert_eq!(cluster.engine.job_counters(id).value, exceeded);
    let mut outcome = None;
    for _ in 0..10 {
        for action in cluster.beat(0, |_| Fate::Succeed).0.actions {
            if let Action::LaunchTask(task) = action {
                outcome = task.job_cleanup.or(outcome);
            }
        }
    }
    assert_eq!(outcome, Some(CleanupOutcome::Failed), "its output is not committed");
    assert_eq!(cluster.state(id), RunState::Failed);
    assert_eq!(failure(&cluster, id), "Counters Exceeded: Limit: 2");
    assert_eq!(cluster.engine.job_counters(id).value, exceeded);
    let ended = cluster.facts.iter().rev().find_map(|fact| match fact {
        Fact::Job(JobFact::Ended { counters, .. }) => Some(counters.clone()),
        _ => None,
    });
    assert_eq!(*ended.unwrap(), Counters::default());
}
