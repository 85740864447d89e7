//! Heartbeats at a fixed rate while tasks finish.

use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
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
    let &Open { trackers, rate, seconds, jobs, .. } = arguments;
    ensure!(rate > 0 && jobs > 0, "a rate and jobs are needed");
    let stopped = match arguments.stop_pid {
        Some(pid) => Some(i32::try_from(pid).ok().and_then(Pid::from_raw).context("--stop-pid names no process")?),
        None => None,
    };
    let mut client = bench.client().await?;
    // More maps than can end, so that the jobs outlast the measurement.
    let maps = u64::from(rate) * (seconds + WARM_UP_S) * TASKS_OF_A_HEARTBEAT * 5 / 4 / u64::from(jobs);
    let shape = JobShape { maps: u32::try_from(maps)?, reduces: 0, reduces_start_early: true, holders: trackers };
    let mut files = shape.files();
    if let Some(folder) = &arguments.history_copies {
        files.properties.push(("hadoop.job.history.user.location".to_owned(), folder.clone()));
    }
    let staged = client.stage_alike(jobs, &files).await?;
    bench.submit_all(&mut client, &staged).await?;
    let mut fleet = bench.fleet(0, trackers, USUAL_SLOTS, Ending::Soon).await?;
    let drive = Drive::new(rate, Duration::from_secs(WARM_UP_S + seconds));
    let measured = async {
        sleep(Duration::from_secs(WARM_UP_S)).await;
        drive.totals();
        if let Some(pid) = stopped {
            kill_process(pid, Signal::STOP)?;
        }
        let start = bench.mark();
        sleep(Duration::from_secs(seconds)).await;
        // Whatever waits for it may wait until then, and the drive ends.
        if let Some(pid) = stopped {
            kill_process(pid, Signal::CONT)?;
        }
        start
    };
    let (driven, start) = tokio::join!(fleet.drive(&drive), measured);
    driven?;
    let (cpu_us, took) = start?.until(bench.mark()?);
    let mut totals = drive.totals();
    let ends = if arguments.history_copies.is_some() { ", history copies" } else { "" };
    let stop = if stopped.is_some() { ", NameNode stopped" } else { "" };
    let size = format!("{trackers} trackers at {rate}/s, {jobs} jobs{ends}{stop}");
    let heartbeats = bench.row("open", size.clone(), "heartbeat", totals.heartbeats).cost(cpu_us, took);
    Ok(vec![
        heartbeats.latencies(&mut totals.latencies),
        bench.row("open", size, "task", totals.told.ended).cost(cpu_us, took),
    ])
}
