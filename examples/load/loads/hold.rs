//! Jobs that run and have nothing to give, and trackers with free slots that ask.

use std::rc::Rc;
use std::time::Duration;

use anyhow::ensure;
use tokio::time::sleep;

use super::{Bench, Drive, POLL_EVERY, WARM_UP};
use crate::arguments::Hold;
use crate::fleet::USUAL_SLOTS;
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::{Ending, Slots};

/// Of the trackers that hold the jobs' maps: 1.2.1 `JobQueueTaskScheduler` spreads maps evenly over all slots there are,
/// so one with many slots would not be filled.
const ONE_MAP: Slots = Slots::new(1, 0);
/// Numbers of those trackers, beyond those that ask.
const FIRST_HOLDER: u32 = 1 << 16;
const HOLD_LIMIT: Duration = Duration::from_secs(180);

pub async fn run(bench: &Bench, arguments: &Hold) -> anyhow::Result<Vec<Row>> {
    let Hold { calling, jobs: sizes, seconds } = arguments;
    let mut client = bench.client().await?;
    let mut asking = bench.fleet(0, calling.trackers, USUAL_SLOTS, Ending::Never).await?;
    // One map each, which never ends, and a reduce that waits for it.
    let shape = JobShape { maps: 1, reduces: 1, reduces_start_early: false, holders: 0 };
    let mut holding = Vec::new();
    let mut held = 0;
    let mut rows = Vec::new();
    for &size in sizes {
        let added = size.checked_sub(held).filter(|added| *added > 0);
        let Some(added) = added else { anyhow::bail!("{size} jobs are not more than the {held} before") };
        let staged = client.stage_many(added, &shape).await?;
        bench.submit_all(&mut client, &staged).await?;
        let mut fleet = bench.fleet(FIRST_HOLDER + held, added, ONE_MAP, Ending::Never).await?;
        let drive = Drive::new(0, HOLD_LIMIT);
        let (driven, ()) = tokio::join!(fleet.drive(&drive), stop_when_launched(&drive, u64::from(added)));
        driven?;
        ensure!(drive.told().launched == u64::from(added), "{} of {added} maps run", drive.told().launched);
        // Their trackers stay connected and silent: a JobTracker waits ten minutes for one.
        holding.push(fleet);
        held = size;

        asking.drive_for(calling.rate, WARM_UP).await?;
        let start = bench.mark()?;
        let mut totals = asking.drive_for(calling.rate, Duration::from_secs(*seconds)).await?;
        let (cpu_us, took) = start.until(bench.mark()?);
        ensure!(totals.told.launched == 0, "{} tasks were launched where none should wait", totals.told.launched);
        let size = format!("{size} running jobs, {} trackers", calling.trackers);
        let row = bench.row("hold", size, "heartbeat", totals.heartbeats);
        rows.push(row.cost(cpu_us, took).latencies(&mut totals.latencies));
    }
    Ok(rows)
}

async fn stop_when_launched(drive: &Rc<Drive>, count: u64) {
    while !drive.is_over() && drive.told().launched < count {
        sleep(POLL_EVERY).await;
    }
    drive.stop();
}
