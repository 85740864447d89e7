//! Launches that their trackers never begin with.

use crate::engine::Event;
use crate::fake_tracker::Role;
use crate::model::{AttemptId, FactNumber, JobId, Kind, RunState};
use crate::wire::{Action, CompletionStatus};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

/// Beats until the attempt has been given to the tracker.
fn until_given(cluster: &mut Cluster, index: usize, attempt: AttemptId, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..20 {
        if cluster.trackers[index].attempts.iter().any(|task| task.id == attempt) {
            return;
        }
        cluster.beat(index, &fate);
    }
    panic!("{attempt} was not launched");
}

/// Both call twice a second for so long, and the timer rings.
fn pass(cluster: &mut Cluster, seconds: u64, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..seconds * 2 {
        cluster.pass_ms(500);
        for index in 0..cluster.trackers.len() {
            cluster.beat(index, &fate);
        }
        cluster.timer();
    }
}

fn statuses(cluster: &Cluster, id: JobId, attempt: AttemptId) -> Vec<CompletionStatus> {
    let events = cluster.engine.completion_events(id, 0, 100).value;
    events.iter().filter(|event| event.attempt == attempt).map(|event| event.status).collect()
}

#[test]
fn an_attempt_that_never_starts_has_failed_after_the_expiry_interval_and_is_tried_elsewhere() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    let lingers = |task: &FakeTask| if task.id == attempt { Fate::Linger } else { Fate::Succeed };
    until_given(&mut cluster, 0, attempt, lingers);
    cluster.add_tracker("h1", 1, 1);
    pass(&mut cluster, 595, lingers);
    assert_eq!(statuses(&cluster, id, attempt), []);
    pass(&mut cluster, 210, lingers);
    assert_eq!(statuses(&cluster, id, attempt), [CompletionStatus::Failed]);
    assert_eq!(cluster.engine.task_diagnostics(attempt).value, ["Error launching task"]);
    assert_eq!(cluster.state(id), RunState::Succeeded);
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.running.map, 0);
}

#[test]
fn what_has_begun_may_take_its_time_and_so_may_what_the_store_holds_back() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    until_given(&mut cluster, 0, attempt, |_| Fate::Succeed);
    // The store has none of it yet; and when it has, the tracker still has to call.
    let none = FactNumber(0);
    for _ in 0..4 {
        cluster.pass_ms(250_000);
        cluster.step(Event::Timer { durable: none });
    }
    cluster.pass_ms(200_001);
    cluster.timer();
    assert_eq!(statuses(&cluster, id, attempt), []);
    let hangs = |task: &FakeTask| if task.id == attempt { Fate::Hang } else { Fate::Succeed };
    pass(&mut cluster, 1_500, hangs);
    assert_eq!(statuses(&cluster, id, attempt), []);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_task_cleanup_that_never_starts_makes_a_failure_of_its_attempt() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    let fate = |task: &FakeTask| if task.id == attempt { Fate::FailUnclean } else { Fate::Succeed };
    while !cluster.trackers[0].attempts.iter().any(|task| task.role == Role::TaskCleanup) {
        cluster.beat(0, fate);
    }
    // Any word of a task-cleanup is one of its start: the tracker says none.
    cluster.trackers[0].attempts.clear();
    pass(&mut cluster, 810, fate);
    assert_eq!(statuses(&cluster, id, attempt), [CompletionStatus::Failed]);
    assert_eq!(cluster.state(id), RunState::Succeeded);
}

#[test]
fn the_attempt_that_fails_its_task_is_killed() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let mut spec = spec("alice", "default", 2, 0);
    (spec.map_max_attempts, spec.max_map_failures_percent) = (1, 50);
    let id = cluster.submit(spec).unwrap();
    let attempt = id.task(Kind::Map, 0).attempt(0);
    let fate = |task: &FakeTask| match task.id.task.number {
        0 => Fate::Linger,
        1 => Fate::Hang,
        _ => Fate::Succeed,
    };
    until_given(&mut cluster, 0, attempt, fate);
    cluster.trackers[0].attempts.retain(|task| task.id != attempt);
    let mut kills = 0;
    for _ in 0..820 {
        cluster.pass_ms(1_000);
        cluster.timer();
        let (response, _) = cluster.beat(0, fate);
        kills += response.actions.iter().filter(|action| **action == Action::KillTask(attempt)).count();
    }
    assert_eq!(statuses(&cluster, id, attempt), [CompletionStatus::TipFailed]);
    assert_eq!(kills, 1);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}
