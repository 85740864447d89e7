//! `jobtracker scheduler`: shows, plans and switches, while the daemon runs and over restarts.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};
use crate::daemon::clients::IntoCall;
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{client, unsigned_place};

use jobtracker::model::{AttemptState, RunState};
use jobtracker::wire::Action;
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol, Value};

use super::BUDGETS;

const FIFO: &str = "org.apache.hadoop.mapred.JobQueueTaskScheduler";
const FAIR: &str = "org.apache.hadoop.mapred.FairScheduler";
const DYNAMIC: &str = "org.apache.hadoop.mapred.DynamicPriorityScheduler";

pub(super) fn scheduler(place: &DaemonFolders, arguments: &[&str]) -> Output {
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    Command::new(built_program()).arg("scheduler").args(arguments).args(["-D", &state]).output().unwrap()
}

/// Starts the daemon with an empty conf folder, which is returned.
pub fn start_with_conf(place: &DaemonFolders, arguments: &[&str]) -> (PathBuf, ChildDaemon) {
    let conf = place.path("conf");
    fs::create_dir(&conf).unwrap();
    let folder = conf.display().to_string();
    let serving = place.try_start(&[&["--conf", &folder], arguments].concat());
    (conf, serving.unwrap_or_else(|(status, log)| panic!("{status}:\n{log}")))
}

/// The output of a command that succeeds.
pub(super) fn said(place: &DaemonFolders, arguments: &[&str]) -> String {
    let output = scheduler(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// All that a command says that is refused.
pub(super) fn refused(place: &DaemonFolders, arguments: &[&str]) -> String {
    let ruling = || said(place, &["show"]).lines().next().map(str::to_owned);
    let before = ruling();
    let output = scheduler(place, arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(ruling(), before, "nothing has changed");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_switch_lasts_over_restarts_until_the_configuration_names_another() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    let shown = said(&place, &["show"]);
    assert!(shown.starts_with(&format!("{DYNAMIC}\nsince 20")) && shown.contains(", as configured\n"), "{shown}");
    assert!(shown.contains("alice: 0 jobs, holds 0 map and 0 reduce slots"), "{shown}");

    let plan = said(&place, &["plan", "fifo"]);
    assert!(plan.starts_with(&format!("from {DYNAMIC}\nto   {FIFO}\n")), "{plan}");
    assert!(plan.contains("waits for the market's next tick, at 20"), "{plan}");
    assert!(said(&place, &["show"]).starts_with(DYNAMIC), "a plan changes nothing");
    let output = scheduler(&place, &["use", "fifo"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (done, waited) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(done.starts_with(&format!("{FIFO} rules now\n")), "{done}");
    assert!(waited.contains("waiting until 20"), "{waited}");
    assert!(said(&place, &["show"]).contains("chosen by "));
    let (_, log) = serving.stop();
    assert!(log.contains(&format!("scheduler {DYNAMIC}, as mapred.jobtracker.taskScheduler says")), "{log}");

    let serving = place.start();
    assert!(said(&place, &["show"]).starts_with(FIFO));
    let (_, log) = serving.stop();
    assert!(log.contains(&format!("scheduler {FIFO}, chosen by ")), "{log}");

    let configured = format!("mapred.jobtracker.taskScheduler={FAIR}");
    let serving = place.try_start(&["-D", &configured]).unwrap_or_else(|(status, log)| panic!("{status}:\n{log}"));
    assert!(said(&place, &["show"]).starts_with(FAIR));
    let (_, log) = serving.stop();
    assert!(log.contains("and names another now"), "{log}");

    // What was chosen before does not come back with the old configuration.
    let serving = place.start();
    assert!(said(&place, &["show"]).starts_with(DYNAMIC));
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let place = DaemonFolders::new(BUDGETS);
    let (conf, serving) = start_with_conf(&place, &[]);
    let unknown = refused(&place, &["use", "lottery"]);
    assert!(
        unknown.contains("\"lottery\" is not a scheduler: expected fifo, capacity, fair, constraint, dynamic"),
        "{unknown}"
    );

    let file = conf.join("capacity-scheduler.xml");
    let capacity = |percent: &str| {
        let key = "mapred.capacity-scheduler.queue.default.capacity";
        let property = format!("<property><name>{key}</name><value>{percent}</value></property>");
        fs::write(&file, format!("<configuration>\n{property}\n</configuration>\n")).unwrap();
        file.display().to_string()
    };
    let missing = refused(&place, &["use", "capacity"]);
    assert!(
        missing.contains(
            "capacity-scheduler.xml: no such file, which would set mapred.capacity-scheduler.queue.default.capacity"
        ),
        "{missing}"
    );
    let name = capacity("50");
    let sum = refused(&place, &["plan", "capacity"]);
    assert!(sum.contains(&name) && sum.contains("100"), "{sum}");
    capacity("many");
    let kind = refused(&place, &["use", "capacity"]);
    assert!(kind.contains(&format!("{name}:2")) && kind.contains("\"many\""), "{kind}");
    fs::write(&file, "<configuration>\n<property>").unwrap();
    let torn = refused(&place, &["use", "capacity"]);
    assert!(torn.contains(&name), "{torn}");

    capacity("100");
    let plan = said(&place, &["plan", "capacity"]);
    assert!(plan.contains(&format!("{name}:2: mapred.capacity-scheduler.queue.default.capacity = 100\n")), "{plan}");
    assert!(
        plan.contains("default: 0 jobs, holds 0 map and 0 reduce slots, due 0 map and 0 reduce slots; capacity 100.0%")
    );
    said(&place, &["use", "capacity"]);
    // The files of another scheduler are not read.
    fs::write(&file, "no XML").unwrap();
    said(&place, &["use", "fair"]);
    said(&place, &["use", "fifo"]);
    assert_eq!(serving.stop().0, 0);
    assert_eq!(scheduler(&place, &["show"]).status.code(), Some(4), "no daemon");
}

#[test]
fn an_operator_who_leaves_withdraws_the_switch() {
    let mut place = DaemonFolders::new(BUDGETS);
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=60".to_owned());
    let serving = place.start();
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    let mut waits = Command::new(built_program()).args(["scheduler", "use", "fifo", "-D", &state]).spawn().unwrap();
    serving.log.wait_for("to rule from the market's next tick on");
    assert!(said(&place, &["show"]).contains(&format!("wants {FIFO}: it begins at 20")));
    let second = refused(&place, &["use", "fair"]);
    assert!(second.contains(&format!("refused: the switch to {FIFO} that ")), "{second}");
    waits.kill().unwrap();
    waits.wait().unwrap();
    serving.log.wait_for("no longer wants");
    assert!(!said(&place, &["show"]).contains("wants"));
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_market_begins_with_the_switch_to_it() {
    let place = unsigned_place();
    let (acl, budget) = (fs::read(place.acl()).unwrap(), fs::read(place.budget()).unwrap());
    fs::remove_file(place.acl()).unwrap();
    fs::remove_file(place.budget()).unwrap();
    let serving = place.start();
    let mut alice = client(&serving, Protocol::JobSubmission);
    let mut calls = client(&serving, Protocol::InterTracker);
    let job = alice.submit(&place, 2);
    let mut tracker = ScriptedTracker::new();
    let mut launched = 0;
    let mut beat = |tracker: &mut ScriptedTracker| {
        let heartbeat = tracker.heartbeat();
        let response = tracker.obey(calls.call(&heartbeat));
        assert!(!response.actions.contains(&Action::ReinitTracker));
        launched += response.actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count();
    };
    beat(&mut tracker);

    // Each file that is missing or bad is named, and the session before goes on.
    for command in ["plan", "use"] {
        let why = refused(&place, &[command, "dynamic"]);
        assert!(why.contains(place.acl().to_str().unwrap()), "{why}");
    }
    fs::write(place.acl(), &acl).unwrap();
    let why = refused(&place, &["use", "dynamic"]);
    assert!(why.contains(place.budget().to_str().unwrap()), "{why}");
    fs::write(place.budget(), "alice 1 1\nbob much 1\n").unwrap();
    let why = refused(&place, &["use", "dynamic"]);
    assert!(why.contains(&format!("{}:2", place.budget().display())) && why.contains("much"), "{why}");
    fs::write(place.budget(), &budget).unwrap();
    let plan = said(&place, &["plan", "dynamic"]);
    assert!(plan.contains("alice: 0 jobs"), "{plan}");
    assert_eq!(serving.ask("root", "info=alice").status, 404, "a plan changes nothing");

    said(&place, &["use", "dynamic"]);
    assert_eq!(serving.ask("root", "info=alice").queue()[0], "100.0");
    alice.asks();
    let unsigned = alice.staged(&place, 1).1;
    let why = alice.refused(&unsigned);
    assert!(why.contains("ACCESS DENIED"), "jobs are signed now: {why}");
    let status = JobSubmissionCall::GetJobStatus { job: Some(job) };
    for count in 0.. {
        tracker.all_are(AttemptState::Succeeded);
        beat(&mut tracker);
        let Value::JobStatus(Some(output)) = alice.call(&status.clone().into_call()) else { panic!() };
        if output.run_state == RunState::Succeeded {
            break;
        }
        assert!(count < 60, "{output:?}");
    }
    assert_eq!(launched, 4, "setup, two maps and cleanup, each once");
    assert_eq!(serving.stop().0, 0);
    assert!(place.read_budget().contains("alice 100"), "{}", place.read_budget());

    let serving = place.start();
    assert!(said(&place, &["show"]).starts_with(DYNAMIC));
    assert_eq!(serving.ask("root", "info=alice").queue()[0], "100.0");
    assert_eq!(serving.stop().0, 0);
}
