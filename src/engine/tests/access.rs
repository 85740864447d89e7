//! Who may do what with a job and a queue while access lists are on.

use crate::engine::{Caller, Event, Refusal, Reply};
use crate::fake_tracker::Role;
use crate::model::{JobId, Kind};

use super::cluster::{Cluster, Fate, fifo, spec};

/// A job of alice in a queue that `chief` and the group `lab` administer; `carol` may look, `dave` may change.
fn cluster() -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.acls_enabled = true;
    cluster.engine.config.administrators_acl = "boss operators".into();
    cluster.engine.config.queues[0].administer_acl = "chief lab".into();
    cluster.engine.config.queues[0].submit_acl = "alice students".into();
    let mut spec = spec("alice", "default", 1, 0);
    spec.view_acl = Some("carol".into());
    spec.modify_acl = Some("dave helpers".into());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(spec).unwrap();
    while cluster.trackers[0].attempts.iter().all(|task| task.role == Role::Housekeeping) {
        cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    }
    (cluster, id)
}

fn member(user: &str, group: &str) -> Caller {
    Caller { groups: [group.to_owned()].into(), ..Caller::named(user) }
}

fn everyone() -> Vec<(Caller, bool, bool)> {
    vec![
        (Caller::named("alice"), true, true),
        (Caller::named("mapred"), true, true),
        (Caller::named("boss"), true, true),
        (member("x", "operators"), true, true),
        (Caller::named("chief"), true, true),
        (member("x", "lab"), true, true),
        (Caller::named("carol"), true, false),
        (Caller::named("dave"), false, true),
        (member("x", "helpers"), false, true),
        (Caller::named("bob"), false, false),
        (member("bob", "students"), false, false),
        (Caller::named("lab"), false, false),
    ]
}

fn refused(reply: Reply) -> Option<String> {
    match reply {
        Reply::Refused(Refusal::AccessDenied(text)) => Some(text),
        Reply::Refused(other) => panic!("{other:?}"),
        _ => None,
    }
}

#[test]
fn access_lists_grant_view_and_change_of_a_job() {
    for (caller, sees, changes) in everyone() {
        let (mut cluster, id) = cluster();
        assert_eq!(cluster.engine.check_view_counters(id, &caller).is_ok(), sees, "{caller:?}");
        assert_eq!(cluster.engine.check_view_details(id, &caller).is_ok(), sees, "{caller:?}");
        let attempt = id.task(Kind::Map, 0).attempt(0);
        let asked = caller.clone();
        let set_priority = Event::SetJobPriority { id, priority: "LOW".into(), caller: asked.clone() };
        assert_eq!(refused(cluster.step(set_priority).0).is_none(), changes, "{caller:?}");
        let kill_task = Event::KillTask { id: attempt, fail: true, caller: asked.clone() };
        assert_eq!(refused(cluster.step(kill_task).0).is_none(), changes, "{caller:?}");
        let kill_job = Event::KillJob { id, caller: asked };
        assert_eq!(refused(cluster.step(kill_job).0).is_none(), changes, "{caller:?}");
    }
}

#[test]
fn refusals_are_in_the_words_of_hadoop() {
    let (mut cluster, id) = cluster();
    let bob = Caller::named("bob");
    let text =
        |operation: &str| format!("User bob cannot perform operation {operation} on {id} that is in the queue default");
    let denied = |operation: &str| Err(Refusal::AccessDenied(text(operation)));
    assert_eq!(cluster.engine.check_view_counters(id, &bob), denied("VIEW_JOB_COUNTERS"));
    assert_eq!(cluster.engine.check_view_details(id, &bob), denied("VIEW_JOB_DETAILS"));
    let attempt = id.task(Kind::Map, 0).attempt(0);
    for (event, operation) in [
        (Event::KillJob { id, caller: bob.clone() }, "KILL_JOB"),
        (Event::KillTask { id: attempt, fail: false, caller: bob.clone() }, "KILL_TASK"),
        (Event::KillTask { id: attempt, fail: true, caller: bob.clone() }, "FAIL_TASK"),
        (Event::SetJobPriority { id, priority: "LOW".into(), caller: bob.clone() }, "SET_JOB_PRIORITY"),
    ] {
        assert_eq!(refused(cluster.step(event).0), Some(text(operation)));
    }
}

#[test]
fn who_asks_does_not_matter_where_there_is_nothing_to_do() {
    let (mut cluster, id) = cluster();
    let bob = Caller::named("bob");
    let unknown = JobId::new(id.identifier, 77);
    assert!(cluster.engine.check_view_counters(unknown, &bob).is_ok());
    assert!(matches!(cluster.step(Event::KillJob { id: unknown, caller: bob.clone() }).0, Reply::Done));
    // A name that is none is found out only for a job that is known, and then before anybody asks who it is.
    let set = |id, caller: &Caller| Event::SetJobPriority { id, priority: "URGENT".into(), caller: caller.clone() };
    assert!(matches!(cluster.step(set(unknown, &bob)).0, Reply::Done));
    let text = "No enum constant org.apache.hadoop.mapred.JobPriority.URGENT";
    let reply = cluster.step(set(id, &bob)).0;
    assert!(matches!(reply, Reply::Refused(Refusal::IllegalArgument(said)) if said == text));
    for attempt in
        [id.task(Kind::Map, 0).attempt(7), id.task(Kind::Map, 99).attempt(0), unknown.task(Kind::Map, 0).attempt(0)]
    {
        let (reply, _) = cluster.step(Event::KillTask { id: attempt, fail: false, caller: bob.clone() });
        assert!(matches!(reply, Reply::Boolean(false)), "{attempt}");
    }
    let attempt = id.task(Kind::Map, 0).attempt(0);
    cluster.run(id, |_| Fate::Succeed);
    let (reply, _) = cluster.step(Event::KillTask { id: attempt, fail: false, caller: bob });
    assert!(matches!(reply, Reply::Boolean(false)), "attempts of a job that is over are forgotten");
}

#[test]
fn only_those_in_the_queues_list_submit() {
    let (mut cluster, _) = cluster();
    let text = "User bob cannot perform operation SUBMIT_JOB on queue default.\n Please run \"hadoop queue -showacls\" \
                command to find the queues you have access to .";
    let denied = Err(Refusal::AccessDenied(text.into()));
    assert_eq!(cluster.submit(spec("bob", "default", 1, 0)), denied);
    assert!(cluster.submit(spec("alice", "default", 1, 0)).is_ok());
    assert!(cluster.submit(spec("boss", "default", 1, 0)).is_ok());
}

#[test]
fn each_caller_gets_its_operations_of_queues() {
    let (mut cluster, _) = cluster();
    let operations = |cluster: &Cluster, caller: &Caller| -> Vec<Vec<String>> {
        let queues = cluster.engine.queue_acls(caller).value;
        queues.into_iter().map(|queue| queue.operations.iter().map(|name| name.to_string()).collect()).collect()
    };
    assert_eq!(operations(&cluster, &member("eve", "students")), [["acl-submit-job"]]);
    assert_eq!(operations(&cluster, &member("eve", "lab")), [["acl-administer-jobs"]]);
    assert!(operations(&cluster, &Caller::named("bob")).is_empty());
    assert!(operations(&cluster, &Caller::named("boss")).is_empty(), "1.2.1 gives administrators no more");
    assert_eq!(&*cluster.engine.queue_admins("default").unwrap().value.0, "chief lab");
    let unknown = Refusal::IllegalArgument("There is no queue named nowhere".into());
    assert_eq!(cluster.engine.queue_admins("nowhere"), Err(unknown));
    cluster.engine.config.acls_enabled = false;
    assert_eq!(&*cluster.engine.queue_admins("nowhere").unwrap().value.0, "*");
    assert_eq!(operations(&cluster, &Caller::named("bob")), [["acl-submit-job", "acl-administer-jobs"]]);
}

#[test]
fn the_priority_of_a_job_that_is_over_still_changes_what_lists_show() {
    let (mut cluster, id) = cluster();
    cluster.run(id, |_| Fate::Succeed);
    let facts = cluster.facts.len();
    let event = Event::SetJobPriority { id, priority: "LOW".into(), caller: Caller::named("alice") };
    let (reply, wait_for) = cluster.step(event);
    assert!(matches!(reply, Reply::Done));
    // The change, and that it was decided.
    assert_eq!((cluster.facts.len(), wait_for.0), (facts + 2, facts as u64 + 2));
    let shown = cluster.engine.all_jobs();
    assert_eq!(shown.value[0].priority, crate::model::Priority::Low);
    assert_eq!(shown.wait_for.0, facts as u64 + 1);
}
