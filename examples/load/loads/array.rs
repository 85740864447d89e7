//! An array of short items on faked workers, from its submission to its end: each container ends at once with 0.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::ensure;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::arguments::Array;
use crate::container_worker::ContainerWorker;
use crate::row::Row;

use jobtracker::api::applications::{ItemRules, ReportedFinalStatus};
use jobtracker::client::applications::{ApplicationClient, RunSubmission, WorkItems};
use jobtracker::clock::wall_ms;
use jobtracker::model::{ApplicationId, Capability, LaunchContext};

use super::{Bench, POLL_EVERY};

/// Of each container: one slot's worth.
const CAPABILITY: Capability = Capability::new(1_024, 1);

pub async fn run(bench: &Bench, arguments: &Array) -> anyhow::Result<Vec<Row>> {
    let &Array { http, workers, room, items, waiting_items, seconds } = arguments;
    let client = ApplicationClient::new(http.to_string(), bench.user.clone(), None, wall_ms);
    let mut rows = Vec::new();
    if waiting_items > 0 {
        bench.process.settle().await?;
        let before = bench.process.resident_bytes()?;
        let application = submit(&client, waiting_items).await?;
        bench.process.settle().await?;
        let after = bench.process.resident_bytes()?;
        let size = format!("{waiting_items} items, no worker");
        rows.push(bench.row("array", size, "waiting item", waiting_items.into()).memory(before, after));
        client.kill(application).await?;
    }
    let connected = connect(bench.jobtracker, workers, room).await?;
    bench.process.settle().await?;
    let before = bench.process.resident_bytes()?;
    let start = bench.mark()?;
    let mut running = JoinSet::new();
    for mut worker in connected {
        running.spawn_local(async move { worker.run().await });
    }
    let application = submit(&client, items).await?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let (report, ended) = loop {
        let report = client.report(application).await?;
        if report.state.is_over() {
            break (report, bench.mark()?);
        }
        if let Some(failed) = running.try_join_next() {
            failed??;
        }
        ensure!(Instant::now() < end, "{items} items did not end in {seconds} s");
        sleep(POLL_EVERY).await;
    };
    ensure!(report.final_status == ReportedFinalStatus::Succeeded, "{application}: {}", report.diagnostics);
    let completed = report.completed_containers;
    ensure!(completed == u64::from(items), "{completed} containers ended for {items} items");
    bench.process.settle().await?;
    let after = bench.process.resident_bytes()?;
    running.abort_all();
    let (cpu_us, took) = start.until(ended);
    let size = format!("{items} items, {workers} workers with room for {room}");
    rows.push(bench.row("array", size, "item", items.into()).cost(cpu_us, took).memory(before, after));
    Ok(rows)
}

async fn connect(jobtracker: SocketAddr, workers: u32, room: u32) -> anyhow::Result<Vec<ContainerWorker>> {
    let mut connected = Vec::new();
    for number in 0..workers {
        connected.push(ContainerWorker::connect(jobtracker, number, CAPABILITY.times(room)).await?);
    }
    Ok(connected)
}

async fn submit(client: &ApplicationClient, items: u32) -> anyhow::Result<ApplicationId> {
    let id = client.new_id().await?;
    let work =
        WorkItems { items: format!("1-{items}"), count: items.into(), max_running: None, rules: ItemRules::default() };
    let submission = RunSubmission {
        name: "array".to_owned(),
        queue: None,
        capability: CAPABILITY,
        context: LaunchContext::of_command(vec!["/bin/true".to_owned()]),
        work: Some(work),
    };
    client.submit(id, &submission).await?;
    Ok(id)
}
