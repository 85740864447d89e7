//! Disks that fill up under the running daemon, and daemons that die while they write the budget file in place.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use notify::event::ModifyKind;
use notify::{EventKind, RecursiveMode, Watcher};
use rustix::process::{Resource, Rlimit};

use crate::daemon::child::{DaemonFolders, TIMEOUT};
use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};

const BUDGETS: &str = "alice 100 1\nbob 7.5 0.25\n";

/// The line with these words on the standard error of a command that still runs, which is killed then.
fn wait_for_line(mut command: Command, words: &str) -> String {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let found = lines.into_iter().find(|line| line.contains(words));
    let _ = child.kill();
    let _ = child.wait();
    found.unwrap_or_else(|| panic!("it did not say {words:?}"))
}

#[test]
fn a_full_disk_under_the_budget_file_leaves_the_old_content_whole_and_is_tried_again() {
    if skip_without_disks("a full disk under the budget file") {
        return;
    }
    let place = DaemonFolders::new(BUDGETS);
    let on = OnSmallDisk::start(&place, "etc");
    on.serving.top_up("alice", "1");
    crate::daemon::child::wait_for_files(&on.disk, || on.budget().contains("alice 101."));
    let before = on.budget();
    on.fill();
    // The money is in the ledger all the same, and the answer came.
    on.serving.top_up("alice", "1");
    let line = on.serving.log.wait_for("No space left on device (os error 28); retrying");
    assert!(line.contains("cannot write") && line.contains("hadoop.budget.new"), "{line}");
    assert_eq!(on.budget(), before);
    assert!(!on.disk.join("hadoop.budget.new").exists(), "what is half written takes no room");
    let ready = on.serving.get("/readyz", "");
    assert_eq!(ready.status, 200);
    assert!(ready.body.starts_with("ok, but cannot write") && ready.body.contains("No space left"), "{}", ready.body);
    on.make_room();
    crate::daemon::child::wait_for_files(&on.disk, || on.budget().contains("alice 102."));
    assert_eq!(on.serving.stop().0, 0);
}

#[test]
fn a_disk_that_hangs_does_not_keep_the_daemon_from_ending() {
    for point in ["budget-file.due", "stop.closing"] {
        let mut place = DaemonFolders::new(BUDGETS);
        place.environment.push(("JOBTRACKER_HANG_AT", point));
        let serving = place.start();
        serving.top_up("alice", "1");
        serving.terminate();
        let (status, log) = serving.end();
        assert_eq!(status.code(), Some(1), "{point}:\n{log}");
        assert!(log.contains("the state did not close in time"), "{point}:\n{log}");
        place.environment.clear();
        let serving = place.start();
        assert!(serving.ask("alice", "info&queue=alice").body.contains("101"), "{point}");
        assert_eq!(serving.stop().0, 0);
    }
}

#[test]
fn a_full_disk_under_the_database_holds_answers_back_and_loses_nothing() {
    if skip_without_disks("a full disk under the database") {
        return;
    }
    let place = DaemonFolders::new(BUDGETS);
    let on = OnSmallDisk::start(&place, "state");
    on.serving.top_up("alice", "1");
    assert_eq!(on.serving.get("/", "").status, 200, "there is something to show");
    on.fill();
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| on.serving.ask("root", "addBudget=10&queue=alice"));
        let line = on.serving.log.wait_for("state.db cannot be written");
        assert!(line.contains("facts wait") && line.contains("full"), "{line}");
        assert!(!answer.is_finished(), "answered before it is durable");
        let ready = on.serving.get("/readyz", "");
        assert_eq!(ready.status, 503);
        assert!(ready.body.starts_with("the state store cannot write ("), "{}", ready.body);
        assert_eq!(on.serving.get("/healthz", "").status, 200, "it needs no restart");
        // What was durable is shown.
        for page in ["/", "/status", "/metrics", "/scheduler/jobs?jobs"] {
            let shown = on.serving.get(page, "");
            assert_eq!(shown.status, 200, "{page}: {}", shown.body);
        }
        // And how old that is, as soon as it is old.
        let old = (0..1_000_000).map(|_| on.serving.get("/", "")).find(|page| page.header("age").is_some()).unwrap();
        assert!(old.body.contains("is shown is") && old.body.contains("old"), "{}", old.body);
        // A command that waits says why.
        let mut waits = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
        let server = on.serving.http.to_string();
        waits.args(["queue", "info", "bob", "--user", "bob", "--server", &server]).env("HADOOP_KEY", "bobkey");
        let said = wait_for_line(waits, "does not answer yet: the state store cannot write (");
        assert!(said.starts_with("jobtracker: waiting: "), "{said}");
        // Files of a job, which could not be accepted, are refused at the door.
        let mut upload = TcpStream::connect(on.serving.http).unwrap();
        let target = "/scheduler/upload?job=job_202611211200_0001&name=a&sha256=00&user=bob&timestamp=1";
        let head = format!("POST {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: x\r\nContent-Length: 0\r\n");
        upload.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
        let mut refused = String::new();
        upload.read_to_string(&mut refused).unwrap();
        assert!(
            refused.starts_with("HTTP/1.1 507 ") && refused.contains("the state store cannot write: "),
            "{refused}"
        );
        on.make_room();
        let answer = answer.join().unwrap();
        assert_eq!((answer.status, &*answer.element("budget")), (200, "111.0"));
    });
    let line = on.serving.log.wait_for("state.db is written again after ");
    assert!(line.contains(" INFO ") && line.contains(" facts waited"), "{line}");
    assert_eq!(on.serving.get("/status", "").status, 200);
    assert_eq!(on.serving.get("/readyz", "").body.trim(), crate::NO_WORKER);
    assert_eq!(on.serving.stop().0, 0);
    assert!(place.read_budget().starts_with("alice 111."));
}

/// Enough for a write that takes its time.
const QUEUES: usize = 20_000;
/// Half of such a file, bytes.
const HALF: u64 = 600_000;

/// Killed in the middle of the write, by a limit on the size of files that is set once the copy of the new content is
/// there; where the limit comes too late, at the moment when somebody sees the file change.
#[test]
fn a_kill_while_it_is_written_in_place_leaves_a_whole_copy_and_the_ledger_holds() {
    let budgets: String = (0..QUEUES).map(|queue| format!("q{queue:05} 1000 1\n")).collect();
    let place = DaemonFolders::of_nobody(&budgets);
    place.set_mode("etc", 0o555);
    assert_eq!(place.start().stop().0, 0, "the image is written");
    let (kills, mut torn) = (4, 0);
    for kill in 1..=kills {
        let old = place.read_budget();
        let serving = place.start();
        // A digit more or less in the first line moves all the others. The start has written nothing: it found its own image.
        let (amount, balance) = if kill % 2 == 1 { ("9000", "10000.0") } else { ("-9000", "1000.0") };
        let (_watcher, received) = changes(&place);
        serving.top_up("q00000", amount);
        // Should the limit meet another file first, it has died of that.
        while received.recv_timeout(TIMEOUT / 6) == Ok(Change::Copied) {
            let process = rustix::process::Pid::from_raw(serving.process_id().cast_signed());
            let limit = Rlimit { current: Some(HALF), maximum: None };
            // Where that is not allowed the kill below comes.
            let _ = rustix::process::prlimit(process, Resource::Fsize, limit);
        }
        serving.kill();
        let new = fs::read_to_string(place.path("state/hadoop.budget.copy")).unwrap();
        assert!(new.starts_with(&format!("q00000 {balance}0000000000000000000 1.0")), "{}", &new[..40]);
        assert_eq!(new.lines().count(), QUEUES, "the copy is whole");
        assert!(fs::read_to_string(place.path("state/hadoop.budget.previous")).unwrap() == old);
        let found = place.read_budget();
        torn += usize::from(found != old && found != new);
        if kill == kills {
            // However the moments fell, this is a file that was torn.
            fs::write(place.budget(), [&new[..new.len() / 2], &old[new.len() / 2..]].concat()).unwrap();
        }
        let is_torn = ![old, new.clone()].contains(&place.read_budget());
        let (code, log) = place.start().stop();
        assert_eq!(code, 0, "{log}");
        assert!(place.read_budget() == new, "the ledger holds");
        assert_eq!(place.balance("q00000").as_deref(), Some(balance));
        let is_reported = log.contains("THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER")
            && log.contains("state/hadoop.budget.rejected-");
        assert_eq!(is_reported, is_torn, "{log}");
    }
    println!("{torn} of {kills} kills met the file half written");
    place.set_mode("etc", 0o755);
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    /// The copy of the new content is there.
    Copied,
    /// The budget file is another.
    Written,
}

/// Hears how the budget file comes to be written in place.
fn changes(place: &DaemonFolders) -> (impl Watcher + use<>, mpsc::Receiver<Change>) {
    let (sender, received) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let is_of = |name: &str| event.paths.iter().any(|path| path.ends_with(name));
        let change = match event.kind {
            EventKind::Modify(ModifyKind::Name(_)) if is_of("hadoop.budget.copy") => Change::Copied,
            EventKind::Modify(ModifyKind::Data(_)) if is_of("etc/hadoop.budget") => Change::Written,
            _ => return,
        };
        // The test may have ended.
        let _ = sender.send(change);
    })
    .unwrap();
    for folder in ["state", "etc"] {
        watcher.watch(&place.path(folder), RecursiveMode::NonRecursive).unwrap();
    }
    (watcher, received)
}
