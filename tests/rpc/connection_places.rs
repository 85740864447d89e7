//! Places for connections: one address's idle clients leave room for others, and trackers keep theirs.

use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpSocket, TcpStream};

use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, read_bytes, read_to_close, send, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::RpcLimits;
use jobtracker::ipc::client::IpcClient;
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{Call, Protocol, encode_call};

const PLACES: usize = 40;
/// A quarter of them.
const SHARE: usize = 10;
const VERSION_ANSWER_BYTES: usize = 22;

fn wanted() -> DaemonOptions {
    let limits =
        RpcLimits { max_connections: PLACES, share_idle_ms: 500, full_share_idle_ms: 100, ..RpcLimits::default() };
    DaemonOptions { limits, ..DaemonOptions::default() }
}

/// A client that names a protocol and asks its version, from an address of the loopback network.
async fn asks_one_thing(rig: &InProcessDaemon, protocol: Protocol, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    let mut stream = socket.connect(rig.address).await.unwrap();
    let user = ConnectionUser { effective: "h1".to_owned(), real: None };
    let mut bytes = Vec::new();
    encode_opening(&mut bytes, &ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) });
    let name = protocol.class_name().to_owned();
    encode_call(&mut bytes, 1, &Call::ProtocolVersion { protocol: name, client_version: protocol.version() });
    send(&mut stream, &bytes).await;
    stream
}

/// A tracker that has registered.
async fn registered(rig: &InProcessDaemon, number: usize) -> (IpcClient, ScriptedTracker) {
    let mut tracker = ScriptedTracker::new();
    tracker.fake.name = format!("tracker_n{number}:localhost/127.0.0.1:{}", 10_000 + number);
    let mut line = rig.tracker_client().await;
    beat(&mut line, &mut tracker).await;
    (line, tracker)
}

async fn beat(line: &mut IpcClient, tracker: &mut ScriptedTracker) {
    let heartbeat = tracker.heartbeat();
    tracker.obey(line.call(&heartbeat).await.expect("a tracker's connection is never closed"));
}

#[test]
fn connections_that_name_the_trackers_protocol_and_fall_silent_leave_three_quarters_to_others() {
    for protocol in [Protocol::InterTracker, Protocol::JobSubmission] {
        with_daemon(wanted(), async move |rig: InProcessDaemon| {
            let mut silent = Vec::new();
            for _ in 0..PLACES {
                let mut stream = asks_one_thing(&rig, protocol, [127, 0, 0, 1]).await;
                read_bytes(&mut stream, VERSION_ANSWER_BYTES).await;
                silent.push(stream);
            }
            // All places are taken: it waits until some are given up.
            let mut honest = asks_one_thing(&rig, Protocol::JobSubmission, [127, 0, 0, 2]).await;
            read_bytes(&mut honest, VERSION_ANSWER_BYTES).await;
            // The oldest ones went.
            for stream in &mut silent[..PLACES - SHARE] {
                assert_eq!(read_to_close(stream).await, b"");
            }
            for stream in &silent[PLACES - SHARE..] {
                let read = stream.try_read(&mut [0; 1]);
                assert!(read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "{read:?}");
            }
        });
    }
}

#[test]
fn trackers_behind_one_address_keep_their_places_however_many_they_are() {
    with_daemon(wanted(), async |rig: InProcessDaemon| {
        let mut trackers = Vec::new();
        for number in 0..PLACES - SHARE - 5 {
            trackers.push(registered(&rig, number).await);
        }
        // More than the share, beside them: some must go.
        let mut silent = Vec::new();
        for _ in 0..SHARE + 5 {
            let mut stream = asks_one_thing(&rig, Protocol::InterTracker, [127, 0, 0, 1]).await;
            read_bytes(&mut stream, VERSION_ANSWER_BYTES).await;
            silent.push(stream);
        }
        for stream in &mut silent[..5] {
            assert_eq!(read_to_close(stream).await, b"");
        }
        // The trackers were silent for longer than those.
        for (line, tracker) in &mut trackers {
            beat(line, tracker).await;
        }
    });
}
