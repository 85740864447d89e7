//! Signed changes of jobs: the guard first, then the same lists and the same changes as by RPC, in one step.

use std::sync::Arc;

use crate::engine::{Caller, Effect, EngineConfig, Event, Refusal, Reply};
use crate::fake_tracker::Role;
use crate::market::{
    Answer, ErrorClass, JobAnswer, JobRequest, JobSignature, Key, MarketError, Operation, ParsedQuery, ServletRequest,
    VerifiedUser,
};
use crate::model::{AttemptId, JobId, RunState};

use super::cluster::{Cluster, Fate, config, dynamic, fifo, spec};
use super::market::market_under;

/// A running job of alice under FIFO with an ACL file; the group `lab` administers the queue.
fn cluster() -> (Cluster, JobId) {
    let market = Some(Default::default());
    let mut cluster = Cluster::of(EngineConfig { market, acls_enabled: true, ..config(fifo()) });
    cluster.engine.config.queues[0].administer_acl = "chief lab".into();
    cluster.add_tracker("h0", 1, 1);
    let mut job = spec("alice", "default", 1, 0);
    job.view_acl = Some("carol".into());
    let id = cluster.submit(job).unwrap();
    while cluster.trackers[0].attempts.iter().all(|task| task.role == Role::Housekeeping) {
        cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang });
    }
    // It runs once its tracker says so.
    cluster.beat(0, |_| Fate::Hang);
    cluster.effects.clear();
    (cluster, id)
}

fn running(cluster: &Cluster) -> AttemptId {
    cluster.trackers[0].attempts.iter().find(|task| task.role == Role::Work).unwrap().id
}

/// Sends a request that a user has signed at a time.
fn send(
    cluster: &mut Cluster,
    user: &str,
    groups: &[&str],
    operation: &str,
    at_ms: i64,
) -> Result<Answer, MarketError> {
    let query = ParsedQuery::parse(&format!("{operation}&user={user}&timestamp={at_ms}"));
    let query = query.or_else(|_| ParsedQuery::parse_log_ticket(&format!("{operation}&user={user}&timestamp={at_ms}")));
    let key_id = Key::new("secret").key_id();
    let verified = VerifiedUser { user: user.into(), role: crate::market::Role::User, key_id };
    let request = Box::new(ServletRequest { verified: Some(verified), query: query.unwrap() });
    let groups = groups.iter().map(|group| (*group).to_owned()).collect::<Arc<[String]>>();
    match cluster.step(Event::JobRequest { request, groups }) {
        (Reply::Market(answer), wait_for) => {
            assert_eq!(wait_for.0, cluster.facts.len() as u64, "the stamp is durable before the answer leaves");
            answer
        }
        other => panic!("{other:?}"),
    }
}

fn ask(cluster: &mut Cluster, user: &str, operation: &str) -> Result<Answer, MarketError> {
    cluster.pass_ms(1);
    let at_ms = cluster.now.wall_ms;
    send(cluster, user, &[], operation, at_ms)
}

fn audit(cluster: &mut Cluster) -> Vec<String> {
    let entry = |effect: Effect| if let Effect::Audit(entry) = effect { Some(entry.to_string()) } else { None };
    std::mem::take(&mut cluster.effects).into_iter().filter_map(entry).collect()
}

#[test]
fn the_owner_kills_and_reorders_and_others_are_denied_in_the_words_of_hadoop() {
    let (mut cluster, id) = cluster();
    let denied = ask(&mut cluster, "bob", &format!("killJob={id}")).unwrap_err();
    assert_eq!(denied.class(), ErrorClass::Denied);
    let words = format!("User bob cannot perform operation KILL_JOB on {id} that is in the queue default");
    assert!(denied.reason_line().unwrap().starts_with(&words), "{denied:?}");
    let entry = format!("denied kill user=bob job={id} owner=alice why={words:?}");
    assert_eq!(audit(&mut cluster), [entry]);
    let high = ask(&mut cluster, "alice", &format!("setJobPriority={id}&priority=HIGH")).unwrap();
    let expected = JobAnswer { job: id, attempt: None, state: "RUNNING", is_ending: false, priority: "HIGH" };
    assert_eq!(high, Answer::Job(expected.clone()));
    let killed = ask(&mut cluster, "alice", &format!("killJob={id}")).unwrap();
    assert_eq!(killed, Answer::Job(JobAnswer { is_ending: true, ..expected }));
    assert_eq!(
        audit(&mut cluster),
        [format!("priority user=alice job={id} priority=HIGH"), format!("kill user=alice job={id}")]
    );
    cluster.run(id, |_| Fate::Succeed);
    assert_eq!(cluster.state(id), RunState::Killed);
    // As by RPC: the kill of a job that is over changes nothing.
    audit(&mut cluster);
    let Ok(Answer::Job(again)) = ask(&mut cluster, "alice", &format!("killJob={id}")) else { panic!() };
    assert_eq!((again.state, again.is_ending), ("KILLED", true));
    assert_eq!(audit(&mut cluster), [""; 0]);
}

#[test]
fn attempts_end_once_and_unknown_ones_are_not_found() {
    let (mut cluster, id) = cluster();
    let attempt = running(&cluster);
    let error = |error: MarketError| (error.class(), error.to_string());
    assert_eq!(ask(&mut cluster, "bob", &format!("failTask={attempt}")).unwrap_err().class(), ErrorClass::Denied);
    let Ok(Answer::Job(failed)) = ask(&mut cluster, "alice", &format!("failTask={attempt}")) else { panic!() };
    assert_eq!((failed.attempt, failed.is_ending), (Some(attempt), false));
    let again = ask(&mut cluster, "alice", &format!("failTask={attempt}")).unwrap_err();
    assert_eq!(error(again), (ErrorClass::Conflict, format!("{attempt} is not running, or has been asked to end")));
    let other = attempt.task.attempt(7);
    let unknown = ask(&mut cluster, "alice", &format!("killTask={other}")).unwrap_err();
    assert_eq!(error(unknown), (ErrorClass::NotFound, format!("there is no attempt {other}")));
    let no_job = JobId::new(id.identifier, 77);
    for operation in ["killJob", "setJobPriority"] {
        let unknown = ask(&mut cluster, "alice", &format!("{operation}={no_job}&priority=LOW")).unwrap_err();
        assert_eq!(error(unknown), (ErrorClass::NotFound, format!("there is no job {no_job} in memory")));
    }
    let wrong = ask(&mut cluster, "alice", &format!("setJobPriority={id}&priority=URGENT")).unwrap_err();
    let text = "No enum constant org.apache.hadoop.mapred.JobPriority.URGENT";
    assert_eq!(error(wrong), (ErrorClass::BadRequest, text.to_owned()));
    let boss = Caller::named("mapred");
    cluster.step(Event::SetSafeMode { on: true, caller: boss });
    let safe = ask(&mut cluster, "alice", &format!("killJob={id}")).unwrap_err();
    assert_eq!(safe.class(), ErrorClass::Unavailable);
}

#[test]
fn groups_count_and_a_request_is_good_once() {
    let (mut cluster, id) = cluster();
    cluster.pass_ms(1);
    let at_ms = cluster.now.wall_ms;
    let kill = format!("killJob={id}");
    assert!(send(&mut cluster, "x", &["students"], &kill, at_ms).is_err());
    // A denied request has used its timestamp.
    let replayed = send(&mut cluster, "x", &["lab"], &kill, at_ms).unwrap_err();
    assert!(replayed.reason_line().unwrap().contains("was used before"), "{replayed:?}");
    assert!(send(&mut cluster, "x", &["lab"], &kill, at_ms + 1).is_ok());
    assert!(send(&mut cluster, "alice", &[], &kill, 1).is_err(), "long ago");
}

#[test]
fn a_ticket_is_for_who_may_see_the_job() {
    let (mut cluster, id) = cluster();
    let attempt = running(&cluster);
    for (user, sees) in [("alice", true), ("carol", true), ("chief", true), ("bob", false)] {
        let answer = ask(&mut cluster, user, &format!("attempt={attempt}"));
        let permitted = matches!(&answer, Ok(Answer::Permitted(Operation::OfJob(JobRequest::LogTicket(asked)))) if *asked == attempt);
        assert_eq!(permitted, sees, "{user}: {answer:?}");
        assert_eq!(cluster.engine.check_view_logs(attempt, &Caller::named(user)).is_ok(), sees, "{user}");
    }
    assert!(audit(&mut cluster)[0].starts_with(&format!("denied logs user=bob job={id} owner=alice attempt=")));
    let unknown = JobId::new(id.identifier, 77).task(crate::model::Kind::Map, 0).attempt(0);
    assert!(cluster.engine.check_view_logs(unknown, &Caller::named("alice")).is_err());
}

#[test]
fn under_the_market_too_only_the_owner_may() {
    let mut cluster = market_under(dynamic(), &[("alice", "100", "1"), ("bob", "100", "1")]);
    cluster.engine.config.acls_enabled = true;
    cluster.pass_ms(1);
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", 1, 0), signature).unwrap();
    assert!(ask(&mut cluster, "bob", &format!("killJob={id}")).is_err());
    assert!(ask(&mut cluster, "alice", &format!("killJob={id}")).is_ok());
}

#[test]
fn where_signatures_are_needed_every_submission_has_one_and_uses_it_up() {
    let (mut cluster, _) = cluster();
    cluster.engine.config.needs_signatures = true;
    let job = || spec("alice", "default", 1, 0);
    let denied = cluster.submit(job()).unwrap_err();
    let text = "ACCESS DENIED: missing signature: mapred.job.signature is not set";
    assert_eq!(denied, Refusal::AccessDenied(text.to_owned()));
    cluster.pass_ms(1);
    let signature = cluster.signature("alice");
    cluster.submit_signed(job(), signature.clone()).unwrap();
    let again = cluster.submit_signed(job(), signature.clone()).unwrap_err();
    assert!(again.to_string().contains("stale or replayed"), "{again}");
    cluster.pass_ms(1);
    let of_bob = cluster.signature("bob");
    assert!(cluster.submit_signed(job(), of_bob).unwrap_err().to_string().contains("bad mapred.job.signature"));
    let wrong = JobSignature::NotVerified(crate::market::SignatureError::Mismatch);
    assert!(cluster.submit_signed(job(), wrong).is_err());
    cluster.engine.config.queues[0].running = false;
    let (closed, signature) = (job(), cluster.signature("alice"));
    assert!(cluster.submit_signed(closed, signature.clone()).is_err());
    cluster.engine.config.queues[0].running = true;
    assert!(cluster.submit_signed(job(), signature).is_ok(), "a job refused for another reason has not used it");
}

#[test]
fn an_unsigned_change_is_refused_with_what_to_do() {
    let (mut cluster, id) = cluster();
    let caller = Caller::named("alice");
    let Reply::Refused(Refusal::AccessDenied(text)) =
        cluster.step(Event::UnsignedChange { verb: "kill", job: id, caller }).0
    else {
        panic!()
    };
    assert!(text.contains("jobtracker.job-changes is signed: use `jobtracker job kill` with your key"), "{text}");
    assert_eq!(audit(&mut cluster), [format!("denied kill user=alice job={id} why=\"no signature\"")]);
    assert_eq!(cluster.state(id), RunState::Running);
}
