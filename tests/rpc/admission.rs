//! `jobtracker.trackers.admit` = `listed`: TaskTrackers of listed hosts, from addresses of these hosts.

use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::daemon::clients::IntoCall;
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, TIMEOUT, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::client::IpcError;
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{
    AdminOperationsCall, CallOutcome, Protocol, ReturnType, Value, decode_response, encode_call,
};

const DISALLOWED: &str = "org.apache.hadoop.mapred.DisallowedTaskTrackerException";

/// A tracker of that host; its heartbeat from that address of the loopback network is answered, refused or hung up on.
async fn call_from(rig: &InProcessDaemon, host: &str, named: &str, from: [u8; 4]) -> Option<Result<Value, String>> {
    let mut tracker = ScriptedTracker::new();
    tracker.fake.host = host.into();
    tracker.fake.name = format!("tracker_{named}:localhost/127.0.0.1:1000");
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::from(from), 0)).unwrap();
    let mut stream = socket.connect(rig.address).await.unwrap();
    let user = ConnectionUser { effective: "mapred".to_owned(), real: None };
    let mut bytes = Vec::new();
    let protocol = Protocol::InterTracker.class_name().into();
    encode_opening(&mut bytes, &ConnectionHeader { protocol, user: Some(user) });
    encode_call(&mut bytes, 1, &tracker.heartbeat());
    stream.write_all(&bytes).await.unwrap();
    let mut answer = Vec::new();
    loop {
        let read = tokio::time::timeout(TIMEOUT, stream.read_buf(&mut answer)).await.expect("no answer");
        if read.unwrap_or(0) == 0 {
            return None;
        }
        if let Some((response, _)) = decode_response(ReturnType::Heartbeat, &answer).unwrap() {
            return match response.outcome {
                CallOutcome::Value(value) => Some(Ok(value)),
                CallOutcome::Error(exception) if exception.class == DISALLOWED => Some(Err(exception.message)),
                other => panic!("{other:?}"),
            };
        }
    }
}

async fn why_refused(rig: &InProcessDaemon, host: &str, named: &str, from: [u8; 4]) -> String {
    match call_from(rig, host, named, from).await {
        Some(Err(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn is_served(outcome: &Option<Result<Value, String>>) -> bool {
    matches!(outcome, Some(Ok(Value::Heartbeat(_))))
}

#[test]
fn only_listed_hosts_are_served_and_only_from_their_own_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "localhost 127.0.0.9 no-such-host.invalid\n").unwrap();
    let overrides = vec![format!("mapred.hosts={}", hosts.display()), "jobtracker.trackers.admit=listed".to_owned()];
    with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async |rig: InProcessDaemon| {
        rig.gate.open();
        let text = why_refused(&rig, "localhost", "localhost", [127, 0, 0, 2]).await;
        assert!(text.contains("at 127.0.0.2: its host does not have that address"), "{text}");
        assert!(text.contains("Tasktracker denied communication with jobtracker: tracker_localhost:"), "{text}");
        assert!(is_served(&call_from(&rig, "localhost", "localhost", [127, 0, 0, 1]).await));
        assert!(is_served(&call_from(&rig, "127.0.0.9", "127.0.0.9", [127, 0, 0, 9]).await));
        let text = why_refused(&rig, "elsewhere", "elsewhere", [127, 0, 0, 1]).await;
        assert!(text.contains("its host is not in mapred.hosts"), "{text}");
        // One host's tracker under the name of another's.
        let text = why_refused(&rig, "127.0.0.9", "localhost", [127, 0, 0, 9]).await;
        assert!(text.contains("a tracker of that name is registered from another host"), "{text}");
        // What cannot be resolved is not refused: it comes again. Others are served meanwhile.
        let unknown = call_from(&rig, "no-such-host.invalid", "no-such-host.invalid", [127, 0, 0, 1]);
        let others = async {
            for number in 20..30 {
                assert!(!is_served(&call_from(&rig, "localhost", "localhost", [127, 0, 0, number]).await));
                let served = call_from(&rig, "127.0.0.9", "127.0.0.9", [127, 0, 0, 9]).await;
                assert!(served.is_some(), "{served:?}");
            }
        };
        let (unknown, ()) = tokio::join!(unknown, others);
        assert_eq!(unknown, None);
        // The list read again.
        std::fs::write(&hosts, "127.0.0.8\n").unwrap();
        let mut administrator = rig.administrator("mapred").await;
        administrator.call(&AdminOperationsCall::RefreshNodes.into_call()).await.unwrap();
        assert!(is_served(&call_from(&rig, "127.0.0.8", "127.0.0.8", [127, 0, 0, 8]).await));
        why_refused(&rig, "localhost", "localhost", [127, 0, 0, 1]).await;
    });
}

#[test]
fn a_stranger_that_anybody_admits_is_admitted_by_default() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        assert!(is_served(&call_from(&rig, "any.example", "other.example", [127, 0, 0, 5]).await));
        let mut client = rig.tracker_client().await;
        let answer: Result<Value, IpcError> = client.call(&ScriptedTracker::new().heartbeat()).await;
        answer.unwrap();
    });
}
