//! A job that somebody follows: through the death of its JobTracker, and until he has seen enough.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::Cluster;
use crate::daemon::child::wait_for_files;
use crate::program::job_command;

/// `jobtracker job submit` at work.
struct Following {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    seen: Vec<String>,
}

impl Cluster {
    /// A job whose one map waits until somebody opens the gate; it has begun when this returns.
    fn follow_at_gate(&self) -> (Following, PathBuf) {
        let (gate, begun) = (self.folder().join("gate"), self.folder().join("begun"));
        std::fs::write(self.folder().join("wait.sh"), "echo > \"$2\"\ncat \"$1\" > /dev/null\ncat\n").unwrap();
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let (mapper, rpc) = (format!("sh wait.sh {} {}", gate.display(), begun.display()), self.rpc.to_string());
        let words = ["submit", "--input", "in/a", "--output", "out", "--file", "wait.sh", "--reducer", "cat"];
        let more = ["-D", "mapred.map.tasks=1", "--mapper", &mapper, "--jobtracker", &rpc, "--user", "alice"];
        // What tokio would take for its own is only described here.
        let described = job_command(&self.folder(), &[&words[..], &more].concat());
        let described = described.as_std();
        let mut command = Command::new(described.get_program());
        command.args(described.get_args()).current_dir(self.folder()).env("HOME", self.folder());
        for name in ["HADOOP_KEY", "HADOOP_HOME", "HADOOP_CONF_DIR"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        wait_for_files(&self.folder(), || begun.exists());
        (Following { child, lines, seen: Vec::new() }, gate)
    }
}

impl Following {
    /// Reads on until a line has these words.
    fn until(&mut self, words: &str) {
        for line in self.lines.by_ref() {
            self.seen.push(line.unwrap());
            if self.seen.last().is_some_and(|line| line.contains(words)) {
                return;
            }
        }
        panic!("it ended without {words:?}: {:#?}", self.seen);
    }

    /// Its exit code and what it said on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

/// Opens only when the mapper has it open too.
fn open(gate: &PathBuf) {
    drop(std::fs::File::options().write(true).open(gate).unwrap());
}

#[test]
fn who_follows_a_job_sees_it_through_the_death_of_its_jobtracker() {
    let mut cluster = Cluster::new(2);
    let (mut following, gate) = cluster.follow_at_gate();
    following.until("1 running");
    cluster.serving.take().unwrap().kill();
    following.until("cannot be reached");
    let serving = cluster.place.start();
    following.until("answers again");
    open(&gate);
    following.until("SUCCEEDED");
    following.until("Map input records");
    following.until("output  file:");
    assert_eq!(following.end().0, Some(0));
    assert_eq!(cluster.output("out").len(), 3);
    drop(serving);
}

#[test]
fn an_interrupt_without_a_terminal_leaves_the_job_alone() {
    let cluster = Cluster::new(1);
    let (mut following, gate) = cluster.follow_at_gate();
    following.until("1 running");
    kill_process(Pid::from_child(&following.child), Signal::INT).unwrap();
    let (code, said) = following.end();
    assert_eq!(code, Some(0), "{said}");
    let line = said.lines().find(|line| line.contains("keeps running")).unwrap();
    assert!(line.contains("job follow job_") && line.contains(&format!("--jobtracker {}", cluster.rpc)), "{line}");
    open(&gate);
    let done = cluster.folder().join("out");
    wait_for_files(&done, || done.join("_SUCCESS").exists());
}
