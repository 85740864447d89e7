//! Many clients that ask how their job fares: first as stock ones do, then as fast as they get answers.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::job_client::JobClient;
use crate::stage::{LONG_MS, Stage, size, tell};
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

use jobtracker::model::JobId;
use jobtracker::wire::protocol::{JobSubmissionCall, Value};

/// What one client asks each time.
async fn look(client: &mut JobClient, job: JobId) {
    client.status(job).await.unwrap();
    let events = JobSubmissionCall::GetTaskCompletionEvents { job: Some(job), from: 0, max: 10 };
    assert!(matches!(client.call(events).await.unwrap(), Value::CompletionEvents(_)));
}

/// Has all clients look for so long, with that pause between; how often they did, and the longest time one took.
async fn look_for(clients: &mut Vec<JobClient>, job: JobId, time: Duration, pause: Duration) -> (u64, Duration) {
    let (looks, longest) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(Duration::ZERO)));
    let mut looking = JoinSet::new();
    let (start, count) = (Instant::now(), clients.len() as u32);
    for (number, mut client) in (0..count).zip(clients.drain(..)) {
        let (looks, longest) = (looks.clone(), longest.clone());
        looking.spawn_local(async move {
            sleep(pause * number / count).await;
            while start.elapsed() < time {
                let asked = Instant::now();
                look(&mut client, job).await;
                looks.set(looks.get() + 1);
                longest.set(longest.get().max(asked.elapsed()));
                sleep(pause).await;
            }
            client
        });
    }
    while let Some(client) = looking.join_next().await {
        clients.push(client.unwrap());
    }
    (looks.get(), longest.get())
}

#[test]
fn clients_that_ask_all_the_time_are_slowed_and_heartbeats_go_first() {
    let (count, trackers) = (size(200, 1_000), size(40, 200));
    let time = Duration::from_secs(2);
    let stage = Stage::new(&[]);
    crate::stage::run(async {
        let fleet = stage.trackers(trackers, Ending::Never).await;
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(JobClient::connect(stage.rpc, "load").await.unwrap());
        }
        let shape = JobShape { maps: trackers * 4, reduces: 0, reduces_start_early: false, holders: 0 };
        let job = clients[0].stage(&shape.files()).await.unwrap();
        clients[0].submit(&job).await.unwrap();
        let (alone, ()) = fleet.beats_while(2, sleep(time)).await;
        let second = Duration::from_secs(1);
        let (stock, (looks, longest)) = fleet.beats_while(2, look_for(&mut clients, job.id, time, second)).await;
        let before = stage.serving.cpu();
        let (fast, (many, slowest)) = fleet.beats_while(2, look_for(&mut clients, job.id, time, Duration::ZERO)).await;
        tell(format_args!("{trackers} trackers alone: {alone}"));
        tell(format_args!("beside {count} stock clients, {looks} looks, longest {longest:?}: {stock}"));
        tell(format_args!(
            "beside {count} clients without pause, {many} looks, longest {slowest:?}, {:?} of CPU: {fast}",
            stage.serving.cpu() - before
        ));
        assert!(many > u64::from(count), "every one was answered");
        assert!(fast.longest_ms < LONG_MS);
    });
}
