//! The audit log of the program itself: every change with its author, and the refusals of one caller counted.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};
use crate::upgrade::stage::upgrade;

use super::send;

/// The lines of the audit log, without their times.
fn audit_lines(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.split_once("jobtracker::audit: ")).map(|(_, entry)| entry).collect()
}

#[test]
fn each_change_of_money_is_a_line_and_refusals_are_counted() {
    let place = DaemonFolders::new("alice 100 1\n");
    let serving = place.start();
    for _ in 0..3 {
        assert_eq!(serving.ask("root", "addBudget=1.5&queue=alice").status, 200);
    }
    assert_eq!(serving.ask("alice", "setSpending=2&queue=alice").status, 200);
    for _ in 0..4 {
        assert!(serving.ask("bob", "addBudget=1000&queue=bob").is_denied());
    }
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    let added = "add-budget user=root queue=alice amount=1.5";
    assert_eq!(
        audit_lines(&log),
        [
            added,
            added,
            added,
            "set-spending user=alice queue=alice rate=2",
            r#"denied add-budget user=bob queue=bob amount=1000 why="addBudget needs the role admin, which bob has not""#,
            "denied add-budget user=bob repeated=3",
        ]
    );
    let budget = fs::read_to_string(place.budget()).unwrap().replace("104.5", "50.5");
    fs::write(place.budget(), budget).unwrap();
    let (_, log) = place.start().stop();
    let lines = audit_lines(&log);
    assert!(lines.len() == 1 && lines[0].starts_with("edit-budget-file user=- file="), "{lines:?}");
    assert!(lines[0].contains("alice") && lines[0].contains("50.5"), "{lines:?}");
}

/// Runs the program, which succeeds.
fn done(place: &DaemonFolders, words: &[&str]) {
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    let output = Command::new(built_program()).args(words).args(["-D", &state]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Every way in which an operator changes the cluster leaves a line, with its author where there is one to be known.
#[test]
fn each_change_of_the_cluster_is_a_line() {
    let place = DaemonFolders::new("alice 100 1\n");
    let conf = place.path("conf");
    fs::create_dir(&conf).unwrap();
    let conf = conf.display().to_string();
    let mut serving = place.try_start(&["--conf", &conf]).unwrap_or_else(|(status, log)| panic!("{status}:\n{log}"));
    let root = jobtracker::fs::Account::of(rustix::process::geteuid().as_raw()).unwrap().name;
    let is_there = |serving: &ChildDaemon, line: &str| {
        serving.log.wait_for(&format!("jobtracker::audit: {line}"));
    };
    let acl = place.acl().display().to_string();
    let file = format!("file={acl}");
    let user = |words: &[&str]| {
        let output = Command::new(built_program()).arg("user").args(words).args(["--acl-file", &acl]).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    user(&["add", "carol"]);
    is_there(&serving, &format!("user-add user=- name=carol role=user {file}"));
    user(&["key", "carol", "--keep-old", "1h"]);
    is_there(&serving, &format!("user-key user=- name=carol old-keys=1 {file}"));
    user(&["remove", "carol"]);
    is_there(&serving, &format!("user-remove user=- name=carol {file}"));
    fs::write(place.acl(), "alice admin alicekey\nbob user bobkey\nroot admin rootkey\n").unwrap();
    is_there(&serving, &format!("user-role user=- name=alice role=admin {file}"));
    for (query, line) in [
        ("drain=w1", "drain user=root worker=w1"),
        ("resume=w1", "resume user=root worker=w1"),
        ("addQueue=carol", "add-queue user=root queue=carol"),
        ("addBudget=5&queue=carol", "add-budget user=root queue=carol amount=5"),
        ("transfer=2&from=carol&to=alice", "transfer user=root amount=2"),
        ("allowance=1&queue=carol&every=3600", "allowance user=root queue=carol amount=1"),
        ("pauseQueue=carol", "pause-queue user=root queue=carol"),
        ("resumeQueue=carol", "resume-queue user=root queue=carol"),
        ("removeQueue=carol", "remove-queue user=root queue=carol"),
    ] {
        let answer = serving.ask("root", query);
        // The worker is not known, which is no change.
        if answer.status == 200 {
            is_there(&serving, line);
        } else {
            assert!(query.ends_with("=w1"), "{query}: {}", answer.body);
        }
    }
    send(&serving, Signal::HUP);
    is_there(&serving, "reload user=- queues=1 included=0 excluded=0");
    done(&place, &["scheduler", "use", "fifo"]);
    is_there(&serving, &format!("use-scheduler user={root} scheduler="));
    upgrade(&place, &mut serving, &[]);
    is_there(&serving, &format!("upgrade user={root} program="));
    let (code, _) = serving.stop();
    assert_eq!(code, 0);
    let serving = place.start();
    done(&place, &["stop"]);
    let (status, log) = serving.end();
    assert!(status.success() && log.contains(&format!("jobtracker::audit: stop user={root}")), "{log}");
}
