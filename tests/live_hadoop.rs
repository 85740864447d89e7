//! Runs the live tests: stock Hadoop 1.2.1 clients and TaskTrackers, and the shipped clients, against the program itself.
//!
//! Each test is a script below `tests/hadoop`, `etc` or `python`. Where Hadoop cannot run, the tests that need it report on standard error that they are skipped;
//! with `CI=true` in the environment they fail instead. As many run at a time as there are cores: a cluster waits more than it computes.

// Outside `#[test]` functions too a test may end by a panic.
#![allow(clippy::panic)]

#[path = "daemon/skip.rs"]
#[allow(dead_code, reason = "a part of it is used here")]
mod skip;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Scripts bound their own steps; this one is for whatever they overlook.
const LIMIT_S: u32 = 900;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Why tests with a TaskTracker cannot run here, if so.
fn refusal() -> Option<String> {
    let question = ". tests/hadoop/environment.sh && live_refusal";
    let answer = Command::new("bash").args(["-c", question]).current_dir(project()).output();
    let text = match answer {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Ok(output) => format!("the question whether they can ended with {}", output.status),
        Err(error) => format!("bash is needed: {error}"),
    };
    (!text.is_empty()).then_some(text)
}

/// Skips a test where no TaskTracker can run.
fn skip(test: &str) -> bool {
    skip::skip(test, refusal())
}

/// Runs a script with our program; panics with its whole output when it fails. Gives its last line.
fn run(script: &str, arguments: &[&str]) -> String {
    let output = Command::new("timeout")
        .args(["--kill-after=30", &LIMIT_S.to_string()])
        .arg(project().join(script))
        .args(arguments)
        .env("JOBTRACKER_PROGRAM", PathBuf::from(env!("CARGO_BIN_EXE_jobtracker")))
        // Built by `cargo build --example hdfs`, or with all tests.
        .env("JOBTRACKER_HDFS", Path::new(env!("CARGO_BIN_EXE_jobtracker")).with_file_name("examples").join("hdfs"))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{script} cannot be started: {error}"));
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} ended with {}\n{said}\n{complained}", output.status);
    for (what, reason) in said.lines().filter_map(|line| line.strip_prefix("SKIPPED ")?.split_once(": ")) {
        skip::report_skipped(what, reason);
    }
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn namespaces_keep_a_task_tracker_in() {
    if skip("namespaces_keep_a_task_tracker_in") {
        return;
    }
    assert_eq!(run("tests/hadoop/isolated_test.sh", &[]), "isolated_test ... ok");
}

#[test]
fn stock_jobs_end_with_the_outputs_they_had_under_the_java_jobtracker() {
    if skip("stock_jobs_end_with_the_outputs_they_had_under_the_java_jobtracker") {
        return;
    }
    assert_eq!(run("tests/hadoop/jobs.sh", &["all"]), "8 passed, 0 failed");
}

#[test]
fn tasks_that_fail_and_attempts_that_are_killed_run_again_as_under_the_java_jobtracker() {
    if skip("tasks_that_fail_and_attempts_that_are_killed_run_again_as_under_the_java_jobtracker") {
        return;
    }
    assert_eq!(run("tests/hadoop/faults.sh", &["throws-once", "attempts-killed"]), "2 passed, 0 failed");
}

#[test]
fn a_job_goes_on_although_the_jobtracker_is_killed() {
    if skip("a_job_goes_on_although_the_jobtracker_is_killed") {
        return;
    }
    let last = run("tests/hadoop/restart.sh", &["--kills", "2"]);
    assert_eq!(last, "2 kills: 24 attempts for 24 tasks, the client ended with success, the output is right");
}

#[test]
fn our_job_client_gives_what_the_stock_one_gives() {
    if skip("our_job_client_gives_what_the_stock_one_gives") {
        return;
    }
    let arguments = ["--jobtracker", "ours", "word_count", "failing"];
    assert_eq!(run("tests/hadoop/submit.sh", &arguments), "2 passed, 0 failed");
}

#[test]
fn both_kinds_of_workers_on_one_job_leave_what_stock_ones_leave() {
    if skip("both_kinds_of_workers_on_one_job_leave_what_stock_ones_leave") {
        return;
    }
    let arguments = ["--jobtracker", "ours", "--workers", "mixed", "--client", "stock"];
    assert_eq!(run("tests/hadoop/matrix.sh", &arguments), "9 agree, 0 differ");
}

#[test]
fn our_hdfs_client_and_the_stock_one_read_what_the_other_wrote() {
    if skip("our_hdfs_client_and_the_stock_one_read_what_the_other_wrote") {
        return;
    }
    assert_eq!(run("tests/hadoop/hdfs.sh", &[]), "6 passed, 0 failed");
}

#[test]
fn every_map_is_data_local_where_one_datanode_and_one_worker_share_a_host() {
    if skip("every_map_is_data_local_where_one_datanode_and_one_worker_share_a_host") {
        return;
    }
    assert_eq!(run("tests/hadoop/one_datanode.sh", &[]), "3 passed, 0 failed");
}

#[test]
fn only_signed_submissions_run_and_they_are_charged() {
    if skip("only_signed_submissions_run_and_they_are_charged") {
        return;
    }
    assert_eq!(run("tests/hadoop/signed.sh", &[]), "9 passed, 0 failed");
}

#[test]
fn the_main_job_ends_with_a_bill_that_is_right_to_the_last_digit() {
    if skip("the_main_job_ends_with_a_bill_that_is_right_to_the_last_digit") {
        return;
    }
    assert!(run("etc/try-with-hadoop.sh", &[]).ends_with("to the last digit."));
}

#[test]
fn both_shipped_clients_perform_the_nine_operations() {
    let last = run("tests/hadoop/operations.sh", &[]);
    assert!(last.ends_with(" passed, 0 failed"), "{last}");
}

#[test]
fn the_python_client_signs_asks_and_tells_errors_apart() {
    run("tests/hadoop/scheduler_client_test.py", &[]);
}

#[test]
fn the_python_package_for_applications_and_its_examples_work() {
    run("python/run_tests.py", &[]);
    run("python/live_tests.py", &[]);
}

#[test]
fn every_command_of_the_pages_about_applications_does_what_they_say() {
    run("tests/pages.py", &[env!("CARGO_BIN_EXE_jobtracker")]);
}

#[test]
fn containers_run_beside_a_stock_task_tracker_that_gets_none() {
    if skip("containers_run_beside_a_stock_task_tracker_that_gets_none") {
        return;
    }
    assert_eq!(run("tests/hadoop/applications.sh", &["write-an-application"]), "5 passed, 0 failed");
}

#[test]
fn bills_and_bids_are_checked_by_scripts_that_can_fail() {
    run("tests/hadoop/bill_test.py", &[]);
    run("tests/hadoop/bidders_test.py", &[]);
}

#[test]
fn the_page_on_signing_has_commands_that_work() {
    assert_eq!(run("tests/hadoop/sign_with_openssl_test.sh", &[]), "sign_with_openssl_test ... ok");
}
