//! Safe mode, refresh of host lists and queues.

use crate::engine::{Caller, Event, HostLists, QueueConfig, Refusal, Reply, SubmissionReply};
use crate::fake_tracker::Role;
use crate::mapreduce::JobOutcome;
use crate::model::{Kind, PerKind, RunState};
use crate::wire::{Action, CompletionStatus};

use super::cluster::{Cluster, Fate, fifo, spec};

const SAFE: &str = "JobTracker is in safe-mode set by admin boss";

/// A cluster with an administrator `boss`, a group of them, and the daemon's user `mapred`.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.administrators_acl = "boss operators".into();
    cluster
}

fn set_safe_mode(cluster: &mut Cluster, on: bool, caller: Caller) -> Reply {
    cluster.step(Event::SetSafeMode { on, caller }).0
}

fn hosts(included: &[&str], excluded: &[&str]) -> HostLists {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    HostLists { included: set(included), excluded: set(excluded) }
}

#[test]
fn only_administrators_turn_safe_mode_on_and_off() {
    let mut cluster = cluster();
    let text = "alice is not authorized to set  JobTracker safemode.";
    for on in [true, false] {
        let refused = set_safe_mode(&mut cluster, on, Caller::named("alice"));
        assert!(matches!(refused, Reply::Refused(Refusal::AccessDenied(said)) if said == text));
    }
    let operator = Caller { groups: ["operators".to_owned()].into(), ..Caller::named("carol") };
    for caller in [Caller::named("boss"), Caller::named("mapred"), operator] {
        assert!(matches!(set_safe_mode(&mut cluster, true, caller.clone()), Reply::Boolean(true)));
        assert!(cluster.engine.safe_mode().value);
        assert!(matches!(set_safe_mode(&mut cluster, false, caller), Reply::Boolean(false)));
        assert!(!cluster.engine.safe_mode().value);
    }
}

#[test]
fn in_safe_mode_no_job_comes_in_nothing_is_killed_and_nothing_handed_out() {
    let mut cluster = cluster();
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 4, 0)).unwrap();
    let hang =
        |task: &super::cluster::FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    while cluster.trackers[0].attempts.iter().all(|task| task.role == Role::Housekeeping) {
        cluster.beat(0, hang);
    }
    set_safe_mode(&mut cluster, true, Caller::named("boss"));
    let caller = Caller::named("alice");
    let new_id = cluster.new_job_id("alice");
    let attempt = id.task(Kind::Map, 0).attempt(0);
    // Known and unknown jobs make no difference.
    for event in [
        Event::SubmissionRequested { id: new_id, caller: caller.clone() },
        Event::SubmissionRequested { id, caller: caller.clone() },
        Event::KillJob { id, caller: caller.clone() },
        Event::KillJob { id: new_id, caller: caller.clone() },
        Event::KillTask { id: attempt, fail: false, caller: caller.clone() },
        Event::KillTask { id: new_id.task(Kind::Map, 0).attempt(0), fail: true, caller: caller.clone() },
    ] {
        let (reply, _) = cluster.step(event);
        assert!(matches!(&reply, Reply::Refused(Refusal::SafeMode(text)) if text == SAFE), "{reply:?}");
    }
    let priority = Event::SetJobPriority { id, priority: "HIGH".into(), caller: caller.clone() };
    assert!(matches!(cluster.step(priority).0, Reply::Done), "1.2.1 lets priorities change");
    for _ in 0..5 {
        let (response, _) = cluster.beat(0, |_| Fate::Succeed);
        assert!(!response.actions.iter().any(|action| matches!(action, Action::LaunchTask(_))));
    }
    set_safe_mode(&mut cluster, false, Caller::named("boss"));
    let (reply, _) = cluster.step(Event::SubmissionRequested { id: new_id, caller });
    assert!(matches!(reply, Reply::Submission(SubmissionReply::ReadFiles)));
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn in_safe_mode_no_attempt_fails() {
    let mut cluster = cluster();
    cluster.add_tracker("h0", 1, 0);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    let fail =
        |task: &super::cluster::FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Fail };
    while cluster.trackers[0].attempts.iter().all(|task| task.role == Role::Housekeeping) {
        cluster.beat(0, fail);
    }
    set_safe_mode(&mut cluster, true, Caller::named("boss"));
    for _ in 0..3 {
        cluster.beat(0, fail);
    }
    set_safe_mode(&mut cluster, false, Caller::named("boss"));
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let events = cluster.engine.completion_events(id, 0, 100).value;
    let of_map = events.iter().filter(|event| event.is_map && event.id_within_job == 0);
    let statuses: Vec<_> = of_map.map(|event| event.status).collect();
    assert_eq!(statuses, [CompletionStatus::Killed, CompletionStatus::Succeeded]);
}

#[test]
fn a_tracker_whose_host_is_struck_off_is_lost_and_turned_away() {
    for (included, excluded) in [(vec![], vec!["h0", "h7"]), (vec!["h1"], vec![])] {
        let mut cluster = cluster();
        cluster.add_tracker("h0", 2, 0);
        cluster.add_tracker("h1", 2, 0);
        let id = cluster.submit(spec("alice", "default", 4, 1)).unwrap();
        let hang =
            |task: &super::cluster::FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
        while cluster.trackers[0].attempts.iter().all(|task| task.role == Role::Housekeeping) {
            cluster.beat(0, hang);
            cluster.beat(1, hang);
        }
        let lists = hosts(&included, &excluded);
        let refused = cluster.step(Event::HostsRead { hosts: lists.clone(), caller: Caller::named("alice") }).0;
        let text = "alice is not authorized to refresh nodes.";
        assert!(matches!(refused, Reply::Refused(Refusal::AccessDenied(said)) if said == text));
        assert_eq!(cluster.engine.cluster_status(true).value.active.count, 2);
        let (reply, wait_for) = cluster.step(Event::HostsRead { hosts: lists, caller: Caller::named("boss") });
        assert!(matches!(reply, Reply::Done));
        assert_eq!(wait_for.0, cluster.facts.len() as u64, "what is lost is lost for good before anybody hears of it");
        let status = cluster.engine.cluster_status(true).value;
        assert_eq!((status.active.count, status.excluded_nodes), (1, excluded.len() as i32));
        let request = cluster.request(0);
        let connection = cluster.trackers[0].connection;
        let (reply, _) = cluster.step(Event::Heartbeat { request, connection, address: None });
        assert!(matches!(reply, Reply::Refused(Refusal::DisallowedTracker(_))));
        cluster.trackers[0].slots = PerKind::new(0, 0);
        cluster.trackers.remove(0);
        cluster.trackers[0].slots = PerKind::new(2, 1);
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
}

#[test]
fn refreshed_queues_accept_jobs_by_their_new_state() {
    let mut cluster = cluster();
    let queue = |name: &str, running: bool| QueueConfig {
        name: name.into(),
        running,
        submit_acl: "*".into(),
        administer_acl: "*".into(),
    };
    let caller = Caller::named("anyone");
    let without = vec![queue("other", true)];
    let (reply, _) = cluster.step(Event::QueuesRead { queues: without, policy: None, caller: caller.clone() });
    let text = "Couldn't find queue 'default' during refresh!";
    assert!(matches!(reply, Reply::Refused(Refusal::IllegalArgument(said)) if said == text));
    let named = |cluster: &Cluster| -> Vec<_> {
        let queues = cluster.engine.queues().value;
        queues.iter().map(|queue| format!("{} {}", &*queue.name, &*queue.state)).collect()
    };
    assert_eq!(named(&cluster), ["default running"]);
    let queues = vec![queue("default", false), queue("added", true)];
    assert!(matches!(cluster.step(Event::QueuesRead { queues, policy: None, caller }).0, Reply::Done));
    assert_eq!(named(&cluster), ["default stopped", "added running"]);
    let stopped = Refusal::Invalid("Queue \"default\" is not running".into());
    assert_eq!(cluster.submit(spec("alice", "default", 1, 0)), Err(stopped));
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec("alice", "added", 1, 0)).unwrap();
    assert_eq!(cluster.run(id, |_| Fate::Succeed), JobOutcome::Succeeded.run_state());
}

#[test]
fn a_reload_by_the_operator_applies_completely_or_not_at_all() {
    let mut cluster = cluster();
    cluster.add_tracker("h0", 2, 0);
    cluster.add_tracker("h1", 2, 0);
    let queue = |name: &str, running: bool| QueueConfig {
        name: name.into(),
        running,
        submit_acl: "*".into(),
        administer_acl: "*".into(),
    };
    cluster.beat(0, |_| Fate::Succeed);
    cluster.beat(1, |_| Fate::Succeed);
    let excluded = hosts(&[], &["h1"]);
    let without = Event::ConfigurationRead {
        queues: vec![queue("other", true)],
        policy: None,
        by: None,
        hosts: excluded.clone(),
    };
    let (reply, _) = cluster.step(without);
    let text = "Couldn't find queue 'default' during refresh!";
    assert!(matches!(reply, Reply::Refused(Refusal::IllegalArgument(said)) if said == text));
    assert_eq!(
        cluster.engine.cluster_status(true).value.active.count,
        2,
        "the lists of hosts are not taken over either"
    );
    let queues = vec![queue("default", false), queue("added", true)];
    let (reply, wait_for) = cluster.step(Event::ConfigurationRead { queues, policy: None, by: None, hosts: excluded });
    assert!(matches!(reply, Reply::Done));
    assert_eq!(wait_for.0, cluster.facts.len() as u64);
    assert_eq!(cluster.engine.cluster_status(true).value.active.count, 1);
    let stopped = Refusal::Invalid("Queue \"default\" is not running".into());
    assert_eq!(cluster.submit(spec("alice", "default", 1, 0)), Err(stopped));
    assert!(cluster.submit(spec("alice", "added", 1, 0)).is_ok());
}

#[test]
fn a_file_system_that_is_away_is_safe_mode_beside_that_of_an_administrator() {
    let mut cluster = cluster();
    let watched = |cluster: &mut Cluster, is_away| cluster.step(Event::FileSystemWatched { is_away }).0;
    watched(&mut cluster, false);
    assert!(!cluster.engine.is_in_safe_mode());
    watched(&mut cluster, true);
    let refusal = cluster.engine.check_safe_mode().unwrap_err().to_string();
    assert!(refusal.contains("mapred.system.dir cannot be used"), "{refusal}");
    set_safe_mode(&mut cluster, true, Caller::named("boss"));
    watched(&mut cluster, false);
    assert!(cluster.engine.check_safe_mode().unwrap_err().to_string().contains(SAFE));
    set_safe_mode(&mut cluster, false, Caller::named("boss"));
    assert!(!cluster.engine.is_in_safe_mode());
}
