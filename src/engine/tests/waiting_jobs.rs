//! Jobs that the policy does not let begin yet: what clients see of them, how they are killed, reprioritized and
//! restored, and that they begin later.

use crate::api::PendingReason;
use crate::engine::{Caller, Effect, Event, LongRead, ReadProgress, TaskReportKind};
use crate::model::{AttemptState, JobId, Kind, RunState};
use crate::wire::protocol::encode_array_start;
use crate::wire::{Action, TaskReport};

use super::cluster::{Cluster, Fate, fifo, spec};

/// A cluster with a tracker that is free, and three jobs that wait.
fn three_waiting() -> (Cluster, [JobId; 3], impl Fn(usize)) {
    let mut cluster = Cluster::new(fifo());
    let gate = cluster.engine.cluster.scheduler.set_gate();
    cluster.add_tracker("h0", 4, 2);
    let jobs = [3, 1, 2].map(|maps| cluster.submit(spec("alice", "default", maps, 1)).unwrap());
    (0..3).for_each(|_| drop(cluster.beat(0, |_| Fate::Succeed)));
    (cluster, jobs, move |jobs| gate.admit(jobs))
}

/// The answer to a client that asks for task reports.
fn long_reports(cluster: &Cluster, id: JobId, kind: TaskReportKind) -> Vec<u8> {
    let (mut read, mut out) = (LongRead::task_reports(id, kind), Vec::new());
    while read.next(&cluster.engine, &mut out).progress != ReadProgress::Done {}
    out
}

/// Clients see nothing but the status of a job (1.2.1: every answer about tasks is empty before `initTasks`).
fn assert_nothing_to_show(cluster: &Cluster, id: JobId) {
    let mut none = Vec::new();
    encode_array_start::<TaskReport>(0, &mut none);
    for kind in [
        TaskReportKind::Work(Kind::Map),
        TaskReportKind::Work(Kind::Reduce),
        TaskReportKind::Setup,
        TaskReportKind::Cleanup,
    ] {
        assert!(cluster.engine.task_reports(id, kind).value.is_empty(), "{kind:?}");
        assert_eq!(long_reports(cluster, id, kind), none, "{kind:?}");
    }
    assert!(cluster.engine.completion_events(id, 0, 10).value.is_empty());
    assert!(cluster.engine.job_counters(id).value.unwrap().unwrap().groups.is_empty());
    assert!(cluster.engine.task_diagnostics(id.task(Kind::Map, 0).attempt(0)).value.is_empty());
}

#[test]
fn a_job_that_waits_is_in_prep_and_has_nothing_to_show() {
    let (mut cluster, [first, second, _], _) = three_waiting();
    assert!(cluster.trackers[0].attempts.is_empty(), "no setup is launched");
    let status = cluster.engine.job_status(first).value.unwrap();
    let progress = [status.setup_progress, status.map_progress, status.reduce_progress, status.cleanup_progress];
    assert_eq!((status.run_state, progress), (RunState::Prep, [0.0; 4]));
    assert_nothing_to_show(&cluster, first);
    assert!(cluster.engine.job_profile(first).value.is_some());
    assert_eq!(cluster.engine.jobs_to_complete().value.len(), 3);
    let explain = |job| cluster.engine.explain(job, false, cluster.now).value.unwrap().finish();
    assert_eq!((explain(first).state.as_str(), explain(first).why), ("PREP", vec![PendingReason::WaitsToBegin]));
    let before = Kind::ALL.map(|kind| PendingReason::EarlierJobs { kind, jobs: 1 });
    assert_eq!(explain(second).why, [vec![PendingReason::WaitsToBegin], before.to_vec()].concat());
    let shown = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((shown.preparing_jobs, shown.running_jobs, shown.waiting.map), (3, 0, 0));
    let kill = Event::KillTask { id: first.task(Kind::Map, 0).attempt(0), fail: false, caller: Caller::named("alice") };
    assert!(format!("{:?}", cluster.step(kill).0).contains("false"));
}

#[test]
fn jobs_begin_as_the_policy_lets_them_and_come_to_their_ends() {
    let (mut cluster, [first, second, third], admit) = three_waiting();
    admit(2);
    cluster.beat(0, |_| Fate::Succeed);
    assert!(cluster.trackers[0].attempts.is_empty(), "they begin after this heartbeat");
    assert_eq!(cluster.engine.task_reports(first, TaskReportKind::Work(Kind::Map)).value.len(), 3);
    for id in [first, second] {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
    assert_eq!(cluster.state(third), RunState::Prep);
    assert_nothing_to_show(&cluster, third);
    admit(1);
    assert_eq!(cluster.run(third, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_job_that_waits_is_killed_at_once_without_a_cleanup() {
    let (mut cluster, [first, second, _], admit) = three_waiting();
    cluster.effects.clear();
    cluster.step(Event::KillJob { id: second, caller: Caller::named("alice") });
    let status = cluster.engine.job_status(second).value.unwrap();
    assert_eq!((status.run_state, status.map_progress, status.cleanup_progress), (RunState::Killed, 1.0, 1.0));
    assert!(
        cluster.effects.iter().any(|effect| matches!(effect, Effect::RemoveJobFiles { job, .. } if *job == second))
    );
    assert_nothing_to_show(&cluster, second);
    // It takes no place of those that may begin.
    admit(1);
    assert_eq!(cluster.run(first, |_| Fate::Succeed), RunState::Succeeded);
    cluster.engine.check_whole_state();
    cluster.crash_to_durable(1_000, |_| Fate::Succeed);
    assert_eq!(cluster.state(second), RunState::Killed);
}

#[test]
fn a_killed_job_that_has_waited_retires_like_others() {
    let (mut cluster, [first, ..], _) = three_waiting();
    cluster.engine.config.limits.max_finished_tasks = 0;
    cluster.step(Event::KillJob { id: first, caller: Caller::named("alice") });
    cluster.pass_ms(3_600_000);
    cluster.timer();
    assert!(cluster.engine.is_in_store_alone(first));
    assert_nothing_to_show(&cluster, first);
}

#[test]
fn priority_and_place_of_a_job_that_waits_outlast_a_restart() {
    let (mut cluster, jobs, _) = three_waiting();
    let caller = Caller::named("alice");
    cluster.step(Event::SetJobPriority { id: jobs[2], priority: "VERY_HIGH".to_owned(), caller });
    cluster.crash_to_durable(1_000, |_| Fate::Succeed);
    // First in, first out lets all begin.
    let setups = |cluster: &Cluster| cluster.engine.cluster.housekeeping.setup.iter().copied().collect::<Vec<_>>();
    assert_eq!(setups(&cluster), jobs);
    assert_eq!(cluster.engine.jobs.get(jobs[2]).unwrap().priority, crate::model::Priority::VeryHigh);
    for id in jobs {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
}

#[test]
fn an_attempt_of_a_job_that_waits_is_killed_where_it_runs() {
    let (mut cluster, [first, ..], admit) = three_waiting();
    let stranger = first.task(Kind::Map, 1).attempt(0);
    cluster.give_elsewhere(0, [stranger]);
    let answer = cluster.beat(0, |_| Fate::Hang).0;
    assert_eq!(answer.actions, [Action::KillTask(stranger)]);
    admit(1);
    assert_eq!(cluster.run(first, |_| Fate::Succeed), RunState::Succeeded);
    let job = cluster.engine.jobs.get(first).unwrap();
    let task = job.task(job.key_of(stranger.task).unwrap());
    assert!(task.attempts.iter().all(|attempt| attempt.number > 0 && attempt.state == AttemptState::Succeeded));
}
