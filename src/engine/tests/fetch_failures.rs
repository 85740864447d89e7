//! Reduces that cannot fetch the output of maps.

use crate::engine::Fact;
use crate::fake_tracker::Role;
use crate::mapreduce::JobFact;
use crate::model::{AttemptId, AttemptState, JobId, Kind, RunState};
use crate::wire::{Action, CompletionStatus};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

const MAPS: usize = 0;
const REDUCES: usize = 1;
const OTHER_MAPS: usize = 2;

/// A job whose two maps are done on one tracker while its reduces run on another.
fn reducing(reduces: u32, max_attempts: u32) -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 0);
    cluster.add_tracker("h1", 0, 10);
    let mut spec = spec("alice", "default", 2, reduces);
    (spec.map_max_attempts, spec.max_map_failures_percent) = (max_attempts, 50);
    let id = cluster.submit(spec).unwrap();
    for _ in 0..6 {
        cluster.beat(MAPS, |_| Fate::Succeed);
        cluster.beat(REDUCES, hang);
    }
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.running.reduce, reduces);
    (cluster, id)
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

/// One of the reduces says that it could not fetch these maps.
fn complain(cluster: &mut Cluster, maps: &[AttemptId]) {
    let mut request = cluster.request(REDUCES);
    request.status.tasks[0].reduce.as_mut().unwrap().failed_fetches = maps.to_vec();
    let (_, wait_for) = cluster.send(REDUCES, request);
    assert_eq!(wait_for.0, cluster.facts.len() as u64, "the tracker says it only once");
}

fn statuses(cluster: &Cluster, id: JobId, attempt: AttemptId) -> Vec<CompletionStatus> {
    let events = cluster.engine.completion_events(id, 0, 100).value;
    events.iter().filter(|event| event.attempt == attempt).map(|event| event.status).collect()
}

#[test]
fn a_map_that_half_of_the_reduces_cannot_fetch_is_made_again() {
    let (mut cluster, id) = reducing(7, 4);
    let [first, second] = [0, 1].map(|map| id.task(Kind::Map, map).attempt(0));
    for _ in 0..3 {
        complain(&mut cluster, &[first, second]);
    }
    assert_eq!(statuses(&cluster, id, first), [CompletionStatus::Succeeded], "three of seven are too few");
    complain(&mut cluster, &[first]);
    use CompletionStatus as S;
    assert_eq!(statuses(&cluster, id, first), [S::Obsolete, S::Failed]);
    assert_eq!(statuses(&cluster, id, second), [S::Succeeded]);
    assert_eq!(cluster.engine.task_diagnostics(first).value, ["Too many fetch-failures"]);
    let ended = cluster.facts.iter().filter_map(|fact| match fact {
        Fact::Job(JobFact::AttemptEnded(ended)) if ended.attempt == first => Some(ended.state),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [AttemptState::Succeeded, AttemptState::Failed]);
    // It has failed on that host, and is tried on another that has slots for it.
    cluster.add_tracker("h2", 1, 0);
    let mut request = cluster.request(OTHER_MAPS);
    request.accept_new_tasks = false;
    cluster.send(OTHER_MAPS, request);
    cluster.beat(MAPS, |_| Fate::Succeed);
    assert!(cluster.trackers[MAPS].attempts.is_empty());
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(statuses(&cluster, id, id.task(Kind::Map, 0).attempt(1)), [S::Succeeded]);
}

/// A tracker that serves nothing more, while its heartbeats arrive: all its maps run again long before it would count as lost.
#[test]
fn maps_of_a_tracker_from_which_no_reduce_can_fetch_are_all_made_again() {
    let (mut cluster, id) = reducing(3, 4);
    let maps = [0, 1].map(|map| id.task(Kind::Map, map).attempt(0));
    let since_ms = cluster.now.mono_ms;
    for reduce in 0..3 {
        let mut request = cluster.request(REDUCES);
        request.status.tasks[reduce].reduce.as_mut().unwrap().failed_fetches = maps.to_vec();
        cluster.send(REDUCES, request);
    }
    use CompletionStatus as S;
    assert_eq!(maps.map(|map| statuses(&cluster, id, map)), [[S::Obsolete, S::Failed], [S::Obsolete, S::Failed]]);
    cluster.add_tracker("h2", 2, 0);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let again = [0, 1].map(|map| statuses(&cluster, id, id.task(Kind::Map, map).attempt(1)));
    assert_eq!(again, [[S::Succeeded], [S::Succeeded]]);
    assert!(cluster.now.mono_ms - since_ms < cluster.config.tracker_expiry_ms);
}

#[test]
fn the_failure_counts_against_the_limit_and_the_tracker_may_drop_the_output() {
    let (mut cluster, id) = reducing(1, 1);
    let map = id.task(Kind::Map, 0).attempt(0);
    for _ in 0..3 {
        complain(&mut cluster, &[map]);
    }
    use CompletionStatus as S;
    assert_eq!(statuses(&cluster, id, map), [S::Obsolete, S::TipFailed]);
    cluster.trackers[MAPS].outputs.remove(&map);
    let (response, _) = cluster.beat(MAPS, |_| Fate::Succeed);
    assert_eq!(response.actions, [Action::KillTask(map)]);
    let (response, _) = cluster.beat(MAPS, |_| Fate::Succeed);
    assert_eq!(response.actions, []);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded, "the job can live without it");
}

#[test]
fn complaints_about_what_is_no_map_of_the_job_are_nothing() {
    let (mut cluster, id) = reducing(1, 4);
    let other = JobId { number: 99, ..id };
    let strange = [
        id.task(Kind::Map, 0).attempt(7),
        id.task(Kind::Map, -1).attempt(0),
        id.task(Kind::Map, 3).attempt(0),
        id.task(Kind::Reduce, 0).attempt(0),
        other.task(Kind::Map, 0).attempt(0),
    ];
    for _ in 0..5 {
        complain(&mut cluster, &strange);
    }
    assert!(cluster.engine.completion_events(id, 0, 100).value.iter().all(|e| e.status == CompletionStatus::Succeeded));
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}
