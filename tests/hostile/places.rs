//! Connections that hold what others need: places of RPC and HTTP, ids of jobs, turns of the pool.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::attacker::{as_another_user, connect_from, opening, stage_job, try_submit};
use crate::stage::{Stage, run, size};
use crate::steady_tracker::{Ending, Slots, SteadyTracker};
use crate::verdict::Attack;
use crate::victims::{VictimOptions, read_page, small_job};

use jobtracker::ipc::client::IpcClient;
use jobtracker::wire::protocol::{AdminOperationsCall, Call, JobSubmissionCall, Protocol, encode_call};

/// The attackers' own.
const ADDRESS: [u8; 4] = [127, 0, 0, 66];
/// A page, and one that comes anew, have waited for places that attackers hold.
const NEWCOMER: Duration = Duration::from_secs(9);
const PAGE_MS: f64 = 5_000.0;

fn words(opening: Vec<u8>, call: impl Into<Option<Call>>) -> Vec<u8> {
    let mut words = opening;
    if let Some(call) = call.into() {
        encode_call(&mut words, 0, &call);
    }
    words
}

#[test]
fn connections_that_say_they_are_trackers() {
    let places = size(150, 2_000);
    let stage = Stage::fifo(&[&format!("jobtracker.rpc.max-connections={places}")]);
    let mut attack = Attack::on(stage, "trackers in name only", &VictimOptions::default());
    let version = Call::ProtocolVersion {
        protocol: Protocol::InterTracker.class_name().to_owned(),
        client_version: Protocol::InterTracker.version(),
    };
    let words = words(opening(Protocol::InterTracker, "mapred"), version);
    let (held, newcomers) = attack.strike(|stage| {
        let held: Vec<TcpStream> =
            (0..places * 3).map_while(|_| connect_from(ADDRESS, stage.rpc, &words).ok()).collect();
        let newcomers = run(async {
            let client = async {
                let job = stage_job(stage.rpc, "alice", &small_job(false)).await?;
                try_submit(stage.rpc, "alice", &job).await
            };
            let began = Instant::now();
            let client = tokio::time::timeout(NEWCOMER, client).await.map(|_| began.elapsed());
            let tracker = async {
                let mut client = IpcClient::connect(stage.rpc, Protocol::InterTracker, "mapred").await.ok()?;
                let mut tracker = SteadyTracker::new(88, Slots::new(1, 1), Ending::Soon);
                crate::attacker::beat(&mut client, tracker.heartbeat()).await.ok()
            };
            let began = Instant::now();
            let tracker = tokio::time::timeout(NEWCOMER, tracker).await.map(|_| began.elapsed());
            [("client", client.ok()), ("tracker", tracker.ok())]
        });
        (held, newcomers)
    });
    for (who, answered) in newcomers {
        eprintln!("hostile: beside {} trackers in name only a new {who} was answered after {answered:?}", held.len());
        attack.must(answered.is_some(), || format!("a new {who} is not answered within {NEWCOMER:?}"));
    }
    drop(held);
    attack.close();
}

#[test]
fn half_of_many_requests() {
    let mut attack = Attack::on(Stage::fifo(&[]), "half requests", &VictimOptions::default());
    let count = 1_100;
    let held = attack.strike(|stage| {
        let half = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ";
        let to = stage.serving.http;
        let held: Vec<TcpStream> =
            as_another_user(|| (0..count).map_while(|_| connect_from(ADDRESS, to, half).ok()).collect());
        let began = Instant::now();
        let page = read_page(stage.serving.http, "/healthz");
        eprintln!("hostile: beside {} half requests /healthz took {:?}, {}", held.len(), began.elapsed(), page.is_ok());
        std::thread::sleep(Duration::from_secs(u64::from(size(3, 12))));
        held
    });
    let slow = attack.victims.longest_page_ms();
    attack.must(slow < PAGE_MS, || format!("a page took {slow:.0} ms"));
    drop(held);
    attack.close();
}

/// Heads of requests whose bodies never come, from one user of this machine.
#[test]
fn bodies_that_never_come() {
    let mut attack = Attack::on(Stage::fifo(&[]), "bodies that never come", &VictimOptions::default());
    let (held, pages) = attack.strike(|stage| {
        let head = format!(
            "POST /ws/v1/cluster/apps?user.name=root HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             X-Requested-By: test\r\nContent-Length: 1000\r\n\r\n{{",
            stage.serving.http
        );
        let held: Vec<TcpStream> =
            (0..400).map_while(|_| connect_from([127, 0, 0, 1], stage.serving.http, head.as_bytes()).ok()).collect();
        let pages = ["/healthz", "/readyz", "/"].map(|page| (page, read_page(stage.serving.http, page).is_ok()));
        (held, pages)
    });
    for (page, is_read) in pages {
        attack.must(is_read, || format!("{page} is not answered beside {} half bodies", held.len()));
    }
    drop(held);
    attack.close();
}

/// Sends so many calls at once and reads the answers, each of which is as long as the first; how many came.
fn pipeline(mut stream: TcpStream, call: &Call, count: u32) -> u32 {
    let mut calls = Vec::new();
    for id in 0..count as i32 {
        encode_call(&mut calls, id, call);
    }
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut sending = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let _ = sending.write_all(&calls);
    });
    let mut first = [0; 1 << 10];
    let Ok(length @ 1..) = stream.read(&mut first) else { return 0 };
    // Of the first piece only so much is one answer: its number stands in front of each.
    let text = &first[..length];
    let one = (8..length.saturating_sub(3)).find(|at| text[*at..at + 4] == 1_i32.to_be_bytes()).unwrap_or(length);
    let (mut got, mut piece) = (length, vec![0; 1 << 16]);
    while got < one * count as usize {
        match stream.read(&mut piece) {
            Ok(more @ 1..) => got += more,
            _ => break,
        }
    }
    drop(stream.shutdown(std::net::Shutdown::Both));
    sender.join().unwrap();
    (got / one) as u32
}

#[test]
fn more_ids_than_are_kept() {
    let mut attack = Attack::on(Stage::fifo(&[]), "a flood of job ids", &VictimOptions::default());
    let (flood, users) = (60_000, 20);
    let (given, outcomes) = attack.strike(|stage| {
        let rpc = stage.rpc;
        let held = run(async {
            let job = stage_job(rpc, "bob", &small_job(false)).await.unwrap();
            let also = stage_job(rpc, "alice", &small_job(false)).await.unwrap();
            [("bob", job), ("alice", also)]
        });
        let call = Call::JobSubmission(JobSubmissionCall::GetNewJobId);
        let ask = |user: &str, count: u32| {
            let stream = connect_from(ADDRESS, rpc, &opening(Protocol::JobSubmission, user)).unwrap();
            pipeline(stream, &call, count)
        };
        // One asks for most of all that are kept, and many for a good part of it.
        let mut given = ask("mallory", flood);
        given += (0..users).map(|number| ask(&format!("mallory{number}"), 2_500)).sum::<u32>();
        let outcomes = run(async {
            let mut outcomes = Vec::new();
            for (user, job) in &held {
                outcomes.push((*user, try_submit(rpc, user, job).await.map(drop)));
            }
            outcomes
        });
        (given, outcomes)
    });
    eprintln!("hostile: {given} job ids were given to attackers");
    for (user, outcome) in outcomes {
        attack.must(outcome.is_ok(), || format!("the id of {user} is void: {:#}", outcome.unwrap_err()));
    }
    attack.close();
}

#[test]
fn administrators_calls_by_anybody() {
    let mut attack = Attack::on(Stage::fifo(&[]), "a flood of refreshQueues", &VictimOptions::default());
    let answered = attack.strike(|stage| {
        let rpc = stage.rpc;
        let callers: Vec<_> = (0..8)
            .map(|number| {
                std::thread::spawn(move || {
                    let user = if number % 2 == 0 { "mallory" } else { "mallory2" };
                    let stream = connect_from(ADDRESS, rpc, &opening(Protocol::AdminOperations, user)).unwrap();
                    pipeline(stream, &Call::AdminOperations(AdminOperationsCall::RefreshQueues), size(300, 20_000))
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum::<u32>()
    });
    let lines = attack.stage.serving.log.text().matches("mallory").count();
    eprintln!("hostile: {answered} calls of refreshQueues were answered, {lines} lines of log");
    attack.must(lines < 200, || format!("{lines} lines of log"));
    attack.close();
}
