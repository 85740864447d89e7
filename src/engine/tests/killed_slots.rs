//! A stock tracker gets nothing in the slot of an attempt that it has just reported as killed: its JVM may still end.

use crate::engine::{Caller, Event};
use crate::fake_tracker::Role;
use crate::model::{AttemptId, JobId};
use crate::scheduler::FifoOptions;
use crate::wire::{Action, HeartbeatResponse};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};
use crate::engine::PolicyConfig;

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

#[test]
fn so_do_those_of_a_killed_job_which_its_tracker_reports_no_more() {
    let (mut cluster, first) = busy(fifo(), None);
    cluster.step(Event::KillJob { id: first, caller: Caller::named(ALICE) });
    let mut launches = Vec::new();
    for _ in 0..6 {
        let before = working(&cluster).len();
        let answer = cluster.beat(0, hang).0;
        launches.push((before, launched(&answer)));
    }
    let freed = launches.windows(2).position(|pair| pair[1].0 < pair[0].0).unwrap();
    assert_eq!(launches[freed + 1].1, 0, "{launches:?}");
    assert!(launches[freed + 2].1 > 0, "{launches:?}");
}

#[test]
fn what_ended_by_itself_makes_room_at_once() {
    let (mut cluster, _) = busy(fifo(), None);
    assert_eq!(launched(&cluster.beat(0, |_| Fate::Succeed).0), 2);
    assert_eq!(launched(&cluster.beat(0, |_| Fate::Fail).0), 2);
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
