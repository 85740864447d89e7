//! The plan of a switch and what-if from the pages of a daemon that has run a job: the same as the commands, and nothing changes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::daemon::child::try_get;
use crate::json_members::Cluster;

/// The answer to a request as text.
fn ask(cluster: &Cluster, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(cluster.http()).unwrap();
    let length = body.len();
    let host = cluster.http();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn pages_plan_a_switch_and_play_the_past_as_the_commands_do() {
    let cluster = Cluster::start();
    let submit = "job submit --jobtracker RPC --server HTTP --input in.txt --mapper cat --reducer NONE --output out1";
    let job = cluster.run(submit, "alice")["job"].as_str().unwrap().to_owned();
    let session = cluster.run("open --token --server HTTP", "root")["session"].as_str().unwrap().to_owned();

    let mut printed = cluster.run("scheduler plan fair STATE", "");
    let http = cluster.http().parse().unwrap();
    let api = |to: &str| try_get(http, &format!("/api/v1/policy/plan?to={to}"), &format!("Bearer {session}")).unwrap();
    let mut answered: Value = serde_json::from_str(&api("fair").body).unwrap();
    // The next tick's wall time is counted from each question's own clock: it may differ by a millisecond.
    for plan in [&mut printed, &mut answered] {
        assert!(plan.as_object_mut().unwrap().remove("waits_until_ms").unwrap().is_i64());
    }
    assert_eq!(answered, printed);
    assert_eq!(api("lottery").status, 400);
    let cookie = format!("Cookie: jobtracker_session={session}\r\n");
    let page = ask(&cluster, "GET", "/policy/plan?to=fair", &cookie, "");
    let from = "from org.apache.hadoop.mapred.DynamicPriorityScheduler";
    assert!(page.contains(from) && page.contains("A switch would be made"), "{page}");
    let shown = cluster.run("scheduler show STATE", "");
    assert_eq!(shown["scheduler"], printed["from"], "a plan changes nothing");

    let form = format!("{cookie}Content-Type: application/x-www-form-urlencoded\r\n");
    let begun = ask(&cluster, "POST", "/what-if", &form, "policy=fair&nodes=2");
    assert!(begun.starts_with("HTTP/1.1 303"), "{begun}");
    let address = header(&begun, "location").to_owned();
    let outcome = loop {
        let page = ask(&cluster, "GET", &address, &cookie, "");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        if !page.contains("What-if runs") {
            break page;
        }
    };
    for part in ["as configured", "as asked", "FairScheduler", "1 jobs are played", &job] {
        assert!(outcome.contains(part), "{part}: {outcome}");
    }
    // Neither play was of the daemon's own state.
    let status = cluster.run(&format!("job status {job} --jobtracker RPC --server HTTP"), "alice");
    assert_eq!(status["state"], "SUCCEEDED");
    let stranger = ask(&cluster, "GET", &address, "", "");
    assert!(stranger.starts_with("HTTP/1.1 403") && !stranger.contains(&job), "{stranger}");
}
