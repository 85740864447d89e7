//! What we add to the document for bidders: who may ask, and the form of the answers.

use crate::web_server::stage::{Answered, NOW_MS, Stage};

use jobtracker::client::market::{MarketClient, Signer};
use jobtracker::market::{HistoryPage, Holding, Key, SlotHolder};
use jobtracker::model::{JobId, Now, PerPool};

async fn asked(stage: &Stage, path: &str, user: &str, query: &str) -> Answered {
    let (query, header) = stage.sign(user, query);
    stage.request("GET", &format!("{path}?{query}"), &header).await
}

fn is_denied(answer: &Answered) -> bool {
    answer.status_line.starts_with("HTTP/1.1 500 ACCESS DENIED: ")
}

fn alice() -> Signer {
    Signer { user: "alice".to_owned(), key: Key::new("alicekey-abc") }
}

#[tokio::test]
async fn a_quote_is_xml() {
    let stage = Stage::new().await;
    // Alice holds a slot since the tick: the quote counts it up to the end of the interval.
    let holder = SlotHolder::Job(JobId::new("1".parse().unwrap(), 1));
    let (queue, held) = ("alice".parse().unwrap(), PerPool::new(1, 0, 0));
    let held = Holding { holder, queue, order: 1, grace: None, held };
    let now = Now { mono_ms: 60_000, wall_ms: NOW_MS };
    stage.cluster.market.lock().unwrap().start_meter(vec![held], 20_000, now);
    for user in ["alice", "root"] {
        let answer = asked(&stage, "/scheduler", user, "quote=3&queue=alice").await;
        assert_eq!(answer.header("content-type"), Some("text/xml; charset=utf-8"));
        insta::allow_duplicates!(insta::assert_snapshot!(answer.body, @r#"
        <QueueInfo>
          <host>myhost</host>
          <quote queue="alice">
            <rate>3.0</rate>
            <price>4.0</price>
            <share>0.750000000</share>
            <mapSlots>5</mapSlots>
            <reduceSlots>1</reduceSlots>
            <containerSlots>0</containerSlots>
            <budget>99.5</budget>
            <fullUseLasts>110</fullUseLasts>
            <presentUseLasts>663</presentUseLasts>
          </quote>
        </QueueInfo>
        "#));
    }
    assert_eq!(stage.balance("alice").as_deref(), Some("100.0"), "nothing is changed");
}

#[tokio::test]
async fn quotes_are_for_the_queues_user_and_admins() {
    let stage = Stage::new().await;
    for (user, query) in [("alice", "quote=1&queue=bob"), ("alice", "quote=1"), ("mallory", "quote=1&queue=mallory")] {
        assert!(is_denied(&asked(&stage, "/scheduler", user, query).await), "{user} {query}");
    }
    assert!(is_denied(&stage.get("/scheduler?quote=1&queue=alice").await));
    let refused = async |query| {
        let Answered { status_line, body, .. } = asked(&stage, "/scheduler", "root", query).await;
        let error = body.lines().find(|line| line.contains("<error>")).unwrap_or_default().trim().to_owned();
        format!("{} {error}", &status_line[9..12])
    };
    assert_eq!(refused("quote=1").await, "400 <error>quote needs a parameter queue</error>");
    assert_eq!(refused("quote=-1&queue=bob").await, "400 <error>quote: -1.0 is negative</error>");
    assert_eq!(refused("quote=1&queue=nobody").await, "404 <error>there is no queue nobody</error>");
    assert_eq!(
        refused("quote=1&price&queue=bob").await,
        "400 <error>quote and price are two operations; a request carries one</error>"
    );
    // A timestamp counts once.
    let (query, header) = stage.sign("alice", "quote=1&queue=alice");
    let target = format!("/scheduler?{query}");
    assert_eq!(stage.request("HEAD", &target, &header).await.status_line, "HTTP/1.1 200 OK");
    assert!(is_denied(&stage.request("GET", &target, &header).await));
}

#[tokio::test]
async fn standings_are_json() {
    let stage = Stage::new().await;
    let all = asked(&stage, "/scheduler/queues", "root", "queues").await;
    assert_eq!(all.header("content-type"), Some("application/json"));
    insta::assert_snapshot!(all.body.trim_end(), @r#"{"queues":[{"queue":"alice","budget":"100.0","bid":"0.5","rate":"0.5","share":"0.333333333","quota":{"map":2,"reduce":1,"container":0},"running":{"map":1,"reduce":0,"container":0},"pending":3,"lasts_s":4000},{"queue":"bob","budget":"10.0","bid":"1.0","rate":"1.0","share":"0.666666666","quota":{"map":4,"reduce":1,"container":0},"running":{"map":1,"reduce":0,"container":0},"pending":3,"lasts_s":200}]}"#);
    let own = asked(&stage, "/scheduler/queues", "alice", "queues").await.body;
    assert!(own.contains("\"alice\"") && !own.contains("bob"), "{own}");
    assert_eq!(asked(&stage, "/scheduler/queues", "alice", "queues=alice").await.body, own);
    assert!(is_denied(&asked(&stage, "/scheduler/queues", "alice", "queues=bob").await));
    assert!(is_denied(&stage.get("/scheduler/queues?queues").await));
    let nothing = asked(&stage, "/scheduler/queues", "root", "info=alice").await;
    assert_eq!(nothing.status_line, "HTTP/1.1 400 Bad Request");
}

#[tokio::test]
async fn prices_are_for_everyone_and_spending_for_who_pays() {
    let stage = Stage::new().await;
    for target in ["/scheduler/history", "/scheduler/history?history&points=24&since=5"] {
        let answer = stage.get(target).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        insta::allow_duplicates!(
            insta::assert_snapshot!(answer.body.trim_end(), @r#"{"step_ms":7,"points":[{"time_ms":5,"tick":3,"price":"1.5","low":"1.5","high":"1.5"}]}"#)
        );
    }
    let history = "/scheduler/history";
    for (user, query) in [("alice", "history&queue=bob"), ("mallory", "history&queue=alice")] {
        assert!(is_denied(&asked(&stage, history, user, query).await), "{user} {query}");
    }
    assert!(is_denied(&stage.get("/scheduler/history?history&queue=alice").await));
    let own = asked(&stage, history, "alice", "history&queue=alice").await;
    assert_eq!(own.body, "{\"queue\":\"alice\",\"step_ms\":7,\"points\":[]}\n");
    assert_eq!(asked(&stage, history, "root", "history&queue=gone").await.status_line, "HTTP/1.1 200 OK");
    assert_eq!(asked(&stage, history, "root", "history&queue=nobody").await.status_line, "HTTP/1.1 404 Not Found");
    for query in ["points=0&history", "since=x&history", "queue=alice", "history=a&history=b"] {
        let answer = asked(&stage, history, "root", query).await;
        assert_eq!(answer.status_line, "HTTP/1.1 400 Bad Request", "{query}");
    }
    let pages = stage.cluster.history_pages.lock().unwrap().clone();
    let page = |since_ms, points| HistoryPage { since_ms, points };
    let queue = |name: &str| Some(name.parse().unwrap());
    let expected = [
        (None, page(None, 100)),
        (None, page(Some(5), 24)),
        (queue("alice"), page(None, 100)),
        (queue("gone"), page(None, 100)),
    ];
    assert_eq!(pages[..4], expected);
    let client = MarketClient::new(stage.address.to_string());
    assert_eq!(client.price_history(Some(9), 3).await.unwrap().points.len(), 1);
    assert_eq!(stage.cluster.history_pages.lock().unwrap().last(), Some(&(None, page(Some(9), 3))));
}

#[tokio::test]
async fn the_client_reads_what_is_sent() {
    let stage = Stage::new().await;
    let client = MarketClient::new(stage.address.to_string());
    let quote = client.request_signed("quote=3&queue=alice", &alice()).await.unwrap().quote.unwrap();
    assert_eq!((quote.queue.as_str(), quote.map_slots, quote.price.as_str()), ("alice", 5, "4.0"));
    let standings = client.queue_statuses(None, &alice()).await.unwrap();
    assert_eq!((standings.len(), standings[0].queue.as_str()), (1, "alice"));
    assert_eq!(standings[0].lasts_s, Some(4_000));
}
