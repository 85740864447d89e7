//! A trace of system calls shows that the log of the store is synced before each reply that had to wait for it.
//!
//! The program itself runs under strace and is asked one thing at a time, so the order of what it read, synced and wrote
//! tells. What needs no new fact must be answered without a sync.

mod asked;
mod trace;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use asked::Asked;
use trace::{between, exchanges, parse};

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::daemon::skip::report_skipped;

const TRACED: &str = "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,fdatasync,fsync";

/// What a reply waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Its own facts: there is a sync between the call and the reply.
    Always,
    /// What others have left to be written; there may be nothing.
    ForOthers,
    /// Nothing.
    Never,
}

/// What must be seen at least once.
const KINDS: [(&str, Waits); 21] = [
    ("submitJob", Waits::Always),
    ("setJobPriority", Waits::Always),
    ("killTask", Waits::Always),
    ("killJob", Waits::Always),
    ("refreshNodes that loses a tracker", Waits::Always),
    ("heartbeat: a launch", Waits::Always),
    ("heartbeat: an end", Waits::Always),
    ("heartbeat: diagnostics", Waits::Always),
    ("heartbeat: a commit", Waits::Always),
    // Of a job that is over the news is no new fact.
    ("heartbeat: a kill", Waits::ForOthers),
    ("heartbeat: nothing", Waits::Never),
    ("setSpending", Waits::Always),
    ("addBudget", Waits::Always),
    ("addQueue", Waits::Always),
    ("removeQueue", Waits::Always),
    ("info", Waits::ForOthers),
    ("price", Waits::Never),
    ("getProtocolVersion", Waits::Never),
    ("getNewJobId", Waits::Never),
    ("getJobStatus", Waits::Never),
    ("getTaskCompletionEvents", Waits::Never),
];

#[test]
fn the_log_is_synced_before_each_reply_that_has_to_wait() {
    if let Err(reason) = strace_works() {
        return report_skipped("the_log_is_synced_before_each_reply_that_has_to_wait", &reason);
    }
    let mut place = DaemonFolders::new("alice 100 1\nbob 7.5 0.25\n");
    // No tick commits beside what is asked.
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=3600".to_owned());
    place.overrides.push(format!("mapred.hosts.exclude={}", place.path("etc/excluded").display()));
    std::fs::write(place.path("etc/excluded"), "").unwrap();
    let output = place.path("trace");
    let program = place.command();
    let mut command = Command::new("strace");
    // As a grandchild, so that the daemon is the child that is told to stop.
    command.args(["-D", "-f", "-ttt", "-yy", "-s", "0", "-e", TRACED, "-o"]).arg(&output);
    command.arg(program.get_program()).args(program.get_args());
    let serving = ChildDaemon::of(command).unwrap_or_else(|(status, log)| panic!("ended with {status}:\n{log}"));
    let asked = Asked::play(&place, &serving);
    assert_eq!(serving.stop().0, 0);
    let calls = parse(&whole_trace(&output));
    let exchanges = exchanges(&calls);
    assert_eq!(exchanges.len(), asked.len(), "each call has its reply: {asked:?}");
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for (kinds, exchange) in asked.iter().zip(&exchanges) {
        let between = between(&calls, exchange);
        for kind in kinds {
            rows.entry(kind).or_default().add(&between);
        }
    }
    let mut wrong = Vec::new();
    println!("{:36}{:>12}{:>8}{:>8}{:>12}", "call", "waits", "seen", "synced", "sync, µs");
    for (kind, waits) in KINDS {
        let Some(row) = rows.remove(kind) else {
            wrong.push(format!("{kind} was not seen"));
            continue;
        };
        let sync_us = row.sync_us.map_or("-".to_owned(), |us| us.to_string());
        println!("{kind:36}{:>12}{:>8}{:>8}{sync_us:>12}", format!("{waits:?}"), row.seen, row.synced);
        let is_right = match waits {
            Waits::Always => row.synced == row.seen && row.unsynced == 0,
            Waits::ForOthers => row.unsynced == 0,
            // One may fall together with what another call has left to be written.
            Waits::Never => row.synced < row.seen,
        };
        if !is_right {
            wrong.push(format!("{kind}: {row:?}"));
        }
    }
    assert!(rows.is_empty(), "{rows:?} are in no table");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What was seen of one kind of call.
#[derive(Debug, Default)]
struct Row {
    seen: usize,
    /// How many of them were answered after a sync that began after the call was read.
    synced: usize,
    /// How many of them were answered while something in the log was not synced.
    unsynced: usize,
    /// The longest time from a call to the end of its sync.
    sync_us: Option<i64>,
}

impl Row {
    fn add(&mut self, between: &trace::Between) {
        self.seen += 1;
        self.synced += usize::from(between.syncs > 0);
        self.unsynced += usize::from(between.unsynced_writes > 0);
        self.sync_us = self.sync_us.max(between.sync_us);
    }
}

/// An error tells why nothing can be traced here; in continuous integration strace must at least be there.
fn strace_works() -> Result<(), String> {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::piped()).output();
    match tried {
        Err(error) => {
            assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "strace is missing: {error}");
            Err(format!("strace cannot be run: {error}"))
        }
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("nothing may be traced here: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The trace, once the tracer has written its last line.
#[allow(clippy::disallowed_methods, reason = "a test that waits for another process gives up some time")]
fn whole_trace(path: &Path) -> String {
    let began = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap();
        if text.trim_end().ends_with("+++ exited with 0 +++") {
            return text;
        }
        assert!(began.elapsed() < crate::daemon::child::TIMEOUT, "the trace does not end");
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}
