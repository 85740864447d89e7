//! Who says that it is a tracker that another one is, or none that the cluster knows.

use std::net::SocketAddr;
use std::time::Duration;

use crate::attacker::{ask, beat, connect, is_disallowed, relay_from};
use crate::stage::{Stage, run, size};
use crate::steady_tracker::{Ending, Slots, SteadyTracker};
use crate::verdict::{Attack, excerpt};
use crate::victims::{TRACKER, VictimOptions};

use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{AttemptState, JobId, Kind};
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Action, HeartbeatResponse, Phase, RecordRange, TaskStatus, Text};

const SLOTS: Slots = Slots::new(4, 2);

async fn jobs(stage: &Stage) -> Vec<JobId> {
    let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
    match ask(&mut client, JobSubmissionCall::GetAllJobs).await.unwrap() {
        Value::JobStatuses(statuses) => statuses.iter().map(|status| status.id).collect(),
        other => panic!("{other:?}"),
    }
}

/// Successes of maps that clients are told of; housekeeping has no such events.
async fn successes(stage: &Stage, jobs: &[JobId]) -> usize {
    let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
    let mut count = 0;
    for job in jobs {
        let call = JobSubmissionCall::GetTaskCompletionEvents { job: Some(*job), from: 0, max: 10 };
        let Value::CompletionEvents(events) = ask(&mut client, call).await.unwrap() else { panic!("no events") };
        count += events.iter().filter(|event| event.is_map && event.attempt.task.number == 0).count();
    }
    count
}

fn success(job: JobId) -> TaskStatus {
    TaskStatus {
        attempt: job.task(Kind::Map, 0).attempt(0),
        progress: 1.0,
        num_slots: 1,
        state: AttemptState::Succeeded,
        diagnostics: Text::default(),
        state_text: Text::default(),
        phase: Phase::Map,
        start_ms: 1_795_252_000_000,
        finish_ms: 1_795_252_030_000,
        output_bytes: 1,
        counters: None,
        next_record_range: RecordRange::default(),
        reduce: None,
    }
}

/// What the impostor learned and was given.
#[derive(Default)]
struct Haul {
    heard: usize,
    launches: usize,
}

async fn impersonate(
    rpc: SocketAddr,
    haul: &mut Haul,
    response_id: i16,
    reports: Vec<TaskStatus>,
) -> Option<HeartbeatResponse> {
    let mut client = connect(rpc, Protocol::InterTracker, "mapred").await.ok()?;
    let mut request = SteadyTracker::new(TRACKER, SLOTS, Ending::Never).heartbeat();
    request.initial_contact = false;
    request.restarted = false;
    request.accept_new_tasks = true;
    request.response_id = response_id;
    request.status.tasks = reports;
    let answer = beat(&mut client, request).await;
    if is_disallowed(&answer) {
        return None;
    }
    haul.heard += 1;
    let answer = answer.ok()?;
    haul.launches += answer.actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count();
    Some(answer)
}

#[test]
fn a_second_tracker_of_a_name_that_is_heard() {
    let wanted = VictimOptions { never_ends: true, ..VictimOptions::default() };
    let mut attack = Attack::on(Stage::fifo(&[]), "a second tracker of a name", &wanted);
    let (haul, ended) = attack.strike(|stage| {
        run(async {
            let mut haul = Haul::default();
            let jobs = jobs(stage).await;
            let before = successes(stage, &jobs).await;
            for round in 0..size(1, 5) {
                // A wrong id asks for the last answer, which holds the right one.
                let told = impersonate(stage.rpc, &mut haul, 12_345 + round as i16, Vec::new()).await;
                let Some(answer) = told else { continue };
                let reports = jobs.iter().take(8).map(|job| success(*job)).collect();
                impersonate(stage.rpc, &mut haul, answer.response_id, reports).await;
            }
            (haul, successes(stage, &jobs).await - before)
        })
    });
    attack.must(haul.heard == 0, || format!("heard {} times, given {} tasks", haul.heard, haul.launches));
    attack.must(ended == 0, || format!("{ended} attempts of the other one ended"));
    attack.close();
}

/// Stock trackers do so whose network broke: disallowed, they would end for good.
#[test]
fn a_tracker_whose_connection_broke_comes_back_on_another() {
    let mut attack = Attack::on(Stage::fifo(&[]), "a tracker that comes back", &VictimOptions::default());
    let outcome = attack.strike(|stage| run(come_back(stage.rpc)));
    attack.must(outcome.is_ok(), || outcome.unwrap_err().to_string());
    attack.close();
}

async fn come_back(rpc: SocketAddr) -> anyhow::Result<()> {
    let mut tracker = SteadyTracker::new(77, SLOTS, Ending::Soon);
    for _ in 0..3 {
        let mut client = IpcClient::connect(rpc, Protocol::InterTracker, "mapred").await?;
        for _ in 0..3 {
            let answer = beat(&mut client, tracker.heartbeat()).await?;
            anyhow::ensure!(!answer.actions.contains(&Action::ReinitTracker), "told to register again");
            tracker.obey(&answer);
        }
        // The connection ends without a word.
    }
    Ok(())
}

#[test]
fn trackers_that_the_list_does_not_know() {
    let mut place = crate::stage::place(&["jobtracker.trackers.admit=listed"]);
    std::fs::write(place.path("etc/hosts"), "localhost\n").unwrap();
    place.overrides.push(format!("mapred.hosts={}", place.path("etc/hosts").display()));
    let wanted = VictimOptions { is_signed: true, tracker_host: Some("localhost"), ..VictimOptions::default() };
    let mut attack = Attack::on(Stage::around(place), "trackers beside the list", &wanted);
    let (taken, launches) = attack.strike(|stage| {
        // From an address that no listed host has.
        let elsewhere = relay_from([127, 0, 0, 2], stage.rpc);
        run(async {
            let (mut taken, mut launches) = (Vec::new(), 0);
            for (rpc, host) in [(stage.rpc, "stranger.example.com"), (elsewhere, "localhost"), (elsewhere, "127.0.0.1")]
            {
                let mut tracker = SteadyTracker::new(300, Slots::new(100_000, 100_000), Ending::Never);
                let mut client = connect(rpc, Protocol::InterTracker, "mapred").await.unwrap();
                for _ in 0..size(10, 40) {
                    let mut request = tracker.heartbeat();
                    request.status.host = host.into();
                    request.status.name = format!("tracker_{host}:localhost/127.0.0.1:1").as_str().into();
                    let answer = beat(&mut client, request).await;
                    let Ok(answer) = answer else {
                        if !is_disallowed(&answer) {
                            taken.push(format!("{host}: {}", excerpt(&format!("{answer:?}"))));
                        }
                        break;
                    };
                    if taken.last().map(String::as_str) != Some(host) {
                        taken.push(host.to_owned());
                    }
                    launches += tracker.obey(&answer).launched;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            (taken, launches)
        })
    });
    attack.must(taken.is_empty(), || format!("taken in: {taken:?}, given {launches} tasks"));
    attack.close();
}
