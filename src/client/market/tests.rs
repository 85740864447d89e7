//! The client of the market against a scripted server.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::market::{Denial, MarketError, ReplayRefusal};

use super::*;

const TIME: &str = "<QueueInfo><host>h</host><start>1</start><time>1700000000000</time></QueueInfo>";
const FRAME: &str = "<QueueInfo><host>h</host></QueueInfo>";

/// Serves one answer after the other, each on a connection of its own; returns the requests' heads.
async fn serve(listener: &TcpListener, answers: &[(&str, String)]) -> Vec<String> {
    let mut asked = Vec::new();
    for (status, body) in answers {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        asked.push(String::from_utf8(head).unwrap());
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
    asked
}

async fn stage() -> (TcpListener, MarketClient) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = MarketClient::new(listener.local_addr().unwrap().to_string());
    (listener, client)
}

fn alice() -> Signer {
    Signer { user: "alice".to_owned(), key: Key::new("alicekey-abc") }
}

/// A denial as the server writes it.
fn denial(refusal: ReplayRefusal) -> (&'static str, String) {
    let error = MarketError::Denied { query: "q&a".into(), reason: Some((Denial::Replay(refusal), 1_700_000_000_005)) };
    ("500 ACCESS DENIED: q&a", format!("ACCESS DENIED: q&amp;a\n{}\n", error.reason_line().unwrap()))
}

fn ok(body: &str) -> (&'static str, String) {
    ("200 OK", body.to_owned())
}

#[tokio::test]
async fn requests_carry_the_servers_time() {
    let (listener, client) = stage().await;
    let answers = [ok(TIME), ok(FRAME)];
    let signer = alice();
    let (asked, answer) = tokio::join!(serve(&listener, &answers), client.request_signed("info=alice", &signer));
    assert_eq!(answer.unwrap(), MarketAnswer::default());
    assert!(asked[0].starts_with("GET /scheduler?time HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(!asked[0].to_lowercase().contains("authorization"), "{}", asked[0]);
    let signed = "GET /scheduler?info=alice&user=alice&timestamp=1700000000000 HTTP/1.1\r\n";
    assert!(asked[1].starts_with(signed), "{}", asked[1]);
    assert!(asked[1].contains("authorization: JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D\r\n"), "{}", asked[1]);
}

#[tokio::test]
async fn a_used_millisecond_is_signed_again() {
    let (listener, client) = stage().await;
    let taken = denial(ReplayRefusal::Used { timestamp_ms: 1_700_000_000_000 });
    let ahead = denial(ReplayRefusal::ClockSetBack { up_to_ms: 1_700_000_000_900, now_ms: 1 });
    let forgotten = denial(ReplayRefusal::Forgotten { timestamp_ms: 1, up_to_ms: 1_700_000_000_902 });
    let answers = [ok(TIME), taken, ahead, forgotten, ok(FRAME)];
    let signer = alice();
    let (asked, answer) =
        tokio::join!(serve(&listener, &answers), client.request_signed("addBudget=1&queue=q", &signer));
    answer.unwrap();
    let stamps: Vec<&str> =
        asked[1..].iter().map(|head| &head[head.find("timestamp=").unwrap() + 10..][..13]).collect();
    assert_eq!(stamps, ["1700000000000", "1700000000001", "1700000000901", "1700000000903"]);
}

#[tokio::test]
async fn repeated_signing_ends() {
    let (listener, client) = stage().await;
    let taken = denial(ReplayRefusal::Used { timestamp_ms: 5 });
    let mut answers = vec![taken; MOST_SIGNATURES];
    answers.insert(0, ok(TIME));
    let signer = alice();
    let (_, answer) = tokio::join!(serve(&listener, &answers), client.request_signed("infos", &signer));
    assert!(matches!(answer.unwrap_err(), MarketClientError::Denied { reason: Some(_) }));
}

#[tokio::test]
async fn nothing_is_signed_for_another_day() {
    let (listener, client) = stage().await;
    let ahead = denial(ReplayRefusal::ClockSetBack { up_to_ms: 1_700_000_300_000, now_ms: 1 });
    let answers = [ok(TIME), ahead];
    let signer = alice();
    let (_, answer) = tokio::join!(serve(&listener, &answers), client.request_signed("infos", &signer));
    let error = answer.unwrap_err().to_string();
    assert!(error.starts_with("access denied: used signatures up to timestamp 1700000300000, ahead of"), "{error}");
}

#[tokio::test]
async fn other_denials_are_final_and_reported() {
    let (listener, client) = stage().await;
    let outside = denial(ReplayRefusal::OutsideWindow { timestamp_ms: 1, now_ms: 2, window_ms: 3 });
    let signer = alice();
    for (denial, expected) in [
        (outside, "access denied: timestamp 1 is more than 3 ms from the server's time 2"),
        (("500 ACCESS DENIED: infos", "ACCESS DENIED: infos\n".to_owned()), "access denied"),
        (("500 x", "<html><pre>ACCESS DENIED: infos</pre>\nat java.lang.Thread</html>".to_owned()), "access denied"),
    ] {
        let answers = [ok(TIME), denial];
        let (_, answer) = tokio::join!(serve(&listener, &answers), client.request_signed("infos", &signer));
        let error = answer.unwrap_err();
        assert!(matches!(error, MarketClientError::Denied { .. }));
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_statement_is_fetched_back_to_its_first_row() {
    let (listener, client) = stage().await;
    let page = |numbers: &[u64], has_earlier| {
        let row = |number| {
            format!(
                r#"{{"number":{number},"time_ms":5,"movements":1,"tick":2,"reason":"top_up","amount":"1.0","balance":"9.0"}}"#
            )
        };
        let rows: Vec<String> = numbers.iter().map(row).collect();
        let rows = rows.join(",");
        ok(&format!(r#"{{"queue":"alice","balance":"9.0","rows":[{rows}],"has_earlier":{has_earlier}}}"#))
    };
    let answers = [ok(TIME), page(&[8, 9], true), ok(TIME), page(&[3, 5], true), ok(TIME), page(&[2], false)];
    let signer = alice();
    let asked = client.statement(Some("alice"), Some(5), &signer);
    let (asked, statement) = tokio::join!(serve(&listener, &answers), asked);
    let numbers: Vec<u64> = statement.unwrap().rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers, [2, 3, 5, 8, 9]);
    assert!(asked[1].starts_with("GET /scheduler/statement?statement=alice&since=5&user=alice&"), "{}", asked[1]);
    assert!(asked[5].starts_with("GET /scheduler/statement?statement=alice&since=5&before=3&user="), "{}", asked[5]);
    let unknown = ("404 Not Found", r#"{"error":"there is no queue q"}"#.to_owned());
    let answers = [ok(TIME), unknown];
    let (_, statement) = tokio::join!(serve(&listener, &answers), client.statement(None, None, &signer));
    assert_eq!(statement.unwrap_err().to_string(), "there is no queue q");
}

#[tokio::test]
async fn refusals_and_failures_are_distinguished() {
    let (listener, client) = stage().await;
    let error = "<QueueInfo><host>h</host><error>there is no queue q</error></QueueInfo>";
    for (answer, is_refused, expected) in [
        (("404 Not Found", error.to_owned()), true, "there is no queue q"),
        (("404 Not Found", "no market here\n".to_owned()), true, "404 Not Found: no market here"),
        (("503 Service Unavailable", error.to_owned()), false, "there is no queue q"),
        (("200 OK", "hello".to_owned()), false, "invalid market answer"),
    ] {
        let answers = [answer];
        let (_, answer) = tokio::join!(serve(&listener, &answers), client.request("price"));
        let error = answer.unwrap_err();
        assert_eq!(matches!(error, MarketClientError::Refused(_)), is_refused, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let is_late = expected == "there is no queue q" && !is_refused;
        assert_eq!(matches!(error, MarketClientError::NoResult { .. }), is_late, "{error}");
        assert_eq!(error.to_string().contains(" gave no result: "), is_late, "{error}");
    }
    drop(listener);
    let error = client.request("price").await.unwrap_err();
    assert!(matches!(error, MarketClientError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}
