//! A new process that fails, wherever it fails, and the old one serves on.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::upgrade::stage::{
    Client, RawClient, ask_for_upgrade, client, fail_to_upgrade, place, script, try_upgrade, unsigned_place, upgrade,
};

use jobtracker::wire::protocol::{Protocol, Value};

/// What a new process sends when it is ready, as a script prints it.
const READY: &str =
    r#"ready() { printf '\000\000\000\067{"ready":{"version":1,"program_version":"of a script"}}' >&0; }"#;
const RESTORED: &str = r#"restored() { printf '\000\000\000\012"restored"' >&0; }"#;

/// The daemon serves as before, with what was open before.
fn assert_serves(serving: &ChildDaemon, idle: &mut Client, raw: RawClient) {
    idle.asks();
    raw.ends_well();
    assert_eq!(serving.get("/readyz", "").status, 200);
    client(serving, Protocol::JobSubmission);
}

fn fails(place: &DaemonFolders, serving: &ChildDaemon, program: &str, expected: &str) {
    let mut idle = client(serving, Protocol::JobSubmission);
    let raw = RawClient::that_says(serving, -3);
    assert_says(&fail_to_upgrade(place, &["--program", program]), expected);
    assert_serves(serving, &mut idle, raw);
}

fn assert_says((code, text): &(i32, String), expected: &str) {
    assert_eq!(*code, 1, "{text}");
    assert!(text.starts_with("jobtracker: the upgrade failed and the old process continues to serve: "), "{text}");
    assert!(text.contains(expected), "{expected} in {text}");
}

#[test]
fn one_that_cannot_go_on_says_why() {
    let place = place();
    let serving = place.start();
    let before = serving.process_id();
    let elsewhere = place.path("elsewhere").display().to_string();
    let taken = serving.rpc();
    // Nothing of these comes to the point where the old one stops.
    for (name, text, expected) in [
        ("exits", "exit 3".to_owned(), "exited (exit status: 3) before it was ready"),
        ("no-program", "exec /dev/null".to_owned(), "before it was ready"),
        (
            "bad-configuration",
            r#"exec $PROGRAM "$@" -D mapred.tasktracker.expiry.interval=many"#.to_owned(),
            "mapred.tasktracker.expiry.interval = \"many\"",
        ),
        (
            "other-state",
            format!(r#"exec $PROGRAM "$@" -D jobtracker.state.dir={elsewhere}"#),
            "the configuration names",
        ),
        ("taken-port", format!(r#"exec $PROGRAM "$@" -D mapred.job.tracker.http.address={taken}"#), "cannot listen on"),
        ("bad-acl", r#"exec $PROGRAM "$@" -D mapred.priority-scheduler.acl-file=/nowhere"#.to_owned(), "/nowhere"),
        (
            "other-version",
            r#"printf '\000\000\000\067{"ready":{"version":2,"program_version":"of a script"}}' >&0; cat >/dev/null"#
                .to_owned(),
            "speaks hand-over version 2, this one 1",
        ),
    ] {
        let program = script(&place, name, &text);
        fails(&place, &serving, program.to_str().unwrap(), expected);
    }
    for version in [1000, 0] {
        place.database().pragma_update(None, "user_version", version).unwrap();
        let text = format!("has schema version {version}, expected schema version ");
        fails(&place, &serving, env!("CARGO_BIN_EXE_jobtracker"), &text);
    }
    assert!(!place.path("elsewhere").exists());
    assert_eq!(serving.process_id(), before);
    assert!(!serving.log.text().contains("hand-over failed"), "it never stopped:\n{}", serving.log.text());
}

/// The old one keeps the web server's Unix socket, whatever has become of its folder, and a new one takes it over.
#[test]
fn one_that_cannot_open_the_web_socket_leaves_it_to_the_old_one() {
    let mut place = place();
    let (folder, socket) = (place.path("run"), place.path("run/web"));
    place.overrides.push(format!("jobtracker.web.socket={}", socket.display()));
    let mut serving = place.start();
    let open_to = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    let answers = || {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    };
    answers();
    open_to(0o777);
    fails(&place, &serving, env!("CARGO_BIN_EXE_jobtracker"), "is writable for others (mode 777)");
    assert!(!serving.log.text().contains("hand-over failed"), "it never stopped:\n{}", serving.log.text());
    answers();
    open_to(0o755);
    let stages = format!("{READY}\n{RESTORED}\nready\nflock \"$LOCK\" true");
    let dies = script(&place, "dies", &format!("{stages}\nchmod 777 {}\nexit 3", folder.display()));
    fails(&place, &serving, dies.to_str().unwrap(), "(exit status: 3) before it had the state");
    answers();
    open_to(0o755);
    upgrade(&place, &mut serving, &[]);
    answers();
}

/// The store is closed and everything handed over, and then the new process is no more: the old one opens the store
/// again and resumes with the connections it has kept.
#[test]
fn one_that_dies_with_everything_in_its_hands_is_replaced_by_the_old_one() {
    let mut place = place();
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=3600".to_owned());
    let mut serving = place.start();
    serving.top_up("alice", "5");
    let stages = format!("{READY}\n{RESTORED}\nready\nflock \"$LOCK\" true");
    let dies = script(&place, "dies", &format!("{stages}\nexit 3"));
    fails(&place, &serving, dies.to_str().unwrap(), "(exit status: 3) before it had the state");
    let restored = script(&place, "restored", &format!("{stages}\nrestored\nexit 4"));
    fails(&place, &serving, restored.to_str().unwrap(), "before it served");
    // The real one, which takes all and cannot open the state, since a third has been waiting for it; nor can the old
    // one, until that one leaves.
    let third = "(flock 9; sleep 2) 9<\"$LOCK\" </dev/null >/dev/null 2>&1 &\nexec $PROGRAM \"$@\"";
    let third = script(&place, "third", third);
    let refused = (0..10).find_map(|_| {
        let (mut idle, raw) = (client(&serving, Protocol::JobSubmission), RawClient::that_says(&serving, -3));
        // Where the new one is faster than the third it serves, and the next one tries again.
        let outcome = try_upgrade(&place, &mut serving, &["--program", third.to_str().unwrap()]);
        assert_serves(&serving, &mut idle, raw);
        outcome.err()
    });
    assert_says(&refused.unwrap(), "the new process refuses: ");
    assert!(serving.log.text().contains("cannot resume serving, retrying: "), "{}", serving.log.text());
    assert_eq!(serving.ask("alice", "info=alice").queue()[0], "105.0");
    // And after all that it can be upgraded.
    let mut idle = client(&serving, Protocol::JobSubmission);
    let raw = RawClient::that_says(&serving, -3);
    upgrade(&place, &mut serving, &[]);
    assert_serves(&serving, &mut idle, raw);
    assert_eq!(serving.ask("alice", "info=alice").queue()[0], "105.0");
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert_eq!(place.names("state"), ["lock", "state.db"]);
}

#[test]
fn only_one_upgrade_is_under_way_and_a_stop_ends_it() {
    let place = place();
    let serving = place.start();
    let hangs = script(&place, "hangs", "echo $$ > \"$LOCK.hangs\"; exec sleep 600");
    let stderr = std::process::Stdio::piped();
    let first = ask_for_upgrade(&place, &["--program", hangs.to_str().unwrap()]).stderr(stderr).spawn().unwrap();
    serving.log.wait_for("requested an upgrade");
    let (code, text) = fail_to_upgrade(&place, &[]);
    assert_eq!(code, 1);
    assert!(text.contains("an upgrade is already in progress"), "{text}");
    assert_eq!(serving.get("/readyz", "").status, 200, "it serves meanwhile");
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the daemon was stopped meanwhile"));
    // What it had started is gone.
    let sleeper = std::fs::read_to_string(place.path("state/lock.hangs")).unwrap();
    assert!(!std::path::Path::new("/proc").join(sleeper.trim()).exists());
}

#[test]
fn what_waits_for_a_slow_store_is_answered_by_the_old_one() {
    let place = unsigned_place();
    let mut serving = place.start();
    let mut alice = client(&serving, Protocol::JobSubmission);
    let (id, call) = alice.staged(&place, 1);
    let database = place.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let submitting = std::thread::spawn(move || (alice.call(&call), alice));
    serving.log.wait_for("state.db cannot be written");
    let (code, text) = fail_to_upgrade(&place, &[]);
    assert_eq!(code, 1);
    assert!(text.contains("wait for state.db, and state.db cannot be written"), "{text}");
    assert!(!submitting.is_finished());
    database.execute_batch("ROLLBACK").unwrap();
    let (accepted, mut alice) = submitting.join().unwrap();
    assert!(matches!(accepted, Value::JobStatus(Some(status)) if status.id == id));
    upgrade(&place, &mut serving, &[]);
    alice.asks();
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn without_a_daemon_nothing_is_reached() {
    let place = place();
    let (code, text) = fail_to_upgrade(&place, &[]);
    assert_eq!(code, 4);
    assert!(text.contains("cannot reach a daemon at "), "{text}");
    // One that was killed leaves its socket.
    let serving = place.start();
    serving.kill();
    assert!(place.path("state/control").exists());
    assert_eq!(fail_to_upgrade(&place, &[]).0, 4);
    let serving = place.start();
    let (code, text) = fail_to_upgrade(&place, &["--program", "/nowhere/jobtracker"]);
    assert_eq!(code, 2);
    assert!(text.contains("/nowhere/jobtracker: No such file"), "{text}");
    let log = serving.log.clone();
    assert_eq!(serving.stop().0, 0);
    assert!(!log.text().contains("requested an upgrade"));
}
