//! Why a job has no more slots: as the owner said it, to each as far as it is that viewer's to know.

use serde_json::json;

use super::stage::{START_MS, Stage};

const PATH: &str = "/api/v1/jobs/job_202611211200_0002/explain";

#[tokio::test]
async fn an_administrator_sees_all_of_it_but_what_depends_on_the_moment() {
    let stage = Stage::new();
    let found = stage.get_as(&stage.session("root"), PATH).await.json();
    let silent = "1 of 2 workers silent, for up to 7 s; after 600 s one counts as lost, and its tasks run elsewhere";
    let expected =
        json!({ "reason": "silent_workers", "silent": 1, "workers": 2, "lost_after_s": 600, "text": silent });
    assert_eq!(found["why"][0], expected);
    assert_eq!(found["market"]["moving"]["rate"], "5.5");
    assert_eq!(found["market"]["class"], json!({ "map": "under_quota" }));
    assert_eq!(found["slots"]["map"]["by_queue"], json!([{ "queue": "carol", "held": 1, "quota": 3 }]));
    let last =
        json!({ "at_ms": START_MS + 90, "attempts": 1, "for_slots": 2, "for_queues": 1, "by_queue": [["carol", 2]] });
    assert_eq!(found["preemption"]["last"], last);
}

#[tokio::test]
async fn the_queues_user_sees_the_own_money_and_no_names() {
    let stage = Stage::new();
    let found = stage.get_as(&stage.session("alice"), PATH).await.json();
    assert_eq!((&found["market"]["budget"], &found["cost"]), (&json!("7319.625"), &json!("41.7319")));
    assert_eq!(found["slots"]["map"]["others_within_quota"], 1);
    assert!(!found.to_string().contains("carol"), "{found}");
}

#[tokio::test]
async fn a_stranger_sees_what_no_money_is_in_also_where_another_scheduler_has_taken_over_since() {
    let stage = Stage::new();
    let ruled = stage.get(PATH).await.json();
    // The explanation is of the market's time, what else is shown of a later one.
    stage.cluster.change_overview(|overview| overview.report.policy = crate::api::PolicyName::Fair);
    let found = stage.get(PATH).await.json();
    assert_eq!(found, ruled);
    let reasons: Vec<&str> =
        found["why"].as_array().unwrap().iter().map(|why| why["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["silent_workers", "earlier_jobs"]);
    for hidden in ["market", "order", "cost", "preemption"] {
        assert!(found.get(hidden).is_none(), "{hidden}: {found}");
    }
    let expected =
        json!({ "total": 4, "this_job": 1, "own_queue": 0, "other_queues": 1, "setup_and_cleanup": 0, "free": 0 });
    assert_eq!(found["slots"]["map"], expected);
    assert!(!found.to_string().contains("carol"), "{found}");
}

#[tokio::test]
async fn what_is_not_known_is_a_problem_that_says_what_to_read_instead() {
    let stage = Stage::new();
    let asked = async |job: &str| stage.get(&format!("/api/v1/jobs/{job}/explain")).await;
    let forgotten = asked("job_202611211200_0001").await;
    assert_eq!(forgotten.problem(), (404, "no-such-job".to_owned()));
    assert_eq!(forgotten.json()["try"], "/api/v1/jobs/job_202611211200_0001/waits");
    let late = asked("job_202611211200_0003").await;
    assert_eq!(
        (late.problem(), late.header("retry-after").is_empty()),
        ((503, "unavailable".to_owned()), false),
        "{late:?}"
    );
    assert_eq!(late.json()["try"], "jobtracker explain job_202611211200_0003");
    assert_eq!(asked("job_202611211200_0099").await.problem(), (404, "no-such-job".to_owned()));
    let first = stage.get(PATH).await;
    let tag = first.header("etag").to_owned();
    assert_eq!(stage.ask("GET", PATH, &[("if-none-match", &tag)]).await.status, 304);
}
