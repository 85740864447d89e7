//! The program itself, `jobtracker serve`, on folders of its own: asked over HTTP, read by its log, killed at will.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use rusqlite::{Connection, OpenFlags};
use rustix::process::Pid;

use jobtracker::clock::wall_ms;
use jobtracker::market::Key;
use jobtracker::market::signature::sign;

use super::answered::Answered;
use super::process_usage;

/// Long enough for anything that comes at all.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// Whom no rights of root protect from modes of files.
const NOBODY: u32 = 65_534;
/// Users and keys, each key the name and `key`.
pub const ACL: &str = "alice user alicekey\nbob user bobkey\nroot admin rootkey\n";

/// Folders of a daemon: one for the budget and the ACL file, as `/etc` is, one for its state.
pub struct DaemonFolders {
    pub dir: tempfile::TempDir,
    /// What else it is configured by, `key=value`.
    pub overrides: Vec<String>,
    /// Its environment, beside ours.
    pub environment: Vec<(&'static str, &'static str)>,
    is_nobody: bool,
}

/// A running daemon. Dropping it kills it.
pub struct ChildDaemon {
    child: Child,
    /// The process that replaces it.
    successor: Option<Pid>,
    pub http: SocketAddr,
    pub log: Log,
    timestamp_ms: AtomicI64,
}

/// What a daemon says.
#[derive(Clone, Default)]
pub struct Log(Arc<(Mutex<Said>, Condvar)>);

#[derive(Default)]
struct Said {
    text: String,
    is_over: bool,
}

// === impl DaemonFolders ===

impl DaemonFolders {
    /// With these budgets, the users of [`ACL`] and a tick each second.
    pub fn new(budgets: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir, overrides: Vec::new(), environment: Vec::new(), is_nobody: false };
        for folder in ["etc", "hadoop", "state"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        std::fs::write(place.budget(), budgets).unwrap();
        std::fs::write(place.acl(), ACL).unwrap();
        place
    }

    /// The same for a daemon without the rights of root, which no mode of a file binds.
    pub fn of_nobody(budgets: &str) -> Self {
        let place = Self::new(budgets);
        if rustix::process::geteuid().is_root() {
            for path in [".", "etc", "hadoop", "state", "etc/hadoop.budget", "etc/hadoop.acl"] {
                chown(place.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Self { is_nobody: true, ..place }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn budget(&self) -> PathBuf {
        self.path("etc/hadoop.budget")
    }

    pub fn acl(&self) -> PathBuf {
        self.path("etc/hadoop.acl")
    }

    pub fn read_budget(&self) -> String {
        std::fs::read_to_string(self.budget()).unwrap()
    }

    pub fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Files of a folder, by name.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// An administrator's look into `state.db`.
    pub fn database(&self) -> Connection {
        Connection::open_with_flags(self.path("state/state.db"), OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
    }

    /// What the ledger says a queue has, none if there is no such queue.
    pub fn balance(&self, queue: &str) -> Option<String> {
        let found =
            self.database().query_row("SELECT balance FROM account WHERE queue = ?1", [queue], |row| row.get(0));
        found.ok()
    }

    /// Waits until it is recorded that so many histories are written.
    pub fn wait_for_histories(&self, count: i32) {
        let sql = "SELECT count(*) FROM job_history WHERE written_ms IS NOT NULL";
        let is_so = || self.database().query_row(sql, [], |row| row.get(0)).is_ok_and(|found: i32| found == count);
        wait_for_files(&self.path("state"), is_so);
    }

    /// Starts the daemon and waits until it serves.
    pub fn start(&self) -> ChildDaemon {
        self.try_start(&[]).unwrap_or_else(|(status, log)| panic!("ended with {status}:\n{log}"))
    }

    /// Starts it with more arguments; an error is its end and all that it said.
    pub fn try_start(&self, arguments: &[&str]) -> Result<ChildDaemon, (ExitStatus, String)> {
        let mut command = self.command();
        command.args(arguments);
        ChildDaemon::of(command)
    }

    /// What becomes the daemon.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.program());
        command.args(self.arguments()).envs(self.environment.iter().copied());
        if self.is_nobody && rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// The arguments of the program.
    pub fn arguments(&self) -> Vec<String> {
        let path = |name| self.path(name).display().to_string();
        let mut overrides = vec![
            "mapred.job.tracker=127.0.0.1:0".to_owned(),
            "mapred.job.tracker.http.address=127.0.0.1:0".to_owned(),
            "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler".to_owned(),
            "mapred.dynamic-scheduler.alloc-interval=1".to_owned(),
            format!("hadoop.tmp.dir={}", path("hadoop")),
            format!("jobtracker.state.dir={}", path("state")),
            format!("mapred.dynamic-scheduler.budget-file={}", self.budget().display()),
            format!("mapred.priority-scheduler.acl-file={}", self.acl().display()),
        ];
        overrides.extend(self.overrides.iter().cloned());
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(overrides.into_iter().flat_map(|text| ["-D".to_owned(), text]));
        arguments
    }

    /// The program, where this place's user reaches it.
    fn program(&self) -> PathBuf {
        let built = built_program();
        if !self.is_nobody {
            return built;
        }
        // The build may lie in a home that no other user may enter.
        let here = self.path("jobtracker");
        if !here.exists() && std::fs::hard_link(&built, &here).is_err() {
            std::fs::copy(&built, &here).unwrap();
        }
        here
    }
}

/// The program of this build, or the one that `JOBTRACKER_PROGRAM` names.
pub fn built_program() -> PathBuf {
    std::env::var_os("JOBTRACKER_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_jobtracker").into()).into()
}

// === impl ChildDaemon ===

impl ChildDaemon {
    /// Runs a command that becomes the daemon.
    pub fn of(command: Command) -> Result<Self, (ExitStatus, String)> {
        Self::with_input(command, Stdio::null())
    }

    /// The same with an input of its own.
    pub fn with_input(mut command: Command, input: Stdio) -> Result<Self, (ExitStatus, String)> {
        for ours in ["HADOOP_CONF_DIR", "RUST_LOG"] {
            if !command.get_envs().any(|(name, _)| name == ours) {
                command.env_remove(ours);
            }
        }
        command.stdin(input).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        let Some(line) = log.await_line("web on http://") else { return Err((child.wait().unwrap(), log.text())) };
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
        let timestamp_ms = AtomicI64::new(wall_ms());
        let serving = Self { child, successor: None, http: address.parse().unwrap(), log, timestamp_ms };
        if serving.log.await_line("system directory").is_none() {
            return Err(serving.end());
        }
        Ok(serving)
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for an end that is to come by itself, or after a signal.
    pub fn end(mut self) -> (ExitStatus, String) {
        let said = self.log.all();
        // One that lives on although it says nothing any more would be waited for without end.
        let _ = self.child.kill();
        (self.child.wait().unwrap(), said)
    }

    /// Sends `SIGTERM`.
    pub fn terminate(&self) {
        rustix::process::kill_process(self.process(), rustix::process::Signal::TERM).unwrap();
    }

    pub fn process_id(&self) -> u32 {
        self.process().as_raw_nonzero().get().cast_unsigned()
    }

    pub fn process(&self) -> Pid {
        self.successor.unwrap_or_else(|| Pid::from_child(&self.child))
    }

    pub fn resident_bytes(&self) -> u64 {
        process_usage::resident_bytes(self.process_id())
    }

    /// User and system time so far.
    pub fn cpu(&self) -> Duration {
        process_usage::cpu(self.process_id())
    }

    pub fn descriptors(&self) -> usize {
        process_usage::descriptors(self.process_id())
    }

    /// Where RPC is served.
    pub fn rpc(&self) -> SocketAddr {
        let line = self.log.wait_for("RPC on ");
        line.split("RPC on ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    }

    /// That process replaces the one that served, which exits with 0.
    pub fn succeeded_by(&mut self, process: u32) {
        let code = match self.successor.replace(Pid::from_raw(process.cast_signed()).unwrap()) {
            None => self.child.wait().unwrap().code(),
            Some(before) => wait_for_process(before),
        };
        assert_eq!(code, Some(0), "{}", self.log.text());
    }

    /// Sends `SIGTERM` and waits for the end.
    pub fn stop(mut self) -> (i32, String) {
        rustix::process::kill_process(self.process(), rustix::process::Signal::TERM).unwrap();
        let code = match self.successor.take() {
            None => self.child.wait().unwrap().code(),
            Some(process) => wait_for_process(process),
        };
        (code.unwrap_or(-1), self.log.all())
    }

    /// Kills it, as a crash does.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.all()
    }

    pub fn get(&self, target: &str, authorization: &str) -> Answered {
        self.try_get(target, authorization).unwrap()
    }

    /// The same of a daemon that may die; an error means that no answer came.
    pub fn try_get(&self, target: &str, authorization: &str) -> io::Result<Answered> {
        try_get(self.http, target, authorization)
    }

    /// An operation of `/scheduler`, signed now.
    pub fn ask(&self, user: &str, operation: &str) -> Answered {
        self.ask_at(user, operation, self.next_timestamp_ms())
    }

    /// The same of another address.
    pub fn ask_address(&self, path: &str, user: &str, operation: &str) -> Answered {
        self.try_ask_address(path, user, operation, self.next_timestamp_ms()).unwrap()
    }

    /// Now, and no moment twice.
    fn next_timestamp_ms(&self) -> i64 {
        let mut next_ms = 0;
        let _ = self.timestamp_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last_ms| {
            next_ms = wall_ms().max(last_ms + 1);
            Some(next_ms)
        });
        next_ms
    }

    pub fn ask_at(&self, user: &str, operation: &str, timestamp_ms: i64) -> Answered {
        self.try_ask_at(user, operation, timestamp_ms).unwrap()
    }

    /// The same of a daemon that may die.
    pub fn try_ask_at(&self, user: &str, operation: &str, timestamp_ms: i64) -> io::Result<Answered> {
        self.try_ask_address("/scheduler", user, operation, timestamp_ms)
    }

    fn try_ask_address(&self, path: &str, user: &str, operation: &str, timestamp_ms: i64) -> io::Result<Answered> {
        let query = format!("{operation}&user={user}&timestamp={timestamp_ms}");
        let signature = sign(&query, &Key::new(&format!("{user}key")));
        self.try_get(&format!("{path}?{query}"), &signature)
    }

    /// Brings money in; the answer says that it is durable.
    pub fn top_up(&self, queue: &str, amount: &str) {
        let answer = self.ask("root", &format!("addBudget={amount}&queue={queue}"));
        assert_eq!(answer.status, 200, "{} {}", answer.reason, answer.body);
    }
}

impl Drop for ChildDaemon {
    fn drop(&mut self) {
        if let Some(successor) = self.successor {
            let _ = rustix::process::kill_process(successor, rustix::process::Signal::KILL);
            wait_for_process(successor);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks over HTTP, by a connection of its own; an error means that no answer came.
pub fn try_get(http: SocketAddr, target: &str, authorization: &str) -> io::Result<Answered> {
    let mut stream = TcpStream::connect(http)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let authorization =
        if authorization.is_empty() { String::new() } else { format!("Authorization: {authorization}\r\n") };
    let request = format!("GET {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Answered::parse(&answer))
}

/// Waits for a process that is ours because its parent has ended; for that this process must be the one that orphans
/// come to.
fn wait_for_process(process: Pid) -> Option<i32> {
    let (_, status) = rustix::process::waitpid(Some(process), rustix::process::WaitOptions::empty()).unwrap().unwrap();
    status.exit_status()
}

// === impl Log ===

impl Log {
    fn of(stderr: impl Read + Send + 'static) -> Self {
        let log = Log::default();
        let theirs = log.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                theirs.change(|said| said.text += &format!("{line}\n"));
            }
            theirs.change(|said| said.is_over = true);
        });
        log
    }

    fn change(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    /// All that has been said so far.
    pub fn text(&self) -> String {
        self.0.0.lock().unwrap().text.clone()
    }

    /// How much has been said so far.
    pub fn bytes(&self) -> usize {
        self.0.0.lock().unwrap().text.len()
    }

    /// All that was said until the end.
    fn all(&self) -> String {
        let said = self.0.0.lock().unwrap();
        self.0.1.wait_timeout_while(said, TIMEOUT, |said| !said.is_over).unwrap().0.text.clone()
    }

    /// The first line that holds these words, as soon as there is one; none when the log is over before.
    fn await_line(&self, words: &str) -> Option<String> {
        let said = self.0.0.lock().unwrap();
        let missing = |said: &mut Said| !said.is_over && !said.text.contains(words);
        let (said, waited) = self.0.1.wait_timeout_while(said, TIMEOUT, missing).unwrap();
        assert!(!waited.timed_out(), "no line contains {words:?}:\n{}", said.text);
        said.text.lines().find(|line| line.contains(words)).map(str::to_owned)
    }

    /// Waits until it says these words.
    pub fn wait_for(&self, words: &str) -> String {
        self.await_line(words).unwrap_or_else(|| panic!("ended without {words:?}:\n{}", self.text()))
    }
}

/// Waits until something is so that changes with the files of a folder.
pub fn wait_for_files(folder: &Path, is_so: impl Fn() -> bool) {
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(sender).unwrap();
    watcher.watch(folder, RecursiveMode::NonRecursive).unwrap();
    while !is_so() {
        let change = changes.recv_timeout(TIMEOUT);
        assert!(change.is_ok(), "nothing changes in {} any more", folder.display());
    }
}
