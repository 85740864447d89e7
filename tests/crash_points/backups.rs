//! A backup that dies in its course: what stands under its name is whole or not there, and the daemon goes on.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use crate::daemon::child::DaemonFolders;
use crate::laws::rows_of;

use jobtracker::store::FaultPoint;

fn backup(place: &DaemonFolders, target: &str, environment: (&str, &str)) -> Output {
    run("backup", place, target, environment)
}

fn run(command: &str, place: &DaemonFolders, target: &str, environment: (&str, &str)) -> Output {
    let (words, state) = (command, format!("jobtracker.state.dir={}", place.path("state").display()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.env_remove("HADOOP_CONF_DIR").env(environment.0, environment.1);
    command.arg(words).arg(place.path(target)).args(["-D", &state]).output().unwrap()
}

#[test]
fn a_backup_is_whole_or_not_there() {
    let place = DaemonFolders::new("alice 100 1\n");
    let serving = place.start();
    serving.top_up("alice", "5");
    let points = FaultPoint::ALL.iter().map(|point| point.name()).filter(|name| name.starts_with("backup."));
    for point in points {
        let killed = backup(&place, point, ("JOBTRACKER_CRASH_AT", point));
        assert_eq!(killed.status.signal(), Some(9), "{point}");
        let target = place.path(point);
        if target.exists() {
            assert_eq!(rows_of(&target, "PRAGMA integrity_check"), ["ok"], "{point}");
            assert_eq!(rows_of(&target, "SELECT balance FROM account"), ["105.0"], "{point}");
            fs::remove_file(target).unwrap();
        }
        let again = backup(&place, point, ("JOBTRACKER_CRASH_AT", "commit.due"));
        assert!(again.status.success(), "{point}: {}", String::from_utf8_lossy(&again.stderr));
    }
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.balance("alice").unwrap(), "106.0");
}

/// Wherever a restore dies, the state is the one of before or the copy, whole, and another one ends well.
#[test]
fn a_restore_is_whole_or_not_done() {
    let place = DaemonFolders::new("alice 100 1\n");
    let serving = place.start();
    serving.top_up("alice", "5");
    assert!(backup(&place, "copy", ("JOBTRACKER_CRASH_AT", "commit.due")).status.success());
    serving.top_up("alice", "7");
    serving.kill();
    let points = FaultPoint::ALL.iter().map(|point| point.name()).filter(|name| name.starts_with("restore."));
    for point in points {
        let killed = run("restore", &place, "copy", ("JOBTRACKER_CRASH_AT", point));
        assert_eq!(killed.status.signal(), Some(9), "{point}");
        let state = place.path("state/state.db");
        assert_eq!(rows_of(&state, "PRAGMA integrity_check"), ["ok"], "{point}");
        let expected = if ["restore.renamed", "restore.done"].contains(&point) { "105.0" } else { "112.0" };
        assert_eq!(rows_of(&state, "SELECT balance FROM account"), [expected], "{point}");
    }
    let restored = run("restore", &place, "copy", ("JOBTRACKER_CRASH_AT", "commit.due"));
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let serving = place.start();
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.balance("alice").unwrap(), "106.0");
}
