//! The live stream.

use axum::body::{Body, HttpBody};

use crate::model::RunState;

use super::stage::{START_MS, Stage, accepted, decided, ended, job_id};

/// The next frame; none once the stream has ended.
pub(super) async fn next(body: &mut Body) -> Option<String> {
    let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await?;
    Some(String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
}

/// Frames up to the one with this name.
pub(super) async fn until(body: &mut Body, name: &str) -> String {
    loop {
        let frame = next(body).await.expect("the stream lives");
        if frame.starts_with(&format!("event: {name}\n")) {
            return frame;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_come_as_rows_of_lists_and_a_reader_that_returns_gets_what_it_missed() {
    let stage = Stage::new();
    let (status, mut body) = stage.stream("/api/v1/events", None).await;
    assert_eq!(status, 200);
    assert_eq!(next(&mut body).await.unwrap(), "retry: 2000\n\n");
    let hello = until(&mut body, "hello").await;
    assert!(hello.contains(&format!("id: {START_MS}-0\ndata: {{")), "{hello}");
    until(&mut body, "cluster").await;
    stage.cluster.apply(vec![accepted(7, "a\nevent: bye\r\n\ndata: b")]);
    let row = until(&mut body, "job").await;
    assert_eq!(row.lines().count(), 4, "{row}");
    let data = row.lines().nth(2).unwrap().strip_prefix("data: ").unwrap();
    let listed = stage.get("/api/v1/jobs?limit=1").await.json()["items"][0].clone();
    assert_eq!(serde_json::from_str::<serde_json::Value>(data).unwrap(), listed);
    let seen = row.lines().nth(1).unwrap().strip_prefix("id: ").unwrap().to_owned();
    stage.cluster.apply(vec![ended(7, RunState::Killed, START_MS + 300)]);
    stage.cluster.report_end(job_id(7));
    let missed = until(&mut body, "job").await;
    let (_, mut again) = stage.stream("/api/v1/events", Some(&seen)).await;
    until(&mut again, "hello").await;
    assert_eq!(next(&mut again).await.unwrap(), missed, "the same bytes");
    let (_, mut other) = stage.stream("/api/v1/events", Some("7-1")).await;
    until(&mut other, "reset").await;
    let (_, mut market) = stage.stream("/api/v1/events?topics=market", None).await;
    stage.streams.close();
    for body in [&mut body, &mut again, &mut other, &mut market] {
        until(body, "bye").await;
        assert_eq!(next(body).await, None);
    }
    assert_eq!(stage.get("/api/v1/events").await.problem(), (503, "unavailable".to_owned()));
    assert_eq!(stage.get("/api/v1/events?topics=weather").await.problem(), (400, "invalid-request".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn decisions_come_as_the_rows_of_their_list() {
    let stage = Stage::new();
    let (_, mut body) = stage.stream("/api/v1/events?topics=decisions", None).await;
    until(&mut body, "hello").await;
    stage.cluster.apply(vec![decided()]);
    let row = until(&mut body, "decision").await;
    let data = row.lines().nth(2).unwrap().strip_prefix("data: ").unwrap();
    let listed = stage.get("/api/v1/decisions?limit=1").await.json()["items"][0].clone();
    assert_eq!(serde_json::from_str::<serde_json::Value>(data).unwrap(), listed);
    assert!(!data.contains("3.3719") && !data.contains("9.7319"), "of a stranger: {data}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_left_and_costs_no_other_one_anything() {
    let stage = Stage::new();
    let (_, mut slow) = stage.stream("/api/v1/events?topics=jobs", None).await;
    let (_, mut quick) = stage.stream("/api/v1/events?topics=jobs", None).await;
    for number in 10..100 {
        stage.cluster.apply(vec![accepted(number, "one more")]);
        until(&mut quick, "job").await;
    }
    let mut frames = Vec::new();
    while let Some(frame) = next(&mut slow).await {
        frames.push(frame);
    }
    assert!(frames.len() < 70, "{}", frames.len());
}
