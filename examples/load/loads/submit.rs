//! submitJob of staged jobs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Bench;
use crate::arguments::Submit;
use crate::job_client::StagedJob;
use crate::latencies::Latencies;
use crate::row::Row;
use crate::staging::JobShape;

const LIMIT: Duration = Duration::from_secs(120);
/// Jobs before those that are measured.
const WARM_UP_JOBS: u32 = 100;

pub async fn run(bench: &Bench, arguments: &Submit) -> anyhow::Result<Vec<Row>> {
    let &Submit { jobs, clients } = arguments;
    let shape = JobShape { maps: 10, reduces: 1, reduces_start_early: true, holders: 0 };
    let mut client = bench.client().await?;
    let warm_up = client.stage_many(WARM_UP_JOBS, &shape).await?;
    bench.submit_all(&mut client, &warm_up).await?;
    let staged: VecDeque<StagedJob> = client.stage_many(jobs, &shape).await?.into();
    let staged = Rc::new(RefCell::new(staged));
    let mut connected = Vec::new();
    for _ in 0..clients {
        connected.push(bench.client().await?);
    }
    bench.process.settle().await?;
    let start = bench.mark()?;
    let mut running = JoinSet::new();
    for mut client in connected {
        let staged = Rc::clone(&staged);
        running.spawn_local(async move {
            let mut latencies = Latencies::default();
            let end = Instant::now() + LIMIT;
            while Instant::now() < end {
                let next = staged.borrow_mut().pop_front();
                let Some(job) = next else { break };
                let sent = Instant::now();
                client.submit(&job).await?;
                latencies.add(sent.elapsed());
            }
            anyhow::Ok(latencies)
        });
    }
    let mut latencies = Latencies::default();
    while let Some(ended) = running.join_next().await {
        latencies.extend(&ended??);
    }
    let (_, took) = start.until(bench.mark()?);
    // The Java JobTracker makes jobs ready after it has answered.
    bench.process.settle().await?;
    let (cpu_us, _) = start.until(bench.mark()?);
    let done = u64::from(jobs) - staged.borrow().len() as u64;
    let row = bench.row("submit", format!("{clients} clients"), "submitJob", done);
    Ok(vec![row.cost(cpu_us, took).latencies(&mut latencies)])
}
