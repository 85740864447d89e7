//! Scripts with applications: a program that asks for containers, arrays that need none, masters in containers.

use serde_json::{Value, json};

use crate::container_workers::{ContainerWorkers, ROUNDS};
use crate::daemon::child::DaemonFolders;
use crate::laws::{Accounts, Laws, budgets, rows};
use crate::programs::{Program, Signer, ask, await_end, done, report, submit};
use crate::stage::Stage;

use jobtracker::model::{ContainerExit, ContainerId};

const BUDGETS: Accounts<'_> = &[("alice", "100", "1")];

/// A place that gives containers to those who sign; it sells nothing.
pub fn place() -> (DaemonFolders, Laws) {
    let mut place = DaemonFolders::new(&budgets(BUDGETS));
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    (place, Laws::new(BUDGETS))
}

fn capability() -> Value {
    json!({"memory": 1024, "vCores": 1})
}

fn row(priority: u32, count: u32) -> Value {
    json!({"priority": priority, "resource-name": "*", "capability": capability(), "num-containers": count})
}

fn array_row(items: &str, rules: Value) -> Value {
    let mut launch = json!({"spec": "s", "items": items});
    launch.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
    json!({"priority": 1, "resource-name": "*", "capability": capability(), "launch": launch})
}

fn array(name: &str, command: &[&str], row: Value) -> Value {
    json!({"application-name": name, "unattended": true, "specs": {"s": {"command": command}}, "ask": [row]})
}

fn begin(stage: &mut Stage) -> ContainerWorkers {
    let mut workers = ContainerWorkers::new();
    stage.begin_life();
    workers.round(stage);
    workers.round(stage);
    workers
}

/// A program asks, launches, gives back, is followed by another of its application and ends; the daemon dies in between.
pub fn a_program(stage: &mut Stage) {
    let mut workers = begin(stage);
    let alice = Signer::user("alice");
    let body = json!({"application-name": "program", "specs": {"three": {"command": ["exit", "3"]}}});
    let (id, secret) = submit(stage, &alice, body);
    let mut program = Program::new(&id, &secret);
    program.register(stage);
    program.wait(stage, &mut workers, json!({"ask": [row(1, 3)]}));
    program.call_until(stage, &mut workers, "three containers", |program| program.granted.len() == 3);
    let granted: Vec<String> = program.granted.iter().cloned().collect();
    let [by_spec, by_context, given_back] = granted.as_slice() else { panic!("{granted:?}") };
    let launch = json!([
        {"container-id": by_spec, "spec": "three"},
        {"container-id": by_context, "context": {"command": ["run"]}},
    ]);
    let answer = program.wait(stage, &mut workers, json!({"launch": launch, "release": [given_back]}));
    assert_eq!((&answer["unknown-launches"], &answer["unknown-releases"]), (&json!([]), &json!([])), "{answer}");
    stage.kill();

    stage.begin_life();
    program.repeat_last(stage);
    program.call_until(stage, &mut workers, "two ends", |program| program.statuses.len() == 2);
    // Another program of the application: the live one is listed, and ends that were not acknowledged come again.
    let before = program.attempt();
    let listed = program.register(stage);
    assert_eq!(listed, [by_context.as_str()]);
    stage.kill();

    stage.begin_life();
    program.call_superseded(stage, before);
    program.call_until(stage, &mut workers, "the ends again", |program| program.statuses.len() == 2);
    stage.kill();

    stage.begin_life();
    // No worker is here yet: no answer to this attempt names what is granted for it, and the next one has it listed.
    program.call(stage, json!({"ask": [row(2, 1)]}));
    workers.round(stage);
    for _ in 0..ROUNDS {
        if report(stage, &alice, &id)["runningContainers"] == 2 {
            break;
        }
        workers.round(stage);
    }
    let listed = program.register(stage);
    assert_eq!((listed.len(), &*listed[0]), (2, by_context.as_str()), "{listed:?}");
    stage.kill();

    stage.begin_life();
    workers.round(stage);
    program.call(stage, json!({}));
    assert_eq!(program.granted.len(), 4, "{:?}", program.granted);
    let mut ends = program.statuses.clone();
    ends.sort();
    assert_eq!(ends, [(by_spec.clone(), 3), (given_back.clone(), -100)]);
    program.unregister(stage);
    let app = await_end(stage, &mut workers, &alice, &id);
    assert_eq!((&app["state"], &app["finalStatus"]), (&json!("FINISHED"), &json!("SUCCEEDED")), "{app}");
    assert_eq!(app["completedContainers"], 4, "{app}");
    let started: Vec<String> = workers.books.launched.keys().map(ToString::to_string).collect();
    assert_eq!(started, [by_spec.as_str(), by_context.as_str()], "what was given back never reached a worker");
    workers.round_until_empty(stage);
    let exit_of = |id: &str| workers.books.ended[&id.parse::<ContainerId>().unwrap()];
    assert_eq!((exit_of(by_spec), exit_of(by_context)), (ContainerExit(3), ContainerExit::KILLED_AFTER_APPLICATION));
    end(stage, workers, &[(&id, "FINISHED")]);
}

/// Items run once each: one fails at first, some lose their worker, others are dropped after too many failures.
pub fn items(stage: &mut Stage) {
    let mut workers = begin(stage);
    let alice = Signer::user("alice");
    // The second item fails at its first attempt.
    let rules = json!({"max-attempts": 2, "max-running": 3});
    let (many, _) = submit(stage, &alice, array("many", &["exit", "1@2", "0"], array_row("1-6", rules)));
    workers.round_until(stage, "three containers", |books| books.launched.len() >= 3);
    workers.restart_the_fullest();
    stage.kill();

    stage.begin_life();
    let app = await_end(stage, &mut workers, &alice, &many);
    assert_eq!((&app["state"], &app["finalStatus"]), (&json!("FINISHED"), &json!("SUCCEEDED")), "{app}");
    workers.round_until_empty(stage);
    // By the books of the workers, too, each item ended with 0 once.
    let books = &workers.books;
    let ended_well = |item: u32| {
        let of_item = books.launched.iter().filter(|(_, launched)| launched.is_some_and(|(number, _)| number == item));
        of_item.filter(|(id, _)| books.ended.get(id) == Some(&ContainerExit::SUCCESS)).count()
    };
    assert_eq!((1..=6).map(ended_well).collect::<Vec<_>>(), [1; 6], "{:?}", books.launched);
    // What was lost before its process began may be launched by the same attempt's number no more than once.
    let mut attempts: Vec<(u32, u32)> = books.launched.values().flatten().copied().collect();
    attempts.sort_unstable();
    let mut once = attempts.clone();
    once.dedup();
    assert_eq!(attempts, once, "each attempt of an item once");
    assert!(!books.lost.is_empty());

    let launched = workers.books.launched.len();
    let rules = json!({"max-fails": 0});
    let (few, _) = submit(stage, &alice, array("few", &["exit", "1@1"], array_row("1-9", rules)));
    let app = await_end(stage, &mut workers, &alice, &few);
    assert_eq!((&app["finalStatus"], &app["failedItems"]), (&json!("FAILED"), &json!("1")), "{app}");
    assert!(workers.books.launched.len() < launched + 9, "the rest is dropped");
    end(stage, workers, &[(&many, "FINISHED"), (&few, "FINISHED")]);
}

/// A master fails, and the next one does its work; an application is killed while its master and a container of it run.
pub fn masters(stage: &mut Stage) {
    let mut workers = begin(stage);
    let (alice, root) = (Signer::user("alice"), Signer::user("root"));
    let master =
        |command: &[&str]| json!({"context": {"command": command}, "capability": capability(), "max-attempts": 2});
    let body = json!({"application-name": "failing", "master": master(&["exit", "1"])});
    let (failing, _) = submit(stage, &alice, body);
    let app = await_end(stage, &mut workers, &alice, &failing);
    assert_eq!((&app["state"], workers.books.launched.len()), (&json!("FAILED"), 2), "{app}");

    let body = json!({"application-name": "killed", "master": master(&["run"])});
    let (killed, secret) = submit(stage, &alice, body);
    workers.round_until(stage, "a master", |books| books.launched.len() == 3);
    assert_eq!(workers.books.secrets.get(&killed.parse().unwrap()), Some(&secret), "a master needs no key");
    let mut program = Program::new(&killed, &secret);
    program.register(stage);
    let mut own = array_row("7", json!({}));
    own["priority"] = json!(5);
    program.call(stage, json!({"specs": {"s": {"command": ["run"]}}, "ask": [own]}));
    program.call_until(stage, &mut workers, "a container", |program| program.granted.len() == 1);
    workers.round(stage);
    stage.kill();

    stage.begin_life();
    // The next program takes over: the master is not among what it is given.
    let listed = program.register(stage);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let state = format!("/apps/{killed}/state");
    let (status, _) = ask(stage, &root, "PUT", &state, Some(&json!({"state": "KILLED"})));
    assert!(status == 202 || status == 200, "{status}");
    stage.kill();

    stage.begin_life();
    let app = await_end(stage, &mut workers, &alice, &killed);
    assert_eq!((&app["state"], &app["completedContainers"]), (&json!("KILLED"), &json!(2)), "{app}");
    assert_eq!(ask(stage, &root, "PUT", &state, Some(&json!({"state": "KILLED"}))).0, 200);
    workers.round_until_empty(stage);
    let of_killed = |id: &&ContainerId| id.application.to_string() == killed;
    let ends: Vec<_> = workers.books.launched.keys().filter(of_killed).map(|id| workers.books.ended.get(id)).collect();
    assert_eq!(ends, [Some(&ContainerExit::KILLED_BY_ADMINISTRATOR); 2]);
    end(stage, workers, &[(&failing, "FAILED"), (&killed, "KILLED")]);
}

/// Nothing is left: neither on workers nor in the books, which show what the workers have seen, also after another start.
fn end(stage: &mut Stage, mut workers: ContainerWorkers, applications: &[(&str, &str)]) {
    workers.round_until_empty(stage);
    stage.stop();
    let live = "SELECT application || ' ' || number || ' ' || state FROM container WHERE state <> 'COMPLETE'";
    assert_eq!(rows(&stage.place, live), [""; 0]);
    for table in ["application_request", "application_launch", "application_context"] {
        assert_eq!(rows(&stage.place, &format!("SELECT application FROM {table}")), [""; 0], "{table}");
    }
    let states = rows(&stage.place, "SELECT application || ' ' || state FROM application ORDER BY number");
    let expected: Vec<String> = applications.iter().map(|(id, state)| format!("{id} {state}")).collect();
    assert_eq!(states, expected);
    let sql = "SELECT (record ->> 'id') || ' ' || (record ->> '$.end.exit') FROM container
               WHERE record ->> 'launch' IS NOT NULL ORDER BY number";
    for row in rows(&stage.place, sql) {
        let (id, exit) = row.split_once(' ').unwrap();
        let (id, exit) = (id.parse().unwrap(), ContainerExit(exit.parse().unwrap()));
        let seen = workers.books.ended.get(&id);
        let is_lost = workers.books.lost.contains(&id) || !workers.books.launched.contains_key(&id);
        assert!(seen == Some(&exit) || (is_lost && !exit.is_own_fault()), "{row}, but the worker has seen {seen:?}");
    }

    stage.begin_life();
    workers.round(stage);
    workers.round(stage);
    let alice = Signer::user("alice");
    for (id, state) in applications {
        let app = report(stage, &alice, id);
        assert!(app["state"] == *state && app["runningContainers"] == 0 && app["allocatedMB"] == 0, "{app}");
    }
    for node in done(stage, &alice, "GET", "/nodes", None)["nodes"]["node"].as_array().unwrap() {
        assert_eq!(node["numContainers"], 0, "{node}");
    }
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "100")], &[("alice", "1")]);
}
