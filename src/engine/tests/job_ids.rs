//! Job ids belong to those who got them, and one caller's flood voids no other's.

use crate::engine::state::MAX_RESERVED_IDS;
use crate::engine::{Caller, Event, IdOwner, Refusal, Reply, SubmissionReply};
use crate::market::JobSignature;
use crate::model::JobId;

use super::cluster::{Cluster, fifo, spec};

fn ask(cluster: &mut Cluster, user: &str, connection: u64, origin: u128) -> JobId {
    let owner = IdOwner { user: user.into(), connection, origin };
    match cluster.step(Event::NewJobId { owner }).0 {
        Reply::JobId(id) => id,
        other => panic!("{other:?}"),
    }
}

fn submit(cluster: &mut Cluster, id: JobId, user: &str) -> Result<(), Refusal> {
    match cluster.step(Event::SubmissionRequested { id, caller: Caller::named(user) }).0 {
        Reply::Submission(SubmissionReply::ReadFiles | SubmissionReply::Accepted(_)) => Ok(()),
        Reply::Refused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flood_of_ids_voids_only_its_own_and_uses_up_no_numbers() {
    let mut cluster = Cluster::new(fifo());
    // The same address, the same user even, on another connection.
    let elsewhere = ask(&mut cluster, "alice", 1, 1);
    let same_address = ask(&mut cluster, "bob", 2, 9);
    let same_user = ask(&mut cluster, "mallory", 3, 9);
    let mut last = 0;
    for _ in 0..5 * MAX_RESERVED_IDS + 1 {
        last = last.max(ask(&mut cluster, "mallory", 4, 9).number);
    }
    assert!(last <= MAX_RESERVED_IDS as i32, "{last} numbers are used up");
    for (id, user) in [(elsewhere, "alice"), (same_address, "bob"), (same_user, "mallory")] {
        assert_eq!(submit(&mut cluster, id, user), Ok(()), "{id} of {user}");
    }
}

#[test]
fn neither_many_users_nor_many_connections_make_a_flood_modest() {
    let mut cluster = Cluster::new(fifo());
    let alice = ask(&mut cluster, "alice", 1, 1);
    for number in 0..2 * MAX_RESERVED_IDS as u64 {
        ask(&mut cluster, &format!("user{number}"), 10 + number, 9);
    }
    let bob = ask(&mut cluster, "bob", 2, 2);
    for number in 0..2 * MAX_RESERVED_IDS as u64 {
        ask(&mut cluster, "mallory", 10 + number, 9);
    }
    assert_eq!(submit(&mut cluster, alice, "alice"), Ok(()));
    assert_eq!(submit(&mut cluster, bob, "bob"), Ok(()));
}

#[test]
fn an_id_that_is_being_submitted_is_not_given_to_another() {
    let mut cluster = Cluster::new(fifo());
    let first = ask(&mut cluster, "mallory", 4, 9);
    submit(&mut cluster, first, "mallory").unwrap();
    for _ in 0..2 * MAX_RESERVED_IDS {
        assert_ne!(ask(&mut cluster, "mallory", 4, 9), first);
    }
}

#[test]
fn an_id_belongs_to_who_got_it() {
    let mut cluster = Cluster::new(fifo());
    let id = cluster.new_job_id("alice");
    let refused = submit(&mut cluster, id, "bob").unwrap_err();
    assert_eq!(
        refused,
        Refusal::AccessDenied(format!("{id} was given to another user than bob: ask for a new job id"))
    );
    // A name of any length is not repeated.
    let refused = submit(&mut cluster, id, &"b".repeat(1 << 20)).unwrap_err();
    assert!(refused.to_string().len() < 200, "{refused}");
    // Alice notices nothing, and bob does not learn of her job either.
    cluster.submit_as(id, spec("alice", "default", 1, 0), JobSignature::Missing).unwrap();
    assert!(matches!(submit(&mut cluster, id, "bob"), Err(Refusal::AccessDenied(_))));
    assert_eq!(submit(&mut cluster, id, "alice"), Ok(()), "asked again, it is answered again");
}

#[test]
fn an_id_that_was_handed_over_still_belongs_to_its_user() {
    let mut cluster = Cluster::new(fifo());
    let id: JobId = "job_202611210912_0001".parse().unwrap();
    cluster.step(Event::JobIdsInherited { ids: vec![(id, "alice".into())] });
    assert!(!cluster.engine.is_id_of_before(id));
    assert!(matches!(submit(&mut cluster, id, "bob"), Err(Refusal::AccessDenied(_))));
    assert_eq!(cluster.engine.reserved_ids().collect::<Vec<_>>(), [(id, "alice".into())]);
    assert_eq!(submit(&mut cluster, id, "alice"), Ok(()));
}

#[test]
fn an_id_of_before_a_restart_belongs_to_the_first_who_submits_under_it() {
    let mut cluster = Cluster::new(fifo());
    let id: JobId = "job_202611210912_0001".parse().unwrap();
    cluster.step(Event::UnusedIdFound { id, owner: IdOwner::named("alice") });
    cluster.step(Event::UnusedIdFound { id, owner: IdOwner::named("bob") });
    assert!(matches!(submit(&mut cluster, id, "bob"), Err(Refusal::AccessDenied(_))));
    assert_eq!(submit(&mut cluster, id, "alice"), Ok(()));
}
