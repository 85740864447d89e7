//! Requests and signatures that attackers have tried in vain, and must go on trying in vain.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::attacker::{stage_job, try_submit};
use crate::daemon::child::{ChildDaemon, DaemonFolders, try_get};
use crate::stage::{Stage, run};
use crate::staging::{JobFiles, signed};
use crate::verdict::{excerpt, pronounce};
use crate::victims::{next_timestamp, small_job};

use jobtracker::clock::wall_ms;
use jobtracker::market::Key;
use jobtracker::market::signature::sign;

/// A daemon whose queues have no work: what they have changes by requests only.
fn quiet_market() -> (DaemonFolders, ChildDaemon) {
    let place = crate::stage::place(&[]);
    let serving = place.start();
    (place, serving)
}

/// What all queues have and pay.
fn money(serving: &ChildDaemon) -> String {
    let answer = serving.ask("root", "infos");
    assert_eq!(answer.status, 200, "{}", answer.reason);
    answer.body.split("<queue>").skip(1).collect()
}

/// The answer to bytes as they are.
fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // It may be refused before its last byte.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn request(serving: &ChildDaemon, method: &str, target: &str, header: &str) -> String {
    let host = serving.http;
    let text = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}\r\n");
    exchange(serving.http, text.as_bytes())
}

fn status_of(answer: &str) -> u16 {
    answer.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

pub fn verdict(name: &'static str, tried: usize, broken: &[String]) {
    let verdict = if broken.is_empty() { "held".to_owned() } else { format!("BROKEN: {}", broken.join("; ")) };
    pronounce(&format!("{name} | {tried} tried; verdict {verdict}"), broken.is_empty());
}

#[test]
fn every_route_under_every_method() {
    let (_place, serving) = quiet_market();
    let routes = [
        "/",
        "/jobtracker.jsp",
        "/jobdetails.jsp?jobid=job_202601010000_0001",
        "/jobqueue_details.jsp?queueName=alice",
        "/metrics",
        "/healthz",
        "/readyz",
        "/scheduler",
        "/scheduler?price",
        "/scheduler?time",
        "/scheduler?infos",
        "/scheduler?info=alice",
        "/scheduler?addBudget=1000&queue=bob",
        "/scheduler?setSpending=9&queue=bob",
        "/scheduler?addQueue=mallory",
        "/scheduler?removeQueue=bob",
        "/scheduler/quote?queue=alice&rate=1",
        "/scheduler/standings",
        "/scheduler/history",
        "/scheduler/statement?queue=alice",
        "/scheduler/explain?job=job_202601010000_0001",
        "/scheduler/../scheduler?addBudget=1&queue=bob",
        "/%73cheduler?addBudget=1&queue=bob",
        "/static/../../etc/passwd",
    ];
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"];
    let before = money(&serving);
    let mut broken = Vec::new();
    for route in routes {
        for method in methods {
            let answer = request(&serving, method, route, "Content-Length: 0\r\n");
            let status = status_of(&answer);
            let reads = ["GET", "HEAD", "POST", "OPTIONS"].contains(&method);
            let changes = ["addBudget", "setSpending", "addQueue", "removeQueue", "infos", "info="];
            let is_denied =
                !changes.iter().any(|change| route.contains(change)) || method == "OPTIONS" || status >= 400;
            if status == 0 || !reads && status < 400 || !is_denied || answer.contains("root:") {
                broken.push(format!("{method} {route}: {}", excerpt(&answer)));
            }
        }
    }
    if money(&serving) != before {
        broken.push("money has moved".to_owned());
    }
    verdict("every route under every method", routes.len() * methods.len(), &broken);
}

#[test]
fn requests_that_nobody_signed() {
    let (_place, serving) = quiet_market();
    let before = money(&serving);
    let (mut tried, mut broken) = (0, Vec::new());
    let operations = [
        "addBudget=1000&queue=bob",
        "setSpending=9&queue=bob",
        "addQueue=mallory",
        "removeQueue=bob",
        "infos",
        "info=bob",
    ];
    for operation in operations {
        for user in ["root", "bob", "alice", "mallory", "", "root%00", "ROOT", "root%20"] {
            let query = format!("{operation}&user={user}&timestamp={}", wall_ms() + 500);
            let empty = sign(&query, &Key::new(""));
            let of_another = sign(&query, &Key::new("notthekey"));
            for header in ["", &empty, &of_another, "AAAAAAAAAAAAAAAAAAAAAAAAAAA%3D"] {
                tried += 1;
                let answer = try_get(serving.http, &format!("/scheduler?{query}"), header).unwrap();
                if answer.status < 400 {
                    broken.push(format!("{query} by {header:?}: {}", answer.status));
                }
            }
        }
    }
    if money(&serving) != before {
        broken.push("money has moved".to_owned());
    }
    verdict("requests that nobody signed", tried, &broken);
}

#[test]
fn other_spellings_of_a_signed_request() {
    let (_place, serving) = quiet_market();
    let spellings: [fn(i64) -> String; 19] = [
        |now| format!("addBudget=2&queue=bob&user=root&timestamp={now}"),
        |now| format!("queue=bob&addBudget=1&user=root&timestamp={now}"),
        |now| format!("addBudget=1&queue=bob&timestamp={now}&user=root"),
        |now| format!("addBudget=1&queue=b%6fb&user=root&timestamp={now}"),
        |now| format!("addBudget=%31&queue=bob&user=root&timestamp={now}"),
        |now| format!("addbudget=1&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1&queue=bob&user=root&timestamp={now}&"),
        |now| format!("&addBudget=1&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1&&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1&queue=bob&user=root&timestamp={now}%23x"),
        |now| format!("addBudget=1&queue=bob&user=root&timestamp={now}&addBudget=9"),
        |now| format!("addBudget=9&addBudget=1&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1&queue=alice&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1;queue=bob;user=root;timestamp={now}"),
        |now| format!("addBudget=+1&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1.0&queue=bob&user=root&timestamp={now}"),
        |now| format!("addBudget=1&queue=bob&user=root&timestamp=0{now}"),
        |now| format!("addBudget=1&queue=bob&user=root&timestamp=%2B{now}"),
        |now| format!("addBudget=1&queue=bob%00&user=root&timestamp={now}"),
    ];
    let before = money(&serving);
    let mut broken = Vec::new();
    for spelling in spellings {
        let now = wall_ms() + 1_000;
        let signature = sign(&format!("addBudget=1&queue=bob&user=root&timestamp={now}"), &Key::new("rootkey"));
        let query = spelling(now);
        let answer =
            request(&serving, "GET", &format!("/scheduler?{query}"), &format!("Authorization: {signature}\r\n"));
        if status_of(&answer) < 400 {
            broken.push(format!("{query}: {}", excerpt(&answer)));
        }
    }
    if money(&serving) != before {
        broken.push("money has moved".to_owned());
    }
    verdict("other spellings of a signed request", spellings.len(), &broken);
}

#[test]
fn signed_requests_a_second_time() {
    let (place, mut serving) = quiet_market();
    let (mut tried, mut broken) = (0, Vec::new());
    let mut signed = Vec::new();
    for operation in ["addBudget=1&queue=bob", "infos", "setSpending=2&queue=bob", "info=bob"] {
        let query = format!("{operation}&user=root&timestamp={}", next_timestamp());
        let signature = sign(&query, &Key::new("rootkey"));
        assert_eq!(serving.get(&format!("/scheduler?{query}"), &signature).status, 200, "{query}");
        signed.push((query, signature));
    }
    for when in ["at once", "after an edit of the list of users", "after a restart", "after a crash"] {
        match when {
            "after an edit of the list of users" => {
                let text = std::fs::read_to_string(place.acl()).unwrap();
                std::fs::write(place.acl(), format!("{text}carol user carolkey\n")).unwrap();
            }
            "after a restart" => {
                assert_eq!(serving.stop().0, 0);
                serving = place.start();
            }
            "after a crash" => {
                serving.kill();
                serving = place.start();
            }
            _ => {}
        }
        for (query, signature) in &signed {
            for method in ["GET", "POST", "HEAD"] {
                tried += 1;
                let header = format!("Authorization: {signature}\r\nContent-Length: 0\r\n");
                let answer = request(&serving, method, &format!("/scheduler?{query}"), &header);
                if status_of(&answer) < 400 {
                    broken.push(format!("{method} of {} {when}", query.split('&').next().unwrap_or_default()));
                }
            }
        }
    }
    verdict("signed requests a second time", tried, &broken);
}

/// The moment of a read is durable, too: a daemon that crashed right after it answers it no second time.
#[test]
fn a_signed_read_a_second_time_after_a_crash() {
    let place = crate::stage::place(&[]);
    let (mut tried, mut broken) = (0, Vec::new());
    for operation in ["infos", "info=bob"] {
        let serving = place.start();
        let query = format!("{operation}&user=root&timestamp={}", next_timestamp());
        let signature = sign(&query, &Key::new("rootkey"));
        assert_eq!(serving.get(&format!("/scheduler?{query}"), &signature).status, 200);
        serving.kill();
        let serving = place.start();
        tried += 1;
        if serving.get(&format!("/scheduler?{query}"), &signature).status < 400 {
            broken.push(format!("{operation} is answered again"));
        }
        serving.kill();
    }
    verdict("a signed read a second time after a crash", tried, &broken);
}

#[test]
fn odd_amounts() {
    let (_place, serving) = quiet_market();
    let mut amounts: Vec<String> = Vec::new();
    for odd in [
        "NaN",
        "nan",
        "-NaN",
        "Infinity",
        "inf",
        "-Infinity",
        "1e3",
        "1E3",
        "1e400",
        "-1e-400",
        "0.5f",
        "0.5d",
        "1L",
        "0x1p3",
        "0x10",
        "0b1",
        "0o7",
        "1_000",
        "1,5",
        "1.2.3",
        ".",
        "-",
        "+",
        "--1",
        "-+1",
        "",
        "%20",
        "%205",
        "5%20",
        "%2B",
        "%00",
        "1%00",
        "5%0a",
        "\u{661}",
        "%D9%A1",
        "%EF%BC%91",
        "%E2%88%9E",
        "1/2",
        "50%25",
        "$5",
        "(1)",
        "true",
        "null",
        "alice",
        "1;2",
        "1%26queue=alice",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
        "170141183460469231731687303715884105728",
        "1000000000001",
        "-1000000000001",
        "0.0000000000001",
        "-0.0000000000001",
        "0.0000000000005",
        "1.0000000000001",
    ] {
        amounts.push(odd.to_owned());
    }
    for digits in [20, 40, 100, 1_000, 4_000] {
        amounts.push("9".repeat(digits));
        amounts.push(format!("0.{}", "0".repeat(digits) + "1"));
        amounts.push(format!("-{}", "9".repeat(digits)));
    }
    let before = money(&serving);
    let (mut tried, mut broken) = (0, Vec::new());
    for amount in &amounts {
        for operation in ["addBudget", "setSpending"] {
            tried += 1;
            let answer = serving.ask("root", &format!("{operation}={amount}&queue=bob"));
            let is_long_zero = amount.bytes().all(|byte| byte == b'0' || byte == b'.');
            if !(400..=501).contains(&answer.status) && !is_long_zero {
                broken.push(format!("{operation}={}: {}", excerpt(amount), answer.status));
            }
            // No more of it comes back than is good for a line.
            if answer.body.contains(&"9".repeat(200)) {
                broken.push(format!("{operation} of {} digits comes back whole", amount.len()));
            }
        }
    }
    if money(&serving) != before {
        broken.push("money has moved".to_owned());
    }
    verdict("odd amounts", tried, &broken);
}

#[test]
fn one_signature_for_many_jobs_at_once() {
    let stage = Stage::market(&[]);
    let mut broken = Vec::new();
    let (rounds, clients) = (5, 32);
    for round in 0..rounds {
        let properties = signed("bob", &Key::new("bobkey"), &next_timestamp());
        let accepted = run(async {
            let files = JobFiles { properties, ..small_job(false) };
            let mut jobs = Vec::new();
            for _ in 0..clients {
                jobs.push(stage_job(stage.rpc, "bob", &files).await.unwrap());
            }
            let rpc = stage.rpc;
            let mut submitting = tokio::task::JoinSet::new();
            for job in jobs {
                submitting.spawn_local(async move { try_submit(rpc, "bob", &job).await.is_ok() });
            }
            submitting.join_all().await.into_iter().filter(|is_accepted| *is_accepted).count()
        });
        if accepted != 1 {
            broken.push(format!("{accepted} jobs of one signature in round {round}"));
        }
    }
    verdict("one signature for many jobs at once", rounds * clients, &broken);
}

#[test]
fn forged_signatures_of_jobs() {
    let stage = Stage::market(&[]);
    let mut broken = Vec::new();
    let now = next_timestamp();
    let good = signed("bob", &Key::new("bobkey"), &now)[1].1.clone();
    let forgeries: Vec<(&str, &str, String, String)> = vec![
        ("no signature", "bob", now.clone(), String::new()),
        ("no timestamp", "bob", String::new(), good.clone()),
        ("another user's key", "bob", now.clone(), signed("bob", &Key::new("alicekey"), &now)[1].1.clone()),
        ("signed for another user", "bob", now.clone(), signed("alice", &Key::new("bobkey"), &now)[1].1.clone()),
        ("of another moment", "bob", next_timestamp(), good.clone()),
        ("a moment long ago", "bob", "1".to_owned(), signed("bob", &Key::new("bobkey"), "1")[1].1.clone()),
        (
            "a moment to come",
            "bob",
            "99999999999999".to_owned(),
            signed("bob", &Key::new("bobkey"), "99999999999999")[1].1.clone(),
        ),
        ("in lower case", "bob", now.clone(), good.to_lowercase()),
        ("cut", "bob", now.clone(), good[..good.len() - 6].to_owned()),
        ("encoded twice", "bob", now.clone(), good.replace('%', "%25").replace('=', "%3D%3D")),
        ("an empty key", "mallory", now.clone(), signed("mallory", &Key::new(""), &now)[1].1.clone()),
        ("the administrator's", "bob", now.clone(), signed("root", &Key::new("rootkey"), &now)[1].1.clone()),
    ];
    let count = forgeries.len();
    run(async {
        for (what, user, timestamp, signature) in forgeries {
            let properties = [
                ("mapred.job.timestamp", timestamp),
                ("mapred.job.signature", signature),
                ("mapreduce.job.queue.name", "bob".to_owned()),
            ];
            let properties = properties.map(|(name, value)| (name.to_owned(), value)).to_vec();
            let job = stage_job(stage.rpc, user, &JobFiles { properties, ..small_job(false) }).await.unwrap();
            if try_submit(stage.rpc, user, &job).await.is_ok() {
                broken.push(what.to_owned());
            }
        }
    });
    verdict("forged signatures of jobs", count, &broken);
}
