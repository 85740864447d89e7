//! `/scheduler/explain`: who may ask about which job, and who sees names.

use crate::web_server::stage::{Answered, Stage};

use jobtracker::api::Explanation;
use jobtracker::client::market::{MarketClient, Signer};
use jobtracker::market::Key;
use jobtracker::web::WebLimits;

const JOB: &str = "job_202611211200_0001";

/// A job that waits, with a queue of another as only admins see it.
fn explanation(sees_names: bool) -> Explanation {
    let by_queue = if sees_names { r#","by_queue":[{"queue":"bob","held":4,"quota":4}]"# } else { "" };
    let holders = format!(
        r#"{{"total":6,"this_job":1,"own_queue":0,"other_queues":4,"others_within_quota":4,"others_above_quota":0,
            "others_unpaid":0,"setup_and_cleanup":1,"free":0{by_queue}}}"#
    );
    let tasks = r#"{"total":9,"finished":2,"running":1,"pending":6}"#;
    let text = format!(
        r#"{{"job":"{JOB}","name":"word count","user":"alice","queue":"alice","state":"RUNNING",
            "tasks":{{"map":{tasks},"reduce":{tasks}}},"cost":"12.5","why":[{{"reason":"none_free","kind":"map"}}],
            "slots":{{"map":{holders},"reduce":{holders}}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

async fn stage(has_market: bool) -> Stage {
    let stage = Stage::with(WebLimits::default(), has_market).await;
    let told = [false, true].map(|sees_names| ((JOB.parse().unwrap(), sees_names), explanation(sees_names)));
    stage.cluster.explanations.lock().unwrap().extend(told);
    stage
}

async fn asked(stage: &Stage, user: &str, query: &str) -> Answered {
    let (query, header) = stage.sign(user, query);
    stage.request("GET", &format!("/scheduler/explain?{query}"), &header).await
}

#[tokio::test]
async fn a_user_gets_numbers_and_an_admin_names() {
    let stage = stage(true).await;
    let user = asked(&stage, "alice", &format!("job={JOB}")).await;
    assert_eq!(user.status_line, "HTTP/1.1 200 OK");
    assert_eq!(user.header("content-type"), Some("application/json"));
    assert!(!user.body.contains("bob"), "{}", user.body);
    let admin = asked(&stage, "root", &format!("job={JOB}")).await;
    assert_eq!(serde_json::from_str::<Explanation>(&admin.body).unwrap(), explanation(true));
    // What the query says of the queue is not believed.
    let forged = asked(&stage, "mallory", &format!("job={JOB}&queue=mallory")).await;
    assert!(forged.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: job="), "{}", forged.status_line);
    let unsigned = stage.get(&format!("/scheduler/explain?job={JOB}")).await;
    assert!(unsigned.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: job="), "{}", unsigned.status_line);
}

#[tokio::test]
async fn without_a_market_anyone_gets_numbers() {
    let stage = stage(false).await;
    let answer = stage.get(&format!("/scheduler/explain?job={JOB}")).await;
    assert_eq!(serde_json::from_str::<Explanation>(&answer.body).unwrap(), explanation(false));
    assert_eq!(stage.request("DELETE", "/scheduler/explain", "").await.status_line, "HTTP/1.1 405 Method Not Allowed");
    let client = MarketClient::new(stage.address.to_string());
    let signer = Signer { user: "alice".to_owned(), key: Key::new("alicekey-abc") };
    for signer in [None, Some(&signer)] {
        assert_eq!(client.explain(JOB, signer).await.unwrap(), explanation(false));
    }
    assert_eq!(
        client.explain("job_1_0002", None).await.unwrap_err().to_string(),
        "there is no job job_1_0002 in memory"
    );
}

#[tokio::test]
async fn what_is_no_job_is_told() {
    let stage = stage(true).await;
    let refused = async |query| {
        let Answered { status_line, body, .. } = asked(&stage, "root", query).await;
        format!("{} {}", &status_line[9..12], body.trim_end())
    };
    assert_eq!(refused("job=x").await, r#"400 {"error":"job: \"x\" is not the id of a job"}"#);
    assert_eq!(refused("info=alice").await, r#"400 {"error":"expected job=JOB"}"#);
    assert_eq!(refused("job=job_1_0002").await, r#"404 {"error":"there is no job job_1_0002 in memory"}"#);
    let client = MarketClient::new(stage.address.to_string());
    let signer = Signer { user: "alice".to_owned(), key: Key::new("alicekey-abc") };
    assert_eq!(client.explain(JOB, Some(&signer)).await.unwrap(), explanation(false));
}
