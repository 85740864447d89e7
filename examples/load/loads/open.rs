//! Heartbeats at a fixed rate while tasks finish.

use std::time::Duration;

use anyhow::ensure;
use tokio::time::sleep;

use super::{Bench, Drive};
use crate::arguments::Open;
use crate::fleet::USUAL_SLOTS;
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

/// Load that is not measured.
const WARM_UP_S: u64 = 5;
/// Tasks that a heartbeat can end at most, with [`USUAL_SLOTS`] and two heartbeats for each: waves of four maps.
const TASKS_OF_A_HEARTBEAT: u64 = 2;

pub async fn run(bench: &Bench, arguments: &Open) -> anyhow::Result<Vec<Row>> {
    let &Open { trackers, rate, seconds, jobs } = arguments;
    ensure!(rate > 0 && jobs > 0, "a rate and jobs are needed");
    let mut client = bench.client().await?;
    // More maps than can end, so that the jobs outlast the measurement.
    let maps = u64::from(rate) * (seconds + WARM_UP_S) * TASKS_OF_A_HEARTBEAT * 5 / 4 / u64::from(jobs);
    let shape = JobShape { maps: u32::try_from(maps)?, reduces: 0, reduces_start_early: true, holders: trackers };
    let staged = client.stage_many(jobs, &shape).await?;
    bench.submit_all(&mut client, &staged).await?;
    let mut fleet = bench.fleet(0, trackers, USUAL_SLOTS, Ending::Soon).await?;
    let drive = Drive::new(rate, Duration::from_secs(WARM_UP_S + seconds));
    let measured = async {
        sleep(Duration::from_secs(WARM_UP_S)).await;
        drive.totals();
        bench.mark()
    };
    let (driven, start) = tokio::join!(fleet.drive(&drive), measured);
    driven?;
    let (cpu_us, took) = start?.until(bench.mark()?);
    let mut totals = drive.totals();
    let size = format!("{trackers} trackers at {rate}/s");
    let heartbeats = bench.row("open", size.clone(), "heartbeat", totals.heartbeats).cost(cpu_us, took);
    Ok(vec![
        heartbeats.latencies(&mut totals.latencies),
        bench.row("open", size, "task", totals.told.ended).cost(cpu_us, took),
    ])
}
