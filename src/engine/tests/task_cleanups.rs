//! Attempts that leave something behind, and the runs that remove it.

use crate::engine::{Caller, Event, Fact, Reply};
use crate::fake_tracker::Role;
use crate::mapreduce::{AttemptRole, JobFact};
use crate::model::{AttemptId, AttemptState, Kind, RunState};
use crate::wire::{Action, HeartbeatRequest};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

fn ends_of(cluster: &Cluster, attempt: AttemptId) -> Vec<AttemptState> {
    let end = |fact: &Fact| match fact {
        Fact::Job(JobFact::AttemptEnded(ended)) if ended.attempt == attempt => Some(ended.state),
        _ => None,
    };
    cluster.facts.iter().filter_map(end).collect()
}

fn first_fails_unclean(task: &FakeTask) -> Fate {
    match task.id.number {
        0 if task.role != Role::Housekeeping => Fate::FailUnclean,
        _ => Fate::Succeed,
    }
}

/// Beats until the cleaning up after map 0 runs on the tracker.
fn until_cleaning(cluster: &mut Cluster, index: usize, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..20 {
        if cluster.trackers[index].attempts.iter().any(|task| task.role == Role::TaskCleanup) {
            return;
        }
        cluster.beat(index, &fate);
    }
    panic!("no task-cleanup was launched");
}

#[test]
fn a_task_cleanup_that_is_lost_while_its_job_ends_is_over() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    until_cleaning(&mut cluster, 0, first_fails_unclean);
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    cluster.pass_ms(2_000_000);
    cluster.timer();
    assert_eq!(ends_of(&cluster, attempt), [AttemptState::FailedUnclean, AttemptState::Failed]);
    cluster.trackers.clear();
    cluster.add_tracker("h1", 1, 1);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Killed);
}

#[test]
fn setups_and_cleanups_need_no_cleaning_up() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let end = cluster.run(id, |task| match task.id.number {
        0 if task.role == Role::Housekeeping => Fate::FailUnclean,
        _ => Fate::Succeed,
    });
    assert_eq!(end, RunState::Succeeded);
    let is_task_cleanup =
        |fact: &Fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::TaskCleanup, .. }));
    assert!(!cluster.facts.iter().any(is_task_cleanup));
    for setup_or_cleanup in [1, 2] {
        let attempt = id.task(Kind::Map, setup_or_cleanup).attempt(0);
        assert_eq!(ends_of(&cluster, attempt), [AttemptState::Failed]);
    }
}

#[test]
fn a_users_wish_ends_the_attempt_and_a_second_one_its_cleanup() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    let hang = |task: &FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    for _ in 0..5 {
        cluster.beat(0, hang);
    }
    let ask = |cluster: &mut Cluster| {
        let caller = Caller::named("alice");
        matches!(cluster.step(Event::KillTask { id: attempt, fail: false, caller }).0, Reply::Boolean(true))
    };
    assert!(ask(&mut cluster));
    until_cleaning(&mut cluster, 0, hang);
    // It runs on, undisturbed by the wish that was granted.
    let request = cluster.request(0);
    let (response, _) = cluster.send(0, request);
    assert_eq!(response.actions, []);
    assert!(ask(&mut cluster));
    let request = cluster.request(0);
    let (response, _) = cluster.send(0, request);
    assert_eq!(response.actions, [Action::KillTask(attempt)]);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(ends_of(&cluster, attempt), [AttemptState::KilledUnclean, AttemptState::Killed]);
}

#[test]
fn a_wish_to_end_a_cleaning_up_is_lost_with_it() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.add_tracker("h1", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    until_cleaning(&mut cluster, 0, first_fails_unclean);
    let request = cluster.request(0);
    cluster.send(0, request);
    let caller = Caller::named("alice");
    let wish = Event::KillTask { id: attempt, fail: false, caller };
    assert!(matches!(cluster.step(wish).0, Reply::Boolean(true)));
    // The tracker that cleaned up expires, and with it what was to be killed there.
    for _ in 0..2 {
        cluster.pass_ms(400_000);
        let request = HeartbeatRequest { accept_new_tasks: false, ..cluster.request(1) };
        cluster.send(1, request);
    }
    cluster.timer();
    cluster.crash(1_000, |_| Fate::Hang);
    until_cleaning(&mut cluster, 1, first_fails_unclean);
    let request = cluster.request(1);
    assert_eq!(cluster.send(1, request).0.actions, [], "the next one runs on");
    cluster.crash(1_000, |_| Fate::Hang);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(ends_of(&cluster, attempt), [AttemptState::FailedUnclean, AttemptState::Failed]);
}
