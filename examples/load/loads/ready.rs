//! One large job, from submission to its first launch.

use std::time::Duration;

use tokio::time::sleep;

use super::{Bench, Drive, POLL_EVERY};
use crate::arguments::Ready;
use crate::fleet::USUAL_SLOTS;
use crate::row::Row;
use crate::staging::JobShape;
use crate::steady_tracker::Ending;

const LIMIT: Duration = Duration::from_secs(120);
/// Trackers that hold its input; only one of them calls.
const HOLDERS: u32 = 1000;
/// Heartbeats per second while it is waited for.
const RATE: u32 = 20;

pub async fn run(bench: &Bench, arguments: &Ready) -> anyhow::Result<Vec<Row>> {
    let mut client = bench.client().await?;
    let mut fleet = bench.fleet(0, 1, USUAL_SLOTS, Ending::Never).await?;
    let shape = JobShape { maps: arguments.maps, reduces: 1, reduces_start_early: false, holders: HOLDERS };
    let job = client.stage(&shape.files()).await?;
    bench.process.settle().await?;
    let start = bench.mark()?;
    client.submit(&job).await?;
    let accepted = bench.mark()?;
    let drive = Drive::new(RATE, LIMIT);
    let launched = async {
        while !drive.is_over() && drive.told().housekeeping == 0 {
            sleep(POLL_EVERY).await;
        }
        drive.stop();
    };
    let (driven, ()) = tokio::join!(fleet.drive(&drive), launched);
    driven?;
    anyhow::ensure!(drive.told().housekeeping > 0, "the job is not ready within {LIMIT:?}");
    let (_, took) = start.until(bench.mark()?);
    bench.process.settle().await?;
    let (cpu_us, _) = start.until(bench.mark()?);
    let size = format!("{} maps", arguments.maps);
    let (accepted_cpu_us, accepted_time) = start.until(accepted);
    Ok(vec![
        bench.row("ready", size.clone(), "job, accepted", 1).cost(accepted_cpu_us, accepted_time),
        bench.row("ready", size, "job, launched", 1).cost(cpu_us, took),
    ])
}
