//! The loads, one file each.

mod array;
mod hold;
mod idle;
mod info;
mod memory;
mod open;
mod ready;
mod status;
mod submit;
mod tasks;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::ensure;
use tokio::time::{Instant, sleep};

use crate::arguments::{Arguments, Load};
use crate::fleet::{Drive, Fleet};
use crate::job_client::{JobClient, StagedJob};
use crate::row::Row;
use crate::server_process::ServerProcess;
use crate::steady_tracker::{Ending, Slots};

use jobtracker::model::JobId;

/// What a load is put on.
#[derive(Debug)]
pub struct Bench {
    /// RPC address.
    pub jobtracker: SocketAddr,
    /// Its process.
    pub process: ServerProcess,
    server: String,
    user: String,
}

/// A point in time: what the JobTracker had used by then.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: Instant,
    cpu_us: u64,
}

/// Load that is not measured, before load that is.
const WARM_UP: Duration = Duration::from_secs(2);
/// Between questions whether jobs are over.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Runs a load; its rows.
pub async fn run(bench: &Bench, load: &Load) -> anyhow::Result<Vec<Row>> {
    match load {
        Load::Idle(arguments) => idle::run(bench, arguments).await,
        Load::Tasks(arguments) => tasks::run(bench, arguments).await,
        Load::Hold(arguments) => hold::run(bench, arguments).await,
        Load::Open(arguments) => open::run(bench, arguments).await,
        Load::Submit(arguments) => submit::run(bench, arguments).await,
        Load::Ready(arguments) => ready::run(bench, arguments).await,
        Load::Status(arguments) => status::run(bench, arguments).await,
        Load::Info(arguments) => info::run(bench, arguments).await,
        Load::Memory(arguments) => memory::run(bench, arguments).await,
        Load::Array(arguments) => array::run(bench, arguments).await,
        Load::Differential(_) | Load::Random(_) | Load::Bidding(_) | Load::Soak(_) | Load::Table => Ok(Vec::new()),
    }
}

// === impl Bench ===

impl Bench {
    /// As the command line says.
    pub fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        ensure!(arguments.jobtracker.ip().is_loopback(), "{} is not of this machine", arguments.jobtracker);
        Ok(Self {
            jobtracker: arguments.jobtracker,
            process: ServerProcess::new(arguments.pid)?,
            server: arguments.server.clone(),
            user: arguments.user.clone(),
        })
    }

    fn row(&self, load: &str, size: String, of: &str, count: u64) -> Row {
        Row::new(&self.server, load, size, of, count)
    }

    fn mark(&self) -> anyhow::Result<Mark> {
        Ok(Mark { at: Instant::now(), cpu_us: self.process.cpu_us()? })
    }

    async fn client(&self) -> anyhow::Result<JobClient> {
        JobClient::connect(self.jobtracker, &self.user).await
    }

    async fn fleet(&self, first: u32, count: u32, slots: Slots, ending: Ending) -> anyhow::Result<Fleet> {
        Fleet::connect(self.jobtracker, first, count, slots, ending).await
    }

    /// Submits jobs one after the other, and waits until the JobTracker has made them ready.
    async fn submit_all(&self, client: &mut JobClient, jobs: &[StagedJob]) -> anyhow::Result<()> {
        for job in jobs {
            client.submit(job).await?;
        }
        self.process.settle().await
    }
}

// === impl Mark ===

impl Mark {
    /// CPU time and time from here to another.
    fn until(self, later: Self) -> (u64, Duration) {
        (later.cpu_us - self.cpu_us, later.at - self.at)
    }
}

/// Stops the drive when all these jobs have succeeded; an error when it is over before.
async fn stop_when_over(client: &mut JobClient, jobs: &[StagedJob], drive: &Rc<Drive>) -> anyhow::Result<()> {
    let mut waiting: VecDeque<JobId> = jobs.iter().map(|job| job.id).collect();
    let outcome = loop {
        let Some(id) = waiting.front() else { break Ok(()) };
        match client.has_succeeded(*id).await {
            Ok(true) => {
                waiting.pop_front();
            }
            Ok(false) if drive.is_over() => break Err(anyhow::anyhow!("{} jobs did not end in time", waiting.len())),
            Ok(false) => sleep(POLL_EVERY).await,
            Err(error) => break Err(error),
        }
    };
    drive.stop();
    outcome
}
