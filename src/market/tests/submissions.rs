//! Signed job submissions.

use super::*;

impl Stage {
    fn submit(&mut self, user: &str, queue: &str, timestamp_ms: i64) -> Result<Vec<MarketFact>, JobDenied> {
        let timestamp = timestamp_ms.to_string();
        let key = self.acl.get(user).map_or(Key::new("none"), |entry| entry.key.clone());
        let signature = sign(&signature::job_message(user, &timestamp), &key);
        let verdict = job_signature(&self.acl, user, Some(&timestamp), Some(&signature));
        self.market.authorize_job(user, queue, &verdict, self.now)
    }
}

#[test]
fn a_signed_job_goes_to_its_users_queue_once() {
    let mut stage = Stage::new("alice 10 1\n");
    let facts = stage.submit("alice", "alice", START + 1).unwrap();
    assert!(matches!(&facts[..], [MarketFact::Stamp(Stamp { consumer: Consumer::Job, uses: 1, .. })]));
    let denied = stage.submit("alice", "alice", START + 1).unwrap_err().to_string();
    insta::assert_snapshot!(denied, @"ACCESS DENIED: mapred.job.signature is stale or replayed: the signature has been used 1 times, the limit of mapred.dynamic-scheduler.job-signature-uses");
    assert!(stage.submit("alice", "alice", START + 2).is_ok());
    assert!(stage.ask("alice", "info").is_ok(), "the servlet has a guard of its own");
}

/// Defects 26 and 35: a refusal says why; administrators too submit to their own queue only.
#[test]
fn defect_26_and_35_refusals_name_what_failed() {
    let mut stage = Stage::new("alice 10 1\n");
    let now = stage.now;
    let mut refused = |verdict: &JobSignature, user, queue| {
        stage.market.authorize_job(user, queue, verdict, now).unwrap_err().to_string()
    };
    let unknown = JobSignature::NotVerified(SignatureError::UnknownUser);
    insta::assert_snapshot!(refused(&JobSignature::Missing, "root", "alice"), @r#"ACCESS DENIED: queue "alice" differs from user "root": there is no queue root: an administrator adds it: jobtracker queue add root"#);
    insta::assert_snapshot!(refused(&JobSignature::Missing, "alice", "alice"), @"ACCESS DENIED: missing signature: mapred.job.signature is not set");
    insta::assert_snapshot!(refused(&JobSignature::MissingTimestamp, "alice", "alice"), @"ACCESS DENIED: missing timestamp: mapred.job.timestamp is not set");
    insta::assert_snapshot!(refused(&unknown, "zed", "zed"), @r#"ACCESS DENIED: user "zed": the user is unknown: an administrator adds it: jobtracker user add zed"#);
    insta::assert_snapshot!(refused(&unknown, "carol", "default"), @r#"ACCESS DENIED: user "carol": the user is unknown: an administrator adds it: jobtracker user add carol"#);
    insta::assert_snapshot!(refused(&JobSignature::BadTimestamp("x".into()), "alice", "alice"), @r#"ACCESS DENIED: mapred.job.timestamp "x" is not a number of milliseconds"#);
    assert!(stage.submit("alice", "alice", START - 5).unwrap_err().to_string().contains("stale or replayed"));
    assert!(stage.submit("alice", "alice", START + 10_000_000).is_err());
    assert!(stage.submit("alice", "alice", START + 1).is_ok(), "refusals consumed nothing");
}

#[test]
fn another_users_verdict_is_no_good() {
    let mut stage = Stage::new("alice 10 1\n");
    let user = VerifiedUser { user: "bob".into(), role: Role::User, key_id: KeyId(1) };
    let verdict = JobSignature::Verified { user, timestamp_ms: START + 1 };
    assert!(stage.market.authorize_job("alice", "alice", &verdict, stage.now).is_err());
}
