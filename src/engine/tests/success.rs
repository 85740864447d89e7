//! A job from submission to SUCCEEDED.

use crate::engine::{Effect, EngineConfig, Event, Fact, IdOwner, TaskReportKind};
use crate::fake_tracker::Role;
use crate::mapreduce::{JobFact, JobSpec};
use crate::market::JobSignature;
use crate::model::{EndNotification, FactNumber, JobId, Kind, RunState};
use crate::wire::{Action, CompletionStatus, TipStatus};

use super::cluster::{Cluster, Fate, config, fifo, spec};

#[test]
fn a_job_runs_setup_maps_reduces_cleanup_and_leaves_nothing() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    let id = cluster.submit(spec("alice", "default", 4, 1)).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);

    let status = cluster.engine.job_status(id).value.unwrap();
    assert_eq!((status.map_progress, status.reduce_progress, status.cleanup_progress), (1.0, 1.0, 1.0));
    assert_eq!(&*status.failure_info, "NA");
    let events = cluster.engine.completion_events(id, 0, 100).value;
    let texts: Vec<String> = events.iter().map(|event| event.attempt.to_string()).collect();
    assert_eq!(texts[0], "attempt_202611210913_0001_m_000005_0", "setup comes first");
    assert_eq!(texts[6], "attempt_202611210913_0001_m_000004_0", "cleanup comes last");
    assert_eq!(events.len(), 7);
    assert!(events.iter().enumerate().all(|(index, event)| event.event_id == index as i32));
    assert!(events.iter().all(|event| event.status == CompletionStatus::Succeeded));
    let maps = events.iter().filter(|event| event.is_map).count();
    assert_eq!(maps, 4, "setup and cleanup are no maps to a shuffling reduce");
    let reports = cluster.engine.task_reports(id, TaskReportKind::Work(Kind::Map)).value;
    assert!(reports.iter().all(|report| matches!(report.status, TipStatus::Complete(_))));

    let counters = cluster.engine.job_counters(id).value.unwrap().unwrap();
    let value = |group: &str, name: &str| {
        let group = counters.groups.iter().find(|found| &*found.name == group).unwrap();
        group.counters.iter().find(|counter| &*counter.name == name).map(|counter| counter.value)
    };
    assert_eq!(value("records", "IN"), Some(50), "setup and cleanup are not in the sums");
    let server = "org.apache.hadoop.mapred.JobInProgress$Counter";
    assert_eq!(value(server, "TOTAL_LAUNCHED_MAPS"), Some(4));
    assert_eq!(value(server, "TOTAL_LAUNCHED_REDUCES"), Some(1));
    let local = value(server, "DATA_LOCAL_MAPS").unwrap_or(0) + value(server, "RACK_LOCAL_MAPS").unwrap_or(0);
    assert_eq!(local, 4);

    // Both trackers receive KILL_JOB, then the files are removed.
    assert!(!cluster.effects.iter().any(|effect| matches!(effect, Effect::RemoveJobFiles { .. })));
    for index in [0, 1, 0, 1] {
        cluster.beat(index, |_| Fate::Succeed);
    }
    let removed = Effect::RemoveJobFiles { job: id, submit_dir: Some("file:/staging/job".into()) };
    assert!(cluster.effects.contains(&removed));
    assert!(cluster.trackers.iter().all(|tracker| tracker.outputs.is_empty() && tracker.attempts.is_empty()));
    let overview = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((overview.running.map, overview.running.reduce), (0, 0), "no slot is held for ever");
}

/// What a user does who knows of the end is final: the copy of the history that lies with the output must be there before.
#[test]
fn an_end_is_reported_to_nobody_before_the_copy_for_its_user_is_settled() {
    const RUNNING: RunState = RunState::Running;
    let mut cluster = Cluster::of(EngineConfig { withholds_ends: true, finished_jobs_kept: 0, ..config(fifo()) });
    cluster.add_tracker("h0", 2, 1);
    let notification =
        EndNotification { url: "http://h/$jobStatus".to_owned(), retries: 0, retry_interval_ms: 0, timeout_ms: 1 };
    let spec = JobSpec { end_notification: Some(notification), ..spec("alice", "default", 1, 0) };
    let id = cluster.submit(spec).unwrap();
    let is_due = |cluster: &Cluster| cluster.effects.contains(&Effect::WriteHistory { job: id });
    let is_announced = |cluster: &Cluster| {
        cluster.effects.iter().any(|effect| matches!(effect, Effect::NotifyEnd { notification, .. } if notification.url == "http://h/SUCCEEDED"))
    };
    for _ in 0..20 {
        cluster.pass_ms(100);
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert!(is_due(&cluster) && cluster.engine.jobs.get(id).unwrap().is_over());
    assert_eq!((cluster.state(id), is_announced(&cluster)), (RUNNING, false));
    let snapshot = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((snapshot.jobs[0].state, snapshot.jobs[0].finish_ms), (RUNNING, None));
    let killed = cluster.submit(super::cluster::spec("alice", "default", 1, 0)).unwrap();
    cluster.step(Event::KillJob { id: killed, caller: crate::engine::Caller::named("alice") });
    assert_eq!(cluster.state(killed), RunState::Prep, "memory keeps those alone that it must");

    cluster.step(Event::UserCopySettled { id });
    assert!(is_announced(&cluster) && cluster.engine.jobs.get(id).is_none(), "reported, then forgotten");
    let announced = cluster.effects.len();
    cluster.step(Event::UserCopySettled { id });
    assert_eq!(cluster.effects.len(), announced, "once");
}

/// What was withheld, or not yet called, when the daemon stopped is called by the next run, until it has been.
#[test]
fn a_pending_end_notification_survives_restarts_until_the_owner_was_notified() {
    for withholds_ends in [true, false] {
        let mut cluster = Cluster::of(EngineConfig { withholds_ends, ..config(fifo()) });
        cluster.add_tracker("h0", 2, 1);
        let notification =
            EndNotification { url: "http://h/$jobStatus".to_owned(), retries: 0, retry_interval_ms: 0, timeout_ms: 1 };
        let spec = JobSpec { end_notification: Some(notification), ..spec("alice", "default", 1, 0) };
        let id = cluster.submit(spec).unwrap();
        for _ in 0..20 {
            cluster.pass_ms(100);
            cluster.beat(0, |_| Fate::Succeed);
        }
        assert!(cluster.engine.jobs.get(id).unwrap().is_over());
        let calls = |cluster: &mut Cluster| {
            let is_call = |effect: &mut Effect| matches!(effect, Effect::NotifyEnd { job, notification } if *job == id && notification.url == "http://h/SUCCEEDED");
            cluster.timer();
            cluster.effects.extract_if(.., is_call).count()
        };
        assert_eq!(calls(&mut cluster), usize::from(!withholds_ends));
        for _ in 0..2 {
            cluster.crash(1_000, |_| Fate::Succeed);
            assert_eq!(calls(&mut cluster), 1);
        }
        cluster.step(Event::EndNotified { id });
        cluster.crash(1_000, |_| Fate::Succeed);
        assert_eq!(calls(&mut cluster), 0);
    }
}

#[test]
fn setup_comes_before_all_work_and_cleanup_after_it() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 8, 8);
    let id = cluster.submit(spec("alice", "default", 3, 2)).unwrap();
    let (first, _) = cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(first.actions.len(), 1);
    assert_eq!(cluster.state(id), RunState::Prep);
    cluster.run(id, |_| Fate::Succeed);
    let order = cluster.facts.iter().filter_map(|fact| match fact {
        Fact::Job(JobFact::AttemptLaunched { role, .. }) => Some(*role),
        _ => None,
    });
    let order = order.collect::<Vec<_>>();
    use crate::mapreduce::AttemptRole as Role;
    assert_eq!(order.first(), Some(&Role::JobSetup));
    assert_eq!(order.last(), Some(&Role::JobCleanup));
    assert_eq!(order.iter().filter(|role| **role == Role::Work).count(), 5);
}

#[test]
fn a_job_without_tasks_still_runs_setup_and_cleanup() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 0, 0)).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(cluster.engine.completion_events(id, 0, 10).value.len(), 2);
}

#[test]
fn reduces_wait_for_the_slow_start() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id =
        cluster.submit(crate::mapreduce::JobSpec { slowstart_millionths: 500_000, ..spec("alice", "default", 4, 1) });
    let id = id.unwrap();
    let launched_reduces = |cluster: &Cluster| {
        let counters = cluster.engine.job_counters(id).value.unwrap().unwrap();
        let counters: Vec<_> = counters.groups.into_iter().flat_map(|group| group.counters).collect();
        counters.iter().any(|counter| &*counter.name == "TOTAL_LAUNCHED_REDUCES")
    };
    while cluster.engine.job_status(id).value.unwrap().map_progress < 0.5 {
        assert!(!launched_reduces(&cluster));
        cluster.beat(0, |_| Fate::Succeed);
    }
    cluster.beat(0, |_| Fate::Succeed);
    assert!(launched_reduces(&cluster));
}

#[test]
fn commit_is_granted_once_and_repeated() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "default", 0, 1)).unwrap();
    let mut grants = 0;
    for _ in 0..20 {
        let (response, wait_for) = cluster.beat(0, |_| Fate::Succeed);
        if response.actions.iter().any(|action| matches!(action, Action::CommitTask(_))) {
            grants += 1;
            assert_eq!(wait_for.0, cluster.facts.len() as u64, "a grant waits for its fact");
        }
    }
    assert_eq!(cluster.state(id), RunState::Succeeded);
    assert_eq!(grants, 1);
    let facts = cluster.facts.iter().filter(|fact| matches!(fact, Fact::Job(JobFact::CommitGranted { .. })));
    assert_eq!(facts.count(), 1);
}

#[test]
fn ids_are_given_once_and_only_given_ones_are_taken() {
    let mut cluster = Cluster::new(fifo());
    let first = cluster.new_job_id("alice");
    assert_eq!(first.to_string(), "job_202611210913_0001");
    assert_eq!(cluster.new_job_id("alice").to_string(), "job_202611210913_0002");
    let caller = crate::engine::Caller::named("alice");
    for stranger in ["job_202611210913_0003", "job_202611210913_0000", "job_202611210912_0001"] {
        let asked = Event::SubmissionRequested { id: stranger.parse().unwrap(), caller: caller.clone() };
        assert!(matches!(cluster.step(asked).0, crate::engine::Reply::Refused(_)), "{stranger}");
    }
}

#[test]
fn no_id_is_given_out_before_the_start_is_durable() {
    let mut cluster = Cluster::new(fifo());
    let start = cluster.facts.iter().position(|fact| matches!(fact, Fact::RunStarted { .. })).unwrap() as u64 + 1;
    assert_eq!(cluster.step(Event::NewJobId { owner: IdOwner::named("alice") }).1, FactNumber(start));
}

#[test]
fn an_id_of_an_earlier_run_is_reserved_once_the_store_has_no_job_with_it() {
    let mut cluster = Cluster::new(fifo());
    let id: JobId = "job_202611210912_0001".parse().unwrap();
    assert!(cluster.engine.is_id_of_before(id));
    cluster.step(Event::UnusedIdFound { id, owner: IdOwner::named("alice") });
    assert!(!cluster.engine.is_id_of_before(id));
    cluster.submit_as(id, spec("alice", "default", 1, 0), JobSignature::Missing).unwrap();
    assert!(!cluster.engine.is_id_of_before(id), "a job has it now");
    // Found unused by somebody who had asked before.
    cluster.step(Event::UnusedIdFound { id, owner: IdOwner::named("alice") });
    let asked = Event::SubmissionRequested { id, caller: crate::engine::Caller::named("alice") };
    assert!(matches!(
        cluster.step(asked).0,
        crate::engine::Reply::Submission(crate::engine::SubmissionReply::Accepted(status)) if status.id == id
    ));
}

#[test]
fn a_job_of_absurd_size_is_refused() {
    let mut cluster = Cluster::new(fifo());
    let refused = cluster.submit(spec("alice", "default", 1, i32::MAX as u32)).unwrap_err();
    assert_eq!(refused.to_string(), "The number of tasks for this job 2147483648 exceeds the configured limit 1000000");
}

#[test]
fn an_id_is_good_for_one_job_even_when_that_is_forgotten() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.finished_jobs_kept = 0;
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let asked = Event::SubmissionRequested { id, caller: crate::engine::Caller::named("alice") };
    while cluster.engine.job_status(id).value.is_some_and(|status| status.run_state != RunState::Succeeded) {
        cluster.beat(0, |_| Fate::Succeed);
    }
    (0..3).for_each(|_| drop(cluster.beat(0, |_| Fate::Succeed)));
    assert_eq!(cluster.engine.job_status(id).value, None, "forgotten");
    assert!(matches!(cluster.step(asked).0, crate::engine::Reply::Refused(_)));
}

#[test]
fn a_submission_resolves_the_rack_of_a_node_whose_lookup_is_pending() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 0);
    cluster.beat(0, |_| Fate::Succeed);
    assert!(cluster.effects.contains(&Effect::ResolveRack { host: "h0".into() }));
    cluster.rack = "/r1".into();
    // The first map has its input on the node, the second on another of its rack.
    let id = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    cluster.step(Event::RackResolved { host: "h0".into(), rack: "/r1".into() });
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let counters = cluster.engine.job_counters(id).value.unwrap().unwrap();
    let counters: Vec<_> = counters.groups.into_iter().flat_map(|group| group.counters).collect();
    let value = |name: &str| counters.iter().find(|counter| &*counter.name == name).map(|counter| counter.value);
    assert_eq!((value("DATA_LOCAL_MAPS"), value("RACK_LOCAL_MAPS")), (Some(1), Some(1)));
}

#[test]
fn the_end_of_a_job_is_notification_once_it_is_durable() {
    let notification = EndNotification {
        url: "http://h/?$jobId=$jobStatus&again=$jobStatus".into(),
        retries: 2,
        retry_interval_ms: 30_000,
        timeout_ms: 5_000,
    };
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    for (fate, word) in [(Fate::Succeed, "SUCCEEDED"), (Fate::Fail, "FAILED")] {
        let spec = JobSpec { end_notification: Some(notification.clone()), ..spec("alice", "default", 1, 0) };
        let id = cluster.submit(spec).unwrap();
        let is_notification = |effect: &Effect| matches!(effect, Effect::NotifyEnd { .. });
        for _ in 0..100 {
            cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { fate });
            if cluster.effects.iter().any(is_notification) {
                break;
            }
        }
        assert_eq!(cluster.effects_wait_for.0, cluster.facts.len() as u64);
        let notified: Vec<_> = cluster.effects.extract_if(.., |effect| is_notification(effect)).collect();
        let url = format!("http://h/?{id}={word}&again={word}");
        let expected = EndNotification { url, ..notification.clone() };
        assert_eq!(notified, [Effect::NotifyEnd { job: id, notification: expected }]);
    }
}
