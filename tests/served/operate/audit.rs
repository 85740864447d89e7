//! The audit log of the program itself: every change with its author, and the refusals of one caller counted.

use std::fs;

use crate::daemon::child::DaemonFolders;

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
