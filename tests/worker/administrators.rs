//! One notion of administrator: the role `admin` by signature, and where names are believed Hadoop's cluster administrators;
//! in every command, and nobody else.

use std::process::Stdio;

use tokio::process::Command;

use jobtracker::model::AttemptId;

use crate::cluster::Cluster;
use crate::program::{Said, said};
use crate::signed_changes::{block_on, cluster, hanging_job, job};

/// Who asks: a name, and the key of that name.
type Caller = (&'static str, Option<&'static str>);

/// `jobtracker` with these words, as a caller.
fn ask(cluster: &Cluster, (user, key): Caller, words: &[&str]) -> Said {
    if let ["job", words @ ..] = words {
        return job(cluster, user, key, words);
    }
    let http = cluster.serving.as_ref().unwrap().http.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    // Of a report `--user` says whose rows are asked for.
    let signer = if words[0] == "report" { "--as" } else { "--user" };
    command.args(words).args(["--server", &http, signer, user]);
    command.current_dir(cluster.folder()).env("HOME", cluster.folder());
    for name in ["HADOOP_KEY", "HADOOP_HOME", "HADOOP_CONF_DIR"] {
        command.env_remove(name);
    }
    if let Some(key) = key {
        command.env("HADOOP_KEY", key);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    block_on(said(command))
}

/// Commands that read or change alice's job, in an order in which each has something to do.
fn commands_about(id: &str, attempt: AttemptId) -> Vec<Vec<String>> {
    let attempt = attempt.to_string();
    let lines = [
        format!("job status {id}"),
        format!("job tasks {id}"),
        format!("job events {id}"),
        format!("job counters {id}"),
        format!("job logs {attempt}"),
        format!("job priority {id} HIGH"),
        format!("job fail-task {attempt}"),
        format!("job kill {id}"),
    ];
    lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

/// The only worker, as administrators call it.
fn worker(cluster: &Cluster) -> String {
    let listed = ask(cluster, ("alice", None), &["workers", "list", "--json"]).done();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    listed["workers"][0]["worker"].as_str().unwrap().to_owned()
}

/// Until the attempt can be ended, which a heartbeat must have reported.
fn wait_until_running(cluster: &Cluster, id: &str) {
    let is_running = || job(cluster, "alice", Some("alicekey"), &["tasks", id, "--running"]).done().contains("RUNNING");
    assert!((0..1_000).any(|_| is_running()), "{id} does not run");
}

#[test]
fn where_changes_are_signed_the_role_admin_does_everything_and_nobody_else_anything() {
    let cluster = cluster(&["jobtracker.job-changes=signed"]);
    let acl = "alice user alicekey\nbob user bobkey\ntess admin tesskey\nroot user rootkey\n";
    std::fs::write(cluster.place.acl(), acl).unwrap();
    let (id, attempt) = hanging_job(&cluster, "alice", Some("alicekey"));
    wait_until_running(&cluster, &id);
    let worker = worker(&cluster);
    let cluster_changes = [
        vec!["workers", "drain", &worker],
        vec!["workers", "resume", &worker],
        vec!["queue", "add", "carol"],
        vec!["queue", "add-budget", "carol", "5"],
        vec!["queue", "remove", "carol"],
    ];
    // A plain user with a key; a stranger without one, also under the administrator's name.
    for caller in [("bob", Some("bobkey")), ("mallory", None), ("tess", None), ("tess", Some("bobkey"))] {
        for command in commands_about(&id, attempt) {
            let denied = ask(&cluster, caller, &words(&command));
            assert_eq!(denied.code, 3, "{caller:?} {command:?}: {}{}", denied.stdout, denied.stderr);
        }
        for command in &cluster_changes {
            let refused = ask(&cluster, caller, command);
            assert!([2, 3].contains(&refused.code), "{caller:?} {command:?}: {}{}", refused.stdout, refused.stderr);
        }
    }
    let log = cluster.serving.as_ref().unwrap().log.text();
    let changes = log.lines().filter(|line| line.contains("jobtracker::audit: ") && line.contains(" user=tess"));
    assert!(changes.clone().all(|line| line.contains("denied ")), "{:?}", changes.collect::<Vec<_>>());
    for command in commands_about(&id, attempt) {
        ask(&cluster, ("tess", Some("tesskey")), &words(&command)).done();
    }
    for command in &cluster_changes {
        ask(&cluster, ("tess", Some("tesskey")), command).done();
    }
    let rows = ask(&cluster, ("tess", Some("tesskey")), &["report", "users", "--json"]).done();
    assert!(rows.contains("alice"), "{rows}");
    let line = format!("kill user=tess job={id} owner=alice");
    assert!(cluster.serving.as_ref().unwrap().log.text().contains(&line));
}

#[test]
fn where_names_are_believed_hadoops_cluster_administrators_do_everything_too() {
    let cluster = cluster(&["mapreduce.cluster.administrators=opal"]);
    let (id, attempt) = hanging_job(&cluster, "alice", None);
    wait_until_running(&cluster, &id);
    let worker = worker(&cluster);
    for command in commands_about(&id, attempt) {
        let denied = ask(&cluster, ("mallory", None), &words(&command));
        assert_eq!(denied.code, 3, "{command:?}: {}{}", denied.stdout, denied.stderr);
    }
    for command in commands_about(&id, attempt) {
        ask(&cluster, ("opal", None), &words(&command)).done();
    }
    ask(&cluster, ("mallory", None), &["workers", "drain", &worker]).refused(3);
    ask(&cluster, ("opal", None), &["workers", "drain", &worker]).done();
}
