//! What a user asks of a job all day: its attempts, logs as they grow, output, and once again. What an administrator asks of workers.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value as Json;

use crate::cluster::Cluster;
use crate::daemon::child::wait_for_files;
use crate::program::Said;

/// Writes to standard error, says that it has begun, and waits until somebody opens the gate.
const WAIT: &str = "echo first line >&2\necho reporter:status:half way >&2\necho > \"$2\"\ncat \"$1\" > /dev/null\necho last line >&2\ncat\n";

struct Gate {
    gate: PathBuf,
    begun: PathBuf,
    mapper: String,
}

impl Gate {
    fn new(cluster: &Cluster) -> Self {
        let (gate, begun) = (cluster.folder().join("gate"), cluster.folder().join("begun"));
        std::fs::write(cluster.folder().join("wait.sh"), WAIT).unwrap();
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let mapper = format!("sh wait.sh {} {}", gate.display(), begun.display());
        Self { gate, begun, mapper }
    }

    /// A job whose one map has come to the gate.
    fn submit(&self, cluster: &Cluster, output: &str) -> String {
        let words = ["--input", "in/a", "--output", output, "--file", "wait.sh", "--reducer", "NONE"];
        let job = cluster.submit(&[&words[..], &["-D", "mapred.map.tasks=1", "--mapper", &self.mapper]].concat());
        self.wait(cluster);
        job
    }

    fn wait(&self, cluster: &Cluster) {
        wait_for_files(&cluster.folder(), || self.begun.exists());
    }

    /// Opens only when the mapper has it open too.
    fn open(&self) {
        drop(std::fs::File::options().write(true).open(&self.gate).unwrap());
        std::fs::remove_file(&self.begun).unwrap();
    }
}

/// What `jobtracker` says to these words, by the daemon's own user.
fn program(cluster: &Cluster, words: &[&str]) -> Said {
    let output = described(cluster, words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn described(cluster: &Cluster, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.args(words).current_dir(cluster.folder()).env("HOME", cluster.folder());
    for name in ["HADOOP_KEY", "HADOOP_HOME", "HADOOP_CONF_DIR"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn workers(cluster: &Cluster, words: &[&str]) -> Said {
    let server = cluster.serving.as_ref().unwrap().http.to_string();
    program(cluster, &[&["workers"], words, &["--server", &server]].concat())
}

fn worker_states(cluster: &Cluster) -> Vec<(String, String)> {
    let list: Json = serde_json::from_str(&workers(cluster, &["list", "--json"]).done()).unwrap();
    let text = |worker: &Json, name: &str| worker[name].as_str().unwrap().to_owned();
    list["workers"].as_array().unwrap().iter().map(|worker| (text(worker, "worker"), text(worker, "state"))).collect()
}

fn tasks(cluster: &Cluster, words: &[&str]) -> Json {
    let said = cluster.job(&[&["tasks", "--json"], words].concat()).done();
    serde_json::from_str(&said).unwrap()
}

/// Lines of a program at work, until one has these words.
fn until(lines: &mut std::io::Lines<BufReader<ChildStdout>>, words: &str) {
    let found = lines.any(|line| line.unwrap().contains(words));
    assert!(found, "it ended without {words:?}");
}

#[test]
fn a_running_attempt_is_seen_and_its_job_read_and_run_again() {
    let cluster = Cluster::new(1);
    let gate = Gate::new(&cluster);
    let job = gate.submit(&cluster, "out");

    // Its status comes with a heartbeat.
    let running = loop {
        let running = tasks(&cluster, &[&job, "--running"]);
        if running["attempts"][0]["status"] == "half way" {
            break running;
        }
    };
    assert_eq!((running["state"].as_str(), running["user"].as_str()), (Some("RUNNING"), Some("alice")));
    assert!(running["output"].as_str().unwrap().ends_with("/out"), "{running}");
    let attempts = running["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1, "{running}");
    let map = &attempts[0];
    assert!(map["input"]["file"].as_str().unwrap().ends_with("/in/a"), "{map}");
    assert_eq!((map["input"]["start_bytes"].as_i64(), map["input"]["length_bytes"].as_i64()), (Some(0), Some(52)));
    assert_eq!(map["http"].as_str().unwrap().rsplit(':').next(), Some(&*cluster.workers[0].http.port().to_string()));
    let attempt = map["attempt"].as_str().unwrap().to_owned();
    let table = cluster.job(&["tasks", &job]).done();
    assert!(table.starts_with("ATTEMPT") && table.contains("/in/a 0..52") && table.contains("(setup)"), "{table}");
    let refused = cluster.job(&["output", &job]).refused(2);
    assert!(refused.contains("is RUNNING: expected a job that has SUCCEEDED, or --partial"), "{refused}");

    let log = cluster.job(&["logs", &attempt, "--log", "stderr"]).done();
    assert!(log.contains("RUNNING on http://") && log.contains("--- stderr\nfirst line\n"), "{log}");
    assert!(!log.contains("last line"), "{log}");
    let rpc = cluster.rpc.to_string();
    let follow = ["job", "logs", &attempt, "--follow", "--log", "stderr", "--jobtracker", &rpc, "--user", "alice"];
    let mut following: Child = described(&cluster, &follow).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    until(&mut lines, "first line");
    gate.open();
    until(&mut lines, "last line");
    assert!(lines.all(|line| !line.unwrap().contains("first line")), "each line comes once");
    assert!(following.wait().unwrap().success());

    assert_eq!(cluster.job(&["wait", &job]).done(), format!("{job} SUCCEEDED\n"));
    let input = std::fs::read_to_string(cluster.folder().join("in/a")).unwrap();
    let printed = cluster.job(&["output", &job]).done();
    assert_eq!(printed.lines().map(str::trim_end).collect::<Vec<_>>(), input.lines().collect::<Vec<_>>());
    let list: Json = serde_json::from_str(&cluster.job(&["list", "--all", "--json"]).done()).unwrap();
    let (started, finished) = (list[0]["started_ms"].as_i64().unwrap(), list[0]["finish_ms"].as_i64().unwrap());
    assert_eq!(list[0]["elapsed_ms"].as_i64(), Some(finished - started));
    assert!(list[0]["cost"].is_null() && list[0]["cost_error"].is_null(), "there is no market: {list}");
    assert_eq!(tasks(&cluster, &[&job, "--running"])["attempts"], Json::Array(Vec::new()));

    // Once again: refused, replaced, elsewhere.
    let refused = cluster.job(&["resubmit", &job, "--detach"]).refused(2);
    assert!(refused.contains("/out exists already"), "{refused}");
    let again = cluster.job(&["resubmit", &job, "--overwrite", "--detach"]).done().trim().to_owned();
    gate.wait(&cluster);
    gate.open();
    assert_eq!(cluster.job(&["wait", &again]).done(), format!("{again} SUCCEEDED\n"));
    let third = cluster.job(&["resubmit", &again, "--output", "out3", "--name", "third", "--detach"]).done();
    gate.wait(&cluster);
    gate.open();
    assert_eq!(cluster.job(&["wait", third.trim()]).done(), format!("{} SUCCEEDED\n", third.trim()));
    assert!(cluster.job(&["status", third.trim()]).done().contains("\"third\" of alice"));
    std::fs::remove_file(cluster.folder().join("wait.sh")).unwrap();
    let refused = cluster.job(&["resubmit", &job, "--overwrite"]).refused(2);
    assert!(refused.contains("wait.sh"), "{refused}");
    assert_eq!(cluster.output("out").len(), 3, "the output is back");
    let unknown = job.replace("_0001", "_0815");
    let refused = cluster.job(&["resubmit", &unknown]).refused(2);
    assert!(refused.contains("cannot be submitted again from here") && refused.contains(&unknown), "{refused}");
}

#[test]
fn what_a_killed_job_left_is_replaced_when_it_is_submitted_again() {
    let cluster = Cluster::new(1);
    let gate = Gate::new(&cluster);
    let killed = gate.submit(&cluster, "out");
    cluster.job(&["kill", &killed]).done();
    cluster.job(&["wait", &killed]).refused(1);
    assert!(cluster.folder().join("out").is_dir(), "it leaves its directory");
    std::fs::remove_file(&gate.begun).unwrap();
    let said = cluster.job(&["resubmit", &killed, "--detach"]);
    assert!(said.stderr.contains(&format!("jobtracker: replacing what {killed} left in ")), "{}", said.stderr);
    let again = said.done().trim().to_owned();
    gate.wait(&cluster);
    gate.open();
    assert_eq!(cluster.job(&["wait", &again]).done(), format!("{again} SUCCEEDED\n"));
    // What a job has completed is replaced on purpose only.
    let refused = cluster.job(&["resubmit", &again, "--detach"]).refused(2);
    assert!(refused.contains("/out exists already"), "{refused}");
}

#[test]
fn a_drained_worker_finishes_what_it_runs_and_comes_back_when_it_is_resumed() {
    let mut cluster = Cluster::new(0);
    assert_eq!(workers(&cluster, &["list"]).done(), "no worker is connected; start one: jobtracker tasktracker\n");
    cluster.add_named_worker("disk-1");
    let gate = Gate::new(&cluster);
    let first = gate.submit(&cluster, "out");
    let named = |state: &str| vec![("disk-1".to_owned(), state.to_owned())];
    assert_eq!(worker_states(&cluster), named("ok"));
    for (words, code) in [(["drain", "nowhere"], 2), (["resume", "nowhere"], 2)] {
        let refused = workers(&cluster, &words).refused(code);
        assert!(refused.contains("there is no worker nowhere"), "{refused}");
    }
    let refused = workers(&cluster, &["drain", "disk-1", "--user", "mallory"]).refused(3);
    assert!(refused.contains("mallory is not authorized"), "{refused}");
    assert_eq!(workers(&cluster, &["drain", "disk-1"]).done(), "disk-1: draining\n");
    assert_eq!(worker_states(&cluster), named("draining"));

    let second = cluster.submit(&["--input", "in/b", "--output", "out2", "--mapper", "cat", "--reducer", "NONE"]);
    // It outlasts the daemon.
    cluster.serving.take().unwrap().kill();
    cluster.serving = Some(cluster.place.start());
    gate.open();
    assert_eq!(workers(&cluster, &["drain", "disk-1", "--wait"]).done(), "disk-1: drained: nothing runs there\n");
    let status: Json = serde_json::from_str(&cluster.job(&["status", &first, "--json"]).done()).unwrap();
    assert_eq!(status["tasks"]["map"]["finished"], 1, "what ran has ended well: {status}");
    // Its cleanup would be a new task.
    assert_eq!(status["state"], "RUNNING", "{status}");
    assert_eq!(worker_states(&cluster), named("draining"));
    let server = cluster.serving.as_ref().unwrap().http.to_string();
    let why = program(&cluster, &["explain", &second, "--server", &server]).done();
    assert!(why.contains("1 of 1 worker draining"), "{why}");
    assert!(cluster.job(&["status", &second]).done().contains(" PREP: "));
    assert_eq!(workers(&cluster, &["resume", "disk-1"]).done(), "disk-1: gets tasks again\n");
    for job in [first, second] {
        assert_eq!(cluster.job(&["wait", &job]).done(), format!("{job} SUCCEEDED\n"));
    }
    assert_eq!(worker_states(&cluster), named("ok"));
}
