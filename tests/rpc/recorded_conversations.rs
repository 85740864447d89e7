//! The recorded conversations of odd clients with a stock JobTracker, held with ours.

use tokio::net::TcpStream;

use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, read_bytes, read_to_close, send, with_daemon};

use jobtracker::wire::Reader;
use jobtracker::wire::opening::SWITCH_TO_SIMPLE;
use jobtracker::wire::protocol::{Call, CallOutcome, Protocol, ReturnType, Value, decode_response, encode_call};

/// What our server says, compared with the recorded one.
enum Expected {
    /// The same bytes, and the connection stays.
    Same,
    /// The same bytes, then it closes. No bytes: it just closes.
    SameThenClosed,
    /// An error of the same class whose first line begins with this; the connection stays.
    Error(&'static str),
    /// Ours on purpose: a client without a name is refused.
    Refused,
    /// The same but for memory figures.
    Cluster,
}

const CONVERSATIONS: [(&str, Expected); 23] = [
    ("ok", Expected::Same),
    ("version3", Expected::SameThenClosed),
    ("version5", Expected::SameThenClosed),
    ("http", Expected::SameThenClosed),
    ("badauth", Expected::SameThenClosed),
    ("unknownproto", Expected::SameThenClosed),
    (
        "otherproto",
        Expected::Error(
            "java.io.IOException: Unknown protocol to job tracker: org.apache.hadoop.hdfs.protocol.ClientProtocol",
        ),
    ),
    ("nouser", Expected::Refused),
    ("emptyproto", Expected::Error("java.io.IOException: java.lang.NullPointerException: ")),
    ("ping", Expected::Same),
    ("unknownmethod", Expected::Error(NO_SUCH_METHOD)),
    ("wrongargs", Expected::Error(NO_SUCH_METHOD)),
    ("crossproto", Expected::Error(NO_SUCH_METHOD)),
    ("pipelined", Expected::Same),
    ("unknownclass", Expected::SameThenClosed),
    ("nulljobid", Expected::Same),
    ("subclass", Expected::Error(NO_SUCH_METHOD)),
    ("trailing", Expected::Same),
    ("sasl_digest", Expected::Same),
    ("sasl_kerb", Expected::Same),
    ("neglen", Expected::SameThenClosed),
    ("boolparam", Expected::Cluster),
    ("real", Expected::SameThenClosed),
];

const NO_SUCH_METHOD: &str = "java.io.IOException: java.lang.NoSuchMethodException: ";

/// The places that the recorded server was configured with.
fn recorded_places() -> DaemonOptions {
    let overrides = [
        "mapred.system.dir=/data/h1/tmp/mapred/system",
        "mapreduce.jobtracker.staging.root.dir=/data/h1/tmp/staging",
        "fs.default.name=file:///",
    ];
    DaemonOptions { overrides: overrides.map(str::to_owned).to_vec(), ..DaemonOptions::default() }
}

fn recorded(name: &str, side: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/hadoop1/edge/{name}.{side}.bin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn no_recorded_conversation_is_left_out() {
    let folder = format!("{}/tests/fixtures/hadoop1/edge", env!("CARGO_MANIFEST_DIR"));
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(".client.bin")?.to_owned())).collect();
    names.sort();
    let mut held: Vec<_> = CONVERSATIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    held.sort();
    assert_eq!(held, names);
}

#[test]
fn odd_clients_meet_what_the_stock_server_does() {
    with_daemon(recorded_places(), async |rig: InProcessDaemon| {
        for (name, expected) in &CONVERSATIONS {
            hold(&rig, name, expected, usize::MAX).await;
        }
    });
}

#[test]
fn it_makes_no_difference_where_packets_end() {
    with_daemon(recorded_places(), async |rig: InProcessDaemon| {
        for (name, expected) in &CONVERSATIONS {
            hold(&rig, name, expected, 7).await;
        }
    });
}

async fn hold(rig: &InProcessDaemon, name: &str, expected: &Expected, packet_bytes: usize) {
    eprintln!("{name}");
    let (sent, answered) = (recorded(name, "client"), recorded(name, "server"));
    let mut stream = rig.connect().await;
    stream.set_nodelay(true).unwrap();
    for packet in sent.chunks(packet_bytes.min(sent.len())) {
        send(&mut stream, packet).await;
        tokio::task::yield_now().await;
    }
    match expected {
        Expected::Same => {
            assert_eq!(read_bytes(&mut stream, answered.len()).await, answered, "{name}");
            assert_open(&mut stream, name).await;
        }
        Expected::SameThenClosed => assert_eq!(read_to_close(&mut stream).await, answered, "{name}"),
        Expected::Error(first_line) => {
            let head = &answered[..8];
            let class_and_text = error_of(&mut stream, head).await;
            assert_eq!(class_and_text.0, error_text(&answered[8..]).0, "{name}");
            assert!(class_and_text.1.starts_with(first_line), "{name}: {}", class_and_text.1);
            assert!(error_text(&answered[8..]).1.starts_with(first_line), "{name}: not what the stock server says");
        }
        Expected::Refused => {
            let said = read_to_close(&mut stream).await;
            assert_eq!(said[..8], [0xff; 8], "{name}: call id -1, status -1");
            let (class, text) = error_text(&said[8..]);
            assert_eq!(class, "org.apache.hadoop.security.authorize.AuthorizationException");
            assert!(text.contains("user"), "{text}");
        }
        Expected::Cluster => {
            let ours = read_bytes(&mut stream, answered.len()).await;
            let (ours, theirs) = (cluster_status(&ours), cluster_status(&answered));
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

/// Another call is answered: pings and errors have not upset anything.
async fn assert_open(stream: &mut TcpStream, name: &str) {
    let protocol = Protocol::JobSubmission.class_name().to_owned();
    let mut call = Vec::new();
    encode_call(&mut call, 77, &Call::ProtocolVersion { protocol, client_version: 28 });
    send(stream, &call).await;
    let answer = read_bytes(stream, 22).await;
    assert_eq!(answer[..8], [0, 0, 0, 77, 0, 0, 0, 0], "{name}");
}

async fn error_of(stream: &mut TcpStream, head: &[u8]) -> (String, String) {
    assert_eq!(read_bytes(stream, 8).await, head, "call id and status");
    let mut strings = Vec::new();
    for _ in 0..2 {
        let length = i32::from_be_bytes(read_bytes(stream, 4).await.try_into().unwrap());
        strings.push(String::from_utf8(read_bytes(stream, length as usize).await).unwrap());
    }
    (strings.swap_remove(0), strings.swap_remove(0))
}

fn error_text(body: &[u8]) -> (String, String) {
    let mut reader = Reader::new(body);
    let mut string = || {
        let length = reader.i32("length").unwrap();
        String::from_utf8(reader.take(length as usize, "text").unwrap().to_vec()).unwrap()
    };
    (string(), string())
}

fn cluster_status(bytes: &[u8]) -> jobtracker::wire::ClusterStatus {
    let (response, used) = decode_response(ReturnType::ClusterStatus, bytes).unwrap().expect("a whole response");
    assert_eq!(used, bytes.len());
    match response.outcome {
        CallOutcome::Value(Value::ClusterStatus(mut status)) => {
            status.used_memory_bytes = 0;
            status.max_memory_bytes = 0;
            status
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_must_not_authenticate_is_told_at_once() {
    with_daemon(recorded_places(), async |rig: InProcessDaemon| {
        let mut stream = rig.connect().await;
        // It sends nothing further before it has received this.
        send(&mut stream, b"hrpc\x04\x52").await;
        assert_eq!(read_bytes(&mut stream, 8).await, SWITCH_TO_SIMPLE);
    });
}
