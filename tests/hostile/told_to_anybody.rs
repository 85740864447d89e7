//! What anybody is told without a signature, under any name of a host, as any user.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::attacker::{ask, connect, stage_job, try_submit};
use crate::stage::{Stage, run, size};
use crate::staging::{JobFiles, signed};
use crate::verdict::Attack;
use crate::victims::{VictimOptions, next_timestamp, read_page, small_job};

use jobtracker::wire::protocol::{JobSubmissionCall, Protocol};

const SIGNED: VictimOptions =
    VictimOptions { is_signed: true, tracker_host: None, never_ends: true, submits_nothing: false };

#[test]
fn what_the_market_keeps_to_itself() {
    let stage = Stage::market(&[]);
    // Numbers that stand nowhere by chance.
    for (operation, queue) in
        [("addBudget=4242.5", "bob"), ("setSpending=7.125", "bob"), ("setSpending=2.375", "alice")]
    {
        stage.serving.ask("root", &format!("{operation}&queue={queue}"));
    }
    let mut attack = Attack::on(stage, "the market to anybody", &SIGNED);
    let told = attack.strike(|stage| {
        let job = run(async {
            let key = jobtracker::market::Key::new("bobkey");
            let files = JobFiles { properties: signed("bob", &key, &next_timestamp()), ..small_job(false) };
            let job = stage_job(stage.rpc, "bob", &files).await.unwrap();
            try_submit(stage.rpc, "bob", &job).await.map(|status| status.id)
        });
        std::thread::sleep(Duration::from_secs(3));
        let job = job.map(|id| id.to_string()).unwrap_or_default();
        let pages = [
            "/".to_owned(),
            "/metrics".to_owned(),
            "/jobtracker.jsp".to_owned(),
            "/scheduler".to_owned(),
            "/scheduler?price".to_owned(),
            "/scheduler?time".to_owned(),
            "/scheduler?info".to_owned(),
            "/scheduler?infos".to_owned(),
            "/scheduler/standings".to_owned(),
            "/scheduler/history".to_owned(),
            "/scheduler/statement?queue=bob".to_owned(),
            format!("/scheduler/explain?job={job}"),
            format!("/jobs/{job}"),
            format!("/jobdetails.jsp?jobid={job}"),
            format!("/jobdetails.jsp?jobid={job}&format=json"),
            "/jobtracker.jsp?format=json".to_owned(),
            "/jmx".to_owned(),
            "/jobqueue_details.jsp?queueName=bob".to_owned(),
            "/healthz".to_owned(),
            "/readyz".to_owned(),
        ];
        let mut told = Vec::new();
        for page in pages {
            let text = read_page(stage.serving.http, &page).unwrap_or_default();
            // Bob's bid and budget, shares; alice's bid may be the price.
            for secret in ["7.125", "5242.", "5235.", "0.75<", "0.25<", "share=", "_share", "rate=\""] {
                if text.contains(secret) {
                    told.push(format!("{page}: {secret}"));
                }
            }
        }
        told
    });
    attack.must(told.is_empty(), || told.join(", "));
    attack.close();
}

fn ask_host(stage: &Stage, target: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(stage.serving.http).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn pages_under_names_of_others() {
    let mut attack = Attack::on(Stage::fifo(&[]), "pages under any name", &VictimOptions::default());
    let port = attack.stage.serving.http.port();
    let wrong = attack.strike(|stage| {
        let mut wrong = Vec::new();
        let cases = [
            ("/", "evil.example.com".to_owned(), "421"),
            ("/metrics", format!("evil.example.com:{port}"), "421"),
            ("/scheduler?price", "localhost.evil.example.com".to_owned(), "421"),
            ("/healthz", "evil.example.com".to_owned(), "200"),
            ("/", format!("localhost:{port}"), "200"),
            ("/", format!("LOCALHOST:{port}"), "200"),
            ("/", format!("127.0.0.1:{port}"), "200"),
            ("/", format!("[::1]:{port}"), "200"),
        ];
        for (target, host, expected) in cases {
            let status = ask_host(stage, target, &host);
            if status != expected {
                wrong.push(format!("{target} of {host}: {status}"));
            }
        }
        wrong
    });
    attack.must(wrong.is_empty(), || wrong.join(", "));
    attack.close();
}

#[test]
fn a_new_user_name_with_each_call() {
    let stage = Stage::fifo(&["mapred.acls.enabled=true"]);
    let mut attack = Attack::on(stage, "a flood of user names", &VictimOptions::default());
    let count = size(300, 5_000);
    let slowest = attack.strike(|stage| {
        let rpc = stage.rpc;
        let flood = std::thread::spawn(move || {
            run(async {
                let mut asking = tokio::task::JoinSet::new();
                for number in 0..count {
                    asking.spawn_local(async move {
                        let Ok(mut client) = connect(rpc, Protocol::JobSubmission, &format!("user{number}")).await
                        else {
                            return;
                        };
                        let _ = ask(&mut client, JobSubmissionCall::GetQueueAclsForCurrentUser).await;
                    });
                    if number % 200 == 199 {
                        tokio::task::yield_now().await;
                    }
                }
                tokio::time::timeout(Duration::from_secs(20), asking.join_all()).await.map(drop)
            })
        });
        // A user whose groups nobody has asked for yet.
        let slowest = run(async {
            let mut slowest = Duration::ZERO;
            for user in ["daemon", "bin", "sys"] {
                let began = Instant::now();
                let mut client = connect(rpc, Protocol::JobSubmission, user).await.unwrap();
                let _ = ask(&mut client, JobSubmissionCall::GetQueueAclsForCurrentUser).await;
                slowest = slowest.max(began.elapsed());
            }
            slowest
        });
        let _ = flood.join().unwrap();
        slowest
    });
    eprintln!("hostile: beside {count} new user names an honest one waits {slowest:?} for the groups");
    attack.must(slowest < Duration::from_secs(5), || format!("groups took {slowest:?}"));
    attack.close();
}
