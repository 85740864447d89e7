//! Thousands of requests that nobody signed, over connections that stay open.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::stage::{LONG_MS, Stage, size, tell};
use crate::steady_tracker::Ending;

const TRACKERS: u32 = 50;
/// Requests that one connection sends at once.
const AT_ONCE: usize = 20;

/// One connection's share: it sends some, reads their answers, and again.
async fn ask(http: std::net::SocketAddr, number: u32, time: Duration) -> u64 {
    let end = Instant::now() + time;
    let mut stream = TcpStream::connect(http).await.unwrap();
    let request = format!(
        "GET /scheduler?addBudget=1000&queue=alice&user=root&timestamp={number} HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: 2jmj7l5rSw0yVb/vlWAYkK/YBwk=\r\n\r\n"
    );
    let requests = request.repeat(AT_ONCE);
    let (mut denied, mut piece) = (0, vec![0; 16 << 10]);
    while Instant::now() < end {
        stream.write_all(requests.as_bytes()).await.unwrap();
        let mut seen = 0;
        let mut tail = Vec::new();
        while seen < AT_ONCE {
            let count = stream.read(&mut piece).await.unwrap();
            assert!(count > 0, "closed");
            tail.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&tail);
            seen = text.matches("HTTP/1.1 500 ").count();
        }
        denied += seen as u64;
    }
    denied
}

#[test]
fn requests_with_bad_signatures_are_denied_and_heartbeats_stay() {
    let connections = size(100, 500);
    let stage = Stage::new(&[
        "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler",
        // All from one address, which has a quarter.
        &format!("jobtracker.http.max-connections={}", connections * 4),
    ]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let time = Duration::from_secs(2);
        let (alone, ()) = fleet.beats_while(4, sleep(time)).await;
        let before = stage.serving.resident_bytes();
        let (beside, denied) = fleet
            .beats_while(4, async {
                let mut asking = JoinSet::new();
                for number in 0..connections {
                    asking.spawn_local(ask(stage.serving.http, number, time));
                }
                asking.join_all().await.into_iter().sum::<u64>()
            })
            .await;
        let grown = stage.serving.resident_bytes().saturating_sub(before) >> 20;
        tell(format_args!("{TRACKERS} trackers alone: {alone}"));
        let in_flight = connections as usize * AT_ONCE;
        tell(format_args!(
            "beside {in_flight} bad requests in flight on {connections} connections, {denied} denied, {grown} MiB more: \
             {beside}"
        ));
        assert!(denied >= u64::from(connections) * AT_ONCE as u64);
        assert!(beside.longest_ms < LONG_MS);
        assert_eq!(stage.place.balance("alice").as_deref(), Some("100.0"), "nobody is paid for a bad signature");
    });
}
