//! Second attempts for what is far behind.

use crate::engine::{Event, TaskReportKind};
use crate::mapreduce::{Job, JobSpec};
use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, RunState};
use crate::wire::{CompletionStatus, TipStatus};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

/// Selected work hangs; all other tasks succeed.
fn hangs(attempt: AttemptId) -> impl Fn(&FakeTask) -> Fate + Copy {
    move |task| if task.id == attempt { Fate::Hang } else { Fate::Succeed }
}

fn job(cluster: &Cluster, id: JobId) -> &Job {
    cluster.engine.jobs.get(id).unwrap()
}

fn attempts(cluster: &Cluster, id: JobId, kind: Kind, number: u32) -> Vec<AttemptState> {
    let job = job(cluster, id);
    let key = job.key_of(id.task(kind, number as i32)).unwrap();
    job.task(key).attempts.iter().map(|attempt| attempt.state).collect()
}

/// Rings the timer when the engine wants it, and lets these trackers call twice a second.
fn pass(cluster: &mut Cluster, half_seconds: u64, callers: &[usize], fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..half_seconds {
        cluster.pass_ms(500);
        if cluster.engine.next_timer_ms().is_some_and(|due| due <= cluster.now.mono_ms) {
            cluster.timer();
        }
        for index in callers {
            cluster.beat(*index, &fate);
        }
    }
}

fn started(spec: JobSpec) -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    let id = cluster.submit(spec).unwrap();
    (cluster, id)
}

#[test]
fn a_frozen_map_is_overtaken_after_a_minute_and_its_first_attempt_cleaned_away() {
    let (mut cluster, id) = started(spec("alice", "default", 4, 0));
    let frozen = id.task(Kind::Map, 0).attempt(0);
    pass(&mut cluster, 119, &[0, 1], hangs(frozen));
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [AttemptState::Running]);
    assert_eq!(job(&cluster, id).pending(), PerKind::default());
    pass(&mut cluster, 1, &[0, 1], hangs(frozen));
    use AttemptState as S;
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Running, S::Unassigned], "exactly a minute after submission");
    assert_eq!(job(&cluster, id).pending(), PerKind::default(), "a second attempt is no demand");
    let reports = cluster.engine.task_reports(id, TaskReportKind::Work(Kind::Map)).value;
    let hanging = reports.iter().find(|report| report.task == frozen.task).unwrap();
    assert_eq!(hanging.status, TipStatus::Running(vec![frozen, id.task(Kind::Map, 0).attempt(1)]));
    let on = |cluster: &Cluster, index: usize| cluster.trackers[index].attempts.iter().any(|t| t.id == frozen);
    let first = usize::from(on(&cluster, 1));
    assert!(!on(&cluster, 1 - first));
    assert_eq!(cluster.trackers[1 - first].attempts.len(), 1, "on the other tracker");

    assert_eq!(cluster.run(id, hangs(frozen)), RunState::Succeeded);
    let events = cluster.engine.completion_events(id, 0, 100).value;
    let of_map: Vec<_> = events
        .iter()
        .filter(|event| event.is_map && event.id_within_job == 0)
        .map(|event| (event.attempt.number, event.status))
        .collect();
    assert_eq!(of_map[0], (1, CompletionStatus::Succeeded));
    assert!(of_map[1..].iter().all(|event| *event == (0, CompletionStatus::Killed)));
    let counters = cluster.engine.job_counters(id).value.unwrap().unwrap();
    let of_tasks = counters.groups.iter().find(|group| &*group.name == "records").unwrap();
    assert_eq!(of_tasks.counters[0].value, 40, "the loser's are not added");
    for _ in 0..4 {
        (0..2).for_each(|index| drop(cluster.beat(index, |_| Fate::Succeed)));
    }
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.running.map, 0);
}

#[test]
fn the_loser_is_cleaned_away_while_its_job_runs_on() {
    let (mut cluster, id) = started(spec("alice", "default", 4, 1));
    let frozen = id.task(Kind::Map, 0).attempt(0);
    let fate = |task: &FakeTask| match task.id.task.kind {
        Kind::Reduce => Fate::Hang,
        Kind::Map => hangs(frozen)(task),
    };
    pass(&mut cluster, 130, &[0, 1], fate);
    use AttemptState as S;
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Killed, S::Succeeded]);
    assert_eq!(job(&cluster, id).finished().map, 4);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_silent_tracker_is_overtaken_although_no_report_of_the_job_comes() {
    let (mut cluster, id) = started(spec("alice", "default", 2, 0));
    let frozen = id.task(Kind::Map, 0).attempt(0);
    pass(&mut cluster, 20, &[0, 1], hangs(frozen));
    let silent = usize::from(cluster.trackers[1].attempts.iter().any(|task| task.id == frozen));
    pass(&mut cluster, 99, &[1 - silent], hangs(frozen));
    assert_eq!(attempts(&cluster, id, Kind::Map, 0).len(), 1);
    pass(&mut cluster, 6, &[1 - silent], hangs(frozen));
    use AttemptState as S;
    assert_eq!(cluster.state(id), RunState::Succeeded);
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Killed, S::Succeeded], "what outlives its job ends with it");
    // The other comes back after its job is over, and may say what it likes.
    cluster.beat(silent, |_| Fate::Succeed);
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Killed, S::Succeeded]);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_reduce_is_overtaken_too_and_only_one_commits() {
    let (mut cluster, id) = started(spec("alice", "default", 1, 2));
    let frozen = id.task(Kind::Reduce, 0).attempt(0);
    pass(&mut cluster, 140, &[0, 1], hangs(frozen));
    assert_eq!(attempts(&cluster, id, Kind::Reduce, 0)[1], AttemptState::Succeeded);
    assert_eq!(cluster.run(id, hangs(frozen)), RunState::Succeeded);
}

#[test]
fn who_is_not_asked_for_it_or_not_far_behind_gets_no_second_attempt() {
    for (maps, speculative) in [(4, false), (1, true)] {
        // A lone map is never behind itself.
        let spec = JobSpec { speculative: PerKind::new(speculative, true), ..spec("alice", "default", maps, 0) };
        let (mut cluster, id) = started(spec);
        let frozen = id.task(Kind::Map, 0).attempt(0);
        pass(&mut cluster, 400, &[0, 1], hangs(frozen));
        assert_eq!(attempts(&cluster, id, Kind::Map, 0), [AttemptState::Running]);
    }
}

#[test]
fn there_is_no_third_attempt_and_none_where_one_runs() {
    let (mut cluster, id) = started(spec("alice", "default", 4, 0));
    let stuck = |task: &FakeTask| match task.id.task.number {
        0 => Fate::Hang,
        _ => Fate::Succeed,
    };
    pass(&mut cluster, 119, &[0, 1], stuck);
    let first = usize::from(cluster.trackers[1].attempts.len() == 1);
    pass(&mut cluster, 20, &[first], stuck);
    assert_eq!(attempts(&cluster, id, Kind::Map, 0).len(), 1, "only its own tracker has called");
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.waiting.map, 1);
    pass(&mut cluster, 100, &[0, 1], stuck);
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [AttemptState::Running, AttemptState::Running]);
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.waiting.map, 0);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

/// A cluster of which only the tracker `first` calls, at work on the map of four that is frozen and for which a second attempt is asked.
fn asked() -> (Cluster, AttemptId, usize, JobId) {
    let (mut cluster, id) = started(spec("alice", "default", 4, 0));
    let frozen = id.task(Kind::Map, 0).attempt(0);
    pass(&mut cluster, 119, &[0, 1], hangs(frozen));
    let first = usize::from(cluster.trackers[1].attempts.len() == 1);
    pass(&mut cluster, 2, &[first], hangs(frozen));
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.waiting.map, 1);
    (cluster, frozen, first, id)
}

#[test]
fn what_catches_up_is_asked_for_no_more() {
    let (mut cluster, _, first, id) = asked();
    cluster.beat(first, |_| Fate::Succeed);
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.waiting.map, 0);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn the_winner_may_lose_its_output_while_the_loser_still_runs() {
    let (mut cluster, id) = started(spec("alice", "default", 4, 1));
    let frozen = id.task(Kind::Map, 0).attempt(0);
    let fate = |task: &FakeTask| match task.id.task.kind {
        Kind::Reduce => Fate::Hang,
        Kind::Map => hangs(frozen)(task),
    };
    pass(&mut cluster, 119, &[0, 1], fate);
    let first = usize::from(cluster.trackers[1].attempts.iter().any(|task| task.id == frozen));
    pass(&mut cluster, 4, &[1 - first], fate);
    use AttemptState as S;
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Running, S::Succeeded]);
    cluster.restart(1 - first);
    cluster.beat(1 - first, fate);
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Running, S::Killed], "no third one: the first still runs");
    cluster.beat(first, |_| Fate::Succeed);
    assert_eq!(attempts(&cluster, id, Kind::Map, 0), [S::Succeeded, S::Killed]);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_job_that_ends_asks_for_nothing_more() {
    let (mut cluster, frozen, _, id) = asked();
    cluster.step(Event::KillJob { id, caller: crate::engine::Caller::named("alice") });
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.waiting.map, 0);
    assert_eq!(cluster.run(id, hangs(frozen)), RunState::Killed);
}
