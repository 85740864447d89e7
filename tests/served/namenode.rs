//! A daemon whose files lie on a NameNode of the test that is away, silent, cut off, full or closed to it.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};

use crate::daemon::child::DaemonFolders;
use crate::fake_hdfs::cluster::{Cluster, Fault};
use crate::operate::BUDGETS;

use jobtracker::fake_tracker::FakeTracker;
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::model::{JobId, PerKind, RunState};
use jobtracker::wire::file::{JobInfo, SplitMeta, write_split_meta};
use jobtracker::wire::hdfs::{HdfsAnswer, HdfsOutcome, HdfsResponse, encode_hdfs_response};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Credentials, Encode, Text, WString, Writer};

const DENIED: &str = "org.apache.hadoop.security.AccessControlException";
const QUOTA: &str = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException";
const SAFE_MODE: &str = "org.apache.hadoop.mapred.SafeModeException";
const USER: &str = "alice";

/// A daemon under FIFO, all of whose files of jobs lie on a NameNode.
struct Stage {
    place: DaemonFolders,
    hdfs: Cluster,
    rpc: SocketAddr,
}

/// Class and first line of an exception.
type Refusal = (String, String);

// === impl Stage ===

impl Stage {
    fn new(nodes: &[Option<Fault>]) -> Self {
        let rpc = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (mut place, hdfs) = (DaemonFolders::new(BUDGETS), Cluster::stock(nodes));
        place.overrides.extend([
            format!("mapred.job.tracker={rpc}"),
            "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned(),
            "mapred.system.dir=/mapred/system".to_owned(),
            "mapreduce.jobtracker.staging.root.dir=/user".to_owned(),
            "hadoop.job.history.location=/history".to_owned(),
            format!("fs.default.name={}", hdfs.uri()),
        ]);
        Self { place, hdfs, rpc }
    }

    /// A call; an error is an exception of the daemon.
    fn call(&self, protocol: Protocol, call: Call) -> Result<Value, Refusal> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = IpcClient::connect(self.rpc, protocol, USER).await.unwrap();
            match client.call(&call).await {
                Ok(value) => Ok(value),
                Err(IpcError::Remote { exception, .. }) => Err((exception.class, exception.message)),
                Err(other) => panic!("{other:?}"),
            }
        })
    }

    fn ask(&self, call: JobSubmissionCall) -> Value {
        self.call(Protocol::JobSubmission, Call::JobSubmission(call)).unwrap()
    }

    fn new_id(&self) -> JobId {
        let Value::JobId(id) = self.ask(JobSubmissionCall::GetNewJobId) else { panic!("no job id") };
        id
    }

    /// Where the files of a job lie on the NameNode.
    fn staging(&self, id: JobId) -> String {
        format!("/user/{USER}/.staging/{id}")
    }

    /// Puts the files of a job of one map there.
    fn stage(&self, id: JobId, more: &[(&str, &str)]) {
        let own = [("mapred.map.tasks", "1"), ("mapred.job.name", "name")];
        let text: String = own
            .iter()
            .chain(more)
            .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"))
            .collect();
        let split = SplitMeta { locations: Vec::new(), offset_bytes: 0, length_bytes: 1 };
        let folder = self.staging(id);
        let files = [
            ("job.xml", format!("<configuration>{text}</configuration>").into_bytes()),
            ("job.splitmetainfo", write_split_meta(&[split])),
        ];
        for (name, content) in files {
            self.hdfs.add_file_of(USER, &format!("{folder}/{name}"), &content, 1 << 20);
        }
    }

    fn submit(&self, id: JobId) -> Result<Value, Refusal> {
        let directory = Some(format!("{}{}", self.hdfs.uri(), self.staging(id)));
        let call = JobSubmissionCall::SubmitJob { job: Some(id), directory, credentials: Some(Credentials::default()) };
        self.call(Protocol::JobSubmission, Call::JobSubmission(call))
    }

    /// A job that is accepted.
    fn job(&self) -> JobId {
        let id = self.new_id();
        self.stage(id, &[]);
        self.accepted(id);
        id
    }

    fn accepted(&self, id: JobId) {
        let submitted = self.submit(id);
        assert!(matches!(&submitted, Ok(Value::JobStatus(Some(status))) if status.id == id), "{submitted:?}");
    }

    fn state(&self, id: JobId) -> Option<RunState> {
        match self.ask(JobSubmissionCall::GetJobStatus { job: Some(id) }) {
            Value::JobStatus(status) => status.map(|status| status.run_state),
            other => panic!("{other:?}"),
        }
    }

    /// A heartbeat of a new tracker is answered.
    fn beat(&self, number: u32) {
        let name = format!("tracker_n{number}:localhost/127.0.0.1:{}", 5_000 + number);
        let request = FakeTracker::<()>::new(&name, "localhost", PerKind::new(0, 0)).request(Vec::new());
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request: Box::new(request) });
        let answer = self.call(Protocol::InterTracker, call);
        assert!(matches!(answer, Ok(Value::Heartbeat(_))), "{answer:?}");
    }

    /// Names below a folder of the NameNode, at any depth.
    fn files_below(&self, folder: &str) -> Vec<String> {
        let state = self.hdfs.state.lock();
        let all = state.files.keys().chain(state.directories.keys());
        all.filter(|path| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))).cloned().collect()
    }
}

/// A log has one line with these words, in no part of which another line is.
fn assert_said_once(log: &str, words: &str) {
    assert_eq!(log.lines().filter(|line| line.contains(words)).count(), 1, "{words}: {log}");
}

#[test]
fn a_daemon_starts_before_its_namenode_and_takes_jobs_once_that_is_there() {
    let mut stage = Stage::new(&[None]);
    stage.hdfs.stop_namenode();
    let serving = stage.place.start();
    let line = serving.log.wait_for("no job can be submitted until the files of jobs can be reached");
    assert!(line.contains(&format!("NameNode 127.0.0.1:{}: cannot connect", stage.hdfs.port)), "{line}");
    let not_ready = || Some(serving.get("/readyz", "")).filter(|ready| !ready.body.contains("starting or stopping"));
    let ready = std::iter::repeat_with(not_ready).flatten().next().unwrap();
    assert!(ready.status == 503 && ready.body.contains("cannot connect"), "{} {}", ready.status, ready.body);
    let id = stage.new_id();
    let (class, text) = stage.submit(id).unwrap_err();
    assert!(class == SAFE_MODE && text.contains("cannot connect") && text.lines().count() == 1, "{class}: {text}");
    stage.beat(1);
    stage.hdfs.start_namenode();
    serving.log.wait_for("the files of jobs can be reached: jobs can be submitted");
    stage.stage(id, &[]);
    stage.accepted(id);
    let log = serving.kill();
    assert_said_once(&log, "no job can be submitted until");
}

#[test]
fn a_namenode_that_dies_in_mid_run_loses_no_job_and_is_named() {
    let mut stage = Stage::new(&[None]);
    let serving = stage.place.start();
    let (first, second) = (stage.job(), stage.new_id());
    stage.stage(second, &[]);
    // Killed at the very moment: a connection ends in its first call.
    stage.hdfs.cut_off_namenode();
    let (class, text) = stage.submit(second).unwrap_err();
    assert!(class == SAFE_MODE && text.contains("or it ended at that moment"), "{class}: {text}");
    stage.beat(1);
    stage.hdfs.stop_namenode();
    stage.hdfs.state.lock().is_closing = false;
    let (class, text) = stage.submit(second).unwrap_err();
    assert!(class == SAFE_MODE && text.contains("cannot connect"), "{class}: {text}");
    assert_eq!(stage.state(first), Some(RunState::Prep));
    assert_eq!(stage.ask(JobSubmissionCall::KillJob { job: Some(first) }), Value::Void);
    // The copy of its history is tried first.
    while stage.state(first) != Some(RunState::Killed) {}
    serving.log.wait_for("cannot remove files of a job, retrying");
    stage.beat(2);
    stage.hdfs.start_namenode();
    stage.accepted(second);
    let gone = format!("/mapred/system/{first}");
    stage.hdfs.state.wait_until(|state| !state.directories.contains_key(&gone));
    stage.hdfs.state.lock().safe_mode = true;
    let third = stage.new_id();
    stage.stage(third, &[]);
    let (class, text) = stage.submit(third).unwrap_err();
    assert!(class == SAFE_MODE && text.contains("Name node is in safe mode"), "{class}: {text}");
    stage.hdfs.state.lock().safe_mode = false;
    stage.accepted(third);
    drop(serving);
}

#[test]
fn a_namenode_that_says_nothing_delays_no_heartbeat() {
    let stage = Stage::new(&[None]);
    let serving = stage.place.start();
    let id = stage.new_id();
    stage.stage(id, &[]);
    stage.hdfs.state.lock().is_silent = true;
    std::thread::scope(|scope| {
        let submitting = scope.spawn(|| stage.submit(id));
        (0..20).for_each(|number| stage.beat(number));
        assert_eq!(stage.state(id), None);
        let (class, text) = submitting.join().unwrap().unwrap_err();
        assert!(
            class == SAFE_MODE && text.contains("no answer to getProtocolVersion within 8s")
                || text.contains("no answer to getFileInfo within 8s"),
            "{class}: {text}"
        );
    });
    stage.hdfs.state.change(|state| state.is_silent = false);
    stage.accepted(id);
    drop(serving);
}

#[test]
fn what_the_namenode_or_the_datanodes_refuse_is_one_line_and_leaves_nothing() {
    let stage = Stage::new(&[None, None]);
    let serving = stage.place.start();
    let id = stage.new_id();
    stage.stage(id, &[]);
    let staging = stage.staging(id);
    let system = format!("/mapred/system/{id}");
    let full = "File could only be replicated to 0 nodes, instead of 1";
    let cases = [
        ("", &*staging, DENIED, "Permission denied: user=alice"),
        ("getBlockLocations", &*staging, DENIED, "Permission denied: user=alice, access=READ"),
        ("mkdirs", &system, QUOTA, "The NameSpace quota (directories and files) of /mapred is exceeded"),
        ("create", &system, QUOTA, "The NameSpace quota (directories and files) of /mapred is exceeded"),
        ("addBlock", &system, "java.io.IOException", full),
    ];
    for (call, below, class, message) in cases {
        // Those of a job whose files for trackers cannot be written are removed.
        stage.stage(id, &[]);
        stage.hdfs.refuse(call, "", below, (class, message));
        let (class, text) = stage.submit(id).unwrap_err();
        assert!(text.contains(message) && text.contains(below) && text.lines().count() == 1, "{call} {class}: {text}");
        stage.hdfs.state.lock().refusals.clear();
        assert_eq!(stage.files_below("/mapred/system"), Vec::<String>::new(), "{call}");
        assert_eq!(stage.state(id), None);
        stage.beat(1 + stage.hdfs.state.lock().connections);
    }
    stage.stage(id, &[]);
    // Every replica of job.xml is corrupt, or cannot be reached.
    let block = stage.hdfs.state.lock().files[&format!("{staging}/job.xml")].blocks[0];
    for (fault, words) in [(Fault::Rots(8), "wrong checksum"), (Fault::Closes, "the connection ended")] {
        stage.hdfs.state.lock().nodes.iter_mut().for_each(|node| node.fault = Some(fault));
        let (_, text) = stage.submit(id).unwrap_err();
        let names = stage.hdfs.state.lock().nodes.iter().map(|node| node.info.name.clone()).collect::<Vec<_>>();
        assert!(text.contains("job.xml: no replica of ") && text.contains(&block.id.to_string()), "{text}");
        assert!(names.iter().all(|name| text.contains(&format!("DataNode {name}: {words}"))), "{text}");
    }
    stage.hdfs.state.change(|state| {
        state.nodes.iter_mut().for_each(|node| node.fault = None);
        state.dropped.clear();
    });
    // One that says nothing is left for another; one that dies in mid-pipeline, too.
    stage.hdfs.state.lock().nodes[0].fault = Some(Fault::SilentAfter(0));
    stage.accepted(id);
    let next = stage.new_id();
    stage.stage(next, &[]);
    stage.hdfs.state.lock().nodes[0].fault = Some(Fault::DiesAfter(0));
    stage.accepted(next);
    for id in [id, next] {
        assert!(stage.hdfs.content(&format!("/mapred/system/{id}/jobToken")).is_some_and(|token| !token.is_empty()));
    }
    drop(serving);
}

#[test]
fn a_token_that_our_former_life_has_left_open_is_written_again() {
    let stage = Stage::new(&[None]);
    let serving = stage.place.start();
    let job = stage.job();
    let asked = stage.new_id();
    serving.kill();
    let path = format!("/mapred/system/{job}/jobToken");
    let token = stage.hdfs.content(&path).unwrap();
    stage.hdfs.leave_open("root", &path);
    // And of one that was being submitted.
    stage.hdfs.leave_open("root", &format!("/mapred/system/{asked}/jobToken"));
    let serving = stage.place.start();
    serving.log.wait_for(&format!("rewrote the system directory of {job}"));
    assert_eq!(stage.hdfs.content(&path), Some(token));
    assert_eq!(stage.state(job), Some(RunState::Prep));
    stage.stage(asked, &[]);
    stage.accepted(asked);
    drop(serving);
}

#[test]
fn a_namenode_that_is_back_at_another_address_keeps_the_jobs() {
    let mut stage = Stage::new(&[None]);
    let serving = stage.place.start();
    let job = stage.job();
    serving.kill();
    stage.hdfs.stop_namenode();
    stage.hdfs.start_namenode_elsewhere();
    stage.hdfs.state.change(|state| {
        state.files.retain(|path, _| !path.starts_with("/mapred/"));
        state.directories.retain(|path, _| !path.starts_with("/mapred/"));
    });
    stage.place.overrides.push(format!("fs.default.name={}", stage.hdfs.uri()));
    let serving = stage.place.start();
    serving.log.wait_for(&format!("rewrote the system directory of {job}"));
    assert_eq!(stage.state(job), Some(RunState::Prep));
    stage.job();
    drop(serving);
}

/// What the Java JobTracker did while we were away is taken over as soon as its traces can be seen, in the same process.
#[test]
fn a_foreign_jobtracker_that_is_found_late_is_taken_over_without_a_restart() {
    const JOB: &str = "job_202611210913_0005";
    let mut stage = Stage::new(&[None]);
    let serving = stage.place.start();
    let (theirs, ended) = (stage.job(), stage.job());
    serving.kill();
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop1/files");
    let add = |path: String, content: &[u8], user: &str| stage.hdfs.add_file_of(user, &path, content, 1 << 20);
    for name in ["job.xml", "job.split", "job.splitmetainfo"] {
        let content = std::fs::read(fixtures.join("staging-old-api").join(name)).unwrap();
        add(format!("/user/h1/.staging/{JOB}/{name}"), &content, "h1");
    }
    let info = JobInfo {
        job: JOB.parse::<JobId>().unwrap(),
        user: Text("h1".to_owned()),
        directory: WString(Some(format!("{}/user/h1/.staging/{JOB}", stage.hdfs.uri()))),
    };
    let mut bytes = Vec::new();
    info.encode(&mut Writer::new(&mut bytes));
    let daemon = stage.hdfs.state.lock().directories["/mapred/system"].owner.clone();
    let token = std::fs::read(fixtures.join("system-dir/jobToken")).unwrap();
    add(format!("/mapred/system/{JOB}/job-info"), &bytes, &daemon);
    add(format!("/mapred/system/{JOB}/jobToken"), &token, &daemon);
    add("/mapred/system/jobtracker.info".to_owned(), &[0; 4], &daemon);
    stage.hdfs.state.change(|state| state.files.retain(|path, _| !path.contains(&ended.to_string())));
    stage.hdfs.state.change(|state| state.directories.retain(|path, _| !path.contains(&ended.to_string())));

    stage.hdfs.stop_namenode();
    let serving = stage.place.start();
    serving.log.wait_for("no job can be submitted until");
    let (class, text) = stage.submit(theirs).err().unwrap_or_default();
    assert_eq!((class, text), Default::default(), "a job that is known is answered");
    stage.beat(1);
    stage.hdfs.start_namenode();
    serving.log.wait_for("another JobTracker has started on");
    serving.log.wait_for(&format!("adopted {JOB} of h1 from another JobTracker"));
    stage.hdfs.state.wait_until(|state| !state.files.contains_key("/mapred/system/jobtracker.info"));
    assert_eq!(stage.state(JOB.parse().unwrap()), Some(RunState::Prep));
    assert_eq!(stage.state(theirs), Some(RunState::Prep));
    assert_ne!(stage.state(ended), Some(RunState::Prep), "the other one has ended it");
    stage.job();
    assert_said_once(&serving.kill(), "loading the state again");
}

#[test]
fn a_history_that_may_not_be_written_and_a_copy_on_an_unknown_scheme_are_named() {
    let stage = Stage::new(&[None]);
    let serving = stage.place.start();
    stage.hdfs.refuse("mkdirs", "", "/history", (DENIED, "Permission denied: user=root, access=WRITE"));
    let kill = |id: JobId| assert_eq!(stage.ask(JobSubmissionCall::KillJob { job: Some(id) }), Value::Void);
    let job = stage.job();
    kill(job);
    let line = serving.log.wait_for(&format!("cannot write the history of {job}, retrying: "));
    assert!(line.contains("/history") && line.contains("Permission denied: user=root"), "{line}");
    assert_eq!(stage.state(job), Some(RunState::Killed));
    stage.beat(1);
    serving.kill();
    stage.hdfs.state.lock().refusals.clear();
    let serving = stage.place.start();
    let is_written = |path: &String| path.starts_with("/history/done/") && path.contains(&format!("/{job}_"));
    let count = |state: &crate::fake_hdfs::cluster::State| {
        state.files.iter().filter(|(path, file)| is_written(path) && file.writer.is_none()).count()
    };
    stage.hdfs.state.wait_until(|state| count(state) == 2);
    let names: Vec<String> = stage.files_below("/history").into_iter().filter(|path| path.contains("/.job")).collect();
    assert_eq!(names, Vec::<String>::new(), "no temporary name is left");
    let other = stage.new_id();
    stage.stage(other, &[("mapred.output.dir", "s3://bucket/out")]);
    stage.accepted(other);
    kill(other);
    let line = serving.log.wait_for(&format!("cannot write the copy of the history of {other} for user {USER}: "));
    assert!(line.contains("unknown file system \"s3\"") && line.contains("it stays without one"), "{line}");
    drop(serving);
}

/// As 1.2.1 with `mapreduce.jt.hdfs.monitor.enable`.
#[test]
fn a_namenode_that_is_watched_puts_the_daemon_into_safe_mode_while_it_is_away() {
    let mut stage = Stage::new(&[None]);
    let watch = ["mapreduce.jt.hdfs.monitor.enable=true", "mapreduce.jt.hdfs.monitor.interval.ms=100"];
    stage.place.overrides.extend(watch.map(str::to_owned));
    let serving = stage.place.start();
    let id = stage.new_id();
    stage.stage(id, &[]);
    stage.hdfs.stop_namenode();
    serving.log.wait_for("safe mode: the file system of mapred.system.dir cannot be used");
    let (class, text) = stage.submit(id).unwrap_err();
    assert_eq!(class, SAFE_MODE, "{text}");
    stage.beat(1);
    stage.hdfs.start_namenode();
    serving.log.wait_for("the file system of mapred.system.dir can be used again");
    stage.accepted(id);
    assert_said_once(&serving.kill(), "cannot be used; no job is accepted");
}

/// What a server at the NameNode's address says, until the test is over.
fn server(answer: Vec<u8>) -> u16 {
    use std::io::Write;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(&answer);
        }
    });
    port
}

#[test]
fn an_address_that_is_no_namenodes_ends_the_start_with_its_name() {
    let version = |version| {
        let mut bytes = Vec::new();
        let outcome = HdfsOutcome::Value(HdfsAnswer::Long(version));
        encode_hdfs_response(&mut bytes, &HdfsResponse { id: 0, outcome });
        bytes
    };
    let hostile = [&[0; 8][..], b"\0\x04long", &[0xff; 3]].concat();
    let cases = [
        (
            format!("127.0.0.1:{}", server(b"HTTP/1.0 400 Bad Request\r\n".to_vec())),
            "it answers HTTP, as a web port does",
        ),
        (format!("127.0.0.1:{}", server(b"SSH-2.0-OpenSSH_9\r\n".to_vec())), "is not a NameNode of Hadoop 1"),
        (
            format!("127.0.0.1:{}", server(version(69))),
            "has version 69 of org.apache.hadoop.hdfs.protocol.ClientProtocol",
        ),
        ("no-such-host.invalid:8020".to_owned(), "has no address: "),
    ];
    for (address, words) in cases {
        let mut stage = Stage::new(&[]);
        stage.place.overrides.push(format!("fs.default.name=hdfs://{address}"));
        let (status, log) = stage.place.try_start(&[]).err().unwrap();
        let errors: Vec<&str> = log.lines().filter(|line| line.starts_with("jobtracker: ")).collect();
        assert!(!status.success() && errors.len() == 1, "{log}");
        assert!(errors[0].contains(&address) && errors[0].contains(words), "{log}");
    }
    // Of one that closes the connection, it is not known; the daemon waits for it.
    let mut stage = Stage::new(&[]);
    stage.place.overrides.push(format!("fs.default.name=hdfs://127.0.0.1:{}", server(hostile)));
    let serving = stage.place.start();
    let line = serving.log.wait_for("no job can be submitted until");
    assert!(line.contains("either it is no NameNode of Hadoop 1, or it ended at that moment"), "{line}");
    stage.beat(1);
}
