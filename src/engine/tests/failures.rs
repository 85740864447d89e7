//! Attempts that fail, trackers that vanish, people who change their minds.

use crate::engine::{Caller, Event, Reply};
use crate::fake_tracker::Role;
use crate::model::RunState;
use crate::wire::CompletionStatus;

use super::cluster::{Cluster, Fate, fifo, spec};

#[test]
fn a_task_that_always_fails_fails_the_job_after_four_attempts() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 2, 1)).unwrap();
    let end = cluster.run(id, |task| if task.id.task.number == 0 { Fate::Fail } else { Fate::Succeed });
    assert_eq!(end, RunState::Failed);
    let status = cluster.engine.job_status(id).value.unwrap();
    assert_eq!(
        &*status.failure_info,
        "# of failed Map Tasks exceeded allowed limit. FailedCount: 1. \
         LastFailedTask: task_202611210913_0001_m_000000"
    );
    let events = cluster.engine.completion_events(id, 0, 100).value;
    let of_first = events.iter().filter(|event| event.is_map && event.id_within_job == 0);
    let statuses: Vec<_> = of_first.map(|event| event.status).collect();
    use CompletionStatus as S;
    assert_eq!(statuses, [S::Failed, S::Failed, S::Failed, S::TipFailed]);
    let attempt = id.task(crate::model::Kind::Map, 0).attempt(3);
    assert_eq!(cluster.engine.task_diagnostics(attempt).value, ["it broke"]);
}

#[test]
fn what_was_reported_before_the_failure_that_ends_the_job_is_killed_in_the_same_answer() {
    let mut cluster = Cluster::new(fifo());
    let tracker = cluster.add_tracker("h0", 2, 1);
    let mut spec = spec("alice", "default", 2, 0);
    spec.map_max_attempts = 1;
    let id = cluster.submit(spec).unwrap();
    let kind = crate::model::Kind::Map;
    let fate = |task: &super::cluster::FakeTask| match task.id.task.number {
        0 => Fate::Hang,
        1 => Fate::Fail,
        _ => Fate::Succeed,
    };
    let first = id.task(kind, 0).attempt(0);
    let fails = |cluster: &Cluster| {
        let events = cluster.engine.completion_events(id, 0, 100).value;
        events.iter().any(|event| event.status == CompletionStatus::TipFailed)
    };
    for _ in 0..20 {
        let (answer, _) = cluster.beat(tracker, fate);
        if fails(&cluster) {
            assert!(answer.actions.contains(&crate::wire::Action::KillTask(first)), "{answer:?}");
            return;
        }
    }
    panic!("the map does not fail");
}

#[test]
fn a_failed_attempt_is_tried_again_under_a_new_number() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    let id = cluster.submit(spec("alice", "default", 3, 1)).unwrap();
    let end = cluster.run(id, |task| {
        if task.id.number == 0 && task.role != Role::Housekeeping { Fate::Fail } else { Fate::Succeed }
    });
    assert_eq!(end, RunState::Succeeded);
    let events = cluster.engine.completion_events(id, 0, 100).value;
    assert_eq!(events.iter().filter(|event| event.status == CompletionStatus::Failed).count(), 4);
}

#[test]
fn an_unclean_failure_is_cleaned_up_under_its_own_id_first() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let end = cluster.run(id, |task| match task.id.number {
        0 if task.role != Role::Housekeeping => Fate::FailUnclean,
        _ => Fate::Succeed,
    });
    assert_eq!(end, RunState::Succeeded);
    use crate::mapreduce::{AttemptRole, JobFact};
    let cleanups = cluster.facts.iter().filter(|fact| {
        matches!(fact, crate::engine::Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::TaskCleanup, .. }))
    });
    assert_eq!(cleanups.count(), 1);
}

#[test]
fn a_lost_tracker_costs_its_running_attempts_and_its_map_output() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 0);
    cluster.add_tracker("h1", 2, 1);
    let id = cluster.submit(spec("alice", "default", 4, 1)).unwrap();
    while cluster.trackers[0].outputs.is_empty() {
        cluster.beat(0, |_| Fate::Succeed);
    }
    let lost = cluster.trackers[0].outputs.first().copied().unwrap();
    cluster.pass_ms(500_000);
    cluster.beat(1, |_| Fate::Hang);
    cluster.pass_ms(200_000);
    cluster.timer();
    let events = cluster.engine.completion_events(id, 0, 100).value;
    let of_lost: Vec<_> = events.iter().filter(|event| event.attempt == lost).map(|event| event.status).collect();
    assert_eq!(of_lost, [CompletionStatus::Obsolete, CompletionStatus::Killed]);
    cluster.trackers.remove(0);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_killed_job_ends_by_its_cleanup_and_frees_every_slot() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 8, 1)).unwrap();
    for _ in 0..5 {
        cluster.beat(0, |_| Fate::Succeed);
    }
    let caller = Caller::named("alice");
    assert!(matches!(cluster.step(Event::KillJob { id, caller }).0, Reply::Done));
    assert_eq!(cluster.state(id), RunState::Running, "until its cleanup has run");
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Killed);
    for _ in 0..4 {
        cluster.beat(0, |_| Fate::Hang);
    }
    let overview = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((overview.running.map, overview.running.reduce), (0, 0));
    assert_eq!((overview.waiting.map, overview.waiting.reduce), (0, 0));
}

#[test]
fn a_job_killed_before_anything_ran_is_over_at_once() {
    let mut cluster = Cluster::new(fifo());
    let id = cluster.submit(spec("alice", "default", 8, 1)).unwrap();
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    assert_eq!(cluster.state(id), RunState::Killed);
    assert!(cluster.effects.iter().any(|effect| matches!(effect, crate::engine::Effect::RemoveJobFiles { .. })));
}

#[test]
fn a_users_word_decides_how_an_attempt_ends() {
    for (fail, status) in [(false, CompletionStatus::Killed), (true, CompletionStatus::Failed)] {
        let mut cluster = Cluster::new(fifo());
        cluster.add_tracker("h0", 1, 1);
        let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
        let attempt = id.task(crate::model::Kind::Map, 0).attempt(0);
        let ask = |cluster: &mut Cluster| {
            let caller = Caller::named("alice");
            matches!(cluster.step(Event::KillTask { id: attempt, fail, caller }).0, Reply::Boolean(true))
        };
        assert!(!ask(&mut cluster), "not running yet");
        for _ in 0..5 {
            cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
        }
        assert!(ask(&mut cluster));
        assert!(!ask(&mut cluster), "asked already");
        let end = cluster.run(id, |task| if task.id == attempt { Fate::Hang } else { Fate::Succeed });
        assert_eq!(end, RunState::Succeeded);
        let events = cluster.engine.completion_events(id, 0, 100).value;
        let first = events.iter().find(|event| event.attempt == attempt).unwrap();
        assert_eq!(first.status, status);
        let (verb, end) = if fail { ("fail", "FAILED_UNCLEAN") } else { ("kill", "KILLED_UNCLEAN") };
        let texts = cluster.engine.task_diagnostics(attempt).value;
        assert_eq!(texts[0], format!("Request received to {verb} task '{attempt}' by user"));
        assert_eq!(texts[1], format!("Task has been {end} by the user"));
    }
}

#[test]
fn a_wish_is_granted_though_the_tracker_is_lost_and_the_last_one_counts() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let attempt = id.task(crate::model::Kind::Map, 0).attempt(0);
    for _ in 0..5 {
        cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    }
    let ask = |cluster: &mut Cluster, fail| {
        let caller = Caller::named("alice");
        matches!(cluster.step(Event::KillTask { id: attempt, fail, caller }).0, Reply::Boolean(true))
    };
    assert!(ask(&mut cluster, false));
    assert!(!ask(&mut cluster, true));
    cluster.pass_ms(2_000_000);
    cluster.timer();
    let tracker = cluster.trackers.remove(0).name.clone();
    cluster.add_tracker("h1", 1, 1);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let expected = [
        format!("Request received to kill task '{attempt}' by user"),
        format!("Lost task tracker: {tracker}"),
        "Task has been FAILED_UNCLEAN by the user".to_owned(),
    ];
    assert_eq!(cluster.engine.task_diagnostics(attempt).value[..3], expected);
    let events = cluster.engine.completion_events(id, 0, 100).value;
    assert_eq!(events[1].status, CompletionStatus::Failed);
}

#[test]
fn a_bad_host_does_not_fail_every_job_at_its_setup() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("bad", 4, 4);
    cluster.add_tracker("good", 1, 1);
    cluster.beat(1, |_| Fate::Succeed);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let bad = cluster.trackers[0].name.clone();
    // The bad host calls ten times as often.
    for _ in 0..20 {
        for _ in 0..10 {
            cluster.beat(0, |_| Fate::Fail);
        }
        cluster.beat(1, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(id), RunState::Succeeded);
    use crate::mapreduce::{AttemptRole, JobFact};
    let setups_there = cluster.facts.iter().filter(|fact| {
        matches!(fact, crate::engine::Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::JobSetup, tracker, .. })
            if **tracker == bad)
    });
    assert_eq!(setups_there.count(), 2, "one in each variant, as in 1.2.1");
}

#[test]
fn a_silent_tracker_keeps_no_finished_job_but_its_own() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.finished_jobs_kept = 1;
    cluster.add_tracker("h0", 1, 0);
    cluster.add_tracker("h1", 1, 0);
    cluster.beat(1, |_| Fate::Succeed);
    let first = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    assert_eq!(cluster.run(first, |_| Fate::Succeed), RunState::Succeeded);
    // The second tracker is silent from now on, and has not received KILL_JOB.
    for _ in 0..3 {
        let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
        (0..20).for_each(|_| drop(cluster.beat(0, |_| Fate::Succeed)));
        assert!(cluster.engine.job_status(id).value.is_none_or(|status| status.run_state == RunState::Succeeded));
    }
    cluster.beat(0, |_| Fate::Succeed);
    let kept: Vec<_> = cluster.engine.all_jobs().value.iter().map(|status| status.id.number).collect();
    assert_eq!(kept, [1, 4]);
    cluster.pass_ms(2_000_000);
    cluster.timer();
    let kept: Vec<_> = cluster.engine.all_jobs().value.iter().map(|status| status.id.number).collect();
    assert_eq!(kept, [4]);
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.running.map, 0);
}
