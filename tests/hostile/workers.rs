//! Attacks on the built-in tasktracker: by those who lay files before it, read its folders, or hold its web.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Signal, kill_process};

use crate::attacker::connect_from;
use crate::cluster::Cluster;
use crate::daemon::process_usage::resident_bytes;
use crate::daemon::skip::skip_without_root;
use crate::stage::{size, turn};
use crate::verdict::{excerpt, pronounce};
use crate::victims::{GIVEN_UP, read_page};

const ADDRESS: [u8; 4] = [127, 0, 0, 66];
const NOBODY: u32 = 65_534;
/// Of a worker's page during an attack, and of the end of a worker.
const PAGE: Duration = Duration::from_secs(5);
const STOP: Duration = Duration::from_secs(7);
/// What an attack may leave in a worker's memory.
const MEMORY_AFTER_BYTES: u64 = 64 << 20;

/// A worker that is attacked.
struct Attacked {
    name: &'static str,
    cluster: Cluster,
    quiet_bytes: u64,
    quiet: Duration,
    during: Duration,
    broken: Vec<String>,
}

impl Attacked {
    fn new(name: &'static str, cluster: Cluster) -> Self {
        let http = cluster.workers[0].http;
        let quiet = slowest_page(http, 5, &mut Vec::new());
        let quiet_bytes = resident_bytes(pid(&cluster));
        Self { name, cluster, quiet_bytes, quiet, during: Duration::ZERO, broken: Vec::new() }
    }

    fn http(&self) -> SocketAddr {
        self.cluster.workers[0].http
    }

    fn must(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(otherwise());
        }
    }

    /// Looks at the worker's page so often.
    fn look(&mut self, count: u32) {
        let (http, mut failures) = (self.http(), Vec::new());
        let slowest = slowest_page(http, count, &mut failures);
        self.during = self.during.max(slowest);
        self.must(slowest < PAGE, || format!("a page took {slowest:?}"));
        self.broken.extend(failures);
    }

    /// Ends the worker and prints the line.
    fn close(mut self) {
        let pid = pid(&self.cluster);
        let after = resident_bytes(pid);
        let (quiet_mib, after_mib) = (self.quiet_bytes >> 20, after >> 20);
        self.must(after <= self.quiet_bytes + MEMORY_AFTER_BYTES, || format!("memory {quiet_mib} -> {after_mib} MiB"));
        kill_process(self.cluster.worker_pid(0), Signal::TERM).unwrap();
        let began = Instant::now();
        while is_running(pid) && began.elapsed() < STOP {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.must(!is_running(pid), || format!("SIGTERM has not ended the worker within {STOP:?}"));
        self.cluster.kill_worker(0);
        let Self { name, quiet, during, broken, .. } = self;
        let verdict = if broken.is_empty() { "held".to_owned() } else { format!("BROKEN: {}", broken.join("; ")) };
        let line = format!(
            "{name} | quiet: page {quiet:?}; during: page {during:?}; memory {quiet_mib} -> {after_mib} MiB; verdict {verdict}"
        );
        pronounce(&line, broken.is_empty());
    }
}

fn pid(cluster: &Cluster) -> u32 {
    cluster.worker_pid(0).as_raw_nonzero().get().cast_unsigned()
}

/// Whether a child of ours has not ended; one that has stays until it is waited for.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

fn slowest_page(http: SocketAddr, count: u32, failures: &mut Vec<String>) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..count {
        let began = Instant::now();
        let page = read_page(http, "/");
        slowest = slowest.max(began.elapsed());
        if let Err(error) = page {
            failures.push(format!("a page: {}", excerpt(&error.to_string())));
            return slowest;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    slowest
}

/// All files of that name in a folder.
fn find(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.map_while(Result::ok) {
        let path = entry.path();
        if path.file_name().is_some_and(|own| own == name) {
            found.push(path.clone());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(find(&path, name));
        }
    }
    found
}

fn replace_by_pipe(path: &Path) {
    std::fs::remove_file(path).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// Waits until something is so.
fn comes_true(longest: Duration, is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + longest;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    is_so()
}

/// An honest job that is done in time.
fn has_job_done(cluster: &Cluster, output: &str) -> bool {
    let words = ["--input", "in/a", "--output", output, "--mapper", "cat", "--reducer", "NONE"];
    cluster.submit(&words);
    let done = cluster.folder().join(output).join("_SUCCESS");
    comes_true(Duration::from_secs(20), || done.exists())
}

#[test]
fn a_job_whose_files_are_pipes() {
    let _turn = turn();
    let mut cluster = Cluster::new(0);
    std::fs::write(cluster.folder().join("hang.sh"), "cat\n").unwrap();
    let limits = ["-D", "mapred.task.timeout=2000", "-D", "mapred.map.max.attempts=1", "--reducer", "NONE"];
    let words = ["--input", "in", "--output", "hangs", "--mapper", "sh hang.sh", "--file", "hang.sh"];
    let job = cluster.submit(&[&words[..], &limits].concat());
    // Where the client has it from, and where it has put it.
    find(&cluster.folder(), "hang.sh").iter().for_each(|path| replace_by_pipe(path));
    cluster.add_worker(&[]);
    let mut attacked = Attacked::new("a worker and a job whose files are pipes", cluster);
    // Until the job has come to the worker.
    std::thread::sleep(Duration::from_secs(1));
    let target = format!("/mapOutput?job={job}&map={}_m_000000_0&reduce=0", job.replace("job", "attempt"));
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nUrlHash: x\r\n\r\n");
    let held: Vec<TcpStream> =
        (0..520).map_while(|_| connect_from(ADDRESS, attacked.http(), request.as_bytes()).ok()).collect();
    attacked.look(size(10, 50));
    let done = has_job_done(&attacked.cluster, "honest");
    attacked.must(done, || "an honest job gets no slot".to_owned());
    drop(held);
    attacked.close();
}

#[test]
fn an_input_that_is_a_pipe() {
    let _turn = turn();
    let mut cluster = Cluster::new(0);
    std::fs::create_dir(cluster.folder().join("pipes")).unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(cluster.folder().join("pipes").join(name), "words\n").unwrap();
    }
    let limits = ["-D", "mapred.task.timeout=2000", "-D", "mapred.map.max.attempts=1", "--reducer", "NONE"];
    let words = ["--input", "pipes", "--output", "hangs", "--mapper", "cat"];
    cluster.submit(&[&words[..], &limits].concat());
    for name in ["a", "b", "c"] {
        replace_by_pipe(&cluster.folder().join("pipes").join(name));
    }
    cluster.add_worker(&[]);
    let mut attacked = Attacked::new("a worker and an input of pipes", cluster);
    std::thread::sleep(Duration::from_secs(1));
    attacked.look(5);
    let done = has_job_done(&attacked.cluster, "honest");
    attacked.must(done, || "an honest job gets no slot".to_owned());
    attacked.close();
}

#[test]
fn idle_connections_to_a_worker() {
    let _turn = turn();
    let mut attacked = Attacked::new("a worker and idle connections", Cluster::new(1));
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let held: Vec<TcpStream> = (0..520).map_while(|_| connect_from(ADDRESS, attacked.http(), request).ok()).collect();
    attacked.look(size(20, 100));
    drop(held);
    attacked.close();
}

#[test]
fn half_requests_to_a_worker() {
    let _turn = turn();
    let mut attacked = Attacked::new("a worker and half requests", Cluster::new(1));
    let half = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ";
    let held: Vec<TcpStream> = (0..1_100).map_while(|_| connect_from(ADDRESS, attacked.http(), half).ok()).collect();
    attacked.look(size(20, 100));
    drop(held);
    attacked.close();
}

#[test]
fn other_users_of_a_workers_machine() {
    if skip_without_root("other_users_of_a_workers_machine") {
        return;
    }
    let _turn = turn();
    let mut attacked = Attacked::new("a worker and other users of its machine", Cluster::new(1));
    let folder = attacked.cluster.folder();
    // The way down to the worker's folders is open, as on a real machine.
    for above in folder.ancestors().take(2) {
        std::fs::set_permissions(above, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let began = folder.join("began");
    std::fs::write(folder.join("wait.sh"), format!("echo > {}\nsleep 3\ncat\n", began.display())).unwrap();
    let words =
        ["--input", "in/a", "--output", "out", "--file", "wait.sh", "--mapper", "cat", "--reducer", "sh wait.sh"];
    attacked.cluster.submit(&words);
    attacked.must(comes_true(GIVEN_UP * 2, || began.exists()), || "the job does not run".to_owned());
    let mut look = Command::new("find");
    look.arg(folder.join("mapred/local")).args(["(", "-type", "f", "-readable", "-o", "-type", "d", "-writable", ")"]);
    look.uid(NOBODY).gid(NOBODY).current_dir("/");
    let output = look.output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.rsplit('/').next()).collect();
    attacked.must(names.is_empty(), || {
        format!("{} of its files are open to others: {}", names.len(), excerpt(&names.join(" ")))
    });
    // What tasks are told of is open to who may look at processes.
    attacked.look(3);
    attacked.close();
}

#[test]
fn links_planted_among_logs() {
    let _turn = turn();
    let mut attacked = Attacked::new("a worker and links among its logs", Cluster::new(1));
    let folder = attacked.cluster.folder();
    let secret = folder.join("secret");
    std::fs::write(&secret, "hunter2\n").unwrap();
    std::fs::write(folder.join("wait.sh"), "sleep 4\ncat\n").unwrap();
    let words =
        ["--input", "in/a", "--output", "out", "--file", "wait.sh", "--mapper", "sh wait.sh", "--reducer", "NONE"];
    let job = attacked.cluster.submit(&words);
    let logs = folder.join("mapred/local/userlogs").join(&job);
    let attempt = format!("{}_m_000000_0", job.replace("job", "attempt"));
    let ours = logs.join(&attempt);
    attacked
        .must(comes_true(GIVEN_UP * 2, || ours.join("syslog").exists()), || format!("no logs in {}", ours.display()));
    for (name, target) in [("profile", &secret), ("debugout", &PathBuf::from("/etc/shadow"))] {
        let _ = std::fs::remove_file(ours.join(name));
        symlink(target, ours.join(name)).unwrap();
    }
    let stdout = ours.join("stdout");
    let _ = std::fs::remove_file(&stdout);
    mknodat(CWD, &stdout, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    // A folder of logs that is a link as a whole.
    let other = format!("{}_m_000009_0", job.replace("job", "attempt"));
    std::fs::create_dir(folder.join("aside")).unwrap();
    std::fs::write(folder.join("aside/stderr"), "hunter2\n").unwrap();
    symlink(folder.join("aside"), logs.join(&other)).unwrap();
    for (attempt, name) in [(&attempt, "profile"), (&attempt, "debugout"), (&attempt, "stdout"), (&other, "stderr")] {
        let began = Instant::now();
        let target = format!("/tasklog?attemptid={attempt}&plaintext=true&filter={name}");
        let page = read_page(attacked.http(), &target).unwrap_or_else(|error| format!("hangs: {error:#}"));
        let is_told = page.contains("hunter2") || page.contains("root:");
        attacked.must(!is_told, || format!("{name} behind a link is told"));
        attacked.must(began.elapsed() < PAGE, || format!("{name} took {:?}", began.elapsed()));
    }
    attacked.look(3);
    attacked.close();
}

#[test]
fn ways_out_of_a_workers_folders() {
    let _turn = turn();
    let mut attacked = Attacked::new("a worker and ways out of its folders", Cluster::new(1));
    let http = attacked.http();
    let targets = [
        "/tasklog?attemptid=../../../../etc/passwd&plaintext=true&filter=stdout",
        "/tasklog?attemptid=attempt_202601010000_0001_m_000000_0/../../..&plaintext=true&filter=stdout",
        "/tasklog?attemptid=attempt_202601010000_0001_m_000000_0&plaintext=true&filter=../../../../../etc/passwd",
        "/tasklog?attemptid=attempt_202601010000_0001_m_000000_0&plaintext=true&filter=%2e%2e%2fpasswd",
        "/mapOutput?job=../..&map=../../etc/passwd&reduce=0",
        "/mapOutput?job=job_202601010000_0001&map=attempt_202601010000_0001_m_000000_0%2f..%2f..&reduce=-1",
        "/../../../../etc/passwd",
        "/static/../../../../etc/passwd",
        "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
    ];
    for target in targets {
        let answer = read_page(http, target).unwrap_or_default();
        let status = answer.split_whitespace().nth(1).unwrap_or_default().to_owned();
        attacked.must(
            !answer.contains("root:") && status.starts_with('4') || status == "500" && !answer.contains("root:"),
            || format!("{target}: {}", excerpt(&answer)),
        );
    }
    // No method but reading.
    for method in ["POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"] {
        let mut stream = TcpStream::connect(http).unwrap();
        stream.set_read_timeout(Some(PAGE)).unwrap();
        write!(stream, "{method} / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        attacked.must(!answer.starts_with("HTTP/1.1 2"), || format!("{method}: {}", excerpt(&answer)));
    }
    attacked.look(2);
    attacked.close();
}
