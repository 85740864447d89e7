//! Files of jobs over HTTP: who may hand them over, which names and sizes are taken, what stays of those that fail.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;

use sha2::{Digest, Sha256};

use jobtracker::clock::wall_ms;
use jobtracker::ipc::client::IpcClient;
use jobtracker::market::Key;
use jobtracker::market::signature::sign;
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, Value};

use crate::daemon::answered::Answered;
use crate::daemon::child::{ChildDaemon, DaemonFolders};

const FIFO: &str = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler";
const BUDGETS: &str = "alice 100 1\nbob 100 1\n";

fn call(serving: &ChildDaemon, user: &str, call: JobSubmissionCall) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = IpcClient::connect(serving.rpc(), Protocol::JobSubmission, user).await.unwrap();
        client.call(&Call::JobSubmission(call)).await.map_err(|error| error.to_string())
    })
}

fn new_job(serving: &ChildDaemon, user: &str) -> String {
    match call(serving, user, JobSubmissionCall::GetNewJobId) {
        Ok(Value::JobId(id)) => id.to_string(),
        other => panic!("{other:?}"),
    }
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn query(job: &str, name: &str, content: &[u8]) -> String {
    format!("job={job}&name={name}&sha256={}", digest(content))
}

/// A POST whose body may be shorter than it says.
fn post(serving: &ChildDaemon, query: &str, headers: &str, content: &[u8], length: usize) -> Option<Answered> {
    let mut stream = begin_post(serving, query, headers, content, length);
    if content.len() < length {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    (!answer.is_empty()).then(|| Answered::parse(&answer))
}

/// A POST of which `content` has been sent, and nothing read.
fn begin_post(serving: &ChildDaemon, query: &str, headers: &str, content: &[u8], length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(serving.http).unwrap();
    let head = format!(
        "POST /scheduler/upload?{query} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/octet-stream\r\n{headers}\r\n",
        serving.http
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A refusal may come first.
    let _ = stream.write_all(content);
    stream
}

fn unsigned(serving: &ChildDaemon, user: &str, query: &str, content: &[u8]) -> Answered {
    let query = format!("{query}&user.name={user}");
    post(serving, &query, "X-Requested-By: test\r\n", content, content.len()).unwrap()
}

fn signed_at(serving: &ChildDaemon, user: &str, query: &str, content: &[u8], timestamp_ms: i64) -> Answered {
    let query = format!("{query}&user={user}&timestamp={timestamp_ms}");
    let headers = format!("Authorization: {}\r\n", sign(&query, &Key::new(&format!("{user}key"))));
    post(serving, &query, &headers, content, content.len()).unwrap()
}

/// All files below the staging root.
fn files(place: &DaemonFolders) -> Vec<String> {
    let root = place.path("hadoop/mapred/staging");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path().strip_prefix(&root).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    files.sort();
    files
}

/// Asks `serving` for its health until `holds`, 10,000 times at most.
fn wait_until(serving: &ChildDaemon, holds: impl Fn() -> bool) {
    let mut asked = 0;
    while !holds() {
        assert!(asked < 10_000);
        serving.get("/healthz", "");
        asked += 1;
    }
}

#[test]
fn unsigned_files_are_taken_of_whoever_has_the_id_where_names_are_believed() {
    let mut place = DaemonFolders::of_nobody("");
    place.overrides.extend([FIFO.to_owned(), "jobtracker.upload.max-mb=1".to_owned()]);
    fs::remove_file(place.acl()).unwrap();
    let serving = place.start();
    let rules = serving.get("/scheduler/upload", "").body;
    assert!(rules.contains("\"reads_all\":false,\"max_mb\":1") || !rustix::process::geteuid().is_root(), "{rules}");
    let job = new_job(&serving, "alice");
    let stored = unsigned(&serving, "alice", &query(&job, "lib/a%20b.jar", b"first"), b"first");
    assert_eq!((stored.status, stored.body.contains("\"bytes\":5")), (200, true), "{stored:?}");
    assert_eq!(unsigned(&serving, "alice", &query(&job, "lib/a%20b.jar", b"second"), b"second").status, 200);
    let path = format!("alice/.staging/{job}/lib/a b.jar");
    assert_eq!(files(&place), [path.as_str()]);
    let stored = place.path("hadoop/mapred/staging").join(&path);
    assert_eq!(fs::read(&stored).unwrap(), b"second");
    assert_eq!(fs::metadata(&stored).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(stored.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);

    let content = b"x".as_slice();
    let bob = unsigned(&serving, "bob", &query(&job, "a", content), content);
    assert_eq!((bob.status, bob.body.contains("bob")), (403, true), "{bob:?}");
    for (job, reason) in
        [("job_202611211200_0001", "was not given out by this JobTracker"), ("x", "is not the id of a job")]
    {
        let refused = unsigned(&serving, "alice", &query(job, "a", content), content);
        assert!(refused.status >= 400 && refused.body.contains(reason), "{refused:?}");
    }
    for name in ["..%2F..%2Fbob", "%2Fetc%2Fpasswd", "a%2F..%2Fb", "", ".upload-1"] {
        let refused = unsigned(&serving, "alice", &query(&job, name, content), content);
        assert_eq!((refused.status, refused.body.contains("expected a path below the job's folder")), (400, true));
    }
    let user = unsigned(&serving, "..%2Fbob", &query(&job, "a", content), content);
    assert_eq!((user.status, user.body.contains("cannot be the name of a folder")), (400, true), "{user:?}");
    let wrong = unsigned(&serving, "alice", &query(&job, "wrong", b"other"), content);
    assert_eq!((wrong.status, wrong.body.contains("wrong has another SHA-256")), (400, true), "{wrong:?}");
    let page = post(&serving, &format!("{}&user.name=alice", query(&job, "a", content)), "", content, 1).unwrap();
    assert_eq!((page.status, page.body.contains("X-Requested-By")), (403, true), "{page:?}");

    // Half of a file, in place of a whole one.
    let target = format!("{}&user.name=alice", query(&job, "lib/a%20b.jar", b"third"));
    let cut = begin_post(&serving, &target, "X-Requested-By: test\r\n", b"th", 5);
    let whole = [path.clone()];
    wait_until(&serving, || files(&place).len() == 2);
    drop(cut);
    wait_until(&serving, || files(&place) == whole);
    assert_eq!(fs::read(&stored).unwrap(), b"second");

    // Known to be too much, and found to be.
    let large = vec![7; (1 << 20) + 1];
    let refused = unsigned(&serving, "alice", &query(&job, "large", &large), &large);
    assert_eq!((refused.status, refused.body.contains("1 MB (jobtracker.upload.max-mb)")), (413, true), "{refused:?}");
    let most = &large[..(1 << 20) - 6];
    assert_eq!(unsigned(&serving, "alice", &query(&job, "most", most), most).status, 200);
    let one_more = unsigned(&serving, "alice", &query(&job, "one-more", content), content);
    assert_eq!(one_more.status, 413, "{one_more:?}");

    // A submission that is refused takes them with it.
    let submit_dir = format!("file:{}", place.path("hadoop/mapred/staging/alice/.staging").join(&job).display());
    let submitted = JobSubmissionCall::SubmitJob {
        job: Some(job.parse().unwrap()),
        directory: Some(submit_dir),
        credentials: Some(Default::default()),
    };
    let text = b"<configuration><property><name>user.name</name><value>bob</value></property></configuration>";
    let job_xml = unsigned(&serving, "alice", &query(&job, "lib/a%20b.jar", b""), b"");
    assert_eq!(job_xml.status, 200, "{job_xml:?}");
    assert_eq!(unsigned(&serving, "alice", &query(&job, "most", b""), b"").status, 200);
    assert_eq!(unsigned(&serving, "alice", &query(&job, "job.xml", text), text).status, 200);
    let refused = call(&serving, "alice", submitted).unwrap_err();
    assert!(refused.contains("user.name is \"bob\""), "{refused}");
}

#[test]
fn under_a_market_files_are_signed_with_stamps_of_their_own() {
    let place = DaemonFolders::of_nobody(BUDGETS);
    let serving = place.start();
    let job = new_job(&serving, "alice");
    let (first, second) = (query(&job, "a", b"1"), query(&job, "b", b"22"));
    let now_ms = wall_ms() + 1_000;
    // A request to /scheduler, and one after it in the same millisecond.
    assert_eq!(serving.ask_at("alice", "info", now_ms).status, 200);
    assert_eq!(signed_at(&serving, "alice", &first, b"1", now_ms).status, 200);
    let again = signed_at(&serving, "alice", &first, b"1", now_ms);
    assert_eq!((again.status, again.why().contains("was used before")), (500, true), "{again:?}");
    assert_eq!(signed_at(&serving, "alice", &second, b"22", now_ms).status, 200);

    let forged = format!("{}&user=alice&timestamp={}", first, now_ms + 2);
    let signature = sign(&forged, &Key::new("bobkey"));
    let forged = post(&serving, &forged, &format!("Authorization: {signature}\r\n"), b"1", 1).unwrap();
    assert!(forged.is_denied(), "{forged:?}");
    let believed = unsigned(&serving, "alice", &first, b"1");
    assert!(believed.is_denied(), "{believed:?}");
    let bob = signed_at(&serving, "bob", &first, b"1", now_ms);
    assert_eq!((bob.status, bob.body.contains("bob")), (403, true), "{bob:?}");
    // What was signed for an upload explains nothing, and the other way round.
    let explained = serving.ask_address("/scheduler/explain", "alice", &first);
    assert_eq!(explained.status, 400, "{explained:?}");
    let no_digest = signed_at(&serving, "alice", &format!("job={job}&name=a"), b"1", now_ms + 3);
    assert_eq!((no_digest.status, no_digest.body.contains("sha256")), (400, true), "{no_digest:?}");
    assert_eq!(files(&place), [format!("alice/.staging/{job}/a"), format!("alice/.staging/{job}/b")]);

    // After a restart the files are there, and the id is open for their user, who hands one more over.
    drop(serving);
    let serving = place.start();
    serving.log.wait_for("system directory");
    assert_eq!(files(&place).len(), 2);
    let markers = place.names("state/uploads");
    assert_eq!(markers, [format!("{job}-alice")]);
    let missing = serving.get(&format!("/jobfile?job={job}&name=a"), "");
    assert_eq!((missing.status, missing.body.contains("is no job that runs")), (404, true), "{missing:?}");
}

/// A stock client's folder of mode 700 is refused with whom it would have to be open for.
#[test]
fn a_staging_folder_that_is_closed_to_the_daemon_is_named() {
    if !rustix::process::geteuid().is_root() {
        return crate::daemon::skip::report_skipped(
            "a_staging_folder_that_is_closed_to_the_daemon_is_named",
            "needs root",
        );
    }
    let mut place = DaemonFolders::of_nobody("");
    place.overrides.push(FIFO.to_owned());
    let serving = place.start();
    let job = new_job(&serving, "alice");
    let area = place.path("hadoop/mapred/staging/alice/.staging");
    fs::create_dir_all(area.join(&job)).unwrap();
    place.set_mode("hadoop/mapred/staging/alice/.staging", 0o700);
    let submitted = JobSubmissionCall::SubmitJob {
        job: Some(job.parse().unwrap()),
        directory: Some(format!("file:{}", area.join(&job).display())),
        credentials: Some(Default::default()),
    };
    let refused = call(&serving, "alice", submitted).unwrap_err();
    assert!(refused.contains(&format!("and may not read {} (mode 700)", area.display())), "{refused}");
    assert!(refused.contains("etc/systemd/stock-clients.conf"), "{refused}");
    // Neither can files be handed over into it.
    let closed = unsigned(&serving, "alice", &query(&job, "a", b"1"), b"1");
    assert_eq!((closed.status, closed.body.contains("staging/alice if no job needs it")), (409, true), "{closed:?}");
}

/// Names are made up: all places held under eight of them keep nobody else's files out.
#[test]
fn slow_uploads_give_way_to_the_files_of_another_user() {
    let mut place = DaemonFolders::of_nobody("");
    place.overrides.push(FIFO.to_owned());
    fs::remove_file(place.acl()).unwrap();
    let serving = place.start();
    let content = vec![b'x'; 1_000];
    let mut held = Vec::new();
    for name in 0..8 {
        let user = format!("made-up-{name}");
        let job = new_job(&serving, &user);
        for file in 0..8 {
            let query = format!("{}&user.name={user}", query(&job, &format!("f{file}"), &content));
            held.push(begin_post(&serving, &query, "X-Requested-By: test\r\n", &content[..1], content.len()));
        }
    }
    let under_way = || files(&place).iter().filter(|file| file.contains(".upload-")).count();
    wait_until(&serving, || under_way() == 64);
    let job = new_job(&serving, "alice");
    let stored = unsigned(&serving, "alice", &query(&job, "job.xml", &content), &content);
    assert_eq!(stored.status, 200, "{stored:?}");
    let mut answers = 0;
    wait_until(&serving, || under_way() <= 63);
    for mut stream in held {
        stream.set_nonblocking(true).unwrap();
        let mut answer = [0; 1 << 12];
        answers += usize::from(stream.read(&mut answer).is_ok_and(|count| count > 0));
    }
    assert!(answers <= 1, "of {answers} no more than one had to give way");
}
