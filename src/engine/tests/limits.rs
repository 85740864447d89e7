//! Limits that fail a job, or keep it from being taken in.

use crate::engine::{Caller, Event, Fact, Refusal};
use crate::mapreduce::{AttemptRole, CountersExceeded, JobFact, JobSpec};
use crate::model::{Kind, PerKind, RunState};
use crate::wire::{Action, CleanupOutcome, Counters, ResourceStatus};

use super::cluster::{Cluster, Fate, fifo, spec};

fn failure(cluster: &Cluster, id: crate::model::JobId) -> String {
    cluster.engine.job_status(id).value.unwrap().failure_info.to_string()
}

#[test]
fn a_job_with_too_many_counters_fails_once_its_work_is_done() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.cluster.counter_limits.counters = 2;
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
    assert_eq!(ended.unwrap().to_counters(), Counters::default());
}

#[test]
fn a_job_whose_reduces_would_get_too_much_fails() {
    for (limit, end) in [(1_000, RunState::Failed), (2_000, RunState::Succeeded), (0, RunState::Succeeded)] {
        let mut cluster = Cluster::new(fifo());
        cluster.add_tracker("h0", 4, 1);
        // Twenty maps write 100 bytes each, for one reduce.
        let spec = JobSpec { reduce_input_limit_bytes: Some(limit), ..spec("alice", "default", 20, 1) };
        let id = cluster.submit(spec).unwrap();
        assert_eq!(cluster.run(id, |_| Fate::Succeed), end);
        if end == RunState::Failed {
            let text = "Job exceeded Reduce Input limit  Limit:  1000 Estimated: 2000";
            assert_eq!(failure(&cluster, id), text);
        }
    }
}

#[test]
fn maps_go_where_there_is_room_for_their_output() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    // Twice what a map has been seen to write, but for a byte.
    cluster.trackers[0].resources = ResourceStatus::of_space(199);
    cluster.trackers[1].resources = ResourceStatus::of_space(200);
    let id = cluster.submit(JobSpec { slowstart_millionths: 1_000_000, ..spec("alice", "default", 30, 1) }).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let launched = |kind: Kind, host: &str| {
        let on_host = cluster.facts.iter().filter(|fact| {
            matches!(fact, Fact::Job(JobFact::AttemptLaunched { attempt, role: AttemptRole::Work, tracker, .. })
                if attempt.task.kind == kind && tracker.contains(host))
        });
        on_host.count()
    };
    assert!((1..=4).contains(&launched(Kind::Map, "h0")), "only before three were done: {}", launched(Kind::Map, "h0"));
    assert_eq!(launched(Kind::Reduce, "h0") + launched(Kind::Reduce, "h1"), 1);
}

#[test]
fn memory_must_be_asked_for_and_no_more_than_there_may_be() {
    let mut cluster = Cluster::new(fifo());
    let asking =
        |map, reduce| JobSpec { map_memory_mb: map, reduce_memory_mb: reduce, ..spec("alice", "default", 1, 1) };
    cluster.submit(asking(None, Some(1 << 40))).expect("no limit is configured");
    cluster.engine.config.limits.max_task_memory_mb = Some(PerKind::new(2_048, 4_096));
    let mut refused = |map, reduce| match cluster.submit(asking(map, reduce)) {
        Err(Refusal::Invalid(text)) => text,
        other => panic!("{other:?}"),
    };
    let texts = [
        refused(None, Some(1_024)),
        refused(Some(1_024), None),
        refused(Some(2_049), Some(1_024)),
        refused(None, Some(4_097)),
    ];
    insta::assert_snapshot!(texts.join("\n"), @"
    job_202611210913_0002(-1 memForMapTasks 1024 memForReduceTasks): Invalid job requirements. mapred.job.map.memory.mb is not set, but mapred.cluster.max.map.memory.mb = 2048: set it to what one task needs, at most that
    job_202611210913_0003(1024 memForMapTasks -1 memForReduceTasks): Invalid job requirements. mapred.job.reduce.memory.mb is not set, but mapred.cluster.max.reduce.memory.mb = 4096: set it to what one task needs, at most that
    job_202611210913_0004(2049 memForMapTasks 1024 memForReduceTasks): Exceeds the cluster's max-memory-limit. mapred.job.map.memory.mb = 2049, mapred.cluster.max.map.memory.mb = 2048: set the first to at most that
    job_202611210913_0005(-1 memForMapTasks 4097 memForReduceTasks): Exceeds the cluster's max-memory-limit. mapred.job.reduce.memory.mb = 4097, mapred.cluster.max.reduce.memory.mb = 4096: set the first to at most that
    ");
    cluster.submit(asking(Some(2_048), Some(4_096))).expect("it is just what there may be");
}

#[test]
fn no_more_tasks_of_all_jobs_than_allowed_are_taken_in() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.limits.max_live_tasks = Some(20);
    let first = cluster.submit(spec("alice", "default", 6, 2)).expect("12 of 20");
    let refused = cluster.submit(spec("alice", "default", 5, 0)).unwrap_err();
    assert!(
        refused.to_string().ends_with(
            "has 9 tasks, and jobs that are not over have 12; the limit is 20 (jobtracker.max-tasks): try again when some \
             are over"
        ),
        "{refused}"
    );
    cluster.submit(spec("alice", "default", 4, 0)).expect("20 of 20");
    let caller = Caller::named(std::sync::Arc::from("alice"));
    cluster.step(Event::KillJob { id: first, caller });
    cluster.submit(spec("alice", "default", 6, 2)).expect("nothing of the first had begun, so it is over");
}

#[test]
fn no_more_tasks_than_allowed_are_taken_in() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.max_tasks_per_job = Some(3);
    cluster.submit(spec("alice", "default", 2, 1)).expect("setup and cleanup do not count");
    let refused = cluster.submit(spec("alice", "default", 2, 2)).unwrap_err();
    assert_eq!(refused.to_string(), "The number of tasks for this job 4 exceeds the configured limit 3");
}
