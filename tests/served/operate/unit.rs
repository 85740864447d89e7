//! The unit in `etc/systemd/`, as systemd itself reads it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::daemon::skip::report_skipped;
use crate::operate::BUDGETS;

/// Where the unit expects the program.
const INSTALLED: &str = "/usr/local/bin/jobtracker";

fn unit() -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("etc/systemd/jobtracker.service")).unwrap()
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobtracker.service");
    assert!(unit().contains(INSTALLED));
    fs::write(&path, unit().replace(INSTALLED, env!("CARGO_BIN_EXE_jobtracker"))).unwrap();
    let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&path).output() else {
        return report_skipped("systemd_finds_nothing_wrong_with_the_unit", "systemd-analyze is missing");
    };
    let text = String::from_utf8_lossy(&output.stderr);
    // Unknown keys are reported without failing. Other units of the machine do not matter here.
    let of_ours: Vec<&str> = text.lines().filter(|line| line.contains("jobtracker.service")).collect();
    assert!(output.status.success() && of_ours.is_empty(), "{text}");
}

/// The command of the unit, on folders of the test, is a daemon that says what the unit waits for.
#[test]
fn the_command_of_the_unit_serves() {
    let unit = unit();
    let setting = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key}")).to_owned()
    };
    assert_eq!((setting("Type").as_str(), setting("Restart").as_str()), ("notify", "always"));
    assert_eq!(setting("ExecReload"), setting("ExecStart").replace(" serve ", " upgrade "));
    assert_eq!(setting("RestartPreventExitStatus"), "2");
    let place = DaemonFolders::new(BUDGETS);
    fs::create_dir(place.path("conf")).unwrap();
    let path = |name: &str| place.path(name).display().to_string();
    let property =
        |(name, value): (&str, &str)| format!("<property><name>{name}</name><value>{value}</value></property>");
    let (any, hadoop) = ("127.0.0.1:0", path("hadoop"));
    let properties =
        [("mapred.job.tracker", any), ("mapred.job.tracker.http.address", any), ("hadoop.tmp.dir", &hadoop)]
            .map(property);
    let text = format!("<configuration>{}</configuration>", properties.concat());
    fs::write(place.path("conf/mapred-site.xml"), text).unwrap();
    let line = setting("ExecStart")
        .replace(INSTALLED, env!("CARGO_BIN_EXE_jobtracker"))
        .replace("/etc/hadoop", &path("conf"))
        .replace("/var/lib/jobtracker", &path("state"));
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    let serving = ChildDaemon::of(command).unwrap_or_else(|(status, log)| panic!("ended with {status}:\n{log}"));
    assert_eq!(place.names("state"), ["control", "lock", "state.db", "state.db-shm", "state.db-wal"]);
    assert_eq!(serving.stop().0, 0);
    // What the unit does not restart.
    fs::write(place.path("conf/mapred-site.xml"), "<configuration>").unwrap();
    let mut words = line.split(' ');
    let status = Command::new(words.next().unwrap()).args(words).output().unwrap().status;
    assert_eq!(status.code(), Some(2));
}
