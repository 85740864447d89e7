//! `jobtracker status` and `jobtracker stop`.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Output};

use serde_json::Value;

use crate::NO_WORKER;
use crate::daemon::child::{DaemonFolders, built_program};

use super::BUDGETS;

fn jobtracker(words: &[&str]) -> Output {
    let mut command = Command::new(built_program());
    command.env_remove("HADOOP_CONF_DIR").args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn status_shows_the_daemon_and_stop_ends_it() {
    let place = DaemonFolders::new(BUDGETS);
    let mut serving = place.start();
    let http = serving.http.to_string();
    let output = jobtracker(&["status", "--server", &http]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for line in [
        format!("ports      RPC {}, web {http}", serving.rpc()),
        "scheduler  Dynamic Priority".to_owned(),
        "workers    0 healthy, 0 unhealthy, 0 silent".to_owned(),
        "jobs       0 running, 0 being set up".to_owned(),
        format!("health     {NO_WORKER}"),
    ] {
        assert!(shown.lines().any(|shown| shown.starts_with(&line)), "{line} is not in\n{shown}");
    }
    let json: Value =
        serde_json::from_str(&text(&jobtracker(&["status", "--server", &http, "--json"]).stdout)).unwrap();
    assert_eq!(json["pid"], serving.process_id());
    let define = format!("jobtracker.state.dir={}", place.path("state").display());
    let output = jobtracker(&["stop", "-D", &define]);
    assert_eq!(text(&output.stdout), format!("process {} has stopped\n", serving.process_id()));
    assert_eq!(output.status.code(), Some(0));
    // Ended, not only ending.
    assert!(serving.has_ended());
    let (status, log) = serving.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("requested a stop: stopping"), "{log}");
    let output = jobtracker(&["stop", "-D", &define]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("cannot reach a daemon at"), "{}", text(&output.stderr));
    let output = jobtracker(&["status", "--server", &http]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no JobTracker of this program answers"), "{}", text(&output.stderr));
}

/// Who says nothing, or what is no request, keeps no operator out.
#[test]
fn silence_and_nonsense_on_the_control_socket_keep_nobody_out() {
    let place = DaemonFolders::new(BUDGETS);
    let mut serving = place.start();
    let socket = place.path("state").join("control");
    let silent: Vec<_> = (0..300).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    for nonsense in
        ["\n", "x\n", "{}\n", "null\n", "[]\n", "{\"stop\": 1}\n", "\"upgrade\"\n", "{\"upgrade\":{}}\n", "\0\n"]
    {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(nonsense.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("cannot parse the request"), "{nonsense:?}: {answer}");
    }
    let mut endless = UnixStream::connect(&socket).unwrap();
    // It stops reading at some point, and closes.
    while endless.write_all(&[b'x'; 4096]).is_ok() {}
    let define = format!("jobtracker.state.dir={}", place.path("state").display());
    let output = jobtracker(&["stop", "-D", &define]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(serving.has_ended());
    drop(silent);
}

#[test]
fn a_stop_of_a_supervised_daemon_says_that_it_may_come_back() {
    let mut place = DaemonFolders::new(BUDGETS);
    place.environment.push(("NOTIFY_SOCKET", "@jobtracker-test-nobody-listens"));
    let serving = place.start();
    let output = jobtracker(&["stop", "-D", &format!("jobtracker.state.dir={}", place.path("state").display())]);
    assert!(text(&output.stdout).contains("systemctl stop jobtracker"), "{}", text(&output.stdout));
    assert_eq!(serving.end().0.code(), Some(0));
}
