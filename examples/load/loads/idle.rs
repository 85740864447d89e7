//! Trackers that have nothing and get nothing.

use std::time::Duration;

use anyhow::ensure;

use super::{Bench, Drive, WARM_UP, stop_when_over};
use crate::arguments::Idle;
use crate::fleet::USUAL_SLOTS;
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

const FINISHED_LIMIT: Duration = Duration::from_secs(300);

pub async fn run(bench: &Bench, arguments: &Idle) -> anyhow::Result<Vec<Row>> {
    let &Idle { calling, seconds, finished_jobs } = arguments;
    let mut fleet = bench.fleet(0, calling.trackers, USUAL_SLOTS, Ending::Soon).await?;
    if finished_jobs > 0 {
        let mut client = bench.client().await?;
        let shape = JobShape { maps: 1, reduces: 0, reduces_start_early: true, holders: 0 };
        let staged = client.stage_many(finished_jobs, &shape).await?;
        bench.submit_all(&mut client, &staged).await?;
        let drive = Drive::new(0, FINISHED_LIMIT);
        let (driven, stopped) = tokio::join!(fleet.drive(&drive), stop_when_over(&mut client, &staged, &drive));
        driven?;
        stopped?;
    }
    fleet.drive_for(calling.rate, WARM_UP).await?;
    let start = bench.mark()?;
    let mut totals = fleet.drive_for(calling.rate, Duration::from_secs(seconds)).await?;
    let (cpu_us, took) = start.until(bench.mark()?);
    ensure!(totals.told.launched + totals.told.housekeeping == 0, "tasks were launched where there are none");
    let mut size = format!("{} trackers", calling.trackers);
    if calling.rate > 0 {
        size.push_str(&format!(" at {}/s", calling.rate));
    }
    if finished_jobs > 0 {
        size.push_str(&format!(", {finished_jobs} finished jobs"));
    }
    let row = bench.row("idle", size, "heartbeat", totals.heartbeats);
    Ok(vec![row.cost(cpu_us, took).latencies(&mut totals.latencies)])
}
