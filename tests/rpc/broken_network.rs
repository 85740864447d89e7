//! A daemon and a tracker's machine in network namespaces of their own, so that the way between them can break.

use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, TIMEOUT, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::daemon::skip::report_skipped;

use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{Call, CallOutcome, Protocol, ReturnType, Value, decode_response, encode_call};

const DAEMON: &str = "10.77.0.1";
const TRACKER: &str = "10.77.0.2/24";
const TRACKER_LATER: &str = "10.77.0.3/24";

/// Two namespaces and a cable.
pub struct Network {
    daemon: String,
    tracker: String,
}

/// A tracker's connection that passes through the network.
pub struct Line {
    stream: TcpStream,
    next_id: i32,
}

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

fn enter(namespace: &str) {
    let file = std::fs::File::open(format!("/run/netns/{namespace}")).unwrap();
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

// === impl Network ===

impl Network {
    /// None where this machine does not let us; then `test` is reported as skipped.
    pub fn new(test: &str) -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
        let network = Self { daemon: format!("jt-{name}"), tracker: format!("tt-{name}") };
        let (daemon, tracker) = (&network.daemon, &network.tracker);
        let is_made = ip(&format!("netns add {daemon}"))
            && ip(&format!("-n {daemon} link set lo up"))
            && network.plug_in()
            && ip(&format!("-n {tracker} address add {TRACKER} dev eth"));
        if !is_made {
            report_skipped(test, "this machine makes no network namespaces with `ip`");
            return None;
        }
        Some(network)
    }

    /// The tracker's machine, without an address.
    fn plug_in(&self) -> bool {
        let Self { daemon, tracker } = self;
        ip(&format!("netns add {tracker}"))
            && ip(&format!("-n {daemon} link add eth type veth peer name eth netns {tracker}"))
            && ip(&format!("-n {daemon} address add {DAEMON}/24 dev eth"))
            && ip(&format!("-n {daemon} link set eth up"))
            && ip(&format!("-n {tracker} link set eth up"))
    }

    /// Runs `test` against a daemon at the other end.
    pub fn with_daemon<F: Future<Output = ()>>(&self, test: impl FnOnce(InProcessDaemon) -> F) {
        // This thread is the test's own.
        enter(&self.daemon);
        let wanted = DaemonOptions { address: Some(DAEMON.parse().unwrap()), ..DaemonOptions::default() };
        with_daemon(wanted, async |rig: InProcessDaemon| {
            rig.gate.open();
            test(rig).await;
        });
    }

    /// A connection of the tracker's machine.
    pub async fn connect(&self, rig: &InProcessDaemon) -> Line {
        let (namespace, address) = (self.tracker.clone(), rig.address);
        let connecting = tokio::task::spawn_blocking(move || {
            // A thread of its own: the pool's threads stay where they are.
            let thread = std::thread::spawn(move || {
                enter(&namespace);
                std::net::TcpStream::connect_timeout(&address, TIMEOUT).unwrap()
            });
            thread.join().unwrap()
        });
        let stream = connecting.await.unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut stream = TcpStream::from_std(stream).unwrap();
        let user = ConnectionUser { effective: "mapred".to_owned(), real: None };
        let header = ConnectionHeader { protocol: Protocol::InterTracker.class_name().into(), user: Some(user) };
        let mut bytes = Vec::new();
        encode_opening(&mut bytes, &header);
        stream.write_all(&bytes).await.unwrap();
        Line { stream, next_id: 1 }
    }

    /// All its connections are forgotten without a word; its address stays.
    pub fn forget_trackers_machine(&self) {
        self.unplug();
        assert!(self.plug_in() && ip(&format!("-n {} address add {TRACKER} dev eth", self.tracker)));
    }

    /// What the daemon says does not arrive; what the tracker says does.
    pub fn cut_answers(&self) {
        let (address, wrong) = (TRACKER.trim_end_matches("/24"), "lladdr 02:00:00:00:00:01");
        assert!(ip(&format!("-n {} neigh replace {address} {wrong} dev eth nud permanent", self.daemon)));
    }

    /// The tracker's machine has another address, and no machine has the old one.
    pub fn change_trackers_address(&self) {
        self.unplug();
        assert!(self.plug_in() && ip(&format!("-n {} address add {TRACKER_LATER} dev eth", self.tracker)));
    }

    fn unplug(&self) {
        assert!(ip(&format!("-n {} link delete eth", self.daemon)) && ip(&format!("netns delete {}", self.tracker)));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        ip(&format!("netns delete {}", self.tracker));
        ip(&format!("netns delete {}", self.daemon));
    }
}

// === impl Line ===

impl Line {
    /// Calls without waiting for the answer.
    pub async fn say(&mut self, call: &Call) {
        let mut bytes = Vec::new();
        encode_call(&mut bytes, self.next_id, call);
        self.next_id += 1;
        self.stream.write_all(&bytes).await.unwrap();
    }

    pub async fn beat(&mut self, tracker: &mut ScriptedTracker) {
        self.say(&tracker.heartbeat()).await;
        let answer = tokio::time::timeout(Duration::from_secs(15), self.hear());
        tracker.obey(answer.await.expect("the heartbeat is held for too long"));
    }

    async fn hear(&mut self) -> Value {
        let mut bytes = Vec::new();
        loop {
            if let Some((response, _)) = decode_response(ReturnType::Heartbeat, &bytes).unwrap() {
                match response.outcome {
                    CallOutcome::Value(value) => return value,
                    other => panic!("{other:?}"),
                }
            }
            assert_ne!(self.stream.read_buf(&mut bytes).await.unwrap(), 0, "closed");
        }
    }
}
