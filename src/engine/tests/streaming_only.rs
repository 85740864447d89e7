//! Trackers that run only Hadoop Streaming are given no other jobs.

use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::RunState;
use crate::wire::{Action, HeartbeatResponse, STREAMING_ONLY};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

const REASON: &str = "mapred.mapper.class is \"a.B\"";

fn launches(response: &HeartbeatResponse) -> usize {
    response.actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count()
}

/// A cluster of one built-in tasktracker and one stock one.
fn both() -> Cluster {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    cluster.trackers[0].name = format!("tracker_h0:{STREAMING_ONLY}/127.0.0.1:50060");
    cluster.add_tracker("h1", 2, 2);
    cluster
}

#[test]
fn only_stock_trackers_are_given_what_only_they_can_run() {
    let mut cluster = both();
    cluster.beat(0, |_| Fate::Hang);
    let id = cluster.submit(JobSpec { only_stock: Some(REASON.to_owned()), ..spec("u", "default", 4, 1) }).unwrap();
    for _ in 0..3 {
        assert_eq!(launches(&cluster.beat(0, |_| Fate::Succeed).0), 0, "not even its setup");
    }
    let explained = cluster.engine.explain(id, false, cluster.now).value.unwrap().finish();
    let explained: Vec<String> = explained.why.iter().map(ToString::to_string).collect();
    assert_eq!(explained[0], format!("the only connected worker cannot run it: {REASON}"));
    for _ in 0..40 {
        assert_eq!(launches(&cluster.beat(0, |_| Fate::Succeed).0), 0);
        cluster.beat(1, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(id), RunState::Succeeded);
}

#[test]
fn streaming_jobs_run_on_both() {
    let mut cluster = both();
    cluster.beat(0, |_| Fate::Hang);
    let id = cluster.submit(spec("u", "default", 4, 1)).unwrap();
    let mut launched = 0;
    for _ in 0..40 {
        launched += launches(&cluster.beat(0, |_| Fate::Succeed).0);
    }
    assert_eq!(launched, 7, "setup, maps, the reduce and the cleanup");
    assert_eq!(cluster.state(id), RunState::Succeeded);
    let explained = cluster.engine.explain(id, false, cluster.now).value.unwrap().finish();
    assert!(explained.why.iter().all(|why| !why.to_string().contains("built-in")));
}

#[test]
fn a_map_that_failed_on_every_stock_host_runs_there_again() {
    let mut cluster = both();
    cluster.beat(0, |_| Fate::Hang);
    let id = cluster.submit(JobSpec { only_stock: Some(REASON.to_owned()), ..spec("u", "default", 1, 0) }).unwrap();
    for _ in 0..40 {
        cluster.beat(0, |_| Fate::Succeed);
        let fails = |task: &FakeTask| task.role != Role::Housekeeping && task.id.number == 0;
        cluster.beat(1, |task| if fails(task) { Fate::Fail } else { Fate::Succeed });
    }
    assert_eq!(cluster.state(id), RunState::Succeeded);
}
