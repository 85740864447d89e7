//! Skipping a test loudly: `tests/run.sh` counts each such line as one test that is skipped and not passed.

use std::io::Write as _;

/// Skips the test if there is a reason to, except in continuous integration (`CI=true`), where it fails instead.
pub fn skip(test: &str, reason: Option<String>) -> bool {
    let Some(reason) = reason else { return false };
    assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{test} cannot run: {reason}");
    report_skipped(test, &reason);
    true
}

/// Skips a test about files of other users where this process may not make any.
pub fn skip_without_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        report_skipped(test, "only root can make files of other users");
    }
    !is_root
}

/// Prints the line, in one write and past the capture of the test harness.
pub fn report_skipped(test: &str, reason: &str) {
    // A closed standard error leaves no reader.
    let _ = std::io::stderr().write_all(format!("\nSKIPPED {test}: {reason}\n").as_bytes());
}
