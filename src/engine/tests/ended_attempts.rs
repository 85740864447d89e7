//! A finished job has no live attempt: what outlives it ends with it, as facts, and holds its slots until KILL_JOB has come.

use std::collections::BTreeMap;

use crate::engine::{Caller, Event, Fact};
use crate::fake_tracker::Role;
use crate::mapreduce::JobFact;
use crate::model::{AttemptId, AttemptState, JobId, RunState};

use super::cluster::{Cluster, Fate, fifo, spec};
use super::crash::restored;

/// The last end of each launched attempt of a job, by the facts, and when it was.
fn ends(cluster: &Cluster, job: JobId) -> BTreeMap<AttemptId, Option<(AttemptState, i64)>> {
    let mut ends = BTreeMap::new();
    for fact in &cluster.facts {
        match fact {
            Fact::Job(JobFact::AttemptLaunched { attempt, .. }) if attempt.task.job == job => {
                ends.insert(*attempt, None);
            }
            Fact::Job(JobFact::AttemptEnded(ended)) if ended.attempt.task.job == job => {
                ends.insert(ended.attempt, Some((ended.state, ended.finish_ms)));
            }
            _ => {}
        }
    }
    ends
}

/// A job whose maps run on both trackers is killed, and its cleanup runs on the first, before the second calls again.
fn killed_behind_its_tracker() -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    let id = cluster.submit(spec("alice", "default", 4, 0)).unwrap();
    for _ in 0..3 {
        cluster.beat(0, |task| if task.role == Role::Work { Fate::Hang } else { Fate::Succeed });
    }
    cluster.beat(1, |_| Fate::Hang);
    cluster.beat(1, |_| Fate::Hang);
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    for _ in 0..10 {
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(id), RunState::Killed);
    (cluster, id)
}

#[test]
fn what_outlives_its_job_ends_with_it_and_holds_its_slots_until_its_tracker_knows() {
    let (mut cluster, id) = killed_behind_its_tracker();
    let finish_ms = cluster.engine.jobs.get(id).unwrap().finish_ms;
    let ends = ends(&cluster, id);
    let final_states = [AttemptState::Succeeded, AttemptState::Failed, AttemptState::Killed];
    let is_over = |end: &Option<(AttemptState, i64)>| end.is_some_and(|(state, _)| final_states.contains(&state));
    assert!(ends.len() >= 5 && ends.values().all(is_over), "{ends:?}");
    let with_the_job = ends.values().filter(|end| **end == Some((AttemptState::Killed, finish_ms)));
    assert_eq!(with_the_job.count(), 2, "{finish_ms}: {ends:?}");
    assert!(!cluster.engine.jobs.get(id).unwrap().has_live_attempt());
    let held = |cluster: &Cluster| cluster.engine.build_snapshot(cluster.now).value.running.map;
    assert_eq!(held(&cluster), 2, "the second tracker does not know");
    cluster.engine.check_whole_state();
    cluster.beat(1, |_| Fate::Hang);
    cluster.beat(1, |_| Fate::Hang);
    assert_eq!(held(&cluster), 0);
    assert!(restored(&cluster.facts).jobs.unfinished.is_empty());
}

#[test]
fn the_loss_of_its_tracker_frees_what_ended_with_the_job() {
    let (mut cluster, _) = killed_behind_its_tracker();
    for _ in 0..4 {
        cluster.pass_ms(cluster.config.tracker_expiry_ms / 2);
        cluster.timer();
        cluster.beat(0, |_| Fate::Hang);
    }
    let running = cluster.engine.build_snapshot(cluster.now).value.running;
    assert_eq!((running.map, running.reduce), (0, 0));
}
