//! Walks over lists.

use std::collections::BTreeSet;

use crate::model::RunState;

use super::stage::{START_MS, Stage, accepted, ended};

/// The ids of a list in parts of so many, with what happens after each part.
async fn walk(stage: &Stage, path: &str, id: &str, between: impl Fn(usize)) -> Vec<String> {
    let (mut ids, mut next, mut part) = (Vec::new(), Some(path.to_owned()), 0);
    while let Some(path) = next {
        let answered = stage.get(&path).await;
        let list = answered.json();
        ids.extend(list["items"].as_array().unwrap().iter().map(|item| item[id].to_string()));
        next = list["next"].as_str().map(str::to_owned);
        assert_eq!(next.is_some(), answered.header("link").ends_with("; rel=\"next\""), "{path}");
        between(part);
        part += 1;
        assert!(part < 100, "{path} does not end");
    }
    ids
}

#[tokio::test]
async fn a_walk_over_a_list_that_changes_misses_and_repeats_nothing() {
    let stage = Stage::new();
    stage.cluster.apply((10..30).map(|number| accepted(number, "walked")).collect());
    let expected: BTreeSet<String> = (10..30).map(|number| format!("\"job_202611211200_{number:04}\"")).collect();
    for sort in ["-started_ms", "started_ms", "name", "-state", "queue", "-finish_ms"] {
        let path = format!("/api/v1/jobs?name=WALK&limit=3&sort={sort}");
        let ids = walk(&stage, &path, "job", |part| {
            let number = i32::try_from(part).unwrap();
            // New ones come, and one that was shown ends.
            stage.cluster.apply(vec![accepted(100 + number, "other"), ended(2, RunState::Killed, START_MS + 7)]);
        })
        .await;
        let distinct: BTreeSet<String> = ids.iter().cloned().collect();
        assert_eq!((ids.len(), &distinct), (20, &expected), "{sort}");
    }
}

#[tokio::test]
async fn lists_in_one_order_are_walked_to_their_ends() {
    let stage = Stage::new();
    let base = "/api/v1/applications/application_1700000000000_0001";
    assert_eq!(walk(&stage, &format!("{base}/items?limit=2"), "item", drop).await, ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(walk(&stage, &format!("{base}/containers?limit=1"), "item", drop).await, ["1", "2", "3", "4"]);
    let tasks = walk(&stage, "/api/v1/jobs/job_202611211200_0002/tasks?limit=1", "task", drop).await;
    assert_eq!(tasks.len(), 4);
    let public = Stage::with(super::MarketPresence::Ruling, true, false);
    let rows = walk(&public, "/api/v1/queues/alice/statement?limit=2", "number", drop).await;
    assert_eq!(rows, ["4", "5", "2", "3", "1"]);
    assert_eq!(walk(&public, "/api/v1/history/jobs?limit=1", "job", drop).await.len(), 2);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_list_alone() {
    let stage = Stage::new();
    let next =
        stage.get("/api/v1/jobs?limit=1&state=RUNNING&state=PREP").await.json()["next"].as_str().unwrap().to_owned();
    assert_eq!(stage.get(&next).await.status, 200);
    assert_eq!(stage.get(&format!("{next}&pretty")).await.status, 200);
    let other = next.replace("state=PREP", "state=FAILED");
    assert_eq!(stage.get(&other).await.problem(), (400, "invalid-request".to_owned()));
    assert_eq!(stage.get(&other).await.json()["errors"][0]["parameter"], "after");
}
