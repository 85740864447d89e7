//! Budgets behind a program: what it may do wrong, and what it is given.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::budget_stores::{CommandPlace, written};
use crate::skip::report_skipped;

use jobtracker::market::budget_file;
use jobtracker::store::{BudgetBackEnd, CommandBackEnd};

fn refusal(program: &str) -> String {
    let place = CommandPlace::new();
    place.set_program(&format!("#!/bin/sh\n{program}\n"));
    let mut back_end = place.back_end().with_timeout(Duration::from_millis(500));
    back_end.load().unwrap_err().to_string()
}

#[test]
fn a_program_that_fails_hangs_floods_or_prints_half_a_line_is_named_with_its_fault() {
    for (program, expected) in [
        ("echo 'no  such\ntable' >&2; exit 3", "it ended with exit status: 3: no such table"),
        ("exit 1", "it ended with exit status: 1 and printed no error"),
        ("exec sleep 1000", "it has not answered within 0 s and was killed"),
        ("sleep 1000 & sleep 1000", "it has not answered within 0 s and was killed"),
        ("exec yes", "it printed more than 67108864 bytes and was killed"),
        ("printf 'alice 100 1\\nbob 7.5 0.2'", "its last line has no end: it printed half of it"),
        ("printf 'alice 100 1\\nbob 7.5\\n'", ":2: expected three fields: queue budget spending, in \"bob 7.5\""),
        ("printf 'alice 100 1\\n\\377\\n'", "it printed no UTF-8"),
    ] {
        let error = refusal(program);
        assert!(error.contains("/program") && error.contains(expected), "{error}");
    }
    let place = CommandPlace::new();
    place.set_program("#!/bin/sh\nsleep 1000 & echo 'alice 100 1'\n");
    let error = place.back_end().load().unwrap_err().to_string();
    assert!(error.contains("it ended, but a process that it started kept its output open and was killed"), "{error}");
    let mut gone = CommandBackEnd::new(vec!["/nonexistent/program".to_owned()]);
    let error = gone.load().unwrap_err().to_string();
    assert!(error.contains("program /nonexistent/program: it cannot be run"), "{error}");
}

#[test]
fn it_is_given_the_lines_and_the_tick_and_no_environment() {
    let place = CommandPlace::new();
    place.set_program("#!/bin/sh\n{ echo \"$2 $3${4:+ $4}\"; env; pwd; cat; } >\"$1/given\"\n");
    let accounts = budget_file::parse("alice 98 1\nbob 5 0.25\n", "budget").unwrap();
    let mut back_end = place.back_end();
    back_end.publish(&accounts, 17).unwrap();
    // The first of a start says so.
    assert!(fs::read_to_string(place.path("given")).unwrap().starts_with("publish 17 first\n"));
    back_end.publish(&accounts, 17).unwrap();
    let given = fs::read_to_string(place.path("given")).unwrap();
    let mut given: Vec<&str> = given.lines().collect();
    assert_eq!(given.remove(0), "publish 17");
    // The shell itself sets PWD, and some SHLVL and _.
    given.retain(|line| !["PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|name| line.starts_with(name)));
    let lines = written("alice 98 1\nbob 5 0.25\n");
    assert_eq!(given, ["PATH=/usr/local/bin:/usr/bin:/bin", "/"].into_iter().chain(lines.lines()).collect::<Vec<_>>());
}

/// The example that is shipped, on a database of its own.
#[test]
fn the_example_for_sqlite_loads_publishes_and_leaves_an_earlier_tick_out() {
    let test = "the_example_for_sqlite_loads_publishes_and_leaves_an_earlier_tick_out";
    if Command::new("sqlite3").arg("--version").output().is_err() {
        return report_skipped(test, "no sqlite3");
    }
    let place = CommandPlace::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/etc/budget-stores/sqlite.sh");
    // Its comment says how to make the table.
    let text = fs::read_to_string(script).unwrap();
    let sql = text.split('"').nth(1).unwrap().replace("#         ", "");
    let made = Command::new("sqlite3").arg(place.path("budgets.db")).arg(sql).status().unwrap();
    assert!(made.success());
    let words = [script.to_owned(), place.path("budgets.db").display().to_string()];
    let mut back_end = CommandBackEnd::new(words.to_vec());
    let lines = |text| budget_file::parse(text, "budget").unwrap();
    assert_eq!(back_end.load().unwrap(), lines("alice 1000 0.5\n"));
    back_end.publish(&lines("alice 90.000000000001 1\nbob 2 3\n"), 5).unwrap();
    back_end.publish(&lines("alice 100 1\n"), 4).unwrap();
    assert_eq!(back_end.load().unwrap(), lines("alice 90.000000000001 1\nbob 2 3\n"));
    // A restored JobTracker, or a new one, counts from an earlier tick.
    let mut restored = CommandBackEnd::new(words.to_vec());
    restored.publish(&lines("alice 95 1\n"), 2).unwrap();
    restored.publish(&lines("alice 94 1\n"), 3).unwrap();
    assert_eq!(restored.load().unwrap(), lines("alice 94 1\n"));
    let emptied = Command::new("sqlite3").arg(place.path("budgets.db")).arg("DELETE FROM publication").status();
    assert!(emptied.unwrap().success());
    let error = restored.publish(&lines("alice 93 1\n"), 4).unwrap_err().to_string();
    assert!(error.contains("publication_has_one_row"), "{error}");
    assert_eq!(restored.load().unwrap(), lines("alice 94 1\n"));
}
