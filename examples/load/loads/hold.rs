//! Trackers that ask while many jobs run: jobs that have nothing to give, or jobs that give a map for each that ends.

use std::rc::Rc;
use std::time::Duration;

use anyhow::ensure;
use tokio::time::sleep;

use super::{Bench, Drive, POLL_EVERY, WARM_UP};
use crate::arguments::Hold;
use crate::fleet::{Fleet, USUAL_SLOTS};
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::{Ending, Slots};
use crate::submitters::Submitters;

/// Of the trackers that hold the jobs' maps: 1.2.1 `JobQueueTaskScheduler` spreads maps evenly over all slots there are,
/// so one with many slots would not be filled.
const ONE_MAP: Slots = Slots::new(1, 0);
/// Numbers of those trackers, beyond those that ask.
const FIRST_HOLDER: u32 = 1 << 16;
const HOLD_LIMIT: Duration = Duration::from_secs(180);

pub async fn run(bench: &Bench, arguments: &Hold) -> anyhow::Result<Vec<Row>> {
    if arguments.waiting_maps > 0 { turn_over(bench, arguments).await } else { find_nothing(bench, arguments).await }
}

async fn find_nothing(bench: &Bench, arguments: &Hold) -> anyhow::Result<Vec<Row>> {
    let mut submitters = Submitters::connect(bench.jobtracker, &bench.user, arguments.spread).await?;
    let mut asking = bench.fleet(0, arguments.calling.trackers, USUAL_SLOTS, Ending::Never).await?;
    // One map each, which never ends, and a reduce that waits for it.
    let shape = JobShape { maps: 1, reduces: 1, reduces_start_early: false, holders: 0 };
    let mut holding = Vec::new();
    let mut held = 0;
    let mut rows = Vec::new();
    for &size in &arguments.jobs {
        let added = size.checked_sub(held).filter(|added| *added > 0);
        let Some(added) = added else { anyhow::bail!("{size} jobs are not more than the {held} before") };
        submitters.submit(added, &shape).await?;
        bench.process.settle().await?;
        let mut fleet = bench.fleet(FIRST_HOLDER + held, added, ONE_MAP, Ending::Never).await?;
        let drive = Drive::new(0, HOLD_LIMIT);
        let (driven, ()) = tokio::join!(fleet.drive(&drive), stop_when_launched(&drive, u64::from(added)));
        driven?;
        ensure!(drive.told().launched == u64::from(added), "{} of {added} maps run", drive.told().launched);
        // Their trackers stay connected and silent: a JobTracker waits ten minutes for one.
        holding.push(fleet);
        held = size;

        let (row, launched) = measure(bench, arguments, &mut asking, size, "heartbeat").await?;
        ensure!(launched == 0, "{launched} tasks were launched where none should wait");
        rows.push(row);
    }
    Ok(rows)
}

async fn turn_over(bench: &Bench, arguments: &Hold) -> anyhow::Result<Vec<Row>> {
    let &[jobs] = arguments.jobs.as_slice() else { anyhow::bail!("with --waiting-maps, --jobs takes one number") };
    let mut submitters = Submitters::connect(bench.jobtracker, &bench.user, arguments.spread).await?;
    let maps = arguments.waiting_maps.div_ceil(jobs.max(1));
    submitters.submit(jobs, &JobShape { maps, reduces: 0, reduces_start_early: false, holders: 0 }).await?;
    bench.process.settle().await?;
    let mut asking = bench.fleet(0, arguments.calling.trackers, ONE_MAP, Ending::Soon).await?;
    // What sets jobs up goes before maps: one map for each tracker, and all jobs run.
    let drive = Drive::new(0, HOLD_LIMIT);
    let maps = u64::from(arguments.calling.trackers);
    let (driven, ()) = tokio::join!(asking.drive(&drive), stop_when_launched(&drive, maps));
    driven?;
    let (row, launched) = measure(bench, arguments, &mut asking, jobs, "heartbeat, maps ending").await?;
    let needed = row.count / 2;
    ensure!(launched * 10 > needed * 9, "{launched} maps were launched, not about {needed}: give more --waiting-maps");
    Ok(vec![row])
}

/// Has trackers ask for a while; the row, and what was launched.
async fn measure(
    bench: &Bench,
    arguments: &Hold,
    asking: &mut Fleet,
    jobs: u32,
    of: &str,
) -> anyhow::Result<(Row, u64)> {
    let Hold { calling, spread, seconds, .. } = arguments;
    asking.drive_for(calling.rate, WARM_UP).await?;
    let start = bench.mark()?;
    let mut totals = asking.drive_for(calling.rate, Duration::from_secs(*seconds)).await?;
    let (cpu_us, took) = start.until(bench.mark()?);
    let queues = if spread.queues > 0 { format!(" in {} queues", spread.queues) } else { String::new() };
    let size = format!("{jobs} running jobs{queues}, {} trackers", calling.trackers);
    let row = bench.row("hold", size, of, totals.heartbeats);
    Ok((row.cost(cpu_us, took).latencies(&mut totals.latencies), totals.told.launched))
}

async fn stop_when_launched(drive: &Rc<Drive>, count: u64) {
    while !drive.is_over() && drive.told().launched < count {
        sleep(POLL_EVERY).await;
    }
    drive.stop();
}
