//! Delegation tokens: who may do what, when they end, restarts, jobs.

use proptest::prelude::*;

use crate::engine::{
    DELEGATION_KEY_BYTES, DelegationCall, DelegationRequest, Effect, EngineConfig, Event, Fact, Refusal, Reply,
};
use crate::market::JobSignature;
use crate::model::{DelegationSettings, RunState};
use crate::wire::{DELEGATION_KIND, DelegationIdentifier, Token};

use super::cluster::{Cluster, Fate, config, fifo, spec};

const SETTINGS: DelegationSettings =
    DelegationSettings { key_update_ms: 50_000, max_lifetime_ms: 100_000, renew_interval_ms: 30_000 };

fn cluster() -> Cluster {
    Cluster::of(EngineConfig { delegation: SETTINGS, ..config(fifo()) })
}

fn ask(cluster: &mut Cluster, user: &str, call: DelegationCall) -> Result<Reply, Refusal> {
    let request = DelegationRequest { call, user: user.into(), real_user: None, origin: 7 };
    let (reply, wait_for) = cluster.step(Event::Delegation(Box::new(request)));
    assert_eq!(wait_for.0, cluster.facts.len() as u64, "no answer before its facts are durable");
    match reply {
        Reply::Refused(refusal) => Err(refusal),
        reply => Ok(reply),
    }
}

fn get(cluster: &mut Cluster, owner: &str, renewer: &str) -> Token {
    let secret = [cluster.facts.len() as u8; DELEGATION_KEY_BYTES];
    match ask(cluster, owner, DelegationCall::Get { renewer: renewer.to_owned(), secret }) {
        Ok(Reply::Token(token)) => token,
        other => panic!("{other:?}"),
    }
}

/// The new end of a token, or the text of the refusal with its class.
fn renew(cluster: &mut Cluster, token: &Token, user: &str) -> Result<i64, String> {
    match ask(cluster, user, DelegationCall::Renew(token.clone())) {
        Ok(Reply::Time(until_ms)) => Ok(until_ms),
        Err(refusal) => Err(text(&refusal)),
        other => panic!("{other:?}"),
    }
}

fn cancel(cluster: &mut Cluster, token: &Token, user: &str) -> Result<(), String> {
    ask(cluster, user, DelegationCall::Cancel(token.clone())).map(drop).map_err(|refusal| text(&refusal))
}

fn text(refusal: &Refusal) -> String {
    let class = match refusal {
        Refusal::InvalidToken(_) => "InvalidToken",
        Refusal::AccessDenied(_) => "AccessControlException",
        _ => "IOException",
    };
    format!("{class}: {refusal}")
}

fn identifier(token: &Token) -> DelegationIdentifier {
    DelegationIdentifier::from_bytes(&token.identifier).unwrap()
}

#[test]
fn only_the_renewer_renews_and_only_owner_and_renewer_cancel() {
    let mut cluster = cluster();
    let now_ms = cluster.now.wall_ms;
    let token = get(&mut cluster, "alice", "oozie/wf1@REALM");
    let said = identifier(&token);
    assert_eq!((&*token.kind, &*token.service), (DELEGATION_KIND, ""));
    assert_eq!((&*said.owner.0, &*said.renewer.0, &*said.real_user.0, said.sequence), ("alice", "oozie", "", 1));
    assert_eq!((said.issue_ms, said.max_ms), (now_ms, now_ms + 100_000));
    assert_eq!(
        renew(&mut cluster, &token, "alice").unwrap_err(),
        "AccessControlException: Client alice tries to renew a token with renewer specified as oozie"
    );
    cluster.pass_ms(1_000);
    assert_eq!(renew(&mut cluster, &token, "oozie"), Ok(now_ms + 31_000));
    let forged = Token { password: vec![0; 20], ..token.clone() };
    assert_eq!(
        renew(&mut cluster, &forged, "oozie").unwrap_err(),
        "AccessControlException: Client oozie is trying to renew a token with wrong password"
    );
    assert_eq!(
        cancel(&mut cluster, &token, "bob").unwrap_err(),
        "AccessControlException: bob is not authorized to cancel the token"
    );
    assert_eq!(cancel(&mut cluster, &token, "alice"), Ok(()));
    assert_eq!(cancel(&mut cluster, &token, "alice").unwrap_err(), "InvalidToken: Token not found");
    assert_eq!(renew(&mut cluster, &token, "oozie").unwrap_err(), "InvalidToken: Renewal request for unknown token");
    let token = get(&mut cluster, "alice", "oozie");
    assert_eq!(identifier(&token).sequence, 2);
    assert_eq!(cancel(&mut cluster, &token, "oozie"), Ok(()), "the renewer");
    let lone = get(&mut cluster, "alice", "");
    assert_eq!(
        renew(&mut cluster, &lone, "alice").unwrap_err(),
        "AccessControlException: User alice tried to renew a token without a renewer"
    );
    assert!(cancel(&mut cluster, &lone, "").is_err(), "an empty renewer is no user");
    let garbage = Token { identifier: vec![9], ..lone };
    assert_eq!(
        renew(&mut cluster, &garbage, "alice").unwrap_err(),
        "IOException: Unknown version of delegation token 9"
    );
}

#[test]
fn a_token_ends_at_its_time_and_keys_roll() {
    let mut cluster = cluster();
    let first = get(&mut cluster, "alice", "oozie");
    let due_ms = cluster.engine.next_timer_ms().unwrap();
    assert!(due_ms <= cluster.now.mono_ms + 30_001);
    cluster.pass_ms(30_000);
    let now_ms = cluster.now.wall_ms;
    assert_eq!(renew(&mut cluster, &first, "oozie"), Ok(now_ms + 30_000), "its last millisecond");
    cluster.pass_ms(30_000);
    let second = get(&mut cluster, "alice", "oozie");
    assert_eq!((identifier(&first).key, identifier(&second).key), (1, 2));
    assert!(renew(&mut cluster, &first, "oozie").is_ok(), "the key before still verifies");
    cluster.pass_ms(30_001);
    cluster.timer();
    let ended = |fact: &Fact| matches!(fact, Fact::Delegation(crate::engine::DelegationChange::Ended(_)));
    assert_eq!(cluster.facts.iter().filter(|fact| ended(fact)).count(), 1);
    assert_eq!(cluster.engine.delegation.in_force(), 0);
    assert!(renew(&mut cluster, &second, "oozie").unwrap_err().contains("unknown token"));
    cluster.pass_ms(20_000);
    assert_eq!(
        renew(&mut cluster, &first, "oozie").unwrap_err(),
        "InvalidToken: User oozie tried to renew an expired token"
    );
    cluster.pass_ms(200_000);
    get(&mut cluster, "alice", "oozie");
    assert!(cluster.engine.delegation.key(2).is_none(), "all that it signed has ended");
}

#[test]
fn no_renewal_leads_beyond_the_longest_life() {
    let mut cluster = cluster();
    let token = get(&mut cluster, "alice", "oozie");
    let max_ms = identifier(&token).max_ms;
    let mut until_ms = 0;
    for _ in 0..3 {
        cluster.pass_ms(25_000);
        until_ms = renew(&mut cluster, &token, "oozie").unwrap();
    }
    assert_eq!(until_ms, max_ms);
    cluster.pass_ms(25_001);
    cluster.timer();
    assert_eq!(cluster.engine.delegation.in_force(), 0);
}

#[test]
fn a_clock_that_is_set_back_makes_no_timer_ring_for_ever() {
    let mut cluster = cluster();
    get(&mut cluster, "alice", "oozie");
    cluster.now.mono_ms += 30_002;
    cluster.now.wall_ms -= 1_000_000;
    cluster.timer();
    assert_eq!(cluster.engine.delegation.in_force(), 1);
    assert!(cluster.engine.delegation.due_mono_ms().unwrap() > cluster.now.mono_ms);
}

#[test]
fn tokens_and_keys_outlive_a_crash() {
    let mut cluster = cluster();
    let kept = get(&mut cluster, "alice", "oozie");
    let cancelled = get(&mut cluster, "alice", "oozie");
    cancel(&mut cluster, &cancelled, "alice").unwrap();
    let until_ms = renew(&mut cluster, &kept, "oozie").unwrap();
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(
        renew(&mut cluster, &cancelled, "oozie").unwrap_err(),
        "InvalidToken: Renewal request for unknown token"
    );
    cluster.pass_ms(10);
    assert_eq!(renew(&mut cluster, &kept, "oozie"), Ok(until_ms + 10));
    assert_eq!(identifier(&get(&mut cluster, "bob", "oozie")).sequence, 3, "no number twice");
    cluster.pass_ms(100_001);
    cluster.crash(0, |_| Fate::Hang);
    assert!(renew(&mut cluster, &kept, "oozie").unwrap_err().contains("expired"));
}

#[test]
fn a_jobs_tokens_are_cancelled_at_its_end_where_the_daemon_may() {
    for (renewer, cancels, is_kept) in [("mapred", true, false), ("mapred", false, true), ("oozie", true, true)] {
        let mut cluster = cluster();
        cluster.add_tracker("h0", 2, 1);
        let token = get(&mut cluster, "alice", renewer);
        let mut job = spec("alice", "default", 1, 0);
        job.cancels_tokens = cancels;
        let id = cluster.new_job_id("alice");
        let mut read = cluster.read_submission(id, job, JobSignature::Missing);
        read.credentials.tokens.push(("jt".into(), token.clone()));
        let forged = Token { password: vec![1], ..token.clone() };
        read.credentials.tokens.push(("forged".into(), forged));
        let caller = read.caller.clone();
        cluster.step(Event::SubmissionRequested { id, caller });
        cluster.step(Event::SubmissionRead(Box::new(read)));
        cluster.step(Event::SystemDirWritten { id });
        // The daemon renews it while the job runs, where it is the renewer.
        cluster.pass_ms(30_001);
        cluster.timer();
        assert_eq!(cluster.engine.delegation.in_force(), usize::from(renewer == "mapred"));
        cluster.crash(0, |_| Fate::Hang);
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
        let is_there = renew(&mut cluster, &token, renewer).is_ok();
        assert_eq!(is_there, is_kept && renewer == "mapred", "{renewer} {cancels}");
    }
}

#[test]
fn the_audit_log_has_who_did_what() {
    let mut cluster = cluster();
    let token = get(&mut cluster, "alice", "oozie");
    let call = DelegationCall::Cancel(token.clone());
    let request = DelegationRequest { call, user: "alice".into(), real_user: Some("hue".into()), origin: 7 };
    let denied =
        DelegationRequest { call: DelegationCall::Renew(token), user: "mallory".into(), real_user: None, origin: 7 };
    cluster.step(Event::Delegation(Box::new(denied)));
    cluster.step(Event::Delegation(Box::new(request)));
    let lines = cluster.effects.iter().filter_map(|effect| match effect {
        Effect::Audit(entry) => Some(entry.to_string()),
        _ => None,
    });
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "get-token user=alice renewer=oozie",
            "denied renew-token user=mallory owner=alice number=1",
            "cancel-token user=alice owner=alice number=1 real-user=hue",
        ]
    );
}

#[test]
fn a_user_has_a_limited_number_of_tokens() {
    let mut cluster = cluster();
    for _ in 0..1_000 {
        get(&mut cluster, "alice", "oozie");
    }
    let call = DelegationCall::Get { renewer: "oozie".to_owned(), secret: [0; DELEGATION_KEY_BYTES] };
    let refused = text(&ask(&mut cluster, "alice", call).unwrap_err());
    assert!(refused.starts_with("IOException: alice has 1000 delegation tokens, which is the limit"), "{refused}");
    get(&mut cluster, "bob", "oozie");
    cluster.pass_ms(30_001);
    get(&mut cluster, "alice", "oozie");
    let long = DelegationCall::Get { renewer: "x".repeat(256), secret: [0; DELEGATION_KEY_BYTES] };
    assert!(text(&ask(&mut cluster, "alice", long).unwrap_err()).ends_with("the limit is 255"));
}

/// Names cost nothing: many made-up ones lock no other user out.
#[test]
fn the_greediest_name_of_a_host_loses_its_oldest_token() {
    let mut cluster = cluster();
    let oldest = get(&mut cluster, "greedy", "oozie");
    let second = get(&mut cluster, "greedy", "oozie");
    for number in 0..9_998 {
        get(&mut cluster, &format!("made-up-{number}"), "oozie");
    }
    let alices = get(&mut cluster, "alice", "oozie");
    assert!(renew(&mut cluster, &oldest, "oozie").is_err(), "it gave way");
    assert!(renew(&mut cluster, &second, "oozie").is_ok() && renew(&mut cluster, &alices, "oozie").is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever callers do and whenever the daemon crashes: exactly the tokens that a plain list says are in force.
    #[test]
    fn a_token_is_in_force_from_its_issue_to_its_end(steps in prop::collection::vec((0_u8..5, 0_usize..8, 1_u64..40_000), 1..40)) {
        let mut cluster = cluster();
        // Each with its end.
        let mut tokens: Vec<(Token, i64)> = Vec::new();
        for (what, index, ms) in steps {
            let now_ms = cluster.now.wall_ms;
            let chosen = if tokens.is_empty() { None } else { Some(index % tokens.len()) };
            match (what, chosen) {
                (0, _) => {
                    let token = get(&mut cluster, "alice", "oozie");
                    tokens.push((token, now_ms + 30_000));
                }
                (1, Some(index)) => {
                    let (token, until_ms) = tokens[index].clone();
                    let renewed = renew(&mut cluster, &token, "oozie").ok();
                    let expected = (until_ms >= now_ms).then(|| (now_ms + 30_000).min(identifier(&token).max_ms));
                    prop_assert_eq!(renewed, expected);
                    if let Some(until_ms) = expected {
                        tokens[index].1 = until_ms;
                    }
                }
                (2, Some(index)) => {
                    let (token, until_ms) = tokens.remove(index);
                    prop_assert_eq!(cancel(&mut cluster, &token, "alice").is_ok(), until_ms >= now_ms);
                }
                (3, _) => cluster.crash(0, |_| Fate::Hang),
                _ => {
                    cluster.pass_ms(ms);
                    cluster.timer();
                    let live = tokens.iter().filter(|(_, until_ms)| *until_ms >= cluster.now.wall_ms).count();
                    prop_assert_eq!(cluster.engine.delegation.in_force(), live);
                }
            }
        }
    }
}
