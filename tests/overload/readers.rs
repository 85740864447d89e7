//! Clients that ask for much and do not read it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::job_client::JobClient;
use crate::stage::{LONG_MS, Stage, opening, size, tell};
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

use jobtracker::model::JobId;
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, encode_call};

const TRACKERS: u32 = 20;

async fn asked_for_reports(stage: &Stage, job: JobId) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // So that the answer does not lie in the kernel.
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(stage.rpc).await.unwrap();
    let mut bytes = opening(Protocol::JobSubmission);
    for id in 0..3 {
        encode_call(&mut bytes, id, &Call::JobSubmission(JobSubmissionCall::GetMapTaskReports { job: Some(job) }));
    }
    stream.write_all(&bytes).await.unwrap();
    stream
}

#[test]
fn who_does_not_read_is_cut_off_and_takes_bounded_memory() {
    let (maps, count) = (size(10_000, 100_000), size(60, 200));
    let stage = Stage::new(&["jobtracker.rpc.write-timeout-ms=2000"]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let mut client = JobClient::connect(stage.rpc, "load").await.unwrap();
        let shape = JobShape { maps, reduces: 0, reduces_start_early: false, holders: 0 };
        let job = client.stage(&shape.files()).await.unwrap();
        client.submit(&job).await.unwrap();
        fleet.beats_while(4, sleep(Duration::from_secs(1))).await;
        let (descriptors, before) = (stage.serving.descriptors(), stage.serving.resident_bytes());
        let (beats, most) = fleet
            .beats_while(4, async {
                let mut streams = Vec::new();
                for _ in 0..count {
                    streams.push(asked_for_reports(&stage, job.id).await);
                }
                // One takes a byte now and then.
                let mut slow = streams.pop().unwrap();
                tokio::task::spawn_local(async move {
                    while slow.read(&mut [0; 1]).await.is_ok_and(|count| count > 0) {
                        sleep(Duration::from_millis(200)).await;
                    }
                });
                let mut most = 0;
                for _ in 0..10 {
                    most = most.max(stage.serving.resident_bytes());
                    // Others are answered meanwhile.
                    client.status(job.id).await.unwrap();
                    sleep(Duration::from_millis(200)).await;
                }
                stage.wait_for_descriptors(descriptors).await;
                drop(streams);
                most
            })
            .await;
        let grown = most.saturating_sub(before) >> 20;
        tell(format_args!("{count} clients that read nothing of {maps} reports, {grown} MiB more memory: {beats}"));
        // What may be unread, and the answer at hand, as a list and as bytes.
        assert!(grown < 256 + u64::from(maps / 1_000) * 3, "{grown} MiB");
    });
}

#[test]
fn http_clients_that_do_not_read_or_do_not_write_are_cut_off() {
    let stage = Stage::new(&["jobtracker.http.header-timeout-ms=1000"]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let descriptors = stage.serving.descriptors();
        let (beats, ()) = fleet
            .beats_while(4, async {
                let connect = async |words: &str| {
                    let mut stream = TcpStream::connect(stage.serving.http).await.unwrap();
                    stream.write_all(words.as_bytes()).await.unwrap();
                    stream
                };
                let mut streams = Vec::new();
                for _ in 0..100 {
                    // Headers that do not come, a body that does not come, a request that repeats itself and reads nothing.
                    streams.push(connect("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX").await);
                    streams.push(
                        connect("POST /scheduler HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx")
                            .await,
                    );
                    // It has twenty seconds, which cannot be set.
                    if size(0, 1) == 1 {
                        streams.push(connect(&"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(500)).await);
                    }
                }
                // Each is answered, or not, and closed.
                for mut stream in streams {
                    let mut answer = Vec::new();
                    let closed = timeout(Duration::from_secs(40), stream.read_to_end(&mut answer)).await;
                    assert!(closed.is_ok(), "it keeps its place");
                }
                stage.wait_for_descriptors(descriptors).await;
            })
            .await;
        tell(format_args!("HTTP clients that are slow in every way: {beats}"));
        assert!(beats.longest_ms < LONG_MS);
    });
}
