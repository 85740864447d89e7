//! Ten upgrades in a row under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::daemon::child::ChildDaemon;
use crate::daemon::clients::IntoCall;
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{Client, client, place, unsigned_place, upgrade};

use jobtracker::model::AttemptState;
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol};

const UPGRADES: usize = 10;

/// Somebody who asks again and again.
struct Asking {
    asked: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// A stop flag for clients.
#[derive(Clone, Default)]
struct Bell(Arc<AtomicBool>);

impl Bell {
    fn rung(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn asking(ask: impl FnOnce(Arc<AtomicU64>) + Send + 'static) -> Asking {
    let asked = Arc::<AtomicU64>::default();
    let theirs = asked.clone();
    Asking { asked, thread: std::thread::spawn(move || ask(theirs)) }
}

#[test]
fn nobody_sees_an_error_over_ten_upgrades() {
    let place = Arc::new(unsigned_place());
    let mut serving = place.start();
    let bell = Bell::default();
    let mut all = Vec::new();
    let rpc = serving.rpc();
    for _ in 0..3 {
        let bell = bell.clone();
        let mut client = client(&serving, Protocol::JobSubmission);
        all.push(asking(move |asked| {
            while !bell.rung() {
                client.asks();
                asked.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    // Whose connections are new: none is refused or closed.
    let (theirs, address) = (bell.clone(), rpc);
    all.push(asking(move |asked| {
        while !theirs.rung() {
            Client::of(address, Protocol::JobSubmission);
            asked.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let (theirs, http) = (bell.clone(), serving.http);
    all.push(asking(move |asked| {
        while !theirs.rung() {
            let answer = crate::daemon::child::try_get(http, "/healthz", "").unwrap();
            assert_eq!(answer.status, 200);
            asked.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let theirs = bell.clone();
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut alice = client(&serving, Protocol::JobSubmission);
    let job = alice.submit(&place, 200);
    all.push(asking(move |asked| {
        let mut tracker = ScriptedTracker::new();
        while !theirs.rung() {
            let heartbeat = tracker.heartbeat();
            tracker.obey(calls.call(&heartbeat));
            tracker.all_are(AttemptState::Succeeded);
            asked.fetch_add(1, Ordering::Relaxed);
        }
    }));
    for _ in 0..UPGRADES {
        let before: Vec<u64> = all.iter().map(|asking| asking.asked.load(Ordering::Relaxed)).collect();
        upgrade(&place, &mut serving, &[]);
        // Each of them is answered by each process.
        for (asking, before) in all.iter().zip(before) {
            while asking.asked.load(Ordering::Relaxed) < before + 2 && !asking.thread.is_finished() {
                std::thread::yield_now();
            }
        }
    }
    bell.0.store(true, Ordering::Relaxed);
    for asking in all {
        asking.thread.join().unwrap();
    }
    let status = JobSubmissionCall::GetJobStatus { job: Some(job) };
    alice.call(&status.into_call());
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains(" WARN ") || !log.contains("cannot hand a connection over"), "{log}");
}

/// Open files of the daemon, and its memory, kilobytes.
fn size(serving: &ChildDaemon) -> (usize, u64) {
    let process = std::path::Path::new("/proc").join(serving.process_id().to_string());
    let files = std::fs::read_dir(process.join("fd")).unwrap().count();
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (files, resident.trim().strip_suffix(" kB").unwrap().parse().unwrap())
}

#[test]
fn ten_upgrades_leave_nothing_open_and_no_memory_behind() {
    let place = place();
    let mut serving = place.start();
    let mut idle: Vec<_> = (0..20).map(|_| client(&serving, Protocol::JobSubmission)).collect();
    upgrade(&place, &mut serving, &[]);
    let ask = |serving: &ChildDaemon, idle: &mut Vec<Client>| {
        for client in idle {
            client.asks();
        }
        assert_eq!(serving.ask("alice", "info=alice").status, 200);
        size(serving)
    };
    let (files, memory) = ask(&serving, &mut idle);
    for _ in 1..UPGRADES {
        upgrade(&place, &mut serving, &[]);
    }
    let (files_after, memory_after) = ask(&serving, &mut idle);
    // A connection of the web may be about to close.
    assert!(files_after <= files + 2, "{files} open files, then {files_after}");
    assert!(memory_after < memory + 4_096, "{memory} kB, then {memory_after} kB");
    assert_eq!(serving.stop().0, 0);
}
