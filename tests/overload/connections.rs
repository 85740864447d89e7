//! Thousands of connections that mean nothing.

use std::time::Duration;

use jobtracker::wire::protocol::Protocol;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::fleet::USUAL_SLOTS;
use crate::stage::{LONG_MS, Stage, opening, size, tell};
use crate::station::Station;
use crate::steady_tracker::Ending;

const TRACKERS: u32 = 50;
/// Of each.
const PER_SECOND: u32 = 4;

/// What a connection says before it falls silent.
fn words(number: u32) -> Vec<u8> {
    let mut client = opening(Protocol::JobSubmission);
    match number % 4 {
        0 => Vec::new(),
        1 => client,
        2 => b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        _ => {
            client.extend(100_i32.to_be_bytes());
            client.extend([0; 50]);
            client
        }
    }
}

async fn connect_all(stage: &Stage, count: u32) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for number in 0..count {
        let mut stream = TcpStream::connect(stage.rpc).await.unwrap();
        // The server may have closed it before the last word.
        let _ = stream.write_all(&words(number)).await;
        streams.push(stream);
    }
    streams
}

#[test]
fn connections_that_mean_nothing_leave_heartbeats_alone() {
    let count = size(2_000, 9_900);
    let stage = Stage::new(&["jobtracker.rpc.max-connections=10000"]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let (alone, ()) = fleet.beats_while(PER_SECOND, sleep(Duration::from_secs(2))).await;
        let (descriptors, resident) = (stage.serving.descriptors(), stage.serving.resident_bytes());
        let (coming, streams) = fleet.beats_while(PER_SECOND, connect_all(&stage, count)).await;
        let (beside, ()) = fleet.beats_while(PER_SECOND, sleep(Duration::from_secs(2))).await;
        let each = stage.serving.resident_bytes().saturating_sub(resident) / u64::from(count);
        tell(format_args!("{TRACKERS} trackers alone: {alone}"));
        tell(format_args!("while {count} connections come: {coming}"));
        tell(format_args!("beside them: {beside}; {each} bytes of memory for a connection"));
        assert!(coming.longest_ms < LONG_MS && beside.longest_ms < LONG_MS);
        assert!(each < 8_192, "{each} bytes for a connection that says nothing");
        assert!(stage.serving.descriptors() > descriptors + count as usize / 2, "those that may be right are open");
        drop(streams);
        stage.wait_for_descriptors(descriptors).await;
        let left = stage.serving.resident_bytes().saturating_sub(resident);
        tell(format_args!("gone again: all descriptors, {left} bytes stay with the allocator"));
    });
    assert_eq!(stage.serving.stop().0, 0);
}

#[test]
fn at_the_limit_trackers_go_on_and_one_that_comes_gets_the_place_of_a_silent_one() {
    let stage = Stage::new(&["jobtracker.rpc.max-connections=100"]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let (beats, ()) = fleet
            .beats_while(PER_SECOND, async {
                let mut silent = Vec::new();
                for _ in 0..80 {
                    silent.push(TcpStream::connect(stage.rpc).await.unwrap());
                }
                // Not closed at once, whether they have a place or wait for one.
                for stream in &mut silent {
                    let read = timeout(Duration::ZERO, stream.read(&mut [0; 1])).await;
                    assert!(read.is_err(), "{read:?}");
                }
                let late = async {
                    let mut station = Station::connect(stage.rpc, 999, USUAL_SLOTS, Ending::Never).await.unwrap();
                    station.beat().await.unwrap();
                };
                timeout(Duration::from_secs(30), late).await.expect("the silent ones keep their places");
            })
            .await;
        tell(format_args!("all places taken: {beats}"));
        assert!(beats.longest_ms < LONG_MS);
    });
}

#[test]
fn few_descriptors_make_few_places_and_files_can_still_be_opened() {
    let stage = Stage::limited("ulimit -n 400", &[]);
    assert!(
        stage.serving.log.text().contains("only 400 file descriptors are available"),
        "{}",
        stage.serving.log.text()
    );
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Soon).await;
        let (beats, streams) = fleet
            .beats_while(PER_SECOND, async {
                let mut client = crate::job_client::JobClient::connect(stage.rpc, "load").await.unwrap();
                let mut streams = Vec::new();
                for _ in 0..600 {
                    streams.push(TcpStream::connect(stage.rpc).await.unwrap());
                }
                let shape = crate::staging::JobShape { maps: 10, reduces: 1, reduces_start_early: false, holders: 0 };
                let job = client.stage(&shape.files()).await.unwrap();
                client.submit(&job).await.unwrap();
                while !client.has_succeeded(job.id).await.unwrap() {
                    sleep(Duration::from_millis(50)).await;
                }
                streams
            })
            .await;
        tell(format_args!("400 descriptors, {} connections: {beats}", streams.len()));
        assert!(stage.serving.descriptors() < 400, "the last ones are for files");
        assert!(beats.longest_ms < LONG_MS);
        assert!(!stage.serving.log.text().contains("cannot accept connections"), "{}", stage.serving.log.text());
    });
}
