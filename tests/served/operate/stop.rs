//! SIGTERM, and who else wants the state.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::daemon::child::{DaemonFolders, TIMEOUT};

use super::{BUDGETS, send};

#[test]
fn a_stop_shows_all_money_in_the_budget_file_and_moves_the_log_into_the_database() {
    // Without a tick, nothing but the stop writes the file.
    let mut place = DaemonFolders::new(BUDGETS);
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=3600".to_owned());
    let serving = place.start();
    serving.top_up("alice", "5");
    assert!(place.path("state/state.db-wal").metadata().unwrap().len() > 0);
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("SIGTERM: stopping"), "{log}");
    assert!(place.read_budget().contains("alice 105"), "{}", place.read_budget());
    assert_eq!(place.names("state"), ["lock", "state.db"], "the log has nothing that the database has not");
    // The image is the ledger's: the next start has nothing to take over.
    let (code, log) = place.start().stop();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains("edited") && !log.contains("NOT TAKEN OVER"), "{log}");
    assert_eq!(place.balance("alice").unwrap(), "105.0");
}

/// A request whose last byte comes after the signal is in hand; a connection that comes after it is not let in.
#[test]
fn a_request_in_hand_is_answered_by_a_daemon_that_stops() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    let mut held = TcpStream::connect(serving.http).unwrap();
    held.set_read_timeout(Some(TIMEOUT)).unwrap();
    held.write_all(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n").unwrap();
    // The one before it in the queue of connections is answered: so the held one is being read.
    assert_eq!(serving.get("/healthz", "").status, 200);
    send(&serving, Signal::TERM);
    serving.log.wait_for("SIGTERM: stopping");
    held.write_all(b"\r\n").unwrap();
    let mut answer = String::new();
    held.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 "), "{answer:?}");
    let http = serving.http;
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert!(TcpStream::connect(http).is_err());
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused_and_told_who_holds_it() {
    let place = DaemonFolders::new(BUDGETS);
    let first = place.start();
    // Ports are free: each takes any.
    let Err((status, log)) = place.try_start(&[]) else { panic!("two daemons on one state folder") };
    assert_eq!(status.code(), Some(1));
    let expected = format!("state/lock is held by process {}: only one JobTracker may run", first.process_id());
    assert!(log.contains(&expected), "{log}");
    first.top_up("alice", "1");
    // Killed, it holds nothing any more.
    first.kill();
    assert_eq!(place.start().stop().0, 0);
}

#[test]
fn a_state_of_a_newer_program_is_refused_and_left_alone() {
    let place = DaemonFolders::new(BUDGETS);
    assert_eq!(place.start().stop().0, 0);
    place.database().pragma_update(None, "user_version", 1000).unwrap();
    let before = std::fs::read(place.path("state/state.db")).unwrap();
    let Err((status, log)) = place.try_start(&[]) else { panic!("it starts") };
    assert_eq!(status.code(), Some(2));
    assert!(log.contains("has schema version 1000, expected schema version "), "{log}");
    assert!(log.contains(": start the program that wrote it"), "{log}");
    assert!(before == std::fs::read(place.path("state/state.db")).unwrap());
}
