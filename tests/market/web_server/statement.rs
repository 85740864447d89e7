//! `/scheduler/statement`: who may see what, and as what.

use crate::web_server::stage::{Answered, Stage};

use jobtracker::api::{MovementReason, Statement, StatementRow};
use jobtracker::market::StatementPage;
use jobtracker::web::LedgerUnreadable;

fn statement() -> Statement {
    let row = StatementRow {
        number: 7,
        time_ms: 1_700_000_000_020,
        day: None,
        movements: 1,
        tick: 3,
        reason: MovementReason::Charge,
        rate: Some("0.5".parse().unwrap()),
        interval_ms: Some(20_000),
        map_slot_ms: Some(40_000),
        reduce_slot_ms: Some(0),
        container_slot_ms: Some(0),
        map_slots: None,
        reduce_slots: None,
        container_slots: None,
        other_queue: None,
        by: None,
        note: None,
        amount: "-1".parse().unwrap(),
        balance: Some("99".parse().unwrap()),
    };
    Statement { queue: "alice".parse().unwrap(), balance: "99".parse().unwrap(), rows: vec![row], has_earlier: false }
}

async fn asked(stage: &Stage, user: &str, query: &str) -> Answered {
    let (query, header) = stage.sign(user, query);
    stage.request("GET", &format!("/scheduler/statement?{query}"), &header).await
}

#[tokio::test]
async fn the_owner_and_admins_get_json() {
    let stage = Stage::new().await;
    *stage.cluster.statement.lock().unwrap() = Ok(Some(statement()));
    let answer = asked(&stage, "alice", "statement").await;
    assert_eq!(answer.status_line, "HTTP/1.1 200 OK");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    insta::assert_snapshot!(answer.body.trim_end(), @r#"{"queue":"alice","balance":"99.0","rows":[{"number":7,"time_ms":1700000000020,"movements":1,"tick":3,"reason":"charge","rate":"0.5","interval_ms":20000,"map_slot_ms":40000,"reduce_slot_ms":0,"container_slot_ms":0,"amount":"-1.0","balance":"99.0"}],"has_earlier":false}"#);
    asked(&stage, "root", "statement=bob&since=1700000000000&before=12").await;
    let pages = stage.cluster.pages.lock().unwrap().clone();
    let whole = ("alice".parse().unwrap(), StatementPage::default());
    let part = StatementPage { since_ms: Some(1_700_000_000_000), before: Some(12) };
    assert_eq!(pages, [whole, ("bob".parse().unwrap(), part)]);
}

#[tokio::test]
async fn nobody_else_gets_anything() {
    let stage = Stage::new().await;
    *stage.cluster.statement.lock().unwrap() = Ok(Some(statement()));
    for (user, query) in [("alice", "statement=bob"), ("mallory", "statement=alice")] {
        let answer = asked(&stage, user, query).await;
        assert!(answer.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: statement="), "{}", answer.status_line);
    }
    let unsigned = stage.get("/scheduler/statement?statement=alice").await;
    assert_eq!(unsigned.status_line, "HTTP/1.1 500 ACCESS DENIED: statement=alice");
    // A signature counts once, wherever it is used.
    let (query, header) = stage.sign("alice", "statement");
    let target = format!("/scheduler/statement?{query}");
    assert_eq!(stage.request("GET", &target, &header).await.status_line, "HTTP/1.1 200 OK");
    assert!(stage.request("GET", &target, &header).await.body.contains("was used before"));
    assert_eq!(stage.cluster.pages.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_signature_for_one_address_is_none_for_the_other() {
    let stage = Stage::new().await;
    let (statement, header) = stage.sign("alice", "statement=alice");
    let answer = stage.request("GET", &format!("/scheduler?{statement}"), &header).await;
    assert_eq!(answer.status_line, "HTTP/1.1 400 Bad Request");
    let answer = asked(&stage, "root", "addBudget=5&queue=alice").await;
    assert_eq!(answer.status_line, "HTTP/1.1 400 Bad Request");
    assert_eq!(answer.body, "{\"error\":\"expected statement=QUEUE, or statement for the signer's own queue\"}\n");
    assert_eq!(stage.balance("alice").as_deref(), Some("100.0"));
}

#[tokio::test]
async fn what_cannot_be_shown_is_told() {
    let stage = Stage::new().await;
    let refused = async |query| {
        let Answered { status_line, body, .. } = asked(&stage, "root", query).await;
        format!("{} {}", &status_line[9..12], body.trim_end())
    };
    assert_eq!(refused("statement=nobody").await, r#"404 {"error":"there is no queue nobody"}"#);
    assert_eq!(refused("statement=a&since=now").await, r#"400 {"error":"since: \"now\" is not a whole number"}"#);
    *stage.cluster.statement.lock().unwrap() = Err(LedgerUnreadable("disk".to_owned()));
    assert_eq!(refused("statement=alice").await, r#"503 {"error":"the ledger cannot be read: disk"}"#);
}
