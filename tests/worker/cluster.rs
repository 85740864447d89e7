//! A JobTracker with built-in tasktrackers, all of them processes.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::daemon::child::{ChildDaemon, DaemonFolders, TIMEOUT, built_program};
use crate::daemon::small_disk::{command_on, command_on_disk};
use crate::program::{Said, job_command};

const MAPPER: &str = r#"
while IFS= read -r line || [ -n "$line" ]; do
    for word in $line; do printf '%s\t1\n' "$word"; done
    echo "reporter:counter:My Group,lines,1" >&2
done
"#;
const REDUCER: &str = r#"
awk -F'\t' '$1"" != key"" { if (NR > 1) print key "\t" sum; key = $1; sum = 0 } { sum += $2 } END { if (NR) print key "\t" sum }'
"#;

pub struct Cluster {
    pub place: DaemonFolders,
    pub serving: Option<ChildDaemon>,
    pub rpc: SocketAddr,
    pub workers: Vec<Worker>,
    /// Folders of workers that trust no other user.
    scratch: Vec<tempfile::TempDir>,
}

pub struct Worker {
    child: Child,
    /// Where its web is.
    pub http: SocketAddr,
    /// What it said at its start.
    pub said: Vec<String>,
}

impl Cluster {
    /// With so many workers, two map slots and two reduce slots each.
    pub fn new(workers: usize) -> Self {
        Self::with(&[], workers)
    }

    /// The same, its JobTracker configured so.
    pub fn with(overrides: &[&str], workers: usize) -> Self {
        Self::at(DaemonFolders::new(""), overrides, workers)
    }

    /// One whose JobTracker has not the rights of root, without workers.
    pub fn of_nobody() -> Self {
        Self::at(DaemonFolders::of_nobody(""), &[], 0)
    }

    /// One whose users bid for slots, with these budgets, without workers.
    pub fn of_market(budgets: &str, overrides: &[&str]) -> Self {
        Self::under("DynamicPriorityScheduler", DaemonFolders::new(budgets), overrides, 0)
    }

    /// One in this place.
    pub fn at(place: DaemonFolders, overrides: &[&str], workers: usize) -> Self {
        Self::under("JobQueueTaskScheduler", place, overrides, workers)
    }

    fn under(scheduler: &str, mut place: DaemonFolders, overrides: &[&str], workers: usize) -> Self {
        place.overrides.extend(overrides.iter().map(|define| (*define).to_owned()));
        place.overrides.push(format!("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.{scheduler}"));
        let serving = place.start();
        let rpc = serving.rpc();
        // The same address after a restart.
        place.overrides.push(format!("mapred.job.tracker={rpc}"));
        let folder = place.path("hadoop");
        std::fs::write(folder.join("map.sh"), MAPPER).unwrap();
        std::fs::write(folder.join("reduce.sh"), REDUCER).unwrap();
        std::fs::create_dir(folder.join("in")).unwrap();
        for (name, text) in
            [("a", "the quick brown fox\njumps over the lazy dog\nTHE end\n"), ("b", "the dog\n\nh the\n")]
        {
            std::fs::write(folder.join("in").join(name), text).unwrap();
        }
        let mut cluster = Self { place, serving: Some(serving), rpc, workers: Vec::new(), scratch: Vec::new() };
        (0..workers).for_each(|_| cluster.add_worker(&[]));
        cluster
    }

    pub fn add_worker(&mut self, defines: &[&str]) {
        self.start_worker(Command::new(built_program()), &[], defines);
    }

    /// The same, started so and with further arguments.
    pub fn add_worker_with(&mut self, command: Command, arguments: &[&str], defines: &[&str]) {
        self.start_worker(command, arguments, defines);
    }

    /// One whose files would be open to all if it left their modes to the umask.
    pub fn add_worker_without_umask(&mut self, defines: &[&str]) {
        let mut command = Command::new("sh");
        command.args(["-c", "umask 000; exec \"$@\"", "sh"]).arg(built_program());
        self.start_worker(command, &[], defines);
    }

    /// One that administrators know by this name.
    pub fn add_named_worker(&mut self, name: &str) {
        self.start_worker(Command::new(built_program()), &["--name", name], &[]);
    }

    /// One whose local folder is a disk of so many MB; gives back the folder as it is seen from here.
    pub fn add_worker_on_small_disk(&mut self, megabytes: u32, defines: &[&str]) -> PathBuf {
        self.add_worker_on_disk(&format!("size={megabytes}m"), defines)
    }

    /// The same of a disk with these options of tmpfs.
    pub fn add_worker_on_disk(&mut self, options: &str, defines: &[&str]) -> PathBuf {
        let local = self.folder().join("small");
        std::fs::create_dir(&local).unwrap();
        let define = format!("mapred.local.dir={}", local.display());
        let mut command = command_on_disk(&local, options);
        command.arg(built_program());
        self.start_worker(command, &[], &[&[define.as_str()], defines].concat());
        let root = format!("/proc/{}/root", self.workers.last().unwrap().child.id());
        Path::new(&root).join(local.strip_prefix("/").unwrap())
    }

    /// One that has an empty folder in the place of the staging root, as a machine has that does not share it.
    pub fn add_worker_that_sees_no_staging(&mut self) {
        let staging = self.folder().join("mapred/staging");
        let mut command = command_on(&staging, 4);
        command.arg(built_program());
        let serving = self.serving.as_ref().unwrap();
        let web = format!("mapred.job.tracker.http.address={}", serving.http);
        let scratch = tempfile::tempdir().unwrap();
        let local = format!("mapred.local.dir={}", scratch.path().join("local").display());
        self.scratch.push(scratch);
        self.start_worker(command, &[], &[&web, &local]);
    }

    fn start_worker(&mut self, mut command: Command, arguments: &[&str], defines: &[&str]) {
        let scratch = format!("hadoop.tmp.dir={}", self.folder().display());
        let rpc = format!("mapred.job.tracker={}", self.rpc);
        command.args(["tasktracker", "-D", &scratch, "-D", &rpc, "-D", "mapred.task.tracker.http.address=127.0.0.1:0"]);
        let says_who_runs = |define: &&str| define.starts_with("jobtracker.worker.min-uid=");
        if !arguments.contains(&"--conf") && !defines.iter().any(says_who_runs) {
            // The users of these tests are of no machine.
            command.args(["-D", "jobtracker.worker.run-as=self"]);
        }
        command.args(arguments);
        // The same on every machine.
        command.args([
            "-D",
            "mapred.tasktracker.map.tasks.maximum=2",
            "-D",
            "mapred.tasktracker.reduce.tasks.maximum=2",
        ]);
        for define in defines {
            command.args(["-D", define]);
        }
        command.env_remove("HADOOP_CONF_DIR").env_remove("RUST_LOG").stdin(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| {
            line.contains("commands of all jobs run as") || line.contains("commands of each job run as")
        }) {
            said.push(lines.next().unwrap_or_else(|| panic!("it ended: {said:#?}")).unwrap());
        }
        let served = said.iter().find_map(|line| line.split_once("map output and logs on http://"));
        let http = served.unwrap().1.split('/').next().unwrap().parse().unwrap();
        // Read on, or it would wait for a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self.workers.push(Worker { child, http, said });
    }

    /// Ends a worker as a crash does.
    pub fn kill_worker(&mut self, worker: usize) {
        self.workers[worker].child.kill().unwrap();
        self.workers[worker].child.wait().unwrap();
    }

    /// The worker that a process comes from.
    pub fn worker_of(&self, process: i32) -> usize {
        let mut pid = process;
        while pid > 1 {
            let found = (0..self.workers.len()).find(|worker| self.worker_pid(*worker).as_raw_nonzero().get() == pid);
            if let Some(worker) = found {
                return worker;
            }
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            pid = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
        }
        panic!("{process} comes from no worker")
    }

    pub fn folder(&self) -> PathBuf {
        self.place.path("hadoop")
    }

    /// `jobtracker job` with these words.
    pub fn job(&self, words: &[&str]) -> Said {
        let rpc = self.rpc.to_string();
        let command = job_command(&self.folder(), &[words, &["--jobtracker", &rpc, "--user", "alice"]].concat());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(crate::program::said(command))
    }

    /// The id of a job that is submitted and left alone.
    pub fn submit(&self, words: &[&str]) -> String {
        let said = self.job(&[&["submit", "--detach"], words].concat()).done();
        said.split_whitespace().find(|word| word.starts_with("job_")).unwrap().trim_end_matches([':', ',']).to_owned()
    }

    pub fn worker_pid(&self, worker: usize) -> Pid {
        Pid::from_child(&self.workers[worker].child)
    }

    /// All records of an output, sorted.
    pub fn output(&self, name: &str) -> Vec<String> {
        let folder = self.folder().join(name);
        let mut lines = Vec::new();
        for part in files_of(&folder).into_iter().filter(|file| file.starts_with("part-")) {
            lines.extend(std::fs::read_to_string(folder.join(part)).unwrap().lines().map(str::to_owned));
        }
        lines.sort();
        lines
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Names in a folder, sorted.
pub fn files_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until a process, which is not ours, is gone.
pub fn wait_until_gone(pid: i32) {
    let Ok(process) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) else { return };
    let mut waited = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
    let ended = poll(&mut waited, Some(&Timespec::try_from(TIMEOUT).unwrap())).unwrap();
    assert_eq!(ended, 1, "process {pid} lives");
}
