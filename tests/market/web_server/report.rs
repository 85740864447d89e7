//! `/scheduler/report`: who may see what.

use crate::web_server::stage::{Answered, Stage};

use jobtracker::market::{ReportKind, ReportRequest};
use jobtracker::web::{LedgerUnreadable, MarketPresence};

async fn asked(stage: &Stage, user: &str, query: &str) -> Answered {
    let (query, header) = stage.sign(user, query);
    stage.request("GET", &format!("/scheduler/report?{query}"), &header).await
}

fn request(kind: ReportKind, since_ms: Option<i64>, user: Option<&str>) -> ReportRequest {
    ReportRequest { kind, since_ms, user: user.map(str::to_owned), ..ReportRequest::default() }
}

#[tokio::test]
async fn administrators_ask_for_all_and_users_for_what_is_theirs() {
    let stage = Stage::new().await;
    let answer = asked(&stage, "root", "report=users&since=5").await;
    assert_eq!(
        (answer.status_line.as_str(), answer.body.trim_end()),
        ("HTTP/1.1 200 OK", r#"{"report":"users","rows":[]}"#)
    );
    assert_eq!(asked(&stage, "alice", "report=jobs").await.status_line, "HTTP/1.1 200 OK");
    let seen = stage.cluster.reports.lock().unwrap().clone();
    assert_eq!(seen, [request(ReportKind::Users, Some(5), None), request(ReportKind::Jobs, None, Some("alice"))]);
    let denied = asked(&stage, "mallory", "report=users").await;
    assert!(denied.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: report=users"), "{}", denied.status_line);
    let unsigned = stage.get("/scheduler/report?report=users").await;
    assert_eq!(unsigned.status_line, "HTTP/1.1 500 ACCESS DENIED: report=users");
    for (query, error) in [
        ("report=nodes", r#"{"error":"report: \"nodes\" is no report, expected users, queues or jobs"}"#),
        ("report=jobs&since=2&until=1", r#"{"error":"until: 1 is before since, 2"}"#),
        ("addBudget=5&queue=alice", r#"{"error":"expected report=users, report=queues or report=jobs"}"#),
    ] {
        let refused = asked(&stage, "root", query).await;
        assert_eq!((&refused.status_line[9..12], refused.body.trim_end()), ("400", error), "{query}");
    }
    *stage.cluster.report.lock().unwrap() = Err(LedgerUnreadable("disk".to_owned()));
    assert_eq!(
        asked(&stage, "root", "report=jobs").await.body.trim_end(),
        r#"{"error":"the ledger cannot be read: disk"}"#
    );
    assert_eq!(stage.cluster.reports.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn money_of_an_idle_market_is_shown_to_no_stranger() {
    let stage = Stage::of(MarketPresence::Idle).await;
    assert!(stage.get("/scheduler/report?report=users").await.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED"));
    let stage = Stage::of(MarketPresence::Absent).await;
    assert_eq!(stage.get("/scheduler/report?report=users").await.status_line, "HTTP/1.1 200 OK");
    assert_eq!(stage.get("/scheduler/report?report=user").await.status_line, "HTTP/1.1 400 Bad Request");
}
