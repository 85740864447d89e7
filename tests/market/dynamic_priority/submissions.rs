//! Section 5: signed jobs, from the job.xml of a stock client to the refusal that its user reads.

use crate::daemon::clients::{IntoCall, new_job_id};
use crate::dynamic_priority::market::{Market, Terms, key_of, with_budgets, with_market};

use jobtracker::market::signature::sign;
use jobtracker::model::{JobId, RunState};
use jobtracker::wire::protocol::{JobSubmissionCall, Value};

const BUDGETS: &str = "alice 100 0.5\nbob 10 1\nroot 1 1\n";

type Properties = Vec<(String, String)>;

fn properties<const N: usize>(pairs: [(&str, &str); N]) -> Properties {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// Class and text of a refusal; nothing of the job may be left behind.
async fn refusal(market: &Market, user: &str, properties: &[(String, String)]) -> String {
    let mut all = properties.to_vec();
    all.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
    let (class, text) = market.submit_with(user, &all, 1).await.unwrap_err();
    assert_nothing_left(market).await;
    if text.contains("ACCESS DENIED") {
        assert_eq!(class, "org.apache.hadoop.security.AccessControlException");
        let text = text.strip_prefix("org.apache.hadoop.security.AccessControlException: ").unwrap();
        assert!(text.starts_with("ACCESS DENIED: "), "{text}");
        return text.to_owned();
    }
    text
}

/// No job, no system directory, nobody's work started.
async fn assert_nothing_left(market: &Market) {
    let jobs = market.rig.client("root").await.call(&JobSubmissionCall::GetAllJobs.into_call()).await.unwrap();
    assert_eq!(jobs, Value::JobStatuses(Vec::new()));
    let left = std::fs::read_dir(market.rig.system_dir()).map(|entries| entries.count());
    assert_eq!(left.unwrap_or(0), 0);
}

/// Submits the job.xml that a stock client wrote, with properties added as `-D` adds them.
async fn submit_recorded(market: &Market, user: &str, added: &[(String, String)]) -> Result<JobId, (String, String)> {
    const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hadoop1/files/staging-old-api");
    let mut client = market.rig.client(user).await;
    let id = new_job_id(&mut client).await;
    let folder = market.rig.staging_dir(user).join(id.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["job.split", "job.splitmetainfo"] {
        std::fs::copy(format!("{RECORDED}/{name}"), folder.join(name)).unwrap();
    }
    let mut xml = std::fs::read_to_string(format!("{RECORDED}/job.xml")).unwrap();
    for (name, value) in added {
        let default = format!("<name>{name}</name><value>default</value>");
        let property = format!("<name>{name}</name><value>{value}</value>");
        if xml.contains(&default) {
            xml = xml.replace(&default, &property);
        } else {
            xml = xml.replace("</configuration>", &format!("<property>{property}</property></configuration>"));
        }
    }
    assert!(xml.contains("<name>mapred.job.queue.name</name>"), "stock clients write it");
    std::fs::write(folder.join("job.xml"), xml).unwrap();
    market.submit_staged(&mut client, id, format!("file:{}", folder.display())).await
}

/// A recorded job.xml with a signature; its queue is named by these keys.
fn signed_with_queue(market: &Market, queues: &[(&str, &str)]) -> Properties {
    let mut signed = market.job_signature("alice");
    signed.truncate(2);
    signed.extend(queues.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
    signed
}

async fn queue_of(market: &Market, job: JobId) -> String {
    let asked = JobSubmissionCall::GetJobProfile { job: Some(job) }.into_call();
    match market.rig.client("alice").await.call(&asked).await.unwrap() {
        Value::JobProfile(Some(profile)) => profile.queue.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_5_decided_3_each_spelling_of_the_queue_names_it_beside_the_default_that_clients_write() {
    with_budgets(BUDGETS, async |market| {
        for key in ["mapreduce.job.queue.name", "mapreduce.job.queuename", "mapred.job.queue.name"] {
            let added = signed_with_queue(&market, &[(key, "alice")]);
            let job = submit_recorded(&market, "alice", &added).await.unwrap();
            assert_eq!(queue_of(&market, job).await, "alice", "{key}");
        }
    });
}

#[test]
fn section_5_decided_3_two_different_queues_are_refused_and_the_same_twice_is_not() {
    with_budgets(BUDGETS, async |market| {
        let both = [("mapreduce.job.queue.name", "alice"), ("mapreduce.job.queuename", "bob")];
        let (_, text) = submit_recorded(&market, "alice", &signed_with_queue(&market, &both)).await.unwrap_err();
        assert!(
            text.contains("mapreduce.job.queue.name names queue \"alice\" but mapreduce.job.queuename names \"bob\""),
            "{text}"
        );
        assert_nothing_left(&market).await;
        let same = [("mapreduce.job.queue.name", "alice"), ("mapred.job.queue.name", "alice")];
        assert!(submit_recorded(&market, "alice", &signed_with_queue(&market, &same)).await.is_ok());
    });
}

#[test]
fn section_5_decided_3_queue_administrators_of_default_are_told_where_there_is_no_such_queue() {
    with_budgets(BUDGETS, async |market| {
        let asked = JobSubmissionCall::GetQueueAdmins { queue: Some("default".into()) }.into_call();
        let told = market.rig.client("alice").await.call(&asked).await;
        assert!(matches!(told, Ok(Value::AccessControlList(_))), "{told:?}");
    });
}

/// One's own queue is said not to exist; of another's queue nobody learns whether it does.
#[test]
fn section_5_the_queue_must_exist() {
    with_budgets(BUDGETS, async |market| {
        let signed = market.job_signature("carol");
        assert!(refusal(&market, "carol", &signed).await.contains("Queue \"carol\" does not exist"));
        for queue in ["bob", "zed", "default"] {
            let mut signed = market.job_signature("alice");
            signed[2].1 = queue.to_owned();
            let text = refusal(&market, "alice", &signed).await;
            assert_eq!(text, format!("ACCESS DENIED: queue \"{queue}\" differs from user \"alice\""));
        }
    });
}

#[test]
fn section_5_queues_of_the_budget_file_are_known_before_the_first_tick() {
    with_budgets(BUDGETS, async |market| {
        let job = market.submit("alice", 1, 0).await;
        assert_eq!(market.run_state(job).await, Some(RunState::Prep));
    });
}

#[test]
fn section_5_the_queue_must_be_the_submitter_for_administrators_too() {
    with_budgets(BUDGETS, async |market| {
        for (user, queue) in [("alice", "bob"), ("root", "alice")] {
            let mut signed = market.job_signature(user);
            signed[2].1 = queue.to_owned();
            let text = refusal(&market, user, &signed).await;
            assert!(text.contains(&format!("queue \"{queue}\" differs from user \"{user}\"")), "{text}");
        }
        market.submit("root", 1, 0).await;
    });
}

#[test]
fn section_5_a_refusal_names_what_failed() {
    with_budgets(BUDGETS, async |market| {
        let queue = ("mapreduce.job.queue.name", "alice");
        assert!(
            refusal(&market, "alice", &properties([queue]))
                .await
                .contains("missing signature: mapred.job.signature is not set")
        );
        let good = market.job_signature("alice");
        let mut signed = good.clone();
        signed.remove(0);
        assert!(
            refusal(&market, "alice", &signed).await.contains("missing timestamp: mapred.job.timestamp is not set")
        );
        let mut foreign = good.clone();
        foreign[1].1 = sign(&format!("&user=alice&timestamp={}", good[0].1), &key_of("bob"));
        assert!(refusal(&market, "alice", &foreign).await.contains("the signature does not match"));
        let mut later = good.clone();
        later[0].1 = (good[0].1.parse::<i64>().unwrap() + 1).to_string();
        assert!(refusal(&market, "alice", &later).await.contains("the signature does not match"));
        let old = properties([
            ("mapred.job.timestamp", "1000"),
            ("mapred.job.signature", &sign("&user=alice&timestamp=1000", &key_of("alice"))),
            queue,
        ]);
        assert!(refusal(&market, "alice", &old).await.contains("stale or replayed: timestamp 1000 is more than"));
        // Nothing of that has used the signature up, and nothing but a good one gets in.
        let mut all = good;
        all.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        market.submit_with("alice", &all, 1).await.unwrap();
    });
}

#[test]
fn section_5_a_user_without_a_key_is_refused_by_name() {
    let terms = Terms { budgets: "zed 1 1\n", ..Terms::default() };
    with_market(terms, async |market| {
        let signed = market.job_signature("zed");
        assert!(refusal(&market, "zed", &signed).await.contains("user \"zed\": the user is unknown"));
    });
}

#[test]
fn section_5_decided_4_one_signature_is_good_for_one_job_and_the_refusal_names_the_key() {
    with_budgets(BUDGETS, async |market| {
        let mut signed = market.job_signature("alice");
        signed.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        market.submit_with("alice", &signed, 1).await.unwrap();
        let (_, text) = market.submit_with("alice", &signed, 1).await.unwrap_err();
        assert!(
            text.contains("has been used 1 times, the limit of mapred.dynamic-scheduler.job-signature-uses"),
            "{text}"
        );
    });
}

#[test]
fn section_5_decided_4_more_uses_may_be_allowed_and_are_counted() {
    let overrides = &["mapred.dynamic-scheduler.job-signature-uses=3"];
    with_market(Terms { budgets: BUDGETS, overrides, ..Terms::default() }, async |market| {
        let mut signed = market.job_signature("alice");
        signed.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        for _ in 0..3 {
            market.submit_with("alice", &signed, 1).await.unwrap();
        }
        let (_, text) = market.submit_with("alice", &signed, 1).await.unwrap_err();
        assert!(text.contains("has been used 3 times"), "{text}");
    });
}

#[test]
fn section_5_decided_4_a_repeated_call_for_a_known_job_is_answered_before_the_guard_is_asked() {
    with_budgets(BUDGETS, async |market| {
        let mut client = market.rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let mut signed = market.job_signature("alice");
        signed.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        let pairs: Vec<_> = signed.iter().map(|(name, value)| (&**name, &**value)).collect();
        let directory = market.rig.stage("alice", id, &pairs, 1);
        for _ in 0..3 {
            assert_eq!(market.submit_staged(&mut client, id, directory.clone()).await, Ok(id));
        }
    });
}
