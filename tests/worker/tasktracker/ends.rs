//! Commands that fail, jobs that are killed, daemons that end: their reports, and that nothing is left running.

use rustix::process::{Signal, kill_process};

use crate::cluster::{Cluster, wait_until_gone};
use crate::daemon::child::wait_for_files;

/// A mapper with a descendant; both tell who they are and live long.
const LIVES_LONG: &str = "#!/bin/sh\nsleep 1000 &\necho $$ $! > \"$0.pids.new\"\nmv \"$0.pids.new\" \"$1\"\nwait\n";

impl Cluster {
    /// Submits a job that does not end by itself; gives back its id and its processes.
    fn submit_endless(&self) -> (String, Vec<i32>) {
        let pids = self.folder().join("pids");
        std::fs::write(self.folder().join("long.sh"), LIVES_LONG).unwrap();
        let mapper = format!("sh long.sh {}", pids.display());
        let words = ["--input", "in/a", "--output", "out", "--file", "long.sh", "--reducer", "NONE", "-D"];
        let job = self.submit(&[&words[..], &["mapred.map.tasks=1", "--mapper", &mapper]].concat());
        wait_for_files(&self.folder(), || pids.exists());
        let pids = std::fs::read_to_string(pids).unwrap();
        (job, pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect())
    }
}

#[test]
fn a_mapper_that_fails_fails_the_job_with_its_words() {
    let cluster = Cluster::new(1);
    let words = ["submit", "--input", "in/a", "--output", "out", "--reducer", "NONE", "--mapper"];
    let said = cluster.job(&[&words[..], &["sh -c 'echo broken >&2; exit 3'"]].concat());
    assert_eq!(said.code, 1, "{} {}", said.stdout, said.stderr);
    let job = said.stdout.split_whitespace().find(|word| word.starts_with("job_")).unwrap();
    let logs = cluster.job(&["logs", job]).done();
    assert!(logs.contains("broken"), "{logs}");
    assert!(logs.contains("subprocess failed with code 3"), "{logs}");
}

#[test]
fn a_killed_job_leaves_no_process() {
    let cluster = Cluster::new(1);
    let (job, pids) = cluster.submit_endless();
    cluster.job(&["kill", &job]).done();
    pids.into_iter().for_each(wait_until_gone);
}

#[test]
fn a_restarted_jobtracker_finds_running_attempts() {
    let mut cluster = Cluster::new(1);
    let (gate, begun) = (cluster.folder().join("gate"), cluster.folder().join("begun"));
    std::fs::write(cluster.folder().join("wait.sh"), "echo > \"$2\"\ncat \"$1\" > /dev/null\ncat\n").unwrap();
    let made = std::process::Command::new("mkfifo").arg(&gate).status().unwrap();
    assert!(made.success());
    let mapper = format!("sh wait.sh {} {}", gate.display(), begun.display());
    let words = ["--input", "in/a", "--output", "out", "--file", "wait.sh", "--reducer", "cat", "-D"];
    let job = cluster.submit(&[&words[..], &["mapred.map.tasks=1", "--mapper", &mapper]].concat());
    wait_for_files(&cluster.folder(), || begun.exists());
    cluster.serving.take().unwrap().kill();
    let serving = cluster.place.start();
    // Opens only when the mapper that began before has it open too.
    drop(std::fs::File::options().write(true).open(&gate).unwrap());
    let done = cluster.folder().join("out");
    wait_for_files(&done, || done.join("_SUCCESS").exists());
    assert_eq!(cluster.output("out").len(), 3);
    let events = cluster.job(&["events", &job]).done();
    assert!(events.contains("_m_000000_0") && !events.contains("_m_000000_1"), "{events}");
    drop(serving);
}

#[test]
fn a_worker_that_is_stopped_leaves_no_process() {
    let cluster = Cluster::new(1);
    let (_, pids) = cluster.submit_endless();
    kill_process(cluster.worker_pid(0), Signal::TERM).unwrap();
    pids.into_iter().for_each(wait_until_gone);
}
