//! A stock tracker gets nothing in the slot of an attempt that it has just reported as killed: its JVM may still end.

use crate::engine::{Caller, Event, PolicyConfig};
use crate::fake_tracker::Role;
use crate::model::{AttemptId, JobId, Kind};
use crate::scheduler::FifoOptions;
use crate::wire::{Action, HeartbeatResponse};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

const ALICE: &str = "alice";

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn launched(answer: &HeartbeatResponse) -> usize {
    answer.actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count()
}

/// A job of six maps that runs two of them, in all slots of a tracker, beside another one that waits.
fn busy(policy: PolicyConfig, tracker: Option<&str>) -> (Cluster, JobId) {
    let mut cluster = Cluster::new(policy);
    cluster.add_tracker("h0", 2, 0);
    if let Some(name) = tracker {
        cluster.trackers[0].name = name.to_owned();
    }
    let [first, _] = [6, 2].map(|maps| cluster.submit(spec(ALICE, "default", maps, 0)).unwrap());
    for _ in 0..4 {
        cluster.pass_ms(100);
        cluster.beat(0, hang);
    }
    assert_eq!(working(&cluster).len(), 2);
    (cluster, first)
}

fn working(cluster: &Cluster) -> Vec<AttemptId> {
    cluster.trackers[0].attempts.iter().map(|attempt| attempt.id).collect()
}

fn kill_one(cluster: &mut Cluster) {
    let id = working(cluster)[0];
    cluster.step(Event::KillTask { id, fail: false, caller: Caller::named(ALICE) });
    let (answer, _) = cluster.beat(0, hang);
    assert_eq!(answer.actions, [Action::KillTask(id)]);
}

#[test]
fn the_slot_of_a_killed_attempt_stays_free_for_one_answer() {
    let (mut cluster, _) = busy(fifo(), None);
    kill_one(&mut cluster);
    assert_eq!(launched(&cluster.beat(0, hang).0), 0, "its JVM may still end");
    assert_eq!(launched(&cluster.beat(0, hang).0), 1);
}

/// Attempts of a job that is not known: their tracker is ordered to drop it, and reports them no more.
#[test]
fn so_do_those_of_a_dropped_job_which_its_tracker_reports_no_more() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 0);
    cluster.beat(0, hang);
    cluster.submit(spec(ALICE, "default", 6, 0)).unwrap();
    let dropped: JobId = "job_202611210913_0099".parse().unwrap();
    cluster.give_elsewhere(0, [0, 1].map(|map| dropped.task(Kind::Map, map).attempt(0)));
    let (answer, _) = cluster.beat(0, hang);
    assert_eq!((launched(&answer), working(&cluster).len()), (0, 0), "it has dropped them: {answer:?}");
    assert_eq!(launched(&cluster.beat(0, hang).0), 0, "their JVMs may still end");
    assert!(launched(&cluster.beat(0, hang).0) > 0);
}

#[test]
fn what_ended_by_itself_makes_room_at_once() {
    let (mut cluster, _) = busy(fifo(), None);
    let first = working(&cluster);
    for fate in [Fate::Fail, Fate::Succeed, Fate::Succeed, Fate::Succeed] {
        cluster.beat(0, |_| fate);
        assert_eq!(working(&cluster).len(), 2, "{fate:?}");
    }
    assert!(working(&cluster).iter().all(|id| !first.contains(id)));
}

#[test]
fn a_built_in_worker_has_its_slot_at_once_and_so_has_any_under_the_rules_of_the_original() {
    let compatible = PolicyConfig::Fifo(FifoOptions { compatible: true, ..FifoOptions::default() });
    let cases = [(fifo(), Some("tracker_h0:streaming_only/127.0.0.1:50060")), (compatible, None)];
    for (policy, tracker) in cases {
        let (mut cluster, _) = busy(policy, tracker);
        kill_one(&mut cluster);
        assert_eq!(launched(&cluster.beat(0, hang).0), 1, "{tracker:?}");
    }
}
