//! A tracker of the test that does what it is given, and serves logs.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{AttemptState, Kind};
use jobtracker::wire::Action;
use jobtracker::wire::protocol::Protocol;

/// What becomes of ordinary maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    Succeed,
    Fail,
    /// They run until this is changed.
    Run,
}

/// Works for the JobTracker at `address` until dropped; a JobTracker that is away is called again.
pub async fn work(address: SocketAddr, maps: Rc<Cell<Maps>>) {
    let http_port = logs().await;
    let mut tracker = ScriptedTracker::new();
    tracker.fake.http_port = http_port.into();
    let mut connection: Option<IpcClient> = None;
    loop {
        let client = match &mut connection {
            Some(client) => client,
            None => match IpcClient::connect(address, Protocol::InterTracker, "mapred").await {
                Ok(client) => connection.insert(client),
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let Ok(value) = client.call(&tracker.heartbeat()).await else {
            connection = None;
            continue;
        };
        let response = tracker.obey(value);
        assert!(
            !response.actions.iter().any(|action| matches!(action, Action::ReinitTracker)),
            "a restart loses nobody"
        );
        for attempt in &mut tracker.fake.attempts {
            let is_ordinary_map = attempt.kind() == Kind::Map && attempt.id.task.number < 1;
            attempt.state = match maps.get() {
                Maps::Run if is_ordinary_map => AttemptState::Running,
                Maps::Fail if is_ordinary_map => AttemptState::Failed,
                _ => AttemptState::Succeeded,
            };
            if attempt.state == AttemptState::Failed {
                attempt.plan.diagnostics = "the mapper ended with code 7".into();
            }
        }
        let pause_ms = u64::try_from(response.interval_ms).unwrap_or(0).min(50);
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
}

/// Serves one text for every log; returns its port.
async fn logs() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn_local(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let (status, text) = match path.ends_with("filter=stdout") {
                true => ("410 Gone", "no such log".to_owned()),
                false => ("200 OK", format!("asked for {path}\n")),
            };
            let length = text.len();
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    port
}
