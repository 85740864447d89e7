//! A job that has the daemon call somebody without end.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::attacker::{ask, connect, stage_job, try_submit};
use crate::stage::{Stage, run, size};
use crate::staging::JobFiles;
use crate::verdict::Attack;
use crate::victims::{VictimOptions, read_page, small_job};

use jobtracker::wire::protocol::{JobSubmissionCall, Protocol};

#[test]
fn calls_at_the_end_of_a_job_without_end() {
    let mut attack = Attack::on(Stage::fifo(&[]), "end notifications without end", &VictimOptions::default());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", target.local_addr().unwrap());
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    // Each is hung up on.
    std::thread::spawn(move || {
        for stream in target.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            drop(stream);
        }
    });
    let seconds = size(4, 20);
    attack.strike(|stage| {
        run(async {
            let properties = [
                ("job.end.notification.url", url.as_str()),
                ("job.end.retry.attempts", "2147483647"),
                ("job.end.retry.interval", "0"),
            ];
            let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            let files = JobFiles { properties, ..small_job(false) };
            let job = stage_job(stage.rpc, "mallory", &files).await.unwrap();
            if try_submit(stage.rpc, "mallory", &job).await.is_ok() {
                let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
                let _ = ask(&mut client, JobSubmissionCall::KillJob { job: Some(job.id) }).await;
            }
            tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
        });
    });
    let calls = calls.load(Ordering::Relaxed);
    eprintln!("hostile: {calls} connections within {seconds} s");
    attack.must(calls <= seconds + 2 && calls <= 11, || format!("{calls} connections within {seconds} s"));
    let lines =
        attack.stage.serving.log.text().lines().filter(|line| line.contains("notif") || line.contains(&url)).count();
    attack.must(lines <= 11, || format!("{lines} lines of log"));
    // Its user is shown it.
    let times = read_page(attack.stage.serving.http, "/scheduler/jobs?jobs").unwrap_or_default();
    attack.must(times.contains(r#""end_notification":"n"#), || format!("no word of it: {times}"));
    attack.close();
}
