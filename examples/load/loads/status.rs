//! getJobStatus.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Bench, WARM_UP};
use crate::arguments::Status;
use crate::job_client::{JobClient, StagedJob};
use crate::latencies::Latencies;
use crate::row::Row;
use crate::staging::JobShape;

const LOOKED_AT: u32 = 20;

pub async fn run(bench: &Bench, arguments: &Status) -> anyhow::Result<Vec<Row>> {
    let &Status { clients, seconds } = arguments;
    let shape = JobShape { maps: 10, reduces: 1, reduces_start_early: true, holders: 0 };
    let mut client = bench.client().await?;
    let staged = client.stage_many(LOOKED_AT, &shape).await?;
    bench.submit_all(&mut client, &staged).await?;
    let mut connected = Vec::new();
    for _ in 0..clients {
        connected.push(bench.client().await?);
    }
    let (connected, _) = ask(connected, &staged, WARM_UP).await?;
    let start = bench.mark()?;
    let (_, mut latencies) = ask(connected, &staged, Duration::from_secs(seconds)).await?;
    let (cpu_us, took) = start.until(bench.mark()?);
    let row = bench.row("status", format!("{clients} clients"), "getJobStatus", latencies.count());
    Ok(vec![row.cost(cpu_us, took).latencies(&mut latencies)])
}

/// Has all clients ask for so long.
async fn ask(
    clients: Vec<JobClient>,
    jobs: &[StagedJob],
    time: Duration,
) -> anyhow::Result<(Vec<JobClient>, Latencies)> {
    let end = Instant::now() + time;
    let mut running = JoinSet::new();
    for mut client in clients {
        let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
        running.spawn_local(async move {
            let mut latencies = Latencies::default();
            for id in ids.iter().cycle() {
                let sent = Instant::now();
                if sent >= end {
                    break;
                }
                client.status(*id).await?;
                latencies.add(sent.elapsed());
            }
            anyhow::Ok((client, latencies))
        });
    }
    let mut clients = Vec::new();
    let mut latencies = Latencies::default();
    while let Some(ended) = running.join_next().await {
        let (client, own) = ended??;
        clients.push(client);
        latencies.extend(&own);
    }
    Ok((clients, latencies))
}
