//! `/scheduler`: the document's operations, denials and refusals as they travel.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::web_server::stage::{Answered, NOW_MS, Stage};

use jobtracker::market::Acl;

const OK: &str = "HTTP/1.1 200 OK";

#[tokio::test]
async fn price_and_time_need_no_signature() {
    let stage = Stage::new().await;
    let price = stage.get("/scheduler?price").await;
    assert_eq!(price.status_line, OK);
    assert_eq!(price.header("content-type"), Some("text/xml; charset=utf-8"));
    insta::assert_snapshot!(price.body, @r"
    <QueueInfo>
      <host>myhost</host>
      <price>1.5</price>
    </QueueInfo>
    ");
    insta::assert_snapshot!(stage.get("/scheduler?time").await.body, @r"
    <QueueInfo>
      <host>myhost</host>
      <start>1700000000000</start>
      <time>1700000060000</time>
    </QueueInfo>
    ");
    assert_eq!(stage.cluster.acl_looks.load(Ordering::SeqCst), 0, "the list of users was read for nothing");
    // A bad signature takes nothing away from what all may ask.
    assert_eq!(stage.request("GET", "/scheduler?price", "Authorization: x\r\n").await.status_line, OK);
}

#[tokio::test]
async fn users_and_admins_perform_the_signed_operations() {
    let stage = Stage::new().await;
    insta::assert_snapshot!(stage.signed("GET", "alice", "info=alice").await.body, @r#"
    <QueueInfo>
      <host>myhost</host>
      <queue name="alice">
        <budget>100.0</budget>
        <spending>0.5</spending>
        <share>0.333333333</share>
        <used>0</used>
        <pending>3</pending>
      </queue>
    </QueueInfo>
    "#);
    insta::assert_snapshot!(stage.signed("GET", "alice", "setSpending=2.25&queue=alice").await.body, @r#"
    <QueueInfo>
      <host>myhost</host>
      <queue name="alice">
        <budget>100.0</budget>
        <spending>2.25</spending>
        <share>0.333333333</share>
        <used>0</used>
        <pending>3</pending>
      </queue>
    </QueueInfo>
    "#);
    insta::assert_snapshot!(stage.signed("GET", "root", "addBudget=1000.5&queue=alice").await.body, @r#"
    <QueueInfo>
      <host>myhost</host>
      <queue name="alice">
        <budget>1100.5</budget>
        <spending>2.25</spending>
        <share>0.333333333</share>
        <used>0</used>
        <pending>3</pending>
      </queue>
    </QueueInfo>
    "#);
    insta::assert_snapshot!(stage.signed("GET", "root", "addQueue=carol").await.body, @r#"
    <QueueInfo>
      <host>myhost</host>
      <queue name="carol">
        <budget>0.0</budget>
        <spending>0.0</spending>
        <share>0.000000000</share>
        <used>0</used>
        <pending>0</pending>
      </queue>
    </QueueInfo>
    "#);
    insta::assert_snapshot!(stage.signed("GET", "root", "infos").await.body, @r#"
    <QueueInfo>
      <host>myhost</host>
      <price>1.5</price>
      <queue name="alice">
        <budget>100.0</budget>
        <spending>0.5</spending>
        <share>0.333333333</share>
        <used>0</used>
        <pending>3</pending>
      </queue>
      <queue name="bob">
        <budget>10.0</budget>
        <spending>1.0</spending>
        <share>0.666666666</share>
        <used>0</used>
        <pending>3</pending>
      </queue>
      <queue name="carol">
        <budget>0.0</budget>
        <spending>0.0</spending>
        <share>0.000000000</share>
        <used>0</used>
        <pending>0</pending>
      </queue>
    </QueueInfo>
    "#);
    insta::assert_snapshot!(stage.signed("GET", "root", "removeQueue=carol").await.body, @r"
    <QueueInfo>
      <host>myhost</host>
    </QueueInfo>
    ");
    assert_eq!(stage.balance("alice").as_deref(), Some("1100.5"));
    assert_eq!(stage.balance("carol"), None);
}

#[tokio::test]
async fn a_bare_info_is_of_the_signers_queue() {
    let stage = Stage::new().await;
    let answer = stage.signed("GET", "alice", "info").await;
    assert_eq!(answer.status_line, OK);
    assert!(answer.body.contains("<queue name=\"alice\">"), "{}", answer.body);
}

#[tokio::test]
async fn an_empty_query_gets_the_frame() {
    let stage = Stage::new().await;
    for target in ["/scheduler", "/scheduler?"] {
        let answer = stage.get(target).await;
        assert_eq!(answer.status_line, OK);
        assert_eq!(answer.body, "<QueueInfo>\n  <host>myhost</host>\n</QueueInfo>\n");
    }
}

#[tokio::test]
async fn a_denial_is_the_documents_status_line() {
    let stage = Stage::new().await;
    let raw = stage.exchange("GET /scheduler?info=a&x='&user=u HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").await;
    assert!(raw.starts_with("HTTP/1.1 500 ACCESS DENIED: info=a&x='&user=u\r\n"), "{raw}");
    let answer = Answered::parse(&raw);
    assert_eq!(answer.body, "ACCESS DENIED: info=a&amp;x='&amp;user=u\n");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
}

#[tokio::test]
async fn whoever_is_not_recognised_is_told_nothing() {
    let stage = Stage::new().await;
    let (query, header) = stage.sign("mallory", "info=alice");
    let target = format!("/scheduler?{query}");
    let broken = ["", &header, "Authorization: %\r\n", "Authorization: \u{e9}\r\n", "Authorization:\r\n"];
    for header in broken {
        let answer = stage.request("GET", &target, header).await;
        assert_eq!(answer.status_line, format!("HTTP/1.1 500 ACCESS DENIED: {query}"), "{header:?}");
        assert_eq!(answer.body.lines().count(), 1, "{}", answer.body);
    }
    // Not even that a parameter is missing or wrong.
    let answer = stage.get("/scheduler?setSpending=abc&user=alice&timestamp=1").await;
    assert_eq!(answer.status_line, "HTTP/1.1 500 ACCESS DENIED: setSpending=abc&user=alice&timestamp=1");
}

#[tokio::test]
async fn a_recognised_signer_is_told_the_reason_and_the_time() {
    let stage = Stage::new().await;
    let answer = stage.signed("GET", "alice", "infos").await;
    assert!(answer.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: infos&user=alice&"), "{}", answer.status_line);
    let reason = answer.body.lines().nth(1).unwrap();
    assert!(reason.contains("admin") && reason.ends_with(&NOW_MS.to_string()), "{reason}");

    let (query, header) = stage.sign("alice", "info");
    let target = format!("/scheduler?{query}");
    assert_eq!(stage.request("GET", &target, &header).await.status_line, OK);
    let replayed = stage.request("GET", &target, &header).await;
    assert_eq!(replayed.status_line, format!("HTTP/1.1 500 ACCESS DENIED: {query}"));
    assert!(replayed.body.lines().nth(1).unwrap().contains("was used before"), "{}", replayed.body);
}

#[tokio::test]
async fn a_long_query_is_cut_in_the_status_line_only() {
    let stage = Stage::new().await;
    let query = format!("info={}", "q".repeat(4000));
    let answer = stage.get(&format!("/scheduler?{query}")).await;
    assert_eq!(answer.status_line.len(), "HTTP/1.1 500 ".len() + 1024);
    assert_eq!(answer.body, format!("ACCESS DENIED: {query}\n"));
}

#[tokio::test]
async fn an_unescaped_query_is_verified_as_it_came() {
    let stage = Stage::new().await;
    let answer = stage.signed("GET", "root", "info=caf\u{e9}").await;
    assert_eq!(answer.status_line, "HTTP/1.1 400 Bad Request");
    let escaped = stage.signed("GET", "root", "info=%61lice").await;
    assert!(escaped.body.contains("<queue name=\"alice\">"), "{}", escaped.body);
}

#[tokio::test]
async fn an_edited_list_of_users_counts_at_the_next_request() {
    let stage = Stage::new().await;
    assert_eq!(stage.signed("GET", "alice", "info").await.status_line, OK);
    *stage.cluster.acl.lock().unwrap() = Arc::new(Acl::parse("bob user bob\n", "acl").unwrap());
    assert!(stage.signed("GET", "alice", "info").await.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: "));
    assert_eq!(stage.signed("GET", "bob", "info").await.status_line, OK);
}

/// Defect 21: the original took form fields, which nothing signs.
#[tokio::test]
async fn defect_21_a_post_takes_its_query_and_no_body() {
    let stage = Stage::new().await;
    let (query, header) = stage.sign("root", "addBudget=1&queue=alice");
    let form = "setSpending=77&addBudget=1000&queue=bob";
    let headers = format!(
        "{header}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let request = format!("POST /scheduler?{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}");
    let answer = Answered::parse(&stage.exchange(request).await);
    assert_eq!(answer.status_line, OK);
    assert_eq!(stage.balance("alice").as_deref(), Some("101.0"));
    assert!(answer.body.contains("<spending>0.5</spending>"), "{}", answer.body);
}

/// Defect 21: the original changed state by HEAD.
#[tokio::test]
async fn defect_21_a_head_changes_nothing() {
    let stage = Stage::new().await;
    let (query, header) = stage.sign("root", "addBudget=1&queue=alice");
    let target = format!("/scheduler?{query}");
    let answer = stage.request("HEAD", &target, &header).await;
    assert_eq!(answer.status_line, "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(answer.header("allow"), Some("get, post, options"));
    assert_eq!(stage.balance("alice").as_deref(), Some("100.0"));
    // The timestamp has not been used up.
    assert_eq!(stage.request("GET", &target, &header).await.status_line, OK);
    let price = stage.request("HEAD", "/scheduler?price", "").await;
    assert_eq!((price.status_line.as_str(), price.body.as_str()), (OK, ""));
}

#[tokio::test]
async fn other_methods_are_refused() {
    let stage = Stage::new().await;
    for method in ["PUT", "DELETE", "PATCH", "TRACE", "BREW"] {
        let answer = stage.signed(method, "root", "addQueue=carol").await;
        assert_eq!(answer.status_line, "HTTP/1.1 405 Method Not Allowed", "{method}");
        assert_eq!(answer.header("allow"), Some("get, head, post, options"), "{method}");
    }
    let options = stage.request("OPTIONS", "/scheduler", "").await;
    assert_eq!((options.status_line.as_str(), options.header("allow")), (OK, Some("get, head, post, options")));
    assert_eq!(stage.balance("carol"), None);
}

#[tokio::test]
async fn refusals_are_typed_and_named() {
    let stage = Stage::new().await;
    for (operation, status) in [
        ("info&info", "400 Bad Request"),
        ("addBudget=1&queue=alice&queue=bob", "400 Bad Request"),
        ("price&time", "400 Bad Request"),
        ("frobnicate=1", "400 Bad Request"),
        ("info=%zz", "400 Bad Request"),
        ("setSpending=abc&queue=alice", "400 Bad Request"),
        ("setSpending=-1&queue=alice", "400 Bad Request"),
        ("setSpending=1", "400 Bad Request"),
        ("addBudget=-101&queue=alice", "400 Bad Request"),
        ("addQueue=a%26b", "400 Bad Request"),
        ("info=nobody", "404 Not Found"),
        ("addBudget=1&queue=nobody", "404 Not Found"),
        ("addQueue=alice", "409 Conflict"),
        ("removeQueue=bob", "409 Conflict"),
    ] {
        let answer = stage.signed("GET", "root", operation).await;
        assert_eq!(answer.status_line, format!("HTTP/1.1 {status}"), "{operation}");
        assert_eq!(answer.header("content-type"), Some("text/xml; charset=utf-8"));
        assert!(answer.body.contains("<error>"), "{operation}: {}", answer.body);
    }
    insta::assert_snapshot!(stage.signed("GET", "root", "setSpending=1e3&queue=alice").await.body, @r"
    <QueueInfo>
      <host>myhost</host>
      <error>setSpending: &quot;1e3&quot; is not a decimal number such as 12.5</error>
    </QueueInfo>
    ");
    insta::assert_snapshot!(stage.signed("GET", "root", "removeQueue=bob").await.body, @r"
    <QueueInfo>
      <host>myhost</host>
      <error>queue bob has unfinished jobs or applications</error>
    </QueueInfo>
    ");
}

#[tokio::test]
async fn the_path_is_exact() {
    let stage = Stage::new().await;
    for target in ["/scheduler/?price", "/Scheduler?price", "/%73cheduler?price", "//scheduler?price", "/scheduler/x"] {
        assert_eq!(stage.get(target).await.status_line, "HTTP/1.1 404 Not Found", "{target}");
    }
    assert_eq!(stage.get("http://h/scheduler?price").await.status_line, OK);
    let elsewhere = stage.get("http://elsewhere/scheduler?price").await.status_line;
    assert_eq!(elsewhere, "HTTP/1.1 421 Misdirected Request");
}

#[tokio::test]
async fn without_a_market_there_is_no_servlet() {
    let stage = Stage::with(Default::default(), false).await;
    for target in ["/scheduler?price", "/scheduler?info&user=alice"] {
        let answer = stage.get(target).await;
        assert_eq!(answer.status_line, "HTTP/1.1 404 Not Found");
        assert!(answer.body.contains("no market"), "{}", answer.body);
    }
}

#[tokio::test]
async fn without_an_owner_the_answer_is_503() {
    let stage = Stage::new().await;
    stage.cluster.gone.store(true, Ordering::SeqCst);
    let answer = stage.get("/scheduler?price").await;
    assert_eq!(answer.status_line, "HTTP/1.1 503 Service Unavailable");
    assert!(answer.body.contains("<error>"), "{}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_does_not_answer_is_not_waited_for_without_end() {
    let stage = Stage::new().await;
    stage.cluster.held.store(true, Ordering::SeqCst);
    let answer = stage.signed("GET", "root", "addBudget=1&queue=alice").await;
    assert_eq!(answer.status_line, "HTTP/1.1 503 Service Unavailable");
    assert!(answer.body.contains("may have been performed"), "{}", answer.body);
}
