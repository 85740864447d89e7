//! Little memory, and those who would take all of it: the limit is a quarter of what they announce or send.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::fleet::USUAL_SLOTS;
use crate::job_client::JobClient;
use crate::stage::{Stage, opening, size, tell};
use crate::staging::{JobFiles, JobShape};
use crate::steady_tracker::{Ending, SteadyTracker};

use jobtracker::ipc::client::IpcClient;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use jobtracker::wire::{Counter, CounterGroup, Counters, HeartbeatRequest, ReportedCounters};

const TRACKERS: u32 = 20;
/// Address space, kB: what threads and libraries map counts, too, and what the allocator has reserved and does not use.
const LIMIT: &str = "ulimit -v 6000000";

/// Sends as much as the server takes, and keeps the connection.
async fn send_half(stage: &Stage, protocol: Protocol, announced: i32, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(stage.rpc).await.unwrap();
    let mut bytes = opening(protocol);
    bytes.extend(announced.to_be_bytes());
    bytes.resize(bytes.len() + sent, 0);
    // One that is given up, or waits, has said enough.
    let _ = timeout(Duration::from_millis(50), stream.write_all(&bytes)).await;
    stream
}

#[test]
fn frames_that_promise_gigabytes_take_next_to_nothing() {
    let (promises, halves) = (size(200, 1_000), size(60, 400));
    let stage = Stage::limited(LIMIT, &[]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let before = stage.serving.resident_bytes();
        let (beats, most) = fleet
            .beats_while(4, async {
                let mut refused = 0;
                for _ in 0..promises {
                    let mut stream = send_half(&stage, Protocol::JobSubmission, i32::MAX, 100).await;
                    let mut words = Vec::new();
                    let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut words)).await.expect("not closed");
                    refused += u32::from(String::from_utf8_lossy(&words).contains("jobtracker.rpc.max-frame-bytes"));
                }
                assert!(refused > promises / 2, "{refused} were told why");
                let mut streams = Vec::new();
                let mut most = 0;
                for number in 0..halves {
                    let protocol = if number % 4 == 0 { Protocol::InterTracker } else { Protocol::JobSubmission };
                    streams.push(send_half(&stage, protocol, 64 << 20, 16 << 20).await);
                    most = most.max(stage.serving.resident_bytes());
                }
                // Who has something short to say is heard.
                JobClient::connect(stage.rpc, "load").await.unwrap();
                most
            })
            .await;
        let (grown, sent) = (most.saturating_sub(before) >> 20, halves * 16);
        tell(format_args!("{halves} half-sent calls of {sent} MiB together: {grown} MiB more memory: {beats}"));
        // A buffer that grows is there twice for a moment.
        assert!(grown < 128 + 512 + 200, "{grown} MiB");
    });
    assert_eq!(stage.serving.stop().0, 0);
}

#[test]
fn jobs_beyond_the_room_for_tasks_and_files_that_are_too_long_are_refused_by_the_limits_name() {
    let (maps, jobs) = (size(5_000, 100_000), size(20, 100));
    let most = maps * 8;
    let stage = Stage::limited(LIMIT, &[&format!("jobtracker.max-tasks={most}")]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let (beats, ()) = fleet
            .beats_while(4, async {
                let mut client = JobClient::connect(stage.rpc, "load").await.unwrap();
                let shape = JobShape { maps, reduces: 0, reduces_start_early: false, holders: 0 };
                let staged = client.stage_many(jobs, &shape).await.unwrap();
                let mut submissions = tokio::task::JoinSet::new();
                for job in staged {
                    let rpc = stage.rpc;
                    submissions.spawn_local(async move {
                        let mut client = JobClient::connect(rpc, "load").await.unwrap();
                        client.submit(&job).await.map_err(|error| format!("{error:#}"))
                    });
                }
                let outcomes = submissions.join_all().await;
                let refused: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
                assert_eq!(refused.len() as u32, jobs - 7, "{refused:?}");
                assert!(refused.iter().all(|text| text.contains("jobtracker.max-tasks")), "{refused:?}");
                // job.xml of 6 MB.
                let long = ("x".to_owned(), "y".repeat(6 << 20));
                let files = JobFiles { splits: vec![Vec::new()], reduces: 0, properties: vec![long] };
                let job = client.stage(&files).await.unwrap();
                let refused = format!("{:#}", client.submit(&job).await.unwrap_err());
                assert!(refused.contains("mapred.user.jobconf.limit"), "{refused}");
            })
            .await;
        let resident = stage.serving.resident_bytes() >> 20;
        tell(format_args!("{jobs} jobs of {maps} maps where 8 fit, {resident} MiB of memory: {beats}"));
    });
    assert_eq!(stage.serving.stop().0, 0);
}

/// A heartbeat whose tasks say too much.
fn talkative(tracker: &mut SteadyTracker, round: u32) -> HeartbeatRequest {
    let mut request = tracker.heartbeat();
    for task in &mut request.status.tasks {
        let counter = |number: u32| Counter {
            name: format!("counter {round} {number} {}", "n".repeat(200)).into(),
            display_name: None,
            value: 1,
        };
        let counters = (0..2_000).map(counter).collect();
        let group = CounterGroup { name: format!("group {round}").into(), display_name: "g".into(), counters };
        task.counters = Some(ReportedCounters::from(&Counters { groups: vec![group] }));
        task.diagnostics = "d".repeat(200_000).as_str().into();
        task.state_text = "s".repeat(60_000).as_str().into();
    }
    request
}

#[test]
fn heartbeats_that_say_too_much_are_answered_and_little_of_it_is_kept() {
    let rounds = size(20, 200);
    let stage = Stage::limited(LIMIT, &[]);
    crate::stage::run(async {
        let fleet = stage.trackers(TRACKERS, Ending::Never).await;
        let mut client = JobClient::connect(stage.rpc, "load").await.unwrap();
        let shape = JobShape { maps: 200, reduces: 0, reduces_start_early: false, holders: 0 };
        let job = client.stage(&shape.files()).await.unwrap();
        client.submit(&job).await.unwrap();
        let mut ipc = IpcClient::connect(stage.rpc, Protocol::InterTracker, "load").await.unwrap();
        let mut tracker = SteadyTracker::new(9_999, USUAL_SLOTS, Ending::Never);
        let (beats, (first, last)) = fleet
            .beats_while(4, async {
                let mut resident = Vec::new();
                for round in 0..rounds {
                    let request = Box::new(talkative(&mut tracker, round));
                    let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
                    let Value::Heartbeat(answer) = ipc.call(&call).await.unwrap() else { panic!("no answer") };
                    tracker.obey(&answer);
                    resident.push(stage.serving.resident_bytes() >> 20);
                    sleep(Duration::from_millis(20)).await;
                }
                (resident[resident.len() / 2], *resident.last().unwrap())
            })
            .await;
        tell(format_args!(
            "{rounds} heartbeats of 8,000 counters and a MB of text, {first} MiB half-way, {last} MiB at the end: {beats}"
        ));
        assert!(last < first + 40, "{first} MiB half-way, {last} MiB at the end");
    });
    assert_eq!(stage.serving.stop().0, 0);
}
