//! All trackers come back at once after a crash, each with the report it could not send.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::fleet::USUAL_SLOTS;
use crate::job_client::JobClient;
use crate::latencies::Latencies;
use crate::stage::{place, size, start, tell, turn};
use crate::staging::JobShape;
use crate::steady_tracker::{Ending, SteadyTracker};

use jobtracker::ipc::client::IpcClient;
use jobtracker::wire::Action;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};

async fn beat(client: &mut IpcClient, tracker: &mut SteadyTracker) -> bool {
    let request = Box::new(tracker.heartbeat());
    match client.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await {
        Ok(Value::Heartbeat(answer)) => {
            assert!(!answer.actions.contains(&Action::ReinitTracker), "its work would be lost");
            tracker.obey(&answer);
            true
        }
        _ => false,
    }
}

#[test]
fn all_trackers_come_back_at_once_and_are_answered() {
    let count = size(400, 4_000);
    let _turn = turn();
    // A port that the second daemon gets again.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut place = place(&["mapred.jobtracker.restart.recover=true"]);
    place.overrides.push(format!("mapred.job.tracker={port}"));
    crate::stage::run(async {
        let serving = start(&place, "");
        let rpc = serving.rpc();
        let mut job_client = JobClient::connect(rpc, "load").await.unwrap();
        let shape = JobShape { maps: count * 4, reduces: 0, reduces_start_early: false, holders: 0 };
        let job = job_client.stage(&shape.files()).await.unwrap();
        job_client.submit(&job).await.unwrap();
        let mut trackers = Vec::new();
        for number in 0..count {
            let mut client = IpcClient::connect(rpc, Protocol::InterTracker, "load").await.unwrap();
            let mut tracker = SteadyTracker::new(number, USUAL_SLOTS, Ending::Never);
            for _ in 0..4 {
                assert!(beat(&mut client, &mut tracker).await);
            }
            trackers.push((client, tracker));
        }
        serving.kill();
        let restarted = Instant::now();
        let mut storm = JoinSet::new();
        for (client, mut tracker) in trackers {
            drop(client);
            storm.spawn_local(async move {
                let mut tries = 0;
                loop {
                    tries += 1;
                    let asked = Instant::now();
                    let Ok(mut client) = IpcClient::connect(rpc, Protocol::InterTracker, "load").await else {
                        // As a stock tracker waits.
                        sleep(Duration::from_millis(500)).await;
                        continue;
                    };
                    if beat(&mut client, &mut tracker).await {
                        return (tries, asked.elapsed(), restarted.elapsed(), client, tracker);
                    }
                }
            });
        }
        let serving = tokio::task::spawn_blocking(move || (start(&place, ""), place)).await.unwrap();
        let (serving, _place) = serving;
        let open = restarted.elapsed();
        let (mut tries, mut latencies, mut last) = (0, Latencies::default(), Duration::ZERO);
        let mut back = Vec::new();
        let all = async {
            while let Some(done) = storm.join_next().await {
                let (tried, took, at, client, tracker) = done.unwrap();
                (tries, last) = (tries.max(tried), last.max(at));
                latencies.add(took);
                back.push((client, tracker));
            }
        };
        timeout(Duration::from_secs(60), all).await.expect("not all are back");
        let cpu = serving.cpu().as_millis() as u64;
        for (client, tracker) in &mut back {
            assert!(beat(client, tracker).await, "the second heartbeat");
        }
        let [p50, p99, longest] = latencies.quantiles_us([500, 990, 1000]).map(|us| us.unwrap() / 1_000);
        tell(format_args!(
            "{count} trackers back {last:?} after a kill, the port open after {open:?}; connected and answered in p50 \
             {p50} ms, p99 {p99} ms, longest {longest} ms; {cpu} ms of CPU, most tries {tries}"
        ));
        let status = JobClient::connect(rpc, "load").await.unwrap().status(job.id).await.unwrap();
        assert!(!serving.log.text().contains("lost"), "{}", serving.log.text());
        assert_eq!(status.id, job.id);
        assert_eq!(serving.stop().0, 0);
    });
}
