//! Jobs from submission to their end.

use std::time::Duration;

use anyhow::ensure;

use super::{Bench, Drive, stop_when_over};
use crate::arguments::Tasks;
use crate::fleet::{Fleet, USUAL_SLOTS};
use crate::job_client::JobClient;
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

pub async fn run(bench: &Bench, arguments: &Tasks) -> anyhow::Result<Vec<Row>> {
    let mut client = bench.client().await?;
    let mut fleet = bench.fleet(0, arguments.calling.trackers, USUAL_SLOTS, Ending::Soon).await?;
    let mut rows = Vec::new();
    for _ in 0..arguments.rounds.max(1) {
        rows = round(bench, arguments, &mut client, &mut fleet).await?;
    }
    Ok(rows)
}

async fn round(
    bench: &Bench,
    arguments: &Tasks,
    client: &mut JobClient,
    fleet: &mut Fleet,
) -> anyhow::Result<Vec<Row>> {
    let &Tasks { calling, jobs, maps, reduces, seconds, .. } = arguments;
    let shape = JobShape { maps, reduces, reduces_start_early: true, holders: calling.trackers };
    let staged = client.stage_many(jobs, &shape).await?;
    bench.process.settle().await?;
    let submitted = bench.mark()?;
    bench.submit_all(client, &staged).await?;
    let started = bench.mark()?;
    let drive = Drive::new(calling.rate, Duration::from_secs(seconds));
    let (driven, stopped) = tokio::join!(fleet.drive(&drive), stop_when_over(client, &staged, &drive));
    driven?;
    stopped?;
    let ended = bench.mark()?;
    let mut totals = drive.totals();
    let tasks = u64::from(jobs) * u64::from(maps + reduces);
    ensure!(totals.told.ended == tasks, "{} tasks ended instead of {tasks}", totals.told.ended);
    let size = format!("{jobs} jobs of {maps}+{reduces}, {} trackers", calling.trackers);
    let row = |of: &str, count| bench.row("tasks", size.clone(), of, count);
    let (submit_cpu_us, submit_time) = submitted.until(started);
    let (cpu_us, took) = started.until(ended);
    Ok(vec![
        row("task, all", tasks).cost(submit_cpu_us + cpu_us, took + submit_time),
        row("task, launch to end", tasks).cost(cpu_us, took),
        row("map, made ready", u64::from(jobs) * u64::from(maps)).cost(submit_cpu_us, submit_time),
        row("heartbeat", totals.heartbeats).cost(cpu_us, took).latencies(&mut totals.latencies),
    ])
}
