//! Who may touch whose job, with the program, a built-in worker and processes of several users: changes by signature or from
//! a believed host, and logs for tickets.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket};

use jobtracker::model::{AttemptId, LogKey};

use crate::cluster::Cluster;
use crate::daemon::answered::Answered;
use crate::daemon::child::{DaemonFolders, try_get, wait_for_files};
use crate::program::{Said, job_command, said};

const ACLS: &str = "mapred.acls.enabled=true";
/// By default every user administers a queue.
const QUEUE_ADMINS: &str = "mapred.queue.default.acl-administer-jobs=chief";
/// Where callers are believed.
const BELIEVED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// A JobTracker with a worker, access lists on.
pub fn cluster(overrides: &[&str]) -> Cluster {
    let mut cluster = Cluster::with(&[&[ACLS, QUEUE_ADMINS], overrides].concat(), 0);
    cluster.add_worker(&[ACLS]);
    cluster
}

/// `jobtracker job` as a user, who has a key or none.
async fn run(cluster: &Cluster, rpc: SocketAddr, user: &str, key: Option<&str>, words: &[&str]) -> Said {
    let (rpc, http) = (rpc.to_string(), cluster.serving.as_ref().unwrap().http.to_string());
    let server = ["--jobtracker", &rpc, "--server", &http, "--user", user];
    let mut command = job_command(&cluster.folder(), &[words, &server].concat());
    if let Some(key) = key {
        command.env("HADOOP_KEY", key);
    }
    said(command).await
}

pub fn job(cluster: &Cluster, user: &str, key: Option<&str>, words: &[&str]) -> Said {
    block_on(run(cluster, cluster.rpc, user, key, words))
}

/// The same without a key, from the host that is believed.
fn job_from_believed_host(cluster: &Cluster, user: &str, words: &[&str]) -> Said {
    block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (here, rpc) = (listener.local_addr().unwrap(), cluster.rpc);
        let forward = async {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind((BELIEVED, 0).into()).unwrap();
                let mut server = socket.connect(rpc).await.unwrap();
                // Ends with either side.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        };
        tokio::select! {
            done = run(cluster, here, user, None, words) => done,
            () = forward => panic!("it forwards for ever"),
        }
    })
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Submits a job of one map that says something and does not end; waits until it runs.
pub fn hanging_job(cluster: &Cluster, user: &str, key: Option<&str>) -> (String, AttemptId) {
    let mark = cluster.folder().join(format!("{user}-runs"));
    let mapper = format!("sh -c 'echo words of {user} >&2; touch {}; sleep 600'", mark.display());
    let output = format!("out-{user}");
    let words =
        ["submit", "--detach", "--input", "in/a", "--output", &output, "--reducer", "NONE", "--mapper", &mapper];
    let printed = job(cluster, user, key, &[&words[..], &["-D", "mapred.map.tasks=1"]].concat()).done();
    let id = printed.trim().to_owned();
    wait_for_files(&cluster.folder(), || mark.exists());
    let attempt = format!("{}_m_000000_0", id.replace("job_", "attempt_")).parse().unwrap();
    (id, attempt)
}

/// The logs of an attempt, asked for with these parameters at its worker.
fn logs_with(cluster: &Cluster, attempt: AttemptId, parameters: &str) -> Answered {
    let path = format!("/tasklog?attemptid={attempt}&plaintext=true&filter=stderr{parameters}");
    try_get(cluster.workers[0].http, &path, "").unwrap()
}

#[test]
fn where_changes_are_signed_only_the_owners_key_or_a_believed_host_ends_a_job() {
    let hosts = format!("jobtracker.job-changes.hosts={BELIEVED}");
    let cluster = cluster(&["jobtracker.job-changes=signed", &hosts]);
    let serving = cluster.serving.as_ref().unwrap();
    let (alice, bob) = (Some("alicekey"), Some("bobkey"));
    let submit = ["submit", "--input", "in/a", "--output", "out", "--mapper", "cat", "--reducer", "NONE"];
    let denied = job(&cluster, "alice", None, &submit).refused(3);
    assert!(denied.contains("missing signature") && denied.contains("no key in --key-file"), "{denied}");

    let (id, attempt) = hanging_job(&cluster, "alice", alice);
    let id = id.as_str();
    for words in [&["kill", id][..], &["priority", id, "HIGH"], &["kill-task", &attempt.to_string()]] {
        let denied = job(&cluster, "alice", None, words).refused(3);
        assert!(denied.contains("jobtracker.job-changes is signed: use `jobtracker job "), "{denied}");
        assert!(denied.contains("not signed: no key in --key-file, $HADOOP_KEY or ~/.ssh/hadoop_key"), "{denied}");
        let denied = job(&cluster, "bob", bob, words).refused(3);
        assert!(denied.contains("User bob cannot perform operation"), "{denied}");
        assert!(denied.contains("signed as bob with the key in $HADOOP_KEY"), "{denied}");
    }
    let wrong = job(&cluster, "alice", bob, &["kill", id]).refused(3);
    assert!(wrong.contains("access denied; signed as alice with the key in $HADOOP_KEY"), "{wrong}");
    let raised = job(&cluster, "alice", alice, &["priority", id, "HIGH"]).done();
    assert_eq!(raised, format!("{id} has priority HIGH\n"));
    let lowered = job_from_believed_host(&cluster, "alice", &["priority", id, "LOW"]).done();
    assert_eq!(lowered, format!("{id} has priority LOW\n"));
    let by_another = job_from_believed_host(&cluster, "bob", &["kill", id]).refused(3);
    assert!(
        by_another.contains("User bob cannot perform operation KILL_JOB"),
        "the lists count there too: {by_another}"
    );
    // It counts as running once a heartbeat has reported it.
    let stopped = loop {
        let said = job(&cluster, "alice", alice, &["fail-task", &attempt.to_string()]);
        if !said.stderr.contains("is not running") {
            break said.done();
        }
    };
    assert_eq!(stopped, format!("{attempt}: failure requested\n"));

    let by_name = format!("/scheduler/logticket?attempt={attempt}&user.name=alice");
    let believed = serving.get(&by_name, "");
    assert_eq!(believed.status, 405, "by POST only: {}", believed.body);
    let believed = post(serving.http, &by_name);
    assert!(believed.starts_with("HTTP/1.1 401 ") && believed.contains("so no name is believed"), "{believed}");
    let now_ms = jobtracker::clock::wall_ms() + 60_000;
    let killed = serving.ask_at("alice", &format!("killJob={id}"), now_ms);
    assert_eq!(killed.status, 200, "{}", killed.body);
    assert!(killed.body.contains(&format!("<job id=\"{id}\">")) && killed.body.contains("<ending>true</ending>"));
    let replayed = serving.ask_at("alice", &format!("killJob={id}"), now_ms);
    assert!(replayed.is_denied() && replayed.body.contains("was used before"), "{}", replayed.body);
    assert_eq!(serving.ask_at("alice", "killJob=job_202611211200_0001", now_ms + 1).status, 404);
    job(&cluster, "alice", None, &["wait", id]).refused(1);
}

#[test]
fn logs_are_for_who_may_see_the_job() {
    let cluster = cluster(&[]);
    let (alice, bob, none) = (Some("alicekey"), Some("bobkey"), None);
    let words = ["submit", "--input", "in/a", "--output", "out", "--reducer", "NONE", "-D", "mapred.map.tasks=1"];
    let mapper = ["--mapper", "sh -c 'echo words of alice >&2; cat'"];
    let submitted = job(&cluster, "alice", none, &[&words[..], &mapper].concat()).done();
    let id = submitted.split_whitespace().find(|word| word.starts_with("job_")).unwrap();
    let attempt: AttemptId = format!("{}_m_000000_0", id.replace("job_", "attempt_")).parse().unwrap();
    let name = attempt.to_string();
    for key in [none, alice] {
        let text = job(&cluster, "alice", key, &["logs", &name]).done();
        assert!(text.contains("words of alice"), "{text}");
    }
    for key in [none, bob] {
        let denied = job(&cluster, "bob", key, &["logs", &name]).refused(3);
        assert!(denied.contains("User bob cannot perform operation VIEW_JOB_DETAILS"), "{denied}");
    }

    let bare = logs_with(&cluster, attempt, "");
    assert!(bare.status == 403 && bare.body.contains("logs need a ticket of the JobTracker"), "{}", bare.body);
    let serving = cluster.serving.as_ref().unwrap();
    let given = serving.ask_address("/scheduler/logticket", "alice", &format!("attempt={attempt}"));
    assert_eq!(given.status, 200, "{}", given.body);
    let given: serde_json::Value = serde_json::from_str(&given.body).unwrap();
    let (expires_ms, ticket) = (given["expires_ms"].as_i64().unwrap(), given["ticket"].as_str().unwrap());
    let parameters = format!("&expires={expires_ms}&ticket={ticket}");
    assert_eq!(logs_with(&cluster, attempt, &parameters).body, "words of alice\n");
    let longer = format!("&expires={}&ticket={ticket}", expires_ms + 1);
    assert_eq!(logs_with(&cluster, attempt, &longer).status, 403);
    let of_other =
        serving.ask_address("/scheduler/logticket", "alice", &format!("attempt={}1", &name[..name.len() - 1]));
    let of_other: serde_json::Value = serde_json::from_str(&of_other.body).unwrap();
    let other = format!("&expires={}&ticket={}", of_other["expires_ms"], of_other["ticket"].as_str().unwrap());
    assert_eq!(logs_with(&cluster, attempt, &other).status, 403);
    let key = cluster.folder().join("mapred/local");
    let logs = walk(&key).into_iter().find(|path| path.ends_with("ticket-key")).unwrap();
    let key = LogKey::from_bytes(&std::fs::read(logs).unwrap()).unwrap();
    let expired = format!("&expires=1000&ticket={}", key.ticket(attempt, 1000));
    let late = logs_with(&cluster, attempt, &expired);
    assert!(late.status == 403 && late.body.contains("was valid until 1000"), "{}", late.body);
    assert!(serving.ask_address("/scheduler/logticket", "bob", &format!("attempt={attempt}")).is_denied());
}

#[test]
fn without_an_acl_file_signatures_cannot_be_demanded() {
    let mut place = DaemonFolders::new("");
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place.overrides.push("jobtracker.job-changes=signed".to_owned());
    std::fs::remove_file(place.acl()).unwrap();
    let (status, log) = place.try_start(&[]).err().unwrap();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("hadoop.acl") && log.contains("which jobtracker.job-changes = signed needs"), "{log}");
}

/// The answer to a change without a signature, as a program sends it.
fn post(http: SocketAddr, target: &str) -> String {
    let mut stream = TcpStream::connect(http).unwrap();
    let headers = "Host: localhost\r\nX-Requested-By: test\r\nContent-Type: application/json\r\nConnection: close";
    write!(stream, "POST {target} HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
