//! Fifty containers, each with an end of its own, beside a daemon and a worker of this machine. `tests/systemd.sh` has the same with control
//! groups.

use std::path::Path;
use std::process::Command;

use crate::cluster::Cluster;
use crate::daemon::skip::skip;

/// Why the script cannot run here, if so.
fn refusal() -> Option<String> {
    let asked = Command::new("python3").arg("--version").output();
    asked.err().map(|error| format!("python3: {error}"))
}

#[test]
fn fifty_containers_end_as_they_must_and_leave_nothing() {
    if skip("fifty_containers_end_as_they_must_and_leave_nothing", refusal()) {
        return;
    }
    let mut cluster = Cluster::with(&["jobtracker.containers.minimum.memory.mb=64"], 0);
    cluster.add_worker(&[
        "jobtracker.tasktracker.memory.mb=8192",
        "jobtracker.tasktracker.vcores=60",
        "jobtracker.containers.log.limit.kb=16",
        "jobtracker.tasktracker.cgroup=off",
    ]);
    let folder = cluster.folder().join("fifty");
    std::fs::create_dir(&folder).unwrap();
    let worker = format!("mapred/local/tasktracker-{}", cluster.workers[0].http.port());
    let local = cluster.folder().join(worker).join("containers");
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fifty_containers.py"));
    command.args(["--server", &cluster.serving.as_ref().unwrap().http.to_string(), "--user", "alice"]);
    command.arg("--folder").arg(&folder).arg("--local").arg(&local).env("HADOOP_KEY", "alicekey");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(" passed, 0 failed"), "{said}");
}
