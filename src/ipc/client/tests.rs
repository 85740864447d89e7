//! Tests against scripted servers.

use tokio::net::TcpListener;

use crate::ipc::client::*;
use crate::wire::opening::{Opening, OpeningStep};
use crate::wire::protocol::{InterTrackerCall, decode_call, encode_error, encode_fatal, encode_response};

const SYSTEM_DIRECTORY: Call = Call::InterTracker(InterTrackerCall::GetSystemDir);

/// A server for one connection: after the opening it answers each call with the next of `answers`, then closes.
async fn server(answers: Vec<Vec<u8>>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut preamble = [0; 6];
        stream.read_exact(&mut preamble).await.unwrap();
        let mut opening = Opening::default();
        opening.advance(&preamble).unwrap();
        let mut header = vec![0; 4];
        stream.read_exact(&mut header).await.unwrap();
        let length = i32::from_be_bytes(header[..4].try_into().unwrap()) as usize;
        header.resize(4 + length, 0);
        stream.read_exact(&mut header[4..]).await.unwrap();
        assert!(matches!(opening.advance(&header), Ok(OpeningStep::Done { .. })));
        for answer in answers {
            let length = stream.read_i32().await.unwrap();
            let mut frame = vec![0; length as usize];
            stream.read_exact(&mut frame).await.unwrap();
            decode_call(Protocol::InterTracker, &frame).unwrap();
            for piece in answer.chunks(7) {
                stream.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    });
    address
}

fn long(id: i32, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    encode_response(&mut out, id, &Value::Long(value));
    out
}

fn string(id: i32, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode_response(&mut out, id, &Value::String(Some(value.to_owned())));
    out
}

#[tokio::test]
async fn values_and_errors_come_and_the_connection_stays_usable() {
    let mut error = Vec::new();
    encode_error(&mut error, 1, "java.io.IOException", "no");
    let address = server(vec![long(0, 31), error, string(2, "file:/system")]).await;
    let mut client = IpcClient::connect(address, Protocol::InterTracker, "h1").await.unwrap();
    let refused = client.call(&SYSTEM_DIRECTORY).await.unwrap_err();
    assert!(matches!(&refused, IpcError::Remote { fatal: false, .. }), "{refused}");
    assert_eq!(refused.to_string(), "java.io.IOException: no");
    let value = client.call(&SYSTEM_DIRECTORY).await.unwrap();
    assert_eq!(value, Value::String(Some("file:/system".to_owned())));
    assert!(matches!(client.call(&SYSTEM_DIRECTORY).await, Err(IpcError::Closed | IpcError::Io(_))));
    assert!(matches!(client.call(&SYSTEM_DIRECTORY).await, Err(IpcError::OutOfStep)));
}

#[tokio::test]
async fn another_version_is_named() {
    let address = server(vec![long(0, 30)]).await;
    let error = IpcClient::connect(address, Protocol::InterTracker, "h1").await.unwrap_err();
    assert_eq!(error.to_string(), "the server has version 30 of org.apache.hadoop.mapred.InterTrackerProtocol, not 31");
}

#[tokio::test]
async fn a_fatal_response_answers_whatever_waits() {
    let mut fatal = Vec::new();
    encode_fatal(&mut fatal, "org.apache.hadoop.security.authorize.AuthorizationException", "no");
    let address = server(vec![fatal]).await;
    let error = IpcClient::connect(address, Protocol::InterTracker, "h1").await.unwrap_err();
    assert!(matches!(error, IpcError::Remote { fatal: true, .. }), "{error}");
}

#[tokio::test]
async fn a_web_port_is_called_so() {
    let address = server(vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()]).await;
    let error = IpcClient::connect(address, Protocol::InterTracker, "h1").await.unwrap_err();
    assert!(matches!(error, IpcError::Http), "{error}");
}

#[tokio::test]
async fn answers_to_other_calls_and_long_ones_are_refused() {
    let address = server(vec![long(7, 31)]).await;
    let error = IpcClient::connect(address, Protocol::InterTracker, "h1").await.unwrap_err();
    assert!(matches!(error, IpcError::WrongCall { expected: 0, found: 7 }), "{error}");

    let address = server(vec![string(0, &"x".repeat(20_000))]).await;
    let limits = ClientLimits { response_bytes: 10_000, ..ClientLimits::default() };
    let mut client = IpcClient::open(address, Protocol::InterTracker, "h1", limits).await.unwrap();
    assert!(matches!(client.call(&SYSTEM_DIRECTORY).await, Err(IpcError::TooLong(10_000))));
}

#[tokio::test]
async fn a_long_answer_in_many_pieces_comes_whole() {
    let text = "x".repeat(21_000);
    let address = server(vec![string(0, &text)]).await;
    let limits = ClientLimits::default();
    let mut client = IpcClient::open(address, Protocol::InterTracker, "h1", limits).await.unwrap();
    assert_eq!(client.call(&SYSTEM_DIRECTORY).await.unwrap(), Value::String(Some(text)));
}
