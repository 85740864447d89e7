//! Files that hang or are none: what they cost is their own job's.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, kill_process, pidfd_open};

use crate::cluster::Cluster;
use crate::daemon::answered::Answered;
use crate::daemon::child::wait_for_files;
use crate::tasktracker::secrets::all_in;

use jobtracker::streaming::shuffle::signature::ShuffleSecret;

/// Long enough for anything that does not wait for a file that hangs.
const SOON: Duration = Duration::from_secs(20);
/// A thread that hangs is abandoned 10 s after its attempt was stopped; on a busy machine that takes longer.
const LONGEST: Duration = Duration::from_secs(120);

fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

impl Cluster {
    /// Waits until a job that is not followed has failed, and its logs say one of these reasons: a thread of the worker may write it later.
    #[expect(clippy::disallowed_methods, reason = "a test that waits for a daemon gives up some time")]
    fn fails_for(&self, job: &str, reasons: &[&str]) {
        let began = Instant::now();
        while !self.job(&["status", job]).done().contains("FAILED") {
            assert!(began.elapsed() < LONGEST, "{job} has not failed in {LONGEST:?}");
        }
        loop {
            let logs = self.job(&["logs", job]).done();
            if reasons.iter().any(|reason| logs.contains(reason)) {
                break;
            }
            assert!(began.elapsed() < LONGEST, "none of {reasons:?} in {LONGEST:?}: {logs}");
        }
    }

    /// A worker with one map slot ends well with a job of one map.
    fn has_a_free_slot(&self, output: &str) {
        self.job(&["submit", "--input", "in/a", "--output", output, "--reducer", "NONE", "--mapper", "cat"]).done();
        assert_eq!(self.output(output).len(), 3);
    }

    /// Stops a worker, which must end soon.
    fn stop_worker(&self, worker: usize) {
        let process = pidfd_open(self.worker_pid(worker), PidfdFlags::empty()).unwrap();
        kill_process(self.worker_pid(worker), Signal::TERM).unwrap();
        let mut waited = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        let five_seconds = Timespec::try_from(Duration::from_secs(5)).unwrap();
        assert_eq!(poll(&mut waited, Some(&five_seconds)).unwrap(), 1, "the worker waits");
    }
}

const ONE_MAP: [&str; 7] =
    ["--reducer", "NONE", "--mapper", "cat", "-D", "mapred.map.tasks=1", "-Dmapred.map.max.attempts=1"];
const ONE_SLOT: &str = "mapred.tasktracker.map.tasks.maximum=1";

#[test]
fn a_pipe_as_cache_file_or_input_fails_the_attempt_at_once() {
    let mut cluster = Cluster::new(0);
    let at = |name: &str| cluster.folder().join(name);
    make_pipe(&at("pipe"));
    let cache = format!("-Dmapred.cache.files=file:{}", at("pipe").display());
    let cached = cluster.submit(&[&ONE_MAP[..], &["--input", "in/a", "--output", "o1", &cache]].concat());
    std::fs::write(at("swapped"), "a\n").unwrap();
    let read = cluster.submit(&[&ONE_MAP[..], &["--input", "swapped", "--output", "o2"]].concat());
    std::fs::remove_file(at("swapped")).unwrap();
    make_pipe(&at("swapped"));
    cluster.add_worker(&[ONE_SLOT]);
    for (job, name) in [(cached, "pipe"), (read, "swapped")] {
        cluster.fails_for(&job, &[&format!("{name}: expected a regular file")]);
    }
    cluster.has_a_free_slot("out");
    cluster.stop_worker(0);
}

#[test]
fn a_file_that_hangs_holds_neither_a_slot_nor_the_end_of_the_worker() {
    let mut cluster = Cluster::new(0);
    let limits = ["-Dmapred.task.timeout=1000", "-Dmapred.tasktracker.tasks.sleeptime-before-sigkill=50"];
    let job = cluster.submit(&[&ONE_MAP[..], &limits[..], &["--input", "in/a", "--output", "hung"]].concat());
    // Where the map writes, there is something that takes nothing.
    let attempt = format!("_{}_m_000000_0", job.replace("job_", "attempt_"));
    let folder = cluster.folder().join("hung/_temporary").join(attempt);
    std::fs::create_dir_all(&folder).unwrap();
    make_pipe(&folder.join("part-00000"));
    cluster.add_worker(&[ONE_SLOT]);
    cluster.fails_for(&job, &["hangs; its thread was abandoned", "regular file"]);
    cluster.has_a_free_slot("out");
    cluster.stop_worker(0);
}

/// A job whose map output is served, while its reduce waits.
struct ServedJob {
    attempt: String,
    job: String,
    secret: ShuffleSecret,
    index: PathBuf,
    gate: PathBuf,
}

impl ServedJob {
    fn start(cluster: &Cluster, name: &str) -> Self {
        let at = |ending: &str| cluster.folder().join(format!("{name}{ending}"));
        make_pipe(&at(".gate"));
        let reducer = format!("sh -c 'echo > {}; cat {} -'", at(".begun").display(), at(".gate").display());
        let words = ["--input", "in/a", "--output", name, "--mapper", "cat", "--reducer", &reducer];
        let job = cluster.submit(&[&words[..], &["-D", "mapred.map.tasks=1"]].concat());
        wait_for_files(&cluster.folder(), || at(".begun").exists());
        let files = all_in(&cluster.folder().join("mapred/local"));
        let file = |name: &str| {
            let is_of_job = |path: &&PathBuf| path.display().to_string().contains(&job) && path.ends_with(name);
            files.iter().find(is_of_job).unwrap().clone()
        };
        let secret = ShuffleSecret::of_token_file(&std::fs::read(file("jobToken")).unwrap()).unwrap();
        let attempt = format!("{}_m_000000_0", job.replace("job_", "attempt_"));
        Self { attempt, secret, index: file("file.out.index"), gate: at(".gate"), job }
    }

    /// Asks for the map's output, and does not wait for it.
    fn ask(&self, cluster: &Cluster) -> TcpStream {
        let http = cluster.workers[0].http;
        let target = format!("/mapOutput?job={}&map={}&reduce=0", self.job, self.attempt);
        let hash = self.secret.url_hash(http.port(), &target);
        let mut stream = TcpStream::connect_timeout(&http, SOON).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {http}\r\nUrlHash: {hash}\r\nConnection: close\r\n\r\n")
            .unwrap();
        stream
    }
}

fn answer(mut stream: TcpStream) -> Answered {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    Answered::parse(&answer)
}

#[test]
fn outputs_that_hang_keep_no_other_job_from_its_own() {
    let cluster = Cluster::new(1);
    let (hostile, honest) = (ServedJob::start(&cluster, "hostile"), ServedJob::start(&cluster, "honest"));
    assert_eq!(answer(honest.ask(&cluster)).status, 200);
    std::fs::remove_file(&hostile.index).unwrap();
    make_pipe(&hostile.index);
    let mut asked: Vec<TcpStream> = (0..520).map(|_| hostile.ask(&cluster)).collect();
    assert_eq!(answer(honest.ask(&cluster)).status, 200);
    let refused = answer(asked.remove(0));
    assert_eq!((refused.status, refused.header("x-content-type-options")), (410, Some("nosniff")));
    assert!(refused.body.contains("expected a regular file"), "{}", refused.body);
    cluster.stop_worker(0);
    assert!(hostile.gate.exists() && honest.gate.exists());
}
