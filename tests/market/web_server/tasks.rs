//! `/scheduler/tasks`, `/scheduler/jobs` and `/scheduler/workers`: who may ask, and who may change.

use crate::web_server::stage::{Answered, Stage};

const JOB: &str = "job_202611211200_0001";

async fn signed(stage: &Stage, path: &str, user: &str, query: &str) -> Answered {
    let (query, header) = stage.sign(user, query);
    stage.request("GET", &format!("{path}?{query}"), &header).await
}

fn status(answer: &Answered) -> &str {
    answer.status_line.split(' ').nth(1).unwrap_or_default()
}

/// All jobs are alice's, and none is in memory.
#[tokio::test]
async fn attempts_are_for_the_jobs_user_and_administrators_while_the_market_rules() {
    let stage = Stage::new().await;
    for user in ["alice", "root"] {
        let answer = signed(&stage, "/scheduler/tasks", user, &format!("tasks={JOB}&running")).await;
        assert_eq!(status(&answer), "404", "{}", answer.body);
        assert!(answer.body.contains("there is no job job_202611211200_0001 in memory"), "{}", answer.body);
    }
    assert_eq!(status(&signed(&stage, "/scheduler/tasks", "alice", "tasks=x").await), "400");
    let other = signed(&stage, "/scheduler/tasks", "bob", &format!("tasks={JOB}")).await;
    assert!(other.status_line.contains("ACCESS DENIED"), "{}", other.status_line);
    let believed = stage.get(&format!("/scheduler/tasks?tasks={JOB}&user.name=alice")).await;
    assert!(believed.status_line.contains("ACCESS DENIED"), "{}", believed.status_line);
    // What was signed for another address is nothing here.
    assert_eq!(status(&signed(&stage, "/scheduler/tasks", "alice", &format!("job={JOB}")).await), "400");
}

#[tokio::test]
async fn times_are_for_all_and_workers_for_all_to_see() {
    let stage = Stage::new().await;
    let times = stage.get("/scheduler/jobs?jobs").await;
    assert_eq!(status(&times), "200", "{}", times.body);
    assert!(times.body.contains("\"is_market_ruling\":true"), "{}", times.body);
    assert_eq!(status(&signed(&stage, "/scheduler/jobs", "alice", "jobs").await), "200");
    assert_eq!(status(&stage.get("/scheduler/jobs").await), "400");
    assert_eq!(stage.get("/scheduler/workers").await.body, "{\"at_ms\":0,\"workers\":[]}\n");
    // A GET changes nothing, signed or not.
    assert_eq!(status(&stage.get("/scheduler/workers?drain=w1&user.name=root").await), "400");
    let headers = "X-Requested-By: test\r\nContent-Type: application/json\r\nContent-Length: 0\r\n";
    let believed = stage.request("POST", "/scheduler/workers?drain=w1&user.name=root", headers).await;
    assert_eq!(status(&believed), "401", "the market rules: {}", believed.body);
    let denied = stage.signed("GET", "alice", "drain=w1").await;
    assert!(denied.body.contains("drain needs the role admin, which alice has not"), "{}", denied.body);
    assert_eq!(status(&stage.signed("HEAD", "root", "drain=w1").await), "405");
}
