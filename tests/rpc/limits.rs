//! What one client can take of the server: frames, connections, calls in flight, unread answers.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::daemon::clients::{IntoCall, new_job_id, submit};
use crate::daemon::in_process::{
    DaemonOptions, InProcessDaemon, TIMEOUT, read_bytes, read_to_close, send, with_daemon,
};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::RpcLimits;
use jobtracker::model::AttemptState;
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value, encode_call};
use jobtracker::wire::{HeartbeatRequest, Phase, TaskStatus};

fn opening(protocol: Protocol) -> Vec<u8> {
    let user = ConnectionUser { effective: "h1".to_owned(), real: None };
    let header = ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) };
    let mut bytes = Vec::new();
    encode_opening(&mut bytes, &header);
    bytes
}

fn version_call(id: i32) -> Vec<u8> {
    let protocol = Protocol::JobSubmission.class_name().to_owned();
    let mut bytes = Vec::new();
    encode_call(&mut bytes, id, &Call::ProtocolVersion { protocol, client_version: 28 });
    bytes
}

fn call(id: i32, call: JobSubmissionCall) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_call(&mut bytes, id, &Call::JobSubmission(call));
    bytes
}

const VERSION_ANSWER_BYTES: usize = 22;

async fn opened(rig: &InProcessDaemon) -> TcpStream {
    let mut stream = rig.connect().await;
    send(&mut stream, &opening(Protocol::JobSubmission)).await;
    stream
}

fn limited(limits: RpcLimits) -> DaemonOptions {
    DaemonOptions { limits, ..DaemonOptions::default() }
}

#[test]
fn a_frame_that_is_too_long_ends_the_connection_before_its_bytes_come() {
    let limits = RpcLimits { max_frame_bytes: 1_000, ..RpcLimits::default() };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        let mut stream = opened(&rig).await;
        send(&mut stream, &1_001_i32.to_be_bytes()).await;
        let last_word = read_to_close(&mut stream).await;
        let last_word = String::from_utf8_lossy(&last_word);
        assert!(
            last_word
                .ends_with("a frame of 1001 bytes is longer than the limit of 1000 (jobtracker.rpc.max-frame-bytes)"),
            "{last_word}"
        );
        // A frame at the limit is read.
        let mut stream = opened(&rig).await;
        let mut frame = version_call(1);
        frame.resize(4 + 1_000, 0);
        frame[..4].copy_from_slice(&1_000_i32.to_be_bytes());
        send(&mut stream, &frame).await;
        read_bytes(&mut stream, VERSION_ANSWER_BYTES).await;
    });
}

/// A call of a tracker, as it travels.
fn heartbeat(change: impl FnOnce(&mut HeartbeatRequest)) -> Vec<u8> {
    let mut request = ScriptedTracker::new().request();
    change(&mut request);
    let mut bytes = Vec::new();
    encode_call(&mut bytes, 1, &InterTrackerCall::Heartbeat { request: Box::new(request) }.into_call());
    bytes
}

/// The answer to one call on a connection of its own: status, and what follows.
async fn answer_to(rig: &InProcessDaemon, protocol: Protocol, frame: &[u8]) -> (i32, String) {
    let mut stream = rig.connect().await;
    send(&mut stream, &opening(protocol)).await;
    send(&mut stream, frame).await;
    let head = read_bytes(&mut stream, 8).await;
    let status = i32::from_be_bytes(head[4..].try_into().unwrap());
    let mut text = vec![0; 4 << 10];
    let read = stream.read(&mut text).await.unwrap();
    (status, String::from_utf8_lossy(&text[..read]).into_owned())
}

/// What makes an honest heartbeat a bad one.
type Change<'a> = Box<dyn FnOnce(&mut HeartbeatRequest) + 'a>;

#[test]
fn heartbeats_that_no_tracker_sends_are_disallowed_whatever_their_size() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let long = "x".repeat(10 << 20);
        let bad: [Change<'_>; 4] = [
            Box::new(|request| request.status.name = long.as_str().into()),
            Box::new(|request| request.status.host = long.as_str().into()),
            Box::new(|request| request.status.name = "tracker_h\n2026-01-01 INFO forged".into()),
            Box::new(|request| {
                let mut report = request.status.tasks.first().cloned().unwrap_or_else(running);
                report.attempt = "attempt_1_0001_m_000000_0".parse().unwrap();
                request.status.tasks = vec![report; 20_001];
            }),
        ];
        for change in bad {
            let (status, text) = answer_to(&rig, Protocol::InterTracker, &heartbeat(change)).await;
            assert_eq!(status, 1);
            assert!(text.contains("org.apache.hadoop.mapred.DisallowedTaskTrackerException"), "{text}");
            assert!(text.len() < 600, "{} bytes", text.len());
        }
        assert_eq!(rig.owner.with_engine(|engine| engine.tracker_names().count()), 0);
        // An honest one beside it is served.
        let (status, _) = answer_to(&rig, Protocol::InterTracker, &heartbeat(|_| {})).await;
        assert_eq!(status, 0);
    });
}

fn running() -> TaskStatus {
    TaskStatus {
        attempt: "attempt_1_0001_m_000000_0".parse().unwrap(),
        progress: 0.5,
        num_slots: 1,
        state: AttemptState::Running,
        diagnostics: "".into(),
        state_text: "".into(),
        phase: Phase::Map,
        start_ms: 0,
        finish_ms: 0,
        output_bytes: -1,
        counters: None,
        next_record_range: Default::default(),
        reduce: None,
    }
}

#[test]
fn credentials_beyond_the_limit_are_refused_by_name_and_the_id_stays_good() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        rig.all_durable().await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1")], 1);
        let with = |bytes: usize| {
            let mut call = submit(id, directory.clone());
            if let Call::JobSubmission(JobSubmissionCall::SubmitJob { credentials, .. }) = &mut call {
                credentials.as_mut().unwrap().secrets.push(("key".into(), vec![7; bytes]));
            }
            call
        };
        for bytes in [60 << 20, (64 << 10) + 1] {
            let mut call = Vec::new();
            encode_call(&mut call, 1, &with(bytes));
            let (status, text) = answer_to(&rig, Protocol::JobSubmission, &call).await;
            assert_eq!(status, 1, "{text}");
            assert!(text.contains("credentials of the job") && text.contains("65536"), "{text}");
        }
        let asking = rig.ask(client, with(60 << 10)).await;
        let (_, status) = rig.pass(asking).await;
        assert!(matches!(status, Value::JobStatus(Some(_))), "{status:?}");
    });
}

#[test]
fn users_with_names_that_nobody_has_are_told_the_limit() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let user = ConnectionUser { effective: "u".repeat(20_000), real: None };
        let header = ConnectionHeader { protocol: Protocol::JobSubmission.class_name().into(), user: Some(user) };
        let mut bytes = Vec::new();
        encode_opening(&mut bytes, &header);
        let mut stream = rig.connect().await;
        send(&mut stream, &bytes).await;
        let last_word = String::from_utf8_lossy(&read_to_close(&mut stream).await).into_owned();
        assert!(last_word.contains("has 20000 bytes; the limit is 255") && last_word.len() < 400, "{last_word}");
    });
}

#[test]
fn a_negative_length_ends_the_connection() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        for length in [-2, -5, i32::MIN] {
            let mut stream = opened(&rig).await;
            send(&mut stream, &length.to_be_bytes()).await;
            assert_eq!(read_to_close(&mut stream).await, b"", "{length}");
        }
    });
}

#[test]
fn a_truncated_frame_does_not_disturb_others_and_is_given_up_in_time() {
    let limits = RpcLimits { frame_timeout_ms: 500, ..RpcLimits::default() };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        let mut half = opened(&rig).await;
        let frame = version_call(1);
        send(&mut half, &frame[..frame.len() / 2]).await;
        let mut other = opened(&rig).await;
        send(&mut other, &version_call(2)).await;
        read_bytes(&mut other, VERSION_ANSWER_BYTES).await;
        assert_eq!(read_to_close(&mut half).await, b"");
        // An opening that is not completed, too.
        let mut silent = rig.connect().await;
        assert_eq!(read_to_close(&mut silent).await, b"");
        // Who is between two calls stays.
        send(&mut other, &version_call(3)).await;
        read_bytes(&mut other, VERSION_ANSWER_BYTES).await;
    });
}

#[test]
fn at_the_limit_of_connections_none_is_accepted_and_none_closed() {
    let limits = RpcLimits { max_connections: 2, ..RpcLimits::default() };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        let mut first = opened(&rig).await;
        send(&mut first, &version_call(1)).await;
        read_bytes(&mut first, VERSION_ANSWER_BYTES).await;
        let mut second = opened(&rig).await;
        send(&mut second, &version_call(1)).await;
        read_bytes(&mut second, VERSION_ANSWER_BYTES).await;
        // The kernel takes it, we do not: it is neither answered nor closed.
        let mut third = opened(&rig).await;
        send(&mut third, &version_call(1)).await;
        for id in 2..20 {
            send(&mut first, &version_call(id)).await;
            read_bytes(&mut first, VERSION_ANSWER_BYTES).await;
        }
        assert!(third.try_read(&mut [0; 1]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
        drop(second);
        read_bytes(&mut third, VERSION_ANSWER_BYTES).await;
    });
}

#[test]
fn a_client_that_reads_nothing_is_dropped_and_holds_no_one_up() {
    let limits = RpcLimits { write_timeout_ms: 500, max_calls_in_flight: 10, ..RpcLimits::default() };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        let deaf = opened(&rig).await;
        let (mut read, mut write) = deaf.into_split();
        let shouting = tokio::task::spawn_local(async move {
            let calls: Vec<u8> = (0..100).flat_map(|id| call(id, JobSubmissionCall::GetQueues)).collect();
            let mut sent = 0_usize;
            // More answers than the buffers of both kernels hold. It ends because we drop it.
            while tokio::io::AsyncWriteExt::write_all(&mut write, &calls).await.is_ok() {
                sent += 1;
                assert!(sent < 1_000_000, "the server reads on for a client that does not");
            }
        });
        let mut polite = opened(&rig).await;
        while !shouting.is_finished() {
            send(&mut polite, &version_call(1)).await;
            read_bytes(&mut polite, VERSION_ANSWER_BYTES).await;
        }
        shouting.await.unwrap();
        let mut rest = Vec::new();
        let _ = read.read_to_end(&mut rest).await;
        assert!(rest.len() < 64 << 20);
    });
}

#[test]
fn calls_that_come_in_part_take_bounded_room_and_delay_no_other_for_long() {
    let half = vec![0; 600_000];
    let opened_with_half = async |rig: &InProcessDaemon, protocol| {
        let mut stream = rig.connect().await;
        send(&mut stream, &opening(protocol)).await;
        send(&mut stream, &1_000_000_i32.to_be_bytes()).await;
        let sending = half.clone();
        let (read, mut write) = stream.into_split();
        // Kept open by the half that sends what the server takes.
        tokio::task::spawn_local(async move {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut write, &sending).await;
            std::future::pending::<()>().await;
        });
        read
    };
    let closed = async |mut read: tokio::net::tcp::OwnedReadHalf| {
        let ended = tokio::time::timeout(TIMEOUT, read.read(&mut [0; 1])).await;
        !matches!(ended, Ok(Ok(1..)) | Err(_))
    };
    let limits = RpcLimits {
        max_frame_bytes: 1_000_000,
        waiting_call_bytes: 1_000_000,
        waiting_heartbeat_bytes: 1_000_000,
        short_timeout_ms: 500,
        ..RpcLimits::default()
    };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        for protocol in [Protocol::JobSubmission, Protocol::InterTracker] {
            let mut first = opened_with_half(&rig, protocol).await;
            let mut polite = opened(&rig).await;
            // One alone has the time that a call has.
            let alone = tokio::time::timeout(Duration::from_millis(1_600), first.read(&mut [0; 1])).await;
            assert!(alone.is_err(), "{alone:?}");
            let mut second = opened_with_half(&rig, protocol).await;
            for id in 0..100 {
                send(&mut polite, &version_call(id)).await;
                read_bytes(&mut polite, VERSION_ANSWER_BYTES).await;
            }
            assert!(closed(first).await, "the usual time is a minute");
            let alone = tokio::time::timeout(Duration::from_millis(1_200), second.read(&mut [0; 1])).await;
            assert!(alone.is_err(), "there is room for one: {alone:?}");
        }
    });
}

#[test]
fn calls_beyond_those_in_flight_wait_in_the_socket() {
    let limits = RpcLimits { max_calls_in_flight: 3, ..RpcLimits::default() };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        // All of a burst are answered, in order, although three are taken at a time.
        let mut stream = opened(&rig).await;
        let burst: Vec<u8> = (0..200).flat_map(|id| call(id, JobSubmissionCall::GetSystemDir)).collect();
        send(&mut stream, &burst).await;
        let one = {
            let mut single = opened(&rig).await;
            send(&mut single, &call(0, JobSubmissionCall::GetSystemDir)).await;
            let head = read_bytes(&mut single, 8 + 2 + "java.lang.String".len() + 2).await;
            let length = u16::from_be_bytes([head[head.len() - 2], head[head.len() - 1]]);
            head.len() + usize::from(length)
        };
        let answers = read_bytes(&mut stream, 200 * one).await;
        let ids: Vec<i32> =
            answers.chunks(one).map(|answer| i32::from_be_bytes(answer[..4].try_into().unwrap())).collect();
        assert_eq!(ids, (0..200).collect::<Vec<_>>());
    });
}

#[test]
fn a_client_that_waits_for_us_is_not_given_up() {
    let limits = RpcLimits { max_calls_in_flight: 1, frame_timeout_ms: 500, ..RpcLimits::default() };
    with_daemon(limited(limits), async |rig: InProcessDaemon| {
        let id = new_job_id(&mut rig.client("h1").await).await;
        let mut calls = Vec::new();
        encode_call(&mut calls, 1, &submit(id, rig.stage("h1", id, &[("mapred.map.tasks", "1")], 1)));
        // Behind the call that waits for the store, a whole one and half of another wait longer than a frame may take.
        let (second, third) = (version_call(2), version_call(3));
        calls.extend(&second);
        calls.extend(&third[..third.len() / 2]);
        let mut waiting = opened(&rig).await;
        send(&mut waiting, &calls).await;
        let mut slow = opened(&rig).await;
        send(&mut slow, &third[..third.len() / 2]).await;
        assert_eq!(read_to_close(&mut slow).await, b"");
        rig.gate.open();
        let mut answers = Vec::new();
        let second_answer = [0, 0, 0, 2, 0, 0, 0, 0];
        while answers.len() < VERSION_ANSWER_BYTES
            || answers[answers.len() - VERSION_ANSWER_BYTES..][..8] != second_answer
        {
            answers.extend(read_bytes(&mut waiting, 1).await);
        }
        assert_eq!(answers[..8], [0, 0, 0, 1, 0, 0, 0, 0], "the submission is accepted first");
    });
}
