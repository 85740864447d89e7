//! The members of `--json` are frozen: what each command prints has the members that docs/json.md lists, of their types.
//!
//! To add a command: a table in docs/json.md below a heading with its words in backticks, and a line in this test that runs it.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};

const PAGE: &str = include_str!("../../docs/json.md");

/// A row of a table.
struct Member {
    kind: String,
    /// Whether it may be missing or null.
    is_optional: bool,
}

/// The tables, by the heading's command.
fn documented() -> BTreeMap<String, BTreeMap<String, Member>> {
    let mut pages: BTreeMap<String, BTreeMap<String, Member>> = BTreeMap::new();
    let mut commands: Vec<String> = Vec::new();
    for line in PAGE.lines() {
        if line.starts_with('#') {
            commands = line.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [member, kind, _, missing] = cells[..] else { continue };
        let Some(member) = member.strip_prefix('`').and_then(|member| member.strip_suffix('`')) else { continue };
        for command in &commands {
            let row = Member { kind: kind.to_owned(), is_optional: !missing.is_empty() };
            let members = pages.entry(command.clone()).or_default();
            assert!(members.insert(member.to_owned(), row).is_none(), "{command}: {member} is listed twice");
        }
    }
    pages
}

/// Each value that is no object and no list, with the names that lead to it: `orders[].job`.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(&path, value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| leaves(&format!("{path}[]"), value, found)),
        leaf => found.push((path.to_owned(), leaf.clone())),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Number(_) => "number",
        Value::Bool(_) => "flag",
        Value::Null => "null",
        Value::Array(_) | Value::Object(_) => "list",
    }
}

/// Whether a member of a list that is empty here, or of an object that is missing, cannot be there.
fn may_be_missing(member: &str, members: &BTreeMap<String, Member>, json: &Value) -> bool {
    let is_optional = members[member].is_optional;
    let mut at = vec![json];
    for name in member.replace("[]", ".[]").split('.').filter(|name| !name.is_empty()) {
        at = match name {
            "[]" => at.into_iter().filter_map(Value::as_array).flatten().collect(),
            name => at.into_iter().filter_map(|value| value.get(name)).collect(),
        };
        if name != "[]" {
            continue;
        }
        if at.is_empty() {
            return true;
        }
    }
    is_optional
}

/// What is wrong with the answer of a command.
fn differences(command: &str, members: &BTreeMap<String, Member>, json: &Value) -> Vec<String> {
    let mut found = Vec::new();
    leaves("", json, &mut found);
    let mut wrong = Vec::new();
    for (path, value) in &found {
        match (members.get(path), kind_of(value)) {
            (None, "null") if members.keys().any(|member| member.starts_with(&format!("{path}."))) => {}
            (None, kind) => wrong.push(format!("{command}: {path} ({kind}) is not documented: {value}")),
            (Some(member), "null") if member.is_optional => {}
            (Some(member), kind) if member.kind == kind => {}
            (Some(member), kind) => wrong.push(format!("{command}: {path} is {kind}, documented as {}", member.kind)),
        }
    }
    for member in members.keys().filter(|member| !found.iter().any(|(path, _)| path == *member)) {
        if !may_be_missing(member, members, json) {
            wrong.push(format!("{command}: {member} is documented and missing"));
        }
    }
    wrong
}

/// A daemon with a worker.
pub struct Cluster {
    place: DaemonFolders,
    serving: ChildDaemon,
    worker: Child,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.worker.kill();
        let _ = self.worker.wait();
    }
}

// === impl Cluster ===

impl Cluster {
    pub fn start() -> Self {
        let mut place = DaemonFolders::new("alice 100 1\nbob 7.5 0.25\n");
        place.set_mode("etc/hadoop.acl", 0o600);
        for name in ["alice", "root"] {
            std::fs::write(place.path(&format!("{name}.key")), format!("{name}key\n")).unwrap();
            place.set_mode(&format!("{name}.key"), 0o600);
        }
        std::fs::write(place.path("in.txt"), "a b\nb\n").unwrap();
        place.overrides.push("mapred.queue.names=alice,bob".to_owned());
        let serving = place.start();
        let mut worker = Command::new(built_program());
        worker.arg("tasktracker").env_remove("HADOOP_CONF_DIR").current_dir(place.dir.path());
        for define in [
            format!("mapred.job.tracker={}", serving.rpc()),
            "mapred.task.tracker.http.address=127.0.0.1:0".to_owned(),
            // The users of these tests are of no machine.
            "jobtracker.worker.run-as=self".to_owned(),
            format!("hadoop.tmp.dir={}", place.path("hadoop").display()),
            format!("hadoop.log.dir={}", place.path("logs").display()),
        ] {
            worker.args(["-D", &define]);
        }
        let worker = worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { place, serving, worker }
    }

    /// The address of its web server.
    pub fn http(&self) -> String {
        self.serving.http.to_string()
    }

    /// Runs a command; the words HTTP, RPC, STATE, ACL and DIR stand for this cluster's. Exit codes of jobs that failed pass.
    pub fn run(&self, words: &str, as_user: &str) -> Value {
        let place = |name: &str| self.place.path(name).display().to_string();
        let words = words
            .replace("HTTP", &self.serving.http.to_string())
            .replace("RPC", &self.serving.rpc().to_string())
            .replace("STATE", &format!("-D jobtracker.state.dir={}", place("state")))
            .replace("ACL", &self.place.acl().display().to_string())
            .replace("DIR", &self.place.dir.path().display().to_string());
        let mut command = Command::new(built_program());
        // What is run in a container comes last.
        let (words, run) = words.split_once(" -- ").map_or((words.as_str(), None), |(words, run)| (words, Some(run)));
        command.args(words.split_whitespace()).arg("--json").current_dir(self.place.dir.path());
        if !as_user.is_empty() {
            // There `--user` chooses rows.
            let signer = if words.starts_with("report") { "--as" } else { "--user" };
            command.args([signer, as_user, "--key-file", &place(&format!("{as_user}.key"))]);
        }
        command.args(run.into_iter().flat_map(|run| std::iter::once("--").chain(run.split_whitespace())));
        command.env_remove("HADOOP_CONF_DIR").env_remove("HADOOP_HOME").env("HOME", self.place.dir.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{words}: {error}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

#[test]
fn what_commands_print_as_json_has_the_members_of_the_page() {
    let cluster = Cluster::start();
    let pages = documented();
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    let mut check = |command: &str, words: &str, as_user: &str| {
        let json = cluster.run(words, as_user);
        match pages.get(command) {
            Some(members) => wrong.extend(differences(command, members, &json)),
            None => wrong.push(format!("{command} has no table: {json}")),
        }
        seen.push(command.to_owned());
        json
    };
    let submit = "job submit --jobtracker RPC --server HTTP --input in.txt --mapper cat --reducer NONE";
    let ended = check("job submit", &format!("{submit} --output out1"), "alice");
    let job = ended["job"].as_str().unwrap().to_owned();
    check("job submit --detach", &format!("{submit} --output out2 --detach"), "alice");
    let failing = submit.replace("--mapper cat", "--mapper false");
    let failed = check("job submit", &format!("{failing} --output out3"), "alice")["job"].as_str().unwrap().to_owned();
    check("job status", &format!("job status {job} --jobtracker RPC --server HTTP"), "alice");
    check("job status", &format!("job status {failed} --jobtracker RPC --server HTTP"), "alice");
    check("job list", "job list --all --jobtracker RPC --server HTTP", "alice");
    check("job tasks", &format!("job tasks {job} --jobtracker RPC --server HTTP"), "alice");
    check("job output", &format!("job output {job} --jobtracker RPC --server HTTP"), "alice");
    check("job resubmit", &format!("job resubmit {job} --output out4 --jobtracker RPC --server HTTP"), "alice");
    check("job follow", &format!("job follow {job} --jobtracker RPC --server HTTP"), "alice");
    check("job wait", &format!("job wait {failed} --jobtracker RPC --server HTTP"), "alice");
    check("job kill", &format!("job kill {job} --jobtracker RPC --server HTTP"), "alice");
    check("job priority", &format!("job priority {job} HIGH --jobtracker RPC --server HTTP"), "alice");
    check("job events", &format!("job events {job} --jobtracker RPC --server HTTP"), "alice");
    check("job counters", &format!("job counters {job} --jobtracker RPC --server HTTP"), "alice");
    check("job logs", &format!("job logs {failed} --jobtracker RPC --server HTTP"), "alice");
    check("queue list", "queue list --server HTTP", "root");
    check("queue info", "queue info --server HTTP", "alice");
    check("queue set-spending", "queue set-spending alice 2 --server HTTP", "alice");
    check("queue add-budget", "queue add-budget alice 5 --server HTTP", "root");
    check("queue transfer", "queue transfer alice bob 1 --note lunch --server HTTP", "root");
    check("queue allowance", "queue allowance alice 1 every 1d cap 1000 --server HTTP", "root");
    check("queue info", "queue info --server HTTP", "alice");
    check("queue add", "queue add carol --server HTTP", "root");
    check("queue remove", "queue remove carol --server HTTP", "root");
    check("queue pause", "queue pause alice --server HTTP", "root");
    let waiting = check("job submit --detach", &format!("{submit} --output out5 --detach"), "alice");
    let waiting = waiting["job"].as_str().unwrap().to_owned();
    check("job hold", &format!("job hold {waiting} --jobtracker RPC --server HTTP"), "alice");
    check("job status", &format!("job status {waiting} --jobtracker RPC --server HTTP"), "alice");
    check("job list", "job list --jobtracker RPC --server HTTP", "alice");
    check("job release", &format!("job release {waiting} --jobtracker RPC --server HTTP"), "alice");
    check("job kill", &format!("job kill {waiting} --jobtracker RPC --server HTTP"), "alice");
    check("queue resume", "queue resume alice --server HTTP", "root");
    check("queue quote", "queue quote alice 1.5 --server HTTP", "alice");
    check("queue statement", "queue statement --server HTTP", "alice");
    check("report users", "report users --server HTTP", "root");
    check("report queues", "report queues --server HTTP", "root");
    check("report jobs", "report jobs --server HTTP", "root");
    check("report jobs", "report jobs --by month --server HTTP", "root");
    let workers = check("workers list", "workers list --server HTTP", "root");
    let worker = workers["workers"][0]["worker"].as_str().unwrap().to_owned();
    check("workers drain", &format!("workers drain {worker} --server HTTP"), "root");
    check("workers list", "workers list --server HTTP", "root");
    check("workers resume", &format!("workers resume {worker} --server HTTP"), "root");
    check("price", "price --server HTTP", "");
    check("price --history", "price --history --server HTTP", "");
    check("time", "time --server HTTP", "");
    check("open", "open /market --server HTTP", "alice");
    check("open --token", "open --token --server HTTP", "alice");
    check("sign", "sign info=alice", "alice");
    check("sign --job", "sign --job", "alice");
    check("user add", "user add dave --acl-file ACL", "");
    check("user key", "user key dave --keep-old 1h --acl-file ACL", "");
    check("user list", "user list --acl-file ACL --server HTTP", "");
    check("user remove", "user remove dave --acl-file ACL", "");
    check("status", "status --server HTTP", "");
    check("reload", "reload STATE", "");
    check("backup", "backup copy.db STATE", "");
    check("scheduler show", "scheduler show STATE", "");
    check("scheduler plan", "scheduler plan dynamic STATE", "");
    check("scheduler plan", "scheduler plan fair STATE", "");
    // The market gives no containers.
    check("scheduler use", "scheduler use fifo STATE", "");
    check("scheduler show", "scheduler show STATE", "");
    let detached = check("run --detach", "run --server HTTP --queue alice --detach -- sleep 1000", "alice");
    check("run --array", "run --server HTTP --queue alice --array 1-2 -- false", "alice");
    let ended = check("run --array", "run --server HTTP --queue alice --array 1-2 -- echo {}", "alice");
    check("app list", "app list --all --server HTTP", "alice");
    let application = ended["application"].as_str().unwrap();
    check("app status", &format!("app status {application} --containers --server HTTP"), "alice");
    check("app logs", &format!("app logs {application} --item 1 --server HTTP"), "alice");
    let detached = detached["application"].as_str().unwrap();
    check("app status", &format!("app status {detached} --containers --server HTTP"), "alice");
    check("app kill", &format!("app kill {detached} --server HTTP"), "alice");
    check("check-config", "check-config STATE -D mapred.task.cache.levels=2", "");
    check("stop", "stop STATE", "");
    check("restore", "restore copy.db STATE", "");
    seen.sort();
    seen.dedup();
    // Those that no test cluster can answer in passing.
    const NOT_RUN: [&str; 3] = ["upgrade", "job kill-task", "job fail-task"];
    let unseen = pages.keys().filter(|command| !seen.contains(command) && !NOT_RUN.contains(&command.as_str()));
    wrong.extend(unseen.map(|command| format!("{command} has a table and is not run")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
