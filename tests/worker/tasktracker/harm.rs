//! Commands that do harm: their diagnostics, and that nothing of them is left.

use std::path::{Path, PathBuf};

use crate::cluster::{Cluster, wait_until_gone};
use crate::program::Said;

/// Leaves three processes behind: one with a session of its own, one that also forgot its environment, one whose parent is gone. Each
/// writes its number to a file in the folder `$1`.
const LEAVES_THREE: &str = r#"
leave() {
    "$@" sh -c 'echo > "$0/$$.new"; mv "$0/$$.new" "$0/$$"; exec sleep 1000' "$dir" </dev/null >/dev/null 2>&1 &
}
dir=$1
leave setsid
leave env -i setsid
( leave setsid )
while [ "$(ls "$dir" | grep -vc new)" -lt 3 ]; do :; done
"#;

impl Cluster {
    /// A folder for the files of [`LEAVES_THREE`], which is put beside it under this name.
    pub fn place_for_processes(&self, name: &str, and_then: &str) -> PathBuf {
        let pids = self.folder().join("pids");
        std::fs::create_dir(&pids).unwrap();
        std::fs::write(self.folder().join(name), [LEAVES_THREE, and_then].concat()).unwrap();
        pids
    }

    /// Runs a job of one map that is tried once; `words` are further options.
    fn run_map(&self, mapper: &str, output: &str, words: &[&str]) -> Said {
        let job = ["submit", "--input", "in/a", "--output", output, "--reducer", "NONE", "--mapper", mapper];
        let once = ["-D", "mapred.map.tasks=1", "-D", "mapred.map.max.attempts=1"];
        self.job(&[&job[..], &once, words].concat())
    }

    /// The diagnostics of such a job.
    fn failure_of_map(&self, mapper: &str, words: &[&str]) -> String {
        let said = self.run_map(mapper, "failed", words);
        assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
        said.stdout + &said.stderr
    }

    /// Most memory that a worker has ever had, kB.
    fn peak_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.worker_pid(0))).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}

/// The processes of [`LEAVES_THREE`].
pub fn processes(pids: &Path) -> Vec<i32> {
    let pids: Vec<i32> = crate::cluster::files_of(pids).iter().map(|name| name.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3);
    pids
}

#[test]
fn a_mapper_that_hangs_is_ended_with_all_that_came_of_it() {
    let cluster = Cluster::new(1);
    let pids = cluster.place_for_processes("hang.sh", "trap '' TERM; while :; do sleep 1000; done");
    let mapper = format!("sh hang.sh {}", pids.display());
    let limits = [
        "-D",
        "mapred.task.timeout=1000",
        "-D",
        "mapred.tasktracker.tasks.sleeptime-before-sigkill=50",
        "--file",
        "hang.sh",
    ];
    let diagnostics = cluster.failure_of_map(&mapper, &limits);
    assert!(diagnostics.contains("_m_000000_0 failed to report status for 1 seconds. Killing!"), "{diagnostics}");
    processes(&pids).into_iter().for_each(wait_until_gone);
}

#[test]
fn a_mapper_that_ends_well_leaves_nothing_behind() {
    let cluster = Cluster::new(1);
    let pids = cluster.place_for_processes("leave.sh", "cat");
    cluster.run_map(&format!("sh leave.sh {}", pids.display()), "out", &["--file", "leave.sh"]).done();
    processes(&pids).into_iter().for_each(wait_until_gone);
    assert_eq!(cluster.output("out").len(), 3);
}

#[test]
fn a_mapper_that_kills_its_supervisor_leaves_nothing_behind() {
    let cluster = Cluster::new(1);
    let [pid, script] = ["pid", "orphan.sh"].map(|name| cluster.folder().join(name));
    std::fs::write(script, "cat > /dev/null\necho $$ > $1\nkill -9 $PPID\nexec sleep 1000\n").unwrap();
    let diagnostics = cluster.failure_of_map(&format!("sh orphan.sh {}", pid.display()), &["--file", "orphan.sh"]);
    assert!(
        diagnostics.contains("ended with status 137, which is that of a command ended by signal KILL"),
        "{diagnostics}"
    );
    wait_until_gone(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap());
}

#[test]
fn floods_of_errors_cost_neither_disk_nor_memory() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&["mapred.userlog.limit.kb=16"]);
    // Much of it is one line.
    let flood = "yes words | head -c 20000000 >&2; head -c 200000000 /dev/zero | tr '\\0' x >&2; cat";
    std::fs::write(cluster.folder().join("flood.sh"), flood).unwrap();
    cluster.run_map("cat", "warm", &[]).done();
    let before_kb = cluster.peak_kb();
    cluster.run_map("sh flood.sh", "out", &["--file", "flood.sh"]).done();
    let grown_kb = cluster.peak_kb() - before_kb;
    assert!(grown_kb < 32 << 10, "{grown_kb} kB");
    let mut logs = Vec::new();
    for job in std::fs::read_dir(cluster.folder().join("mapred/local/userlogs")).unwrap() {
        // Beside the attempts there is the key of the job's tickets.
        let attempts = std::fs::read_dir(job.unwrap().path()).unwrap().map(|attempt| attempt.unwrap().path());
        for attempt in attempts.filter(|attempt| attempt.is_dir()) {
            logs.push(std::fs::metadata(attempt.join("stderr")).unwrap().len());
        }
    }
    assert!(logs.iter().all(|bytes| *bytes <= 16 << 10) && logs.iter().any(|bytes| *bytes > 15 << 10), "{logs:?}");
}

#[test]
fn a_limit_on_address_space_holds_from_the_start() {
    let cluster = Cluster::new(1);
    let limit = ["-D", "mapred.child.ulimit=150000"];
    cluster.run_map("sh -c 'ulimit -v'", "out", &limit).done();
    assert_eq!(cluster.output("out"), ["150000\t"]);
    let diagnostics =
        cluster.failure_of_map("sh -c 'head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null'", &limit);
    assert!(diagnostics.contains("memory exhausted"), "{diagnostics}");
}

#[test]
fn who_takes_more_memory_than_asked_for_is_ended() {
    let mut cluster = Cluster::new(0);
    let slots = ["mapred.cluster.map.memory.mb=200", "mapred.cluster.reduce.memory.mb=200"];
    let looks = "mapred.tasktracker.taskmemorymanager.monitoring-interval=50";
    cluster.add_worker(&[slots[0], slots[1], looks]);
    let pids = cluster.place_for_processes("eat.sh", "(head -c 400000000 /dev/zero; sleep 1000) | tail -c 400000000");
    let mapper = format!("sh eat.sh {}", pids.display());
    let words = ["-D", "mapred.job.map.memory.mb=100", "--file", "eat.sh"];
    let diagnostics = cluster.failure_of_map(&mapper, &words);
    assert!(diagnostics.contains("is running beyond memory-limits. Current usage : "), "{diagnostics}");
    assert!(diagnostics.contains("Limit : 104857600bytes. Killing task."), "{diagnostics}");
    processes(&pids).into_iter().for_each(wait_until_gone);
    cluster.run_map("cat", "out", &["-D", "mapred.job.map.memory.mb=100"]).done();
}
