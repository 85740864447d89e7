//! What a tracker, an accepted map, one that waits for a slot, a finished map and a job take of resident memory.

use std::time::Duration;

use anyhow::ensure;
use tokio::time::sleep;

use super::{Bench, Drive, POLL_EVERY};
use crate::arguments::Memory;
use crate::fleet::USUAL_SLOTS;
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::{Ending, Slots};

/// Trackers that run the maps; the rest keep silent after their first call.
const BUSY: u32 = 200;
const LIMIT: Duration = Duration::from_secs(300);
/// Of the tracker that sets the large job up and has no slot for its maps.
const NO_MAPS: Slots = Slots::new(0, 1);
/// Heartbeats per second of that one, and how long it calls: setup needs three.
const SETUP: (u32, Duration) = (20, Duration::from_secs(1));

pub async fn run(bench: &Bench, arguments: &Memory) -> anyhow::Result<Vec<Row>> {
    let &Memory { trackers, maps, jobs } = arguments;
    let mut client = bench.client().await?;
    let mut rows = Vec::new();
    let mut before = bench.process.resident_bytes()?;
    let mut note = |size: String, of: &str, count: u32| -> anyhow::Result<()> {
        let after = bench.process.resident_bytes()?;
        rows.push(bench.row("memory", size, of, count.into()).memory(before, after));
        before = after;
        Ok(())
    };

    // The first are the busy ones, whose reduce never ends: the job stays, with all its maps.
    let mut busy = bench.fleet(0, BUSY, USUAL_SLOTS, Ending::MapsSoon).await?;
    let silent = bench.fleet(BUSY, trackers.saturating_sub(BUSY), USUAL_SLOTS, Ending::Never).await?;
    let mut setter = bench.fleet(trackers.max(BUSY), 1, NO_MAPS, Ending::Never).await?;
    bench.process.settle().await?;
    note("registered, with its connection".to_owned(), "tracker", trackers.max(BUSY) + 1)?;

    let shape = JobShape { maps, reduces: 1, reduces_start_early: false, holders: trackers };
    let large = client.stage(&shape.files()).await?;
    client.submit(&large).await?;
    bench.process.settle().await?;
    note(format!("one job of {maps} maps"), "accepted map", maps)?;

    // Its maps are requested once it is set up; nothing else changes.
    let brought = setter.drive_for(SETUP.0, SETUP.1).await?;
    ensure!(brought.told.housekeeping == 1, "{} tasks set the job up", brought.told.housekeeping);
    bench.process.settle().await?;
    note("on top of an accepted one".to_owned(), "waiting map", maps)?;

    let drive = Drive::new(0, LIMIT);
    let finished = async {
        while !drive.is_over() && drive.told().ended < u64::from(maps) {
            sleep(POLL_EVERY).await;
        }
        drive.stop();
    };
    let (driven, ()) = tokio::join!(busy.drive(&drive), finished);
    driven?;
    ensure!(drive.told().ended == u64::from(maps), "{} of {maps} maps finished", drive.told().ended);
    bench.process.settle().await?;
    note("on top of a waiting one".to_owned(), "finished map", maps)?;

    let shape = JobShape { maps: 10, reduces: 1, reduces_start_early: true, holders: trackers };
    let small = client.stage_many(jobs, &shape).await?;
    bench.submit_all(&mut client, &small).await?;
    note("10 waiting maps, 1 reduce".to_owned(), "job", jobs)?;
    drop((busy, silent, setter));
    Ok(rows)
}
