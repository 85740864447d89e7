//! Restarts that running tasks do not notice.

use std::collections::BTreeSet;

use crate::engine::{Caller, Effect, Engine, Event, Fact, Reply, TaskReportKind};
use crate::fake_tracker::Role;
use crate::mapreduce::{Job, JobFact, JobSpec};
use crate::model::{AttemptId, AttemptState, JobId, Kind, RunState};
use crate::store::finished_after;
use crate::wire::{Action, CompletionStatus, TaskReport};

use super::cluster::{Cluster, FakeTask, Fate, decode, fifo, spec};

fn succeed(_: &FakeTask) -> Fate {
    Fate::Succeed
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

/// A job on two trackers whose first tasks run.
fn at_work(maps: u32, reduces: u32) -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    cluster.add_tracker("h1", 2, 2);
    let job = cluster.submit(spec("alice", "default", maps, reduces)).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert!(cluster.engine.jobs.get(job).unwrap().running().map > 0);
    (cluster, job)
}

fn beat_all(cluster: &mut Cluster, times: usize, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..times {
        for index in 0..cluster.trackers.len() {
            cluster.pass_ms(100);
            cluster.beat(index, &fate);
        }
    }
}

/// All attempts of the maps and reduces of a job.
fn attempts(cluster: &Cluster, job: JobId) -> Vec<AttemptId> {
    let launched = cluster.launched.iter().filter(|id| id.task.job == job);
    launched
        .filter(|id| id.task.number < cluster.engine.jobs.get(job).unwrap().total()[id.task.kind] as i32)
        .copied()
        .collect()
}

fn none_ran_again(cluster: &Cluster, job: JobId) {
    let attempts = attempts(cluster, job);
    assert!(attempts.iter().all(|id| id.number == 0), "{attempts:?}");
}

fn map(job: JobId, number: i32, attempt: i32) -> AttemptId {
    job.task(Kind::Map, number).attempt(attempt)
}

#[test]
fn running_attempts_continue_and_no_finished_task_runs_again() {
    let (mut cluster, job) = at_work(8, 2);
    cluster.crash(3_000, hang);
    assert_eq!(cluster.state(job), RunState::Running);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    none_ran_again(&cluster, job);
    assert_eq!(attempts(&cluster, job).len(), 10);
}

#[test]
fn what_ended_in_the_outage_counts() {
    let (mut cluster, job) = at_work(4, 1);
    cluster.crash(60_000, succeed);
    // The first reports are of before, the second tell.
    beat_all(&mut cluster, 1, hang);
    assert_eq!(cluster.engine.jobs.get(job).unwrap().finished().map, 0);
    beat_all(&mut cluster, 1, hang);
    assert_eq!(cluster.engine.jobs.get(job).unwrap().finished().map, 4);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    none_ran_again(&cluster, job);
}

#[test]
fn a_failure_of_the_outage_gets_a_line() {
    let (mut cluster, job) = at_work(4, 0);
    cluster.crash(60_000, |_| Fate::FailUnclean);
    beat_all(&mut cluster, 2, hang);
    let said = cluster.engine.task_diagnostics(map(job, 0, 0)).value;
    assert!(said[0].contains("while the JobTracker was restarted"), "{said:?}");
    // An attempt with diagnostics needs none.
    let (mut cluster, job) = at_work(4, 0);
    cluster.crash(60_000, |_| Fate::Fail);
    beat_all(&mut cluster, 2, hang);
    assert_eq!(cluster.engine.task_diagnostics(map(job, 0, 0)).value, ["it broke"]);
}

#[test]
fn launches_that_did_not_arrive_are_sent_again_unchanged() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    let mut sent = Vec::new();
    // The setup and then the maps are launched by answers that get lost.
    for _ in 0..6 {
        if cluster.trackers[0].is_registered {
            let before = cluster.facts.len();
            cluster.beat_unanswered(0, succeed);
            sent.extend(cluster.facts[before..].iter().filter_map(|fact| match fact {
                Fact::LaunchAnswer { answer, .. } => Some(answer.clone()),
                _ => None,
            }));
        } else {
            cluster.beat(0, succeed);
        }
        cluster.crash(1_000, |_| Fate::Hang);
        let request = cluster.trackers[0].unanswered.clone().unwrap();
        let (response, _) = cluster.beat(0, succeed);
        let launches = response.actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count();
        if let Some(answer) = sent.pop() {
            assert_eq!(response.response_id, request.response_id.wrapping_add(1));
            assert!(launches > 0, "the answer is repeated");
            assert_eq!(response, decode(crate::engine::HeartbeatAnswer::Encoded(answer)));
        }
        beat_all(&mut cluster, 2, hang);
    }
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    none_ran_again(&cluster, job);
}

#[test]
fn launches_that_arrived_are_never_repeated() {
    let (mut cluster, job) = at_work(8, 1);
    for _ in 0..5 {
        cluster.crash(1_000, hang);
        let (response, wait_for) = cluster.beat(0, hang);
        assert_eq!(response.actions, [], "nothing is launched before the fresh report");
        assert_eq!(wait_for.0, 0);
        beat_all(&mut cluster, 1, hang);
    }
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    none_ran_again(&cluster, job);
}

#[test]
fn an_answer_whose_id_comes_round_again_is_not_repeated() {
    let (mut cluster, job) = at_work(4, 0);
    let stored = cluster.facts.iter().rev().find_map(|fact| match fact {
        Fact::LaunchAnswer { tracker, response_id, .. } if **tracker == cluster.trackers[0].name => Some(*response_id),
        _ => None,
    });
    // 65,536 heartbeats later.
    cluster.trackers[0].response_id = stored.unwrap().wrapping_sub(1);
    cluster.crash(1_000, hang);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [], "its tasks are in the report");
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    none_ran_again(&cluster, job);
}

#[test]
fn what_a_tracker_has_forgotten_runs_again_under_a_new_number() {
    let (mut cluster, job) = at_work(4, 0);
    let lost = cluster.trackers[0].attempts[0].id;
    cluster.crash(1_000, hang);
    cluster.trackers[0].attempts.remove(0);
    beat_all(&mut cluster, 1, hang);
    let state = |cluster: &Cluster, id: AttemptId| {
        let job = cluster.engine.jobs.get(job).unwrap();
        job.attempt(job.key_of(id.task).unwrap(), id.number).unwrap().state
    };
    assert_eq!(state(&cluster, lost), AttemptState::Running, "the first report is no evidence");
    beat_all(&mut cluster, 1, hang);
    assert_eq!(state(&cluster, lost), AttemptState::Killed);
    let said = cluster.engine.task_diagnostics(lost).value;
    assert!(said[0].contains("does not know of it any more"), "{said:?}");
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    let again: Vec<_> = attempts(&cluster, job).into_iter().filter(|id| id.number > 0).collect();
    assert_eq!(again, [lost.task.attempt(1)]);
}

#[test]
fn events_keep_their_places() {
    let (mut cluster, job) = at_work(6, 1);
    beat_all(&mut cluster, 1, |task| if task.id.task.kind == Kind::Map { Fate::Succeed } else { Fate::Hang });
    let before = cluster.engine.completion_events(job, 0, 100).value;
    assert!(before.len() > 2, "{before:?}");
    cluster.crash(1_000, succeed);
    assert_eq!(cluster.engine.completion_events(job, 0, 100).value, before);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    let after = cluster.engine.completion_events(job, 0, 100).value;
    assert_eq!(after[..before.len()], before[..]);
    assert!(after.iter().all(|event| event.status == CompletionStatus::Succeeded));
}

#[test]
fn who_may_commit_may_still() {
    let (mut cluster, job) = at_work(1, 2);
    let to_commit = |cluster: &Cluster| {
        let granted = cluster.facts.iter().filter_map(|fact| match fact {
            Fact::Job(JobFact::CommitGranted { attempt }) => Some(*attempt),
            _ => None,
        });
        granted.collect::<Vec<_>>()
    };
    for _ in 0..20 {
        if !to_commit(&cluster).is_empty() {
            break;
        }
        for index in 0..2 {
            cluster.pass_ms(100);
            if cluster.trackers[index].attempts.iter().any(|task| task.state == AttemptState::CommitPending) {
                cluster.beat_unanswered(index, succeed);
            } else {
                cluster.beat(index, succeed);
            }
        }
    }
    let granted = to_commit(&cluster);
    assert!(!granted.is_empty());
    cluster.crash(1_000, succeed);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    let tasks: BTreeSet<_> = to_commit(&cluster).iter().map(|id| id.task).collect();
    assert_eq!(tasks.len(), to_commit(&cluster).len(), "one grant for each task");
    none_ran_again(&cluster, job);
}

#[test]
fn a_cleanup_that_runs_ends_the_job() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    for _ in 0..20 {
        cluster.beat(0, succeed);
        if cluster.trackers[0]
            .attempts
            .iter()
            .any(|task| task.role == Role::Housekeeping && cluster.launched.len() == 3)
        {
            break;
        }
    }
    cluster.crash(5_000, |_| Fate::Hang);
    assert_eq!(cluster.state(job), RunState::Running);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    assert_eq!(cluster.launched.len(), 3, "setup, map, cleanup");
}

#[test]
fn a_wish_of_before_is_granted() {
    let (mut cluster, job) = at_work(4, 0);
    let victim = cluster.trackers[0].attempts[0].id;
    cluster.step(Event::KillTask { id: victim, fail: true, caller: Caller::named("alice") });
    cluster.crash(1_000, hang);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [Action::KillTask(victim)]);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    let texts = cluster.engine.task_diagnostics(victim).value.join("\n");
    assert!(texts.contains("Request received to fail task") && texts.contains("by the user"), "{texts}");
    assert_eq!(attempts(&cluster, job).iter().filter(|id| id.number > 0).count(), 1);
}

#[test]
fn a_job_that_was_ending_ends() {
    let (mut cluster, job) = at_work(4, 1);
    cluster.step(Event::KillJob { id: job, caller: Caller::named("alice") });
    cluster.crash(1_000, hang);
    assert_eq!(cluster.state(job), RunState::Running);
    assert_eq!(cluster.run(job, hang), RunState::Killed);
    beat_all(&mut cluster, 2, succeed);
    assert!(cluster.trackers.iter().all(|tracker| tracker.attempts.is_empty()));
}

#[test]
fn the_first_word_of_a_cut_off_client_is_held_back_for_a_while() {
    let mut cluster = Cluster::new(fifo());
    cluster.config.hold_client_kills_ms = 10_000;
    cluster.add_tracker("h0", 2, 2);
    let [job, other] = [(); 2].map(|()| cluster.submit(spec("alice", "default", 4, 0)).unwrap());
    beat_all(&mut cluster, 4, hang);
    cluster.crash(60_000, hang);
    let young = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let killed = |cluster: &mut Cluster, id, user: &str| {
        cluster.step(Event::KillJobAsFirstCall { id, caller: Caller::named(user) });
        cluster.engine.jobs.get(id).is_none_or(|job| job.is_over_or_ending())
    };
    assert!(!killed(&mut cluster, job, "alice"));
    assert!(killed(&mut cluster, young, "alice"), "its client has lost nothing");
    assert!(killed(&mut cluster, other, "bob"), "no other user's client polls for it");
    cluster.pass_ms(10_000);
    assert!(killed(&mut cluster, job, "alice"));
}

#[test]
fn a_tracker_that_does_not_come_back_is_lost_in_time() {
    let (mut cluster, job) = at_work(4, 1);
    beat_all(&mut cluster, 1, |task| if task.id.task.number == 0 { Fate::Succeed } else { Fate::Hang });
    cluster.crash(1_000, hang);
    let gone = cluster.trackers.remove(0);
    assert!(gone.attempts.len() > 1 || !gone.outputs.is_empty());
    for _ in 0..80 {
        cluster.pass_ms(10_000);
        cluster.timer();
        cluster.beat(0, hang);
    }
    assert!(cluster.effects.iter().any(|effect| matches!(effect, Effect::Log { text, .. } if text.contains("lost"))));
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
}

/// It has only output that is no longer needed, and its running attempts ended with it: if it were expected for the output,
/// it would continue those attempts.
#[test]
fn a_tracker_that_was_lost_before_is_reinitialised() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.add_tracker("h1", 1, 0);
    let job = cluster.submit(spec("alice", "default", 2, 1)).unwrap();
    let all_but =
        |kind: Kind| move |task: &FakeTask| if task.id.task.kind == kind { hang(task) } else { succeed(task) };
    beat_all(&mut cluster, 8, all_but(Kind::Reduce));
    assert_eq!(cluster.engine.jobs.get(job).unwrap().finished().map, 2);
    // A map is lost, and runs again when the reduce that has read it is done.
    cluster.trackers.remove(1);
    for _ in 0..80 {
        cluster.pass_ms(10_000);
        cluster.timer();
        cluster.beat(0, hang);
    }
    beat_all(&mut cluster, 3, all_but(Kind::Map));
    let stands = cluster.engine.jobs.get(job).unwrap();
    assert_eq!((stands.finished().reduce, stands.finished().map, stands.running().map), (1, 1, 1));
    for _ in 0..80 {
        cluster.pass_ms(10_000);
        cluster.timer();
    }
    assert_eq!(cluster.engine.jobs.get(job).unwrap().running().map, 0);
    cluster.crash(1_000, hang);
    let (response, _) = cluster.beat(0, hang);
    assert_eq!(response.actions, [Action::ReinitTracker]);
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
}

#[test]
fn a_tracker_that_registers_again_has_lost_everything() {
    let (mut cluster, job) = at_work(4, 1);
    let ran: Vec<AttemptId> = cluster.trackers[0].attempts.iter().map(|task| task.id).collect();
    cluster.crash(1_000, hang);
    cluster.restart(0);
    let (response, _) = cluster.beat(0, hang);
    assert!(!response.actions.contains(&Action::ReinitTracker));
    assert_eq!(cluster.run(job, succeed), RunState::Succeeded);
    let again: BTreeSet<_> = attempts(&cluster, job).into_iter().filter(|id| id.number > 0).map(|id| id.task).collect();
    assert_eq!(again, ran.iter().map(|id| id.task).collect());
}

#[test]
fn a_tracker_that_is_not_expected_is_reinitialised() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    beat_all(&mut cluster, 2, succeed);
    cluster.crash(1_000, succeed);
    let (response, _) = cluster.beat(0, succeed);
    assert_eq!(response.actions, [Action::ReinitTracker]);
}

#[test]
fn pending_kill_jobs_survive_a_restart() {
    let (mut cluster, job) = at_work(2, 0);
    let mut is_over = false;
    while !is_over {
        beat_all(&mut cluster, 1, succeed);
        is_over = cluster.state(job) == RunState::Succeeded;
    }
    assert_eq!(cluster.engine.jobs.finished.pending_kill_jobs().len(), 1);
    cluster.effects.clear();
    cluster.crash(1_000, hang);
    assert_eq!(cluster.state(job), RunState::Succeeded);
    let removed = |cluster: &Cluster| {
        cluster.effects.iter().any(|effect| matches!(effect, Effect::RemoveJobFiles { submit_dir: Some(_), .. }))
    };
    beat_all(&mut cluster, 1, hang);
    assert!(!removed(&cluster));
    beat_all(&mut cluster, 2, hang);
    assert!(removed(&cluster) && cluster.engine.jobs.finished.pending_kill_jobs().len() == 0);
}

#[test]
fn a_finished_job_is_still_known() {
    let (mut cluster, job) = at_work(4, 1);
    cluster.run(job, succeed);
    beat_all(&mut cluster, 3, succeed);
    let before = cluster.engine.job_status(job).value;
    let counters = cluster.engine.job_counters(job).value.unwrap();
    cluster.crash(1_000, succeed);
    assert_eq!(cluster.engine.job_status(job).value, before);
    assert_eq!(cluster.engine.job_counters(job).value.unwrap(), counters);
}

#[test]
fn tasks_of_a_finished_job_are_in_the_store() {
    let (mut cluster, job) = at_work(5, 2);
    let fails_once = |task: &FakeTask| if task.id.number == 0 { Fate::Fail } else { Fate::Succeed };
    cluster.run(job, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { fails_once(task) });
    beat_all(&mut cluster, 3, succeed);
    // The time at which a task was done is its attempt's, not ours.
    let shown = |mut reports: Vec<TaskReport>| {
        reports.iter_mut().for_each(|report| report.finish_ms = 0);
        reports
    };
    let found = Job::from_stored(finished_after(&cluster.facts, job));
    for kind in [Kind::Map, Kind::Reduce]
        .map(TaskReportKind::Work)
        .into_iter()
        .chain([TaskReportKind::Setup, TaskReportKind::Cleanup])
    {
        let before = shown(cluster.engine.task_reports(job, kind).value);
        assert!(!before.is_empty());
        assert_eq!(shown(kind.of(&found)), before);
    }
    let failed = map(job, 0, 0);
    let said = found.diagnostics(found.key_of(failed.task).unwrap(), failed.number).unwrap();
    assert_eq!(said, cluster.engine.task_diagnostics(failed).value);
    assert!(!said.is_empty());
}

#[test]
fn a_job_that_must_not_continue_ends_at_the_start() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(JobSpec { recover: false, ..spec("alice", "default", 3, 1) }).unwrap();
    let untouched = cluster.submit(JobSpec { recover: false, ..spec("alice", "default", 3, 1) }).unwrap();
    let other = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let untouched_is = |task: &FakeTask| task.id.task.job == untouched;
    beat_all(&mut cluster, 4, |task| if untouched_is(task) { Fate::Linger } else { hang(task) });
    cluster.crash(1_000, hang);
    assert_eq!(cluster.run(job, hang), RunState::Killed);
    let why = cluster.engine.job_status(job).value.unwrap().failure_info;
    assert!(why.contains("mapreduce.job.restart.recover"), "{why}");
    assert_eq!(cluster.run(untouched, hang), RunState::Killed);
    assert_eq!(cluster.run(other, succeed), RunState::Succeeded);
    beat_all(&mut cluster, 3, succeed);
    assert!(cluster.engine.jobs.finished.pending_kill_jobs().len() == 0);
}

#[test]
fn with_recovery_off_every_job_ends_at_the_start() {
    let (mut cluster, job) = at_work(3, 1);
    cluster.config.recover = false;
    cluster.crash(1_000, hang);
    assert_eq!(cluster.run(job, hang), RunState::Killed);
    let why = cluster.engine.job_status(job).value.unwrap().failure_info;
    assert!(why.contains("mapred.jobtracker.restart.recover"), "{why}");
}

/// A handover to another process is no restart.
#[test]
fn a_hand_over_ends_no_job() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(JobSpec { recover: false, ..spec("alice", "default", 3, 1) }).unwrap();
    beat_all(&mut cluster, 4, hang);
    for recover in [true, false] {
        cluster.config.recover = recover;
        let mut restored = super::crash::restored(&cluster.facts);
        restored.jobs.handed_over = Some(["tracker_idle:a/1:1".into()].into());
        let engine = Engine::new(cluster.config.clone(), restored, cluster.now);
        assert_eq!(engine.job_status(job).value.unwrap().run_state, RunState::Running);
        // One that nothing is known of but its name is awaited, too.
        assert!(engine.tracker_names().any(|name| &**name == "tracker_idle:a/1:1"));
    }
}

#[test]
fn the_time_of_restored_launches_restarts() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 2);
    let job = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let linger = |task: &FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Linger };
    beat_all(&mut cluster, 5, linger);
    cluster.pass_ms(500_000);
    cluster.beat(0, linger);
    cluster.crash(1_000, linger);
    for _ in 0..59 {
        cluster.pass_ms(10_000);
        cluster.beat(0, linger);
        cluster.timer();
    }
    let failed = |cluster: &Cluster| cluster.engine.task_diagnostics(map(job, 0, 0)).value;
    assert!(failed(&cluster).is_empty(), "{:?}", failed(&cluster));
    for _ in 0..40 {
        cluster.pass_ms(10_000);
        cluster.beat(0, linger);
        cluster.timer();
    }
    assert_eq!(failed(&cluster), ["Error launching task"]);
}

#[test]
fn a_repeated_submission_finds_its_job() {
    let (mut cluster, job) = at_work(2, 0);
    cluster.crash(1_000, hang);
    let (reply, _) = cluster.step(Event::SubmissionRequested { id: job, caller: Caller::named("alice") });
    assert!(matches!(reply, Reply::Submission(crate::engine::SubmissionReply::Accepted(_))), "{reply:?}");
}
