//! `/api/v1` of a daemon with a worker: its objects are those of the commands, but for what depends on the moment, and the
//! Python client knows every operation.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::json_members::Cluster;

/// What commands add: it depends on the moment of reading, or on who asks.
const OF_COMMANDS: [&str; 11] = [
    "elapsed_ms",
    "cost",
    "cost_error",
    "uptime_ms",
    "live_memory_mb",
    "live_cpu_ms",
    "since_ms",
    "last_seen_ms",
    "input",
    "memory_mb_s",
    "core_s",
];

/// Runs the Python client, which finds the server as commands do; its answer, and its exit code.
fn client(cluster: &Cluster, arguments: &[&str]) -> (i32, Vec<Value>) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/etc/client/jobtracker_api.py");
    let server = cluster.http();
    let mut command = Command::new("python3");
    let output = command.args(["-B", script]).args(arguments).env("JOBTRACKER_SERVER", &server).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    (output.status.code().unwrap(), answers.map(Result::unwrap).collect())
}

/// The one answer of an operation.
fn read(cluster: &Cluster, arguments: &[&str]) -> Value {
    let (code, answers) = client(cluster, arguments);
    assert_eq!((code, answers.len()), (0, 1), "{arguments:?}: {answers:?}");
    answers.into_iter().next().unwrap()
}

/// Holds what the API answers to what a command prints: what both have is the same, and the API lacks nothing that lasts.
fn hold(what: &str, printed: &Value, answered: &Value) {
    match (printed, answered) {
        (Value::Object(printed), Value::Object(answered)) => {
            for (name, value) in printed.iter().filter(|(name, _)| !OF_COMMANDS.contains(&name.as_str())) {
                match answered.get(name) {
                    Some(answered) => hold(&format!("{what}.{name}"), value, answered),
                    None => assert!(is_nothing(value), "{what}: the API lacks {name}: {value}"),
                }
            }
        }
        (Value::Array(printed), Value::Array(answered)) => {
            assert_eq!(printed.len(), answered.len(), "{what}: {printed:?} {answered:?}");
            printed.iter().zip(answered).for_each(|(printed, answered)| hold(what, printed, answered));
        }
        _ => assert_eq!(printed, answered, "{what}"),
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

#[test]
fn objects_are_those_of_the_commands_and_the_client_knows_every_operation() {
    let cluster = Cluster::start();
    // One map: of two that fail at one time, the words of the end count the first alone.
    let submit = "job submit -D mapred.map.tasks=1 --jobtracker RPC --server HTTP --input in.txt --reducer NONE";
    let submitted = |mapper: &str, output: &str| {
        let words = format!("{submit} --mapper {mapper} --output {output}");
        cluster.run(&words, "alice")["job"].as_str().unwrap().to_owned()
    };
    let (ended, failed) = (submitted("cat", "out1"), submitted("false", "out2"));
    for job in [&ended, &failed] {
        let answered = read(&cluster, &["get_job", job]);
        hold(
            "job status",
            &cluster.run(&format!("job status {job} --jobtracker RPC --server HTTP"), "alice"),
            &answered,
        );
        let printed = cluster.run(&format!("job tasks {job} --jobtracker RPC --server HTTP"), "alice");
        let (_, attempts) = client(&cluster, &["list_attempts", job]);
        // Commands ask the owner, who knows how an attempt was reported.
        let ids = |all: &[Value]| all.iter().map(|attempt| attempt["attempt"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(printed["attempts"].as_array().unwrap()), ids(&attempts), "{job}");
        let texts = |all: &[Value]| all.iter().map(|attempt| attempt["diagnostics"].clone()).collect::<Vec<_>>();
        assert_eq!(texts(printed["attempts"].as_array().unwrap()), texts(&attempts), "{job}");
        assert_eq!(attempts.iter().any(|attempt| attempt["diagnostics"].is_string()), *job == failed);
        for (command, operation) in [("job counters", "list_counters"), ("job events", "list_job_events")] {
            let printed = cluster.run(&format!("{command} {job} --jobtracker RPC --server HTTP"), "alice");
            let (_, answered) = client(&cluster, &[operation, job]);
            assert!(!answered.is_empty(), "{command} {job}");
            hold(command, &printed, &Value::Array(answered));
        }
        let waits = read(&cluster, &["get_job_waits", job]);
        let spans = waits["spans"].as_array().unwrap();
        assert!(spans.iter().any(|span| span["state"] == "setup") || *job == failed, "{waits}");
        assert!(spans.windows(2).all(|pair| pair[0]["to_ms"] == pair[1]["from_ms"]), "{waits}");
    }
    let printed = cluster.run("job list --all --jobtracker RPC --server HTTP", "alice");
    let (_, answered) = client(&cluster, &["list_jobs", "kind=job", "sort=started_ms"]);
    hold("job list", &printed, &Value::Array(answered));
    hold("status", &cluster.run("status --server HTTP", ""), &read(&cluster, &["get_cluster"]));
    let workers = cluster.run("workers list --server HTTP", "root");
    let (_, answered) = client(&cluster, &["list_workers"]);
    hold("workers list", &workers["workers"], &Value::Array(answered));
    let worker = workers["workers"][0]["tracker"].as_str().unwrap();
    cluster.run("scheduler use fifo STATE", "");
    let explained = cluster.run(&format!("explain {failed} --server HTTP"), "alice");
    hold("explain", &explained, &read(&cluster, &["get_explanation", &failed]));
    let array = cluster.run("run --server HTTP --queue alice --array 1-2 -- sh -c exit${JOBTRACKER_ITEM}", "alice");
    let application = array["application"].as_str().unwrap();
    let printed = cluster.run(&format!("app status {application} --containers --server HTTP"), "alice");
    hold("app status", &without(&printed, "containers"), &read(&cluster, &["get_application", application]));
    let (_, answered) = client(&cluster, &["list_containers", application]);
    hold("containers", &printed["containers"], &Value::Array(answered));
    let printed = cluster.run("app list --all --server HTTP", "alice");
    let (_, answered) = client(&cluster, &["list_applications", "sort=started_ms"]);
    hold("app list", &printed, &Value::Array(answered));
    every_operation(&cluster, &failed, application, worker);
}

fn without(value: &Value, name: &str) -> Value {
    let mut value = value.clone();
    value.as_object_mut().unwrap().remove(name);
    value
}

/// Calls each method of the client; the description has their names.
fn every_operation(cluster: &Cluster, job: &str, application: &str, worker: &str) {
    let description = read(cluster, &["get_description"]);
    let mut called = BTreeSet::new();
    for operation in description["paths"].as_object().unwrap().values() {
        let name = operation["get"]["operationId"].as_str().unwrap();
        // It ends with the server.
        if name == "listEvents" {
            continue;
        }
        let name: String =
            name.chars().flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain(c.to_lowercase())).collect();
        let path_parts = operation["get"]["parameters"].as_array().into_iter().flatten();
        let values = path_parts.filter(|parameter| parameter["in"] == "path").map(|parameter| match parameter["name"]
            .as_str()
            .unwrap()
        {
            "job" => job,
            "application-id" => application,
            "worker" => worker,
            "queue" | "user" => "alice",
            "report" => "users",
            "decision" => "1",
            other => panic!("{other} is no part that is known"),
        });
        let needed = if name == "get_policy_plan" { &["fair"][..] } else { &[] };
        let arguments: Vec<&str> = std::iter::once(name.as_str()).chain(values).chain(needed.iter().copied()).collect();
        let (code, _) = client(cluster, &arguments);
        let expected = match name.as_str() {
            // The visibility of this market is private.
            "list_statement" | "get_spending" => 3,
            // It is for administrators.
            "get_policy_plan" => 3,
            // Another scheduler rules: no rate buys slots.
            "get_quotes" => 2,
            // Fact 1 is the start.
            "get_decision" => 2,
            _ => 0,
        };
        assert_eq!(code, expected, "{arguments:?}");
        assert!(called.insert(name));
    }
    assert!(called.len() > 20);
    assert_eq!(client(cluster, &["list_jobs", "state=DONE"]).0, 2, "a value that is refused");
}
