//! Another JobTracker has had the trackers and the system directory.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Effect, Fact, ForeignState, Refusal};
use crate::fake_tracker::Role;
use crate::mapreduce::{JobFact, JobSpec};
use crate::model::{AttemptId, JobId, Kind, RunState};
use crate::wire::Action;

use super::cluster::{Cluster, FakeTask, Fate, dynamic, fifo, spec};

fn succeed(_: &FakeTask) -> Fate {
    Fate::Succeed
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn theirs() -> JobId {
    "job_202611210800_0007".parse().unwrap()
}

fn map(job: JobId, number: i32, attempt: i32) -> AttemptId {
    job.task(Kind::Map, number).attempt(attempt)
}

/// Another JobTracker was here; these jobs of ours it has not ended, these of its own are to be handed in.
fn unfinished_jobs(ours: &[JobId], theirs: &[JobId]) -> ForeignState {
    let tokens: BTreeMap<_, _> = ours.iter().map(|job| (*job, None)).collect();
    ForeignState { unfinished_jobs: Some(tokens), jobs: theirs.iter().copied().collect(), ..ForeignState::default() }
}

/// Two trackers that run maps of another JobTracker's job.
fn after_another() -> Cluster {
    let mut cluster = Cluster::new(fifo());
    for host in ["h0", "h1"] {
        cluster.add_tracker(host, 2, 1);
    }
    cluster.trackers[0].response_id = 811;
    cluster.trackers[1].response_id = -7;
    cluster.give_elsewhere(0, [map(theirs(), 0, 0), map(theirs(), 1, 0)]);
    cluster.give_elsewhere(1, [map(theirs(), 2, 0), theirs().task(Kind::Reduce, 0).attempt(0)]);
    cluster.restart_after(unfinished_jobs(&[], &[theirs()]));
    cluster
}

fn killed(actions: &[Action]) -> Vec<AttemptId> {
    let killed = actions.iter().filter_map(|action| match action {
        Action::KillTask(attempt) => Some(*attempt),
        _ => None,
    });
    killed.collect()
}

/// The numbers of the attempts of a job, as the facts have their launches.
fn numbers(cluster: &Cluster, job: JobId) -> BTreeSet<i32> {
    let numbers = cluster.facts.iter().filter_map(|fact| match fact {
        Fact::Job(JobFact::AttemptLaunched { attempt, .. }) if attempt.task.job == job => Some(attempt.number),
        _ => None,
    });
    numbers.collect()
}

fn lines(cluster: &Cluster, words: &str) -> usize {
    let said = |effect: &&Effect| matches!(effect, Effect::Log { text, .. } if text.contains(words));
    cluster.effects.iter().filter(said).count()
}

#[test]
fn its_job_runs_from_the_start_and_its_attempts_are_dropped() {
    let mut cluster = after_another();
    cluster.find(theirs(), spec("alice", "default", 4, 1)).unwrap();
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(killed(&response.actions), [map(theirs(), 0, 0), map(theirs(), 1, 0)]);
    assert_eq!(response.actions.len(), 2, "nothing is launched on the word of an old report");
    assert_eq!((response.response_id, &*response.recovered_jobs), (812, &[theirs()][..]), "it rereads events");
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.recovered_jobs, []);
    assert_eq!(cluster.run(theirs(), succeed), RunState::Succeeded);
    assert_eq!(numbers(&cluster, theirs()), BTreeSet::from([1_000]));
    assert_eq!(lines(&cluster, "is ordered to drop attempt_202611210800_0007"), 2, "one line for each tracker");
}

#[test]
fn a_job_that_is_over_is_not_left_for_another() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    assert!(!cluster.effects.contains(&Effect::RemoveJobInfo { job }));
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    assert!(cluster.effects.contains(&Effect::RemoveJobInfo { job }), "before the trackers have received KILL_JOB");
}

#[test]
fn its_job_may_be_handed_in_after_the_trackers_have_called() {
    let mut cluster = after_another();
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(killed(&response.actions).len(), 2, "and the job stays where it is on the tracker: {response:?}");
    assert_eq!((response.actions.len(), &*response.recovered_jobs), (2, &[theirs()][..]));
    cluster.find(theirs(), spec("alice", "default", 4, 1)).unwrap();
    assert!(cluster.engine.cluster.housekeeping.setup.is_empty(), "what runs of it is not gone yet");
    assert_eq!(cluster.run(theirs(), succeed), RunState::Succeeded);
}

#[test]
fn nothing_of_it_begins_while_anything_of_before_runs() {
    let mut cluster = after_another();
    cluster.find(theirs(), spec("alice", "default", 4, 1)).unwrap();
    cluster.beat(1, hang);
    for _ in 0..5 {
        // The other tracker is about to receive KILL_JOB, and this one is done with its own.
        cluster.beat(0, hang);
    }
    assert!(numbers(&cluster, theirs()).is_empty());
    // The one that is silent for too long is lost, and what ran there with it.
    cluster.pass_ms(1_000_000);
    cluster.beat(0, hang);
    cluster.timer();
    cluster.pass_ms(1_000_000);
    cluster.timer();
    cluster.beat(0, succeed);
    assert_eq!(cluster.run(theirs(), succeed), RunState::Succeeded);
}

#[test]
fn unknown_trackers_are_reinitialised_unless_another_jobtracker_was_here() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.give_elsewhere(0, [map(theirs(), 0, 0)]);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [Action::ReinitTracker]);
    // Not one that was lost since, either.
    let mut cluster = after_another();
    cluster.beat(0, hang);
    for _ in 0..2 {
        cluster.pass_ms(300_000);
        cluster.beat(1, hang);
        cluster.timer();
    }
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [], "it has called in time");
    // And not when it is long ago.
    let mut cluster = after_another();
    cluster.pass_ms(600_000);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [Action::ReinitTracker]);
}

#[test]
fn a_tracker_that_was_lost_since_is_reinitialised() {
    let mut cluster = Cluster::new(fifo());
    cluster.config.tracker_expiry_ms = 9_000;
    cluster.add_tracker("h0", 2, 1);
    cluster.give_elsewhere(0, []);
    cluster.restart_after(unfinished_jobs(&[], &[]));
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, []);
    let id = cluster.engine.trackers.id_of(&cluster.trackers[0].name).unwrap();
    cluster.engine.lose_tracker(id, "silent for too long", cluster.now);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [Action::ReinitTracker]);
}

#[test]
fn a_job_that_cannot_be_taken_in_is_dropped_everywhere() {
    let mut cluster = after_another();
    cluster.beat(0, hang);
    let error = cluster.find(theirs(), spec("alice", "nowhere", 4, 1)).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    for index in [0, 1] {
        let (response, _) = cluster.beat(index, hang);
        assert!(response.actions.contains(&Action::KillJob(theirs())), "{response:?}");
    }
    assert!(cluster.engine.jobs.get(theirs()).is_none());
    assert!(cluster.find(theirs(), spec("alice", "default", 4, 1)).is_err(), "it was given up");
}

#[test]
fn a_job_that_may_not_run_again_is_over() {
    let mut cluster = after_another();
    let once = JobSpec { recover: false, ..spec("alice", "default", 4, 1) };
    cluster.find(theirs(), once).unwrap();
    assert_eq!(cluster.state(theirs()), RunState::Killed);
    assert!(numbers(&cluster, theirs()).is_empty());
}

#[test]
fn no_queue_is_charged_for_the_job_of_another() {
    let mut cluster = Cluster::new(dynamic());
    cluster.restart_after(unfinished_jobs(&[], &[theirs()]));
    cluster.engine.seed_budgets(crate::market::budget_file::parse("alice 10 1\nbob 10 1\n", "b").unwrap(), cluster.now);
    let error = cluster.find(theirs(), spec("alice", "bob", 4, 1)).unwrap_err();
    assert!(matches!(error, Refusal::AccessDenied(_)), "{error}");
    // Of one's own no signature is asked: another JobTracker has.
    cluster.restart_after(unfinished_jobs(&[], &[theirs()]));
    cluster.find(theirs(), spec("alice", "alice", 4, 1)).unwrap();
}

#[test]
fn our_jobs_that_it_had_restart_and_those_it_ended_are_complete() {
    let mut cluster = Cluster::new(fifo());
    for host in ["h0", "h1"] {
        cluster.add_tracker(host, 2, 2);
    }
    let resumed = cluster.submit(spec("alice", "default", 4, 1)).unwrap();
    let ended = cluster.submit(spec("alice", "default", 4, 1)).unwrap();
    for _ in 0..6 {
        cluster.beat(0, |task| if task.id.task.number == 0 { Fate::Succeed } else { hang(task) });
        cluster.beat(1, hang);
    }
    assert!(cluster.engine.jobs.get(resumed).unwrap().finished().map > 0);
    // It reinitialised the first tracker, and has run the job from its own start; the second one was not reached.
    cluster.trackers[0].attempts.clear();
    cluster.trackers[0].outputs.clear();
    cluster.give_elsewhere(0, [map(resumed, 0, 0), map(resumed, 3, 1)]);
    cluster.restart_after(unfinished_jobs(&[resumed], &[]));
    assert_eq!((cluster.state(resumed), cluster.state(ended)), (RunState::Prep, RunState::Killed));
    assert!(cluster.engine.job_status(ended).value.unwrap().failure_info.0.contains("another JobTracker"));
    assert_eq!(cluster.engine.jobs.get(resumed).unwrap().finished().map, 0);
    assert!(cluster.engine.completion_events(resumed, 0, 100).value.is_empty());
    assert_eq!(cluster.run(resumed, succeed), RunState::Succeeded);
    assert_eq!(numbers(&cluster, resumed), BTreeSet::from([0, 1_000]));
    assert!(cluster.engine.jobs.finished.pending_kill_jobs().len() == 0 || cluster.state(ended) == RunState::Killed);
}

#[test]
fn each_change_takes_a_thousand_numbers() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    for _ in 0..3 {
        for _ in 0..4 {
            cluster.beat(0, hang);
        }
        cluster.trackers[0].attempts.clear();
        cluster.give_elsewhere(0, [map(job, 0, 0)]);
        cluster.restart_after(unfinished_jobs(&[job], &[]));
        // What it comes to is in the facts alone.
        cluster.crash(1_000, hang);
    }
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    assert_eq!(numbers(&cluster, job), BTreeSet::from([0, 1_000, 2_000, 3_000]));
}

#[test]
fn after_a_restored_backup_running_attempts_continue_and_new_ones_are_numbered_above() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(spec("alice", "default", 3, 0)).unwrap();
    for _ in 0..4 {
        cluster.beat(0, hang);
    }
    cluster.restart_after(ForeignState { is_copy: true, ..ForeignState::default() });
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.recovered_jobs, [job], "it may have read events that the copy does not have");
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    assert_eq!(numbers(&cluster, job), BTreeSet::from([0, 1_000]), "two maps were at work");
}

/// Jobs that ended after the backup was made have no files left: each is over at the start, once, and nothing of it runs.
#[test]
fn a_job_that_ended_after_the_restored_backup_is_over_at_once() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let (gone, stays) = (spec("alice", "default", 3, 1), spec("alice", "default", 1, 0));
    let (gone, stays) = (cluster.submit(gone).unwrap(), cluster.submit(stays).unwrap());
    for _ in 0..4 {
        cluster.beat(0, hang);
    }
    let launches = |cluster: &Cluster| {
        let is_launch = |fact: &&Fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { attempt, .. }) if attempt.task.job == gone);
        cluster.facts.iter().filter(is_launch).count()
    };
    let launched = launches(&cluster);
    let ended_since_copy = [(gone, "; file:/out has _SUCCESS".to_owned())].into();
    cluster.restart_after(ForeignState { is_copy: true, ended_since_copy, ..ForeignState::default() });
    assert_eq!((cluster.state(gone), cluster.state(stays)), (RunState::Killed, RunState::Running));
    let why = cluster.engine.job_status(gone).value.unwrap().failure_info.0;
    assert_eq!(why, "its files are gone: it ended after this state was copied; file:/out has _SUCCESS");
    assert!(!cluster.engine.jobs.get(gone).unwrap().has_live_attempt());
    // What is in the facts is the same after another restart.
    cluster.crash(1_000, hang);
    assert_eq!(cluster.state(gone), RunState::Killed);
    assert_eq!(cluster.run(stays, succeed), RunState::Succeeded);
    assert_eq!(launches(&cluster), launched, "no attempt more");
}

#[test]
fn an_unknown_attempt_is_dropped_and_its_number_not_used() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 3, 2);
    let job = cluster.submit(spec("alice", "default", 3, 0)).unwrap();
    for _ in 0..3 {
        cluster.beat(0, hang);
    }
    cluster.give_elsewhere(0, [map(job, 1, 1), map(job, 2, i32::MAX)]);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(killed(&response.actions).len(), 2);
    assert_eq!(killed(&cluster.beat(0, hang).0.actions), [], "once is enough");
    cluster.beat(0, |task| if task.id.task.number == 1 { Fate::Fail } else { Fate::Hang });
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    assert_eq!(numbers(&cluster, job), BTreeSet::from([0, 1_000]));
}
