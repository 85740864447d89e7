//! `jobtracker backup`, and a daemon on what it copied.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::daemon::child::DaemonFolders;
use crate::operate::BUDGETS;

/// Runs `jobtracker backup` for a place.
fn backup(place: &DaemonFolders, target: &Path) -> Output {
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.env_remove("HADOOP_CONF_DIR").arg("backup").arg(target).args(["-D", &state]).output().unwrap()
}

#[track_caller]
fn copied(place: &DaemonFolders, name: &str) -> String {
    let output = backup(place, &place.path(name));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(place: &DaemonFolders, name: &str) -> String {
    let output = backup(place, &place.path(name));
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// Puts a copy in the place of the state, as the documentation says.
fn restore(place: &DaemonFolders, name: &str) {
    for file in ["state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(place.path("state").join(file));
    }
    fs::copy(place.path(name), place.path("state/state.db")).unwrap();
}

#[test]
fn a_daemon_goes_on_from_a_copy_that_was_made_while_it_ran() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    serving.top_up("alice", "5");
    let output = copied(&place, "copy.db");
    assert!(
        output.contains("checked\nlast fact ") && output.contains("; 0 jobs, 0 of them unfinished; 2 queues"),
        "{output}"
    );
    assert_eq!(fs::metadata(place.path("copy.db")).unwrap().permissions().mode() & 0o777, 0o600);
    serving.top_up("alice", "1000");
    let before = fs::read(place.path("copy.db")).unwrap();
    let error = refused(&place, "copy.db");
    assert!(error.contains("copy.db") && error.contains("exists"), "{error}");
    assert!(before == fs::read(place.path("copy.db")).unwrap());
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.balance("alice").unwrap(), "1105.0");
    restore(&place, "copy.db");
    let serving = place.start();
    serving.log.wait_for("THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER");
    assert_eq!(place.balance("alice").unwrap(), "105.0", "the ledger of the copy holds");
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.balance("alice").unwrap(), "106.0");
}

/// The budget file of the time after the copy must not pass for an edit of an administrator.
#[test]
fn a_copy_of_a_stopped_daemon_brings_back_its_money_whatever_the_budget_file_says() {
    let place = DaemonFolders::new(BUDGETS);
    assert_eq!(place.start().stop().0, 0);
    copied(&place, "copy.db");
    let log = place.path("state/state.db-wal");
    assert!(!log.exists() || log.metadata().unwrap().len() == 0, "copying adds nothing");
    let serving = place.start();
    serving.top_up("bob", "1000");
    let signed_ms = jobtracker::clock::wall_ms();
    assert_eq!(serving.ask_at("root", "addBudget=1&queue=bob", signed_ms).status, 200);
    assert_eq!(serving.stop().0, 0);
    restore(&place, "copy.db");
    let serving = place.start();
    serving.log.wait_for("THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER");
    // The copy does not know that this was used.
    let replayed = serving.ask_at("root", "addBudget=1&queue=bob", signed_ms);
    assert!(replayed.is_denied() && replayed.why().contains("no longer kept"), "{}", replayed.why());
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.balance("bob").unwrap(), "7.5");
    assert!(place.read_budget().contains("bob 7.5"), "{}", place.read_budget());
}

#[test]
fn what_a_crash_left_in_the_log_is_in_the_copy() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    serving.top_up("alice", "5");
    serving.kill();
    assert!(place.names("state").contains(&"state.db-wal".to_owned()));
    copied(&place, "copy.db");
    restore(&place, "copy.db");
    assert_eq!(place.start().stop().0, 0);
    assert_eq!(place.balance("alice").unwrap(), "105.0");
}

#[test]
fn a_conf_folder_names_the_state_and_a_missing_state_is_reported() {
    let place = DaemonFolders::new(BUDGETS);
    assert_eq!(place.start().stop().0, 0);
    fs::create_dir(place.path("conf")).unwrap();
    let property = format!(
        "<configuration><property><name>jobtracker.state.dir</name><value>{}</value></property></configuration>",
        place.path("state").display()
    );
    fs::write(place.path("conf/mapred-site.xml"), property).unwrap();
    let run = |target: &str, conf: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
        command.env_remove("HADOOP_CONF_DIR").arg("backup").arg(place.path(target));
        command.arg("--conf").arg(place.path(conf)).output().unwrap()
    };
    assert!(run("copy.db", "conf").status.success());
    assert!(place.path("copy.db").exists());
    // A wrong configuration is wrong usage, a state that is not there a failure.
    assert_eq!(run("other.db", "nowhere").status.code(), Some(2));
    fs::remove_file(place.path("state/state.db")).unwrap();
    let error = refused(&place, "other.db");
    assert!(error.contains("cannot back up ") && error.contains("state/state.db"), "{error}");
    let error = refused(&place, "no/folder/other.db");
    assert!(error.contains("cannot "), "{error}");
    assert!(!place.names(".").iter().any(|name| name.starts_with("other.db")));
}
