//! Hosts of splits that nobody has.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::attacker::{ask, connect, stage_job, try_submit};
use crate::stage::{Stage, run, size};
use crate::staging::{JobFiles, signed};
use crate::verdict::Attack;
use crate::victims::{VictimOptions, next_timestamp};

use jobtracker::market::Key;
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol};

const SPLITS: u32 = 50;

/// A job whose input lies on so many hosts, none of them anybody's; addresses, so that no name server is asked.
fn job_on(hosts: u32, first: u32, properties: Vec<(String, String)>) -> JobFiles {
    let host = |number: u32| {
        let [_, a, b, c] = (first + number).to_be_bytes();
        format!("172.{a}.{b}.{c}")
    };
    let of_split = |split: u32| (0..hosts / SPLITS).map(|number| host(split * (hosts / SPLITS) + number)).collect();
    JobFiles { splits: (0..SPLITS).map(of_split).collect(), reduces: 0, properties }
}

#[test]
fn hosts_under_a_topology_script() {
    let mut place = crate::stage::place(&[]);
    let script = place.path("etc/racks");
    std::fs::write(&script, "#!/bin/sh\nsleep 0.2\nfor host; do echo /default-rack; done\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    place.overrides.push(format!("topology.script.file.name={}", script.display()));
    let wanted = VictimOptions { is_signed: true, ..VictimOptions::default() };
    let mut attack = Attack::on(Stage::around(place), "made-up hosts under a topology script", &wanted);
    let hosts = size(6_000, 200_000);
    attack.strike(|stage| {
        run(async {
            let mut attackers = tokio::task::JoinSet::new();
            for number in 0..34 {
                // Most are unsigned; some bob has signed.
                let (user, properties) = match number % 12 {
                    0 => ("bob", signed("bob", &Key::new("bobkey"), &next_timestamp())),
                    _ => ("mallory", Vec::new()),
                };
                let job = stage_job(stage.rpc, user, &job_on(hosts, number * 300_000, properties)).await.unwrap();
                let rpc = stage.rpc;
                attackers.spawn_local(async move {
                    // Then the attacker is gone.
                    let _ = tokio::time::timeout(Duration::from_secs(2), try_submit(rpc, user, &job)).await;
                });
            }
            attackers.join_all().await;
        });
    });
    attack.close();
}

#[test]
fn hosts_that_stay_when_their_jobs_are_gone() {
    let mut attack = Attack::on(Stage::fifo(&[]), "made-up hosts of jobs that are gone", &VictimOptions::default());
    let (jobs, hosts) = (size(4, 20), size(5_000, 50_000));
    attack.strike(|stage| {
        run(async {
            for number in 0..jobs {
                let files = job_on(hosts, number * hosts, Vec::new());
                let job = stage_job(stage.rpc, "mallory", &files).await.unwrap();
                let _ = try_submit(stage.rpc, "mallory", &job).await;
                let mut client = connect(stage.rpc, Protocol::JobSubmission, "mallory").await.unwrap();
                let _ = ask(&mut client, JobSubmissionCall::KillJob { job: Some(job.id) }).await;
            }
        });
    });
    let done = run(crate::attacker::has_honest_job_done(attack.stage.rpc, false));
    attack.must(done.is_ok(), || format!("an honest job: {done:?}"));
    attack.close();
}
