//! Two users with jobs and containers beside each other under the market, and their bills. `tests/full.sh` has the same at length, and under
//! every other scheduler.

use std::path::Path;
use std::process::Command;

use crate::daemon::skip::skip;

/// Why the script cannot run here, if so.
fn refusal() -> Option<String> {
    let asked = Command::new("python3").arg("--version").output();
    asked.err().map(|error| format!("python3: {error}"))
}

#[test]
fn jobs_and_containers_of_two_users_are_billed_to_the_last_digit() {
    if skip("jobs_and_containers_of_two_users_are_billed_to_the_last_digit", refusal()) {
        return;
    }
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mixed_work.py"));
    let output = command.args([env!("CARGO_BIN_EXE_jobtracker"), "--short"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(" passed, 0 failed"), "{said}");
}
