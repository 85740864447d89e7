//! Trackers that say far too much.

use crate::attacker::{ask, beat, connect, is_disallowed, stage_job};
use crate::stage::{Stage, run, size};
use crate::steady_tracker::{Ending, Slots, SteadyTracker};
use crate::verdict::{Attack, excerpt};
use crate::victims::{VictimOptions, small_job};

use jobtracker::ipc::client::IpcError;
use jobtracker::model::{AttemptState, JobId, Kind};
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Phase, RecordRange, TaskStatus, Text};

const SLOTS: Slots = Slots::new(2, 2);

#[test]
fn names_of_trackers_without_end() {
    let mut attack = Attack::on(Stage::fifo(&[]), "names of 10 MB", &VictimOptions::default());
    let (count, bytes) = (size(8, 100), 10 << 20);
    let refused = attack.strike(|stage| {
        run(async {
            let mut refused = 0;
            for number in 0..count {
                let mut request = SteadyTracker::new(1_000 + number, SLOTS, Ending::Never).heartbeat();
                let long = format!("{number}{}", "x".repeat(bytes));
                match number % 2 {
                    0 => request.status.name = long.as_str().into(),
                    _ => request.status.host = long.as_str().into(),
                }
                let Ok(mut client) = connect(stage.rpc, Protocol::InterTracker, "mapred").await else { continue };
                let answer = beat(&mut client, request).await;
                refused += u32::from(is_disallowed(&answer));
            }
            refused
        })
    });
    attack.must(refused == count, || format!("{} of {count} were taken in", count - refused));
    let page = crate::victims::read_page(attack.stage.serving.http, "/");
    attack.must(page.as_ref().is_ok_and(|page| page.len() < 1 << 20), || match &page {
        Ok(page) => format!("the start page has {} MB", page.len() >> 20),
        Err(error) => format!("the start page: {}", excerpt(&error.to_string())),
    });
    attack.close();
}

#[test]
fn a_heartbeat_of_reports_without_end() {
    let mut attack = Attack::on(Stage::fifo(&[]), "a heartbeat of many reports", &VictimOptions::default());
    let count = size(50_000, 500_000) as i32;
    let answer = attack.strike(|stage| {
        run(async {
            let job = stage_job(stage.rpc, "mallory", &small_job(false)).await.unwrap();
            let mut client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap();
            let mut tracker = SteadyTracker::new(2_000, SLOTS, Ending::Never);
            let first = beat(&mut client, tracker.heartbeat()).await.unwrap();
            tracker.obey(&first);
            let mut request = tracker.heartbeat();
            // Attempts of jobs that are known, and of jobs that never were.
            request.status.tasks = (0..count).map(|number| report(job.id, number)).collect();
            beat(&mut client, request).await.map(drop)
        })
    });
    // Refused as a whole or read in part: a heartbeat that is too long may break its connection, and nothing else.
    let told = format!("{answer:?}");
    attack.must(!told.contains("Timeout"), || format!("the heartbeat: {}", excerpt(&told)));
    attack.close();
}

/// A map that runs, of a job nearby.
fn report(near: JobId, number: i32) -> TaskStatus {
    let job = JobId::new(near.identifier, near.number + number % 3);
    TaskStatus {
        attempt: job.task(Kind::Map, number).attempt(0),
        progress: 0.5,
        num_slots: 1,
        state: AttemptState::Running,
        diagnostics: Text::default(),
        state_text: Text::default(),
        phase: Phase::Map,
        start_ms: 1_795_252_000_000,
        finish_ms: 0,
        output_bytes: -1,
        counters: None,
        next_record_range: RecordRange::default(),
        reduce: None,
    }
}

/// The map slots that clients see.
async fn map_slots(stage: &Stage) -> i32 {
    let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
    match ask(&mut client, JobSubmissionCall::GetClusterStatus { detailed: false }).await {
        Ok(Value::ClusterStatus(status)) => status.max_map_slots,
        other => panic!("{other:?}"),
    }
}

/// Trackers that call once over one connection, with slots of their own making; those that were taken in.
async fn call_once(stage: &Stage, count: u32, slots: i32, trackers: &mut Vec<SteadyTracker>) {
    let mut client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap();
    if trackers.is_empty() {
        trackers.extend((0..count).map(|number| SteadyTracker::new(10_000 + number, SLOTS, Ending::Never)));
    }
    for tracker in trackers {
        let mut request = tracker.heartbeat();
        (request.status.max_map_slots, request.status.max_reduce_slots) = (slots, slots);
        request.accept_new_tasks = false;
        match beat(&mut client, request).await {
            Ok(answer) => drop(tracker.obey(&answer)),
            // It may be disallowed, as one that makes things up.
            Err(IpcError::Remote { fatal: false, .. }) => {}
            Err(_) => client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap(),
        }
    }
}

#[test]
fn slots_that_nobody_has() {
    let mut attack =
        Attack::on(Stage::market(&[]), "made-up slots", &VictimOptions { is_signed: true, ..VictimOptions::default() });
    let count = size(400, 43_100);
    let (before, after, with_newcomer) = attack.strike(|stage| {
        run(async {
            let before = map_slots(stage).await;
            let mut trackers = Vec::new();
            call_once(stage, count, i32::MAX, &mut trackers).await;
            call_once(stage, count, 0, &mut trackers).await;
            let after = map_slots(stage).await;
            // An operator adds a machine beside them.
            let mut client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap();
            let mut newcomer = SteadyTracker::new(9_000, SLOTS, Ending::Soon);
            let answer = beat(&mut client, newcomer.heartbeat()).await;
            if let Ok(answer) = answer {
                newcomer.obey(&answer);
            }
            (before, after, map_slots(stage).await)
        })
    });
    attack.must(before == after, || format!("{after} map slots instead of {before}"));
    attack.must(with_newcomer == after + 2, || format!("{with_newcomer} map slots with a new tracker's two"));
    let taken = run(crate::attacker::has_honest_job_done(attack.stage.rpc, true));
    attack.must(taken.is_ok(), || format!("an honest job: {taken:?}"));
    attack.close();
}

/// Names cost a caller nothing, so those who ask for tokens under many lose their own.
#[test]
fn tokens_of_made_up_names() {
    let mut attack = Attack::on(Stage::fifo(&[]), "tokens of made-up names", &VictimOptions::default());
    let count = size(50, 10_100);
    let honest = attack.strike(|stage| {
        run(async {
            let token = || JobSubmissionCall::GetDelegationToken { renewer: Some("mapred".into()) };
            for number in 0..count {
                let name = if number % 2 == 0 { "greedy-a".to_owned() } else { format!("made-up-{number}") };
                let mut client = connect(stage.rpc, Protocol::JobSubmission, &name).await.unwrap();
                let _ = ask(&mut client, token()).await;
            }
            let mut client = connect(stage.rpc, Protocol::JobSubmission, "alice").await.unwrap();
            ask(&mut client, token()).await
        })
    });
    attack.must(matches!(honest, Ok(Value::Token(Some(_)))), || format!("an honest user's token: {honest:?}"));
    attack.close();
}

#[test]
fn trackers_that_share_a_host() {
    let mut attack = Attack::on(Stage::fifo(&[]), "trackers that share a host", &VictimOptions::default());
    let count = size(1_500, 6_000);
    let (first, last) = attack.strike(|stage| {
        run(async {
            let mut client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap();
            let part = count / 5;
            let (mut first, mut last) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
            for number in 0..count {
                let began = stage.serving.cpu();
                let mut request = SteadyTracker::new(60_000 + number, SLOTS, Ending::Never).heartbeat();
                request.status.host = "shared.example.com".into();
                if beat(&mut client, request).await.is_err() {
                    client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap();
                }
                match number {
                    number if number < part => first += stage.serving.cpu() - began,
                    number if number >= count - part => last += stage.serving.cpu() - began,
                    _ => {}
                }
            }
            (first, last)
        })
    });
    eprintln!("hostile: the first fifth of {count} trackers of one host took {first:?}, the last {last:?}");
    attack.must(last < first * 3, || format!("the first fifth took {first:?}, the last {last:?}"));
    attack.close();
}
