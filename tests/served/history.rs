//! Histories of finished jobs over failures and kills of the daemon, and jobs that memory no longer has.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::daemon::signer::exchange;
use crate::fake_hdfs::cluster::Cluster;
use crate::operate::BUDGETS;

use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{JobId, RunState};
use jobtracker::wire::Credentials;
use jobtracker::wire::file::write_split_meta;
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, Value};

/// A user that each system knows.
const USER: &str = "root";

/// A client of a daemon under FIFO with a fixed RPC port.
pub(crate) struct Stage {
    pub(crate) place: DaemonFolders,
    rpc: SocketAddr,
}

// === impl Stage ===

impl Stage {
    pub(crate) fn new() -> Self {
        // Free, most likely, also for further starts.
        let rpc = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut place = DaemonFolders::new(BUDGETS);
        place.overrides.extend([
            format!("mapred.job.tracker={rpc}"),
            "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned(),
            format!("hadoop.job.history.location={}", place.path("history").display()),
        ]);
        Self { place, rpc }
    }

    /// A call of the user's.
    fn ask(&self, call: JobSubmissionCall) -> Value {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = IpcClient::connect(self.rpc, Protocol::JobSubmission, USER).await.unwrap();
            client.call(&Call::JobSubmission(call)).await.unwrap()
        })
    }

    /// A tracker registers.
    pub(crate) fn register_tracker(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = IpcClient::connect(self.rpc, Protocol::InterTracker, "mapred").await.unwrap();
            client.call(&ScriptedTracker::new().heartbeat()).await.unwrap();
        });
    }

    /// A job that is over at once: it is killed before anything of it was launched.
    pub(crate) fn killed_job(&self, properties: &[(&str, &str)]) -> JobId {
        let id = self.job(properties);
        assert_eq!(self.ask(JobSubmissionCall::KillJob { job: Some(id) }), Value::Void);
        id
    }

    pub(crate) fn job(&self, properties: &[(&str, &str)]) -> JobId {
        let Value::JobId(id) = self.ask(JobSubmissionCall::GetNewJobId) else { panic!("no job id") };
        let Value::String(Some(staging)) = self.ask(JobSubmissionCall::GetStagingAreaDir) else { panic!("no staging") };
        let directory = format!("{staging}/{id}");
        let folder = Path::new(directory.strip_prefix("file:").unwrap());
        fs::create_dir_all(folder).unwrap();
        let usual = [("mapred.map.tasks", "0"), ("mapred.job.name", "a_b c")];
        let text: String = usual
            .iter()
            .chain(properties)
            .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"))
            .collect();
        fs::write(folder.join("job.xml"), format!("<configuration>{text}</configuration>")).unwrap();
        fs::write(folder.join("job.splitmetainfo"), write_split_meta(&[])).unwrap();
        let (directory, credentials) = (Some(directory), Some(Credentials::default()));
        let submitted = self.ask(JobSubmissionCall::SubmitJob { job: Some(id), directory, credentials });
        assert!(matches!(submitted, Value::JobStatus(Some(_))), "{submitted:?}");
        id
    }

    fn state(&self, id: JobId) -> Option<RunState> {
        match self.ask(JobSubmissionCall::GetJobStatus { job: Some(id) }) {
            Value::JobStatus(status) => status.map(|status| status.run_state),
            other => panic!("{other:?}"),
        }
    }

    /// How a job ended, as soon as that is reported.
    fn end(&self, id: JobId) -> RunState {
        let asked = (0..100_000).map(|_| self.state(id).unwrap());
        let mut ended = asked.filter(|state| !matches!(state, RunState::Prep | RunState::Running));
        ended.next().expect("it ends")
    }
}

/// Whether a metric has that value.
fn has_metric(serving: &ChildDaemon, line: &str) -> bool {
    metrics(serving).lines().any(|found| found == line)
}

fn metrics(serving: &ChildDaemon) -> String {
    serving.get("/metrics", "").body
}

/// All files below a folder, those under temporary names too.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn a_history_that_cannot_be_written_is_written_by_a_later_start_once() {
    let stage = Stage::new();
    fs::write(stage.place.path("history"), "no folder").unwrap();
    let serving = stage.place.start();
    let job = stage.killed_job(&[]);
    let line = serving.log.wait_for("cannot write the history of ");
    assert!(line.contains(&job.to_string()), "{line}");
    assert!(has_metric(&serving, "jobtracker_histories_waiting 1"), "{}", metrics(&serving));
    assert!(has_metric(&serving, "jobtracker_history_write_failures_total 1"), "{}", metrics(&serving));
    assert_eq!(stage.end(job), RunState::Killed, "it is over all the same");
    serving.kill();

    fs::remove_file(stage.place.path("history")).unwrap();
    let serving = stage.place.start();
    stage.place.wait_for_histories(1);
    assert!(has_metric(&serving, "jobtracker_histories_written_total 1"), "{}", metrics(&serving));
    let log = serving.kill();
    assert!(!log.contains("cannot write the history"), "{log}");
    let files = files_below(&stage.place.path("history"));
    let [conf, history] = &files[..] else { panic!("{files:?}") };
    let (conf, history) = if conf.extension().is_some() { (conf, history) } else { (history, conf) };
    assert_eq!(conf.file_name().unwrap().to_str().unwrap(), format!("{job}_conf.xml"));
    let name = history.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("{job}_")) && name.ends_with("_root_a%5Fb+c"), "{name}");
    let text = fs::read_to_string(history).unwrap();
    assert!(text.starts_with("Meta VERSION=\"1\" .\n") && text.contains("JOB_STATUS=\"KILLED\""), "{text}");
    assert_eq!(history.metadata().unwrap().mode() & 0o7777, 0o744);
    let written = history.metadata().unwrap().ino();

    // Nothing is due any more.
    let serving = stage.place.start();
    let second = stage.killed_job(&[]);
    stage.place.wait_for_histories(2);
    assert!(has_metric(&serving, "jobtracker_histories_written_total 1"), "{}", metrics(&serving));
    assert_eq!(history.metadata().unwrap().ino(), written);
    let of_second = files_below(&stage.place.path("history")).into_iter().filter(|file| !files.contains(file));
    assert!(of_second.clone().all(|file| file.display().to_string().contains(&second.to_string())));
    assert_eq!(of_second.count(), 2);
    drop(serving);
}

/// A day of 10,000 jobs is below 5 MB of log.
#[test]
fn a_job_is_a_line_at_its_submission_and_one_at_its_end() {
    let stage = Stage::new();
    let serving = stage.place.start();
    fs::create_dir(stage.place.path("out")).unwrap();
    let name = "a name of many words, ".repeat(20);
    let output = stage.place.path("out").display().to_string();
    let job = stage.killed_job(&[("mapred.output.dir", &output), ("mapred.job.name", &name)]);
    stage.place.wait_for_histories(1);
    let log = serving.kill();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(&job.to_string())).collect();
    // That the user killed it is one more.
    let mut verbs: Vec<&str> =
        lines.iter().filter_map(|line| line.split_once("jobtracker::audit: ")?.1.split(' ').next()).collect();
    verbs.sort_unstable();
    assert_eq!((lines.len(), verbs), (3, vec!["end", "kill", "submit"]), "{log}");
    let of_job: usize = lines.iter().filter(|line| !line.contains(": kill ")).map(|line| line.len() + 1).sum();
    assert!(of_job < 500, "{of_job} bytes: {lines:?}");
}

#[test]
fn holds_and_releases_of_jobs_are_in_the_audit_log() {
    let stage = Stage::new();
    let serving = stage.place.start();
    let job = stage.job(&[]);
    for (parameter, verb) in [("holdJob", "hold"), ("releaseJob", "release")] {
        let body = format!("{parameter}={job}&user.name={USER}");
        let request = format!(
            "POST /scheduler/pause?{body} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nX-Requested-By: test\r\n\
             Content-Type: application/json\r\nContent-Length: 0\r\n\r\n",
            serving.http
        );
        let answered = exchange(serving.http, &request);
        assert_eq!(answered.status, 200, "{answered:?}");
        serving.log.wait_for(&format!("jobtracker::audit: {verb} user={USER} "));
    }
}

#[test]
fn a_daemon_that_cannot_act_as_users_says_once_whose_copies_it_writes() {
    let place = DaemonFolders::of_nobody(BUDGETS);
    let log = place.start().kill();
    let said =
        log.matches("copies of histories beside the output of jobs on this machine are written for user").count();
    assert_eq!(said, 1, "{log}");
}

#[test]
fn a_user_gets_a_copy_unless_the_job_wants_none() {
    let mut stage = Stage::new();
    stage.place.environment.push(("RUST_LOG", "info,jobtracker::job_summary=info,jobtracker::hadoop_audit=info"));
    let serving = stage.place.start();
    let path = |name: &str| stage.place.path(name).display().to_string();
    fs::create_dir(path("out")).unwrap();
    let out = stage.killed_job(&[("mapred.output.dir", &path("out"))]);
    stage.killed_job(&[("mapred.output.dir", &path("none")), ("hadoop.job.history.user.location", "none")]);
    let named =
        stage.killed_job(&[("mapred.output.dir", &path("no")), ("hadoop.job.history.user.location", &path("named"))]);
    // It is over, with a line, though its copy lies nowhere.
    let lost = stage.killed_job(&[("mapred.output.dir", "s3n://bucket/out")]);
    stage.place.wait_for_histories(4);
    assert!([out, named, lost].iter().all(|job| stage.end(*job) == RunState::Killed));
    let copies = |name: &str| files_below(&stage.place.path(name)).len();
    assert_eq!((copies("out"), copies("none"), copies("no"), copies("named")), (2, 0, 0, 2));
    assert!(!stage.place.path("no").exists(), "an output that the job has not made stays away");
    let folder = stage.place.path("out/_logs/history");
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o755);
    let line = serving.log.wait_for("cannot write the copy");
    assert!(line.contains(&lost.to_string()) && line.contains("s3n"), "{line}");
    assert!(serving.log.text().contains("jobtracker::job_summary: jobId="), "{}", serving.log.text());
    assert!(
        serving
            .log
            .text()
            .contains("jobtracker::hadoop_audit: USER=root\tIP=127.0.0.1\tOPERATION=SUBMIT_JOB\tTARGET=job_")
    );
}

/// The output is its user's alone from the moment in which the end is known.
#[test]
fn nothing_is_written_to_an_output_after_its_job_is_over() {
    let stage = Stage::new();
    let serving = stage.place.start();
    let path = |name: String| stage.place.path(&name);
    for number in 0..8 {
        let (output, moved) = (path(format!("out{number}")), path(format!("moved{number}")));
        fs::create_dir(&output).unwrap();
        let job = stage.killed_job(&[("mapred.output.dir", &output.display().to_string())]);
        assert_eq!(stage.end(job), RunState::Killed);
        fs::rename(&output, &moved).unwrap();
        assert_eq!(files_below(&moved.join("_logs/history")).len(), 2, "the copy is there when the end is known");
    }
    stage.place.wait_for_histories(8);
    serving.kill();
    let _serving = stage.place.start();
    stage.place.wait_for_histories(8);
    assert!((0..8).all(|number| !path(format!("out{number}")).exists()));
}

/// A NameNode that a job names is its user's choice, and may be silent, endless or somebody's trap.
#[test]
fn the_namenode_of_a_job_holds_nobody_elses_history_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let at = silent.local_addr().unwrap();
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let mut stage = Stage::new();
    stage.place.overrides.push(format!("jobtracker.history.copy.namenodes={at}"));
    let serving = stage.place.start();
    let output = |address: SocketAddr| format!("hdfs://{address}/out");
    let mut jobs: Vec<_> = (0..4).map(|_| stage.killed_job(&[("mapred.output.dir", &output(at))])).collect();
    jobs.push(stage.killed_job(&[("mapred.output.dir", &output(trap.local_addr().unwrap()))]));
    let plain = stage.killed_job(&[]);
    assert_eq!(stage.end(plain), RunState::Killed);
    stage.place.wait_for_histories(6);
    assert!(jobs.iter().all(|job| stage.end(*job) == RunState::Killed));
    for job in &jobs {
        serving.log.wait_for(&format!("the copy of the history of {job} for user root"));
    }
    let log = serving.log.text();
    let given_up = |job: &JobId| log.matches(&format!("the copy of the history of {job} for user root")).count();
    assert!(jobs.iter().all(|job| given_up(job) == 1), "one line each: {log}");
    assert!(log.contains("expected one that `jobtracker.history.copy.namenodes` lists"), "{log}");
    assert!(silent.accept().is_ok() && trap.accept().is_err(), "only the listed one is reached");
    serving.kill();
    while silent.accept().is_ok() {}
    let again = stage.place.start();
    let next = stage.killed_job(&[]);
    assert_eq!(stage.end(next), RunState::Killed);
    stage.place.wait_for_histories(7);
    assert!(silent.accept().is_err(), "what was given up is given up for good");
    assert!(!again.kill().contains("cannot write the copy"));
}

/// A NameNode of an attacker's lists and answers without end, also to the next start.
#[test]
fn namenodes_without_end_fill_no_memory_and_hold_nobody_up() {
    let lists = Cluster::stock(&[]);
    lists.state.change(|state| state.lists_without_end = true);
    let sends = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = [&sends, &silent].map(|listener| listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in sends.incoming().map_while(Result::ok) {
            std::thread::spawn(move || while stream.write_all(&[0; 64 << 10]).is_ok() {});
        }
    });
    let mut stage = Stage::new();
    let [sends, quiet] = addresses.map(|address| format!("hdfs://{address}/out"));
    let namenodes = [lists.uri(), format!("hdfs://{}", addresses[0]), format!("hdfs://{}", addresses[1])];
    stage
        .place
        .overrides
        .push(format!("jobtracker.history.copy.namenodes={}", namenodes.join(",").replace("hdfs://", "")));
    let serving = stage.place.start();
    let quiet_bytes = serving.resident_bytes();
    let watch = |serving: &ChildDaemon, histories: i32| {
        stage.place.wait_for_histories(histories);
        let grown = serving.resident_bytes().saturating_sub(quiet_bytes) >> 20;
        assert!(grown < 96, "{grown} MiB more");
    };
    let outputs = [&format!("{}/out", lists.uri()), &sends];
    let mut jobs: Vec<_> = outputs.iter().map(|output| stage.killed_job(&[("mapred.output.dir", output)])).collect();
    jobs.extend((0..12).map(|_| stage.killed_job(&[("mapred.output.dir", &quiet)])));
    let honest = stage.killed_job(&[]);
    assert_eq!(stage.end(honest), RunState::Killed);
    assert!(jobs.iter().all(|job| stage.end(*job) == RunState::Killed));
    watch(&serving, 15);
    serving.kill();
    let again = stage.place.start();
    let honest = stage.killed_job(&[]);
    assert_eq!(stage.end(honest), RunState::Killed);
    watch(&again, 16);
}

#[test]
fn jobs_that_memory_no_longer_has_are_answered_for_their_time() {
    let mut stage = Stage::new();
    stage.place.overrides.push("mapred.job.tracker.retiredjobs.cache.size=100".to_owned());
    let plain = stage.place.overrides.clone();
    stage.place.overrides.extend([
        "mapred.job.tracker.persist.jobstatus.active=true".to_owned(),
        "mapred.job.tracker.persist.jobstatus.hours=1".to_owned(),
    ]);
    let serving = stage.place.start();
    let first = stage.killed_job(&[]);
    for _ in 0..100 {
        stage.killed_job(&[]);
    }
    let ask_all = |stage: &Stage| {
        assert_eq!(stage.end(first), RunState::Killed);
        let job = Some(first);
        let Value::JobProfile(Some(profile)) = stage.ask(JobSubmissionCall::GetJobProfile { job }) else {
            panic!("no profile")
        };
        assert_eq!(&*profile.name, "a_b c");
        assert!(matches!(stage.ask(JobSubmissionCall::GetJobCounters { job }), Value::Counters(Some(_))));
        let events = stage.ask(JobSubmissionCall::GetTaskCompletionEvents { job, from: 0, max: 10 });
        assert_eq!(events, Value::CompletionEvents(Vec::new()));
        assert!(matches!(stage.ask(JobSubmissionCall::GetSetupTaskReports { job }), Value::TaskReports(_)));
    };
    ask_all(&stage);
    serving.kill();
    let serving = stage.place.start();
    ask_all(&stage);
    serving.kill();
    stage.place.overrides = plain;
    let _serving = stage.place.start();
    assert_eq!(stage.state(first), None);
}
