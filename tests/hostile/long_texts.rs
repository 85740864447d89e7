//! Texts of clients that are far too long, or hold what has a meaning elsewhere.

use std::time::Duration;

use crate::attacker::{ask, beat, connect, stage_job, submit_from, try_submit};
use crate::stage::{Stage, run, size};
use crate::staging::JobFiles;
use crate::steady_tracker::{Ending, Slots, SteadyTracker};
use crate::verdict::{Attack, excerpt};
use crate::victims::{VictimOptions, small_job};

use jobtracker::wire::Credentials;
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};

fn with(name: &str, value: String) -> JobFiles {
    JobFiles { properties: vec![(name.to_owned(), value)], ..small_job(false) }
}

#[test]
fn names_of_jobs_without_end() {
    let mut attack = Attack::on(Stage::fifo(&[]), "job names of 5 MB", &VictimOptions::default());
    let (count, bytes) = (size(16, 40), 5_000_000);
    let longest = attack.strike(|stage| {
        run(async {
            let mut longest = 0;
            for number in 0..count {
                let files = with("mapred.job.name", format!("{number}{}", "n".repeat(bytes)));
                let job = stage_job(stage.rpc, "mallory", &files).await.unwrap();
                if try_submit(stage.rpc, "mallory", &job).await.is_err() {
                    continue;
                }
                let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
                let profile = ask(&mut client, JobSubmissionCall::GetJobProfile { job: Some(job.id) }).await;
                if let Ok(Value::JobProfile(Some(profile))) = profile {
                    longest = longest.max(profile.name.len());
                }
                let _ = ask(&mut client, JobSubmissionCall::KillJob { job: Some(job.id) }).await;
            }
            longest
        })
    });
    attack.must(longest <= 5 << 10, || format!("a name of {longest} bytes is kept"));
    let database = attack.stage.place.path("state");
    let bytes: u64 = std::fs::read_dir(database).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    attack.must(bytes < 32 << 20, || format!("the state has {} MiB", bytes >> 20));
    attack.close();
}

#[test]
fn credentials_without_end() {
    let mut attack = Attack::on(Stage::fifo(&[]), "credentials of 60 MB", &VictimOptions::default());
    let (count, bytes) = (size(2, 6), 60 << 20);
    let taken = attack.strike(|stage| {
        run(async {
            let mut taken = 0;
            for _ in 0..count {
                let job = stage_job(stage.rpc, "mallory", &small_job(false)).await.unwrap();
                let directory = format!("file:{}", job.folder.display());
                let credentials = Credentials { tokens: Vec::new(), secrets: vec![("s".into(), vec![7; bytes])] };
                let answer = submit_from(stage.rpc, "mallory", job.id, &directory, credentials).await;
                taken += u32::from(answer.is_ok());
            }
            taken
        })
    });
    attack.must(taken == 0, || format!("{taken} of {count} are taken"));
    attack.close();
}

#[test]
fn texts_of_jobs_without_end() {
    let mut attack = Attack::on(Stage::fifo(&[]), "other long texts of jobs", &VictimOptions::default());
    let taken = attack.strike(|stage| {
        run(async {
            let mut taken = Vec::new();
            for name in [
                "mapreduce.job.acl-view-job",
                "mapreduce.job.acl-modify-job",
                "job.end.notification.url",
                "mapreduce.workflow.id",
                "mapreduce.workflow.name",
                "mapreduce.workflow.node.name",
            ] {
                let job = stage_job(stage.rpc, "mallory", &with(name, "t".repeat(1 << 20))).await.unwrap();
                if try_submit(stage.rpc, "mallory", &job).await.is_ok() {
                    taken.push(name);
                }
            }
            taken
        })
    });
    attack.must(taken.is_empty(), || format!("taken: {taken:?}"));
    attack.close();
}

/// Begins a line of the log as the daemon does, if a line break in it stays one.
const FORGED: &str = "x\n2026-01-01T00:00:00.000Z  INFO forged by mallory\r\n\u{1b}[2Kforged\u{202e}";

#[test]
fn line_breaks_in_texts_of_clients() {
    let mut attack = Attack::on(Stage::fifo(&[]), "forged log lines", &VictimOptions::default());
    attack.strike(|stage| {
        run(async {
            for user in ["mallory", FORGED] {
                let Ok(mut client) = connect(stage.rpc, Protocol::JobSubmission, user).await else { continue };
                let _ = ask(&mut client, JobSubmissionCall::GetStagingAreaDir).await;
                let _ = ask(&mut client, JobSubmissionCall::GetQueueInfo { queue: Some(FORGED.to_owned()) }).await;
            }
            for name in ["mapred.job.name", "mapred.job.queue.name", "job.end.notification.url", "mapred.job.priority"]
            {
                let value = FORGED.replace('\u{1b}', "&#155;").replace('\n', "&#10;").replace('\r', "&#13;");
                let job = stage_job(stage.rpc, "mallory", &with(name, value)).await.unwrap();
                let _ = try_submit(stage.rpc, "mallory", &job).await;
                let mut client = connect(stage.rpc, Protocol::JobSubmission, FORGED).await.unwrap();
                let call = JobSubmissionCall::SetJobPriority { job: Some(job.id), priority: Some(FORGED.to_owned()) };
                let _ = ask(&mut client, call).await;
                let _ = ask(&mut client, JobSubmissionCall::KillJob { job: Some(job.id) }).await;
                let missing = format!("file:/{FORGED}/{}", job.id);
                let _ = submit_from(stage.rpc, FORGED, job.id, &missing, Credentials::default()).await;
            }
            for number in 0..4 {
                let mut request = SteadyTracker::new(400 + number, Slots::new(1, 1), Ending::Never).heartbeat();
                match number {
                    0 => request.status.name = format!("tracker_{FORGED}:h/1.2.3.4:5").as_str().into(),
                    1 => request.status.host = FORGED.into(),
                    2 => {
                        request.status.health.healthy = false;
                        request.status.health.report = FORGED.into();
                    }
                    _ => {}
                }
                let mut client = connect(stage.rpc, Protocol::InterTracker, "mapred").await.unwrap();
                let _ = beat(&mut client, request).await;
                let text = Some(FORGED.to_owned());
                let error = InterTrackerCall::ReportTaskTrackerError {
                    tracker: text.clone(),
                    error_class: text.clone(),
                    message: text,
                };
                let _ = client.call(&Call::InterTracker(error)).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        });
    });
    let log = attack.stage.serving.log.text();
    let forged = log.lines().find(|line| line.starts_with("2026-01-01") || line.trim_start().starts_with("forged"));
    attack.must(forged.is_none(), || format!("a line is forged: {}", excerpt(forged.unwrap_or_default())));
    let raw = log.lines().find(|line| line.contains(['\u{1b}', '\u{202e}', '\r']) && line.contains("forged"));
    attack
        .must(raw.is_none(), || format!("control characters stand in the log: {:?}", excerpt(raw.unwrap_or_default())));
    attack.close();
}
