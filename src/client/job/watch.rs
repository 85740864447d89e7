//! Follows a job to its end, through restarts of the JobTracker.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::client::market::{MarketClient, Signer};
use crate::model::{JobId, Kind};

use super::error::JobClientError;
use super::jobtracker::JobTrackerClient;
use super::view::{AttemptLine, JobLine, JobState, TaskTally};

/// What is new of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// How it stands.
    Standing(Standing),
    /// An attempt went wrong, and what it left to read.
    Failure(AttemptLine, Vec<String>),
    /// The JobTracker fell silent; said once.
    Lost(String),
    /// It is there again.
    Back,
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The job.
    pub job: JobLine,
    /// Its maps.
    pub map: TaskTally,
    /// Its reduces.
    pub reduce: TaskTally,
    /// Attempts that failed so far.
    pub failed_attempts: u32,
    /// What it has cost up to the last tick, where there is a market that tells.
    pub cost: Option<String>,
}

/// Where it is told what a job has cost.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The market.
    pub market: MarketClient,
    /// Who asks; where there is no market nobody needs a key.
    pub signer: Option<Signer>,
}

/// Nobody tells what jobs cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTold;

/// For one question for the cost, which nobody waits for longer.
const COST_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at first: small jobs are over soon.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// Between two looks at a job that takes its time.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Between two questions for the cost.
const COST_PAUSE: Duration = Duration::from_secs(5);
/// The reports of many tasks take long; so much of the time they may take: a twentieth.
const REPORT_SHARE: u32 = 20;
/// For how long a JobTracker may be silent.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two attempts to reach it.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// Events looked at in one go.
const EVENTS_AT_ONCE: u32 = 10_000;

// === impl Costs ===

impl Costs {
    /// What a job has cost up to the last tick; none where nothing costs anything.
    ///
    /// # Errors
    /// [`NotTold`]
    pub async fn of(&self, job: JobId) -> Result<Option<String>, NotTold> {
        let job = job.to_string();
        let explanation = timeout(COST_PATIENCE, self.market.explain(&job, self.signer.as_ref())).await;
        let explanation = explanation.map_err(|_| NotTold)?.map_err(|_| NotTold)?;
        Ok(explanation.cost.map(|cost| cost.to_string()))
    }
}

/// Follows `job` until it is over, and tells what is new. Nothing is lost if the future is dropped and another watch begun, but
/// that failures are told again.
///
/// # Errors
/// [`JobClientError`]: the JobTracker refuses, forgot the job, or is silent for ten minutes.
pub async fn watch(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    costs: Option<&Costs>,
    told: &mut impl FnMut(News),
) -> Result<Standing, JobClientError> {
    let mut watch =
        Watch { job, costs, events: 0, failed_attempts: 0, cost: None, next_cost: Instant::now(), tallies: None };
    let mut pause = SHORTEST_PAUSE;
    let mut lost_at = None;
    loop {
        match watch.look(jobtracker, told).await {
            Ok(standing) => {
                if lost_at.take().is_some() {
                    told(News::Back);
                }
                told(News::Standing(standing.clone()));
                if standing.job.state.is_over() {
                    return Ok(standing);
                }
                sleep(pause).await;
                pause = (pause * 5 / 4).min(LONGEST_PAUSE);
            }
            Err(error) if error.is_unreachable() => {
                if lost_at.is_none() {
                    told(News::Lost(error.to_string()));
                }
                if lost_at.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    return Err(error);
                }
                sleep(RECONNECT_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// What has been seen so far.
struct Watch<'a> {
    job: JobId,
    costs: Option<&'a Costs>,
    /// How many events.
    events: u32,
    failed_attempts: u32,
    cost: Option<String>,
    next_cost: Instant,
    /// The last reports, and when they may be asked for again.
    tallies: Option<(TaskTally, TaskTally, Instant)>,
}

impl Watch<'_> {
    async fn look(
        &mut self,
        jobtracker: &mut JobTrackerClient,
        told: &mut impl FnMut(News),
    ) -> Result<Standing, JobClientError> {
        let job = jobtracker.job(self.job).await?;
        let is_over = job.state.is_over();
        self.see_failures(jobtracker, told).await?;
        let (map, reduce) = match &self.tallies {
            Some((map, reduce, next)) if !is_over && Instant::now() < *next => (*map, *reduce),
            _ => self.see_tasks(jobtracker).await?,
        };
        self.see_cost(job.state).await;
        Ok(Standing { job, map, reduce, failed_attempts: self.failed_attempts, cost: self.cost.clone() })
    }

    async fn see_tasks(&mut self, jobtracker: &mut JobTrackerClient) -> Result<(TaskTally, TaskTally), JobClientError> {
        let begin = Instant::now();
        let map = jobtracker.tally(self.job, Kind::Map).await?;
        let reduce = jobtracker.tally(self.job, Kind::Reduce).await?;
        let next = Instant::now() + begin.elapsed() * REPORT_SHARE;
        self.tallies = Some((map, reduce, next));
        Ok((map, reduce))
    }

    async fn see_failures(
        &mut self,
        jobtracker: &mut JobTrackerClient,
        told: &mut impl FnMut(News),
    ) -> Result<(), JobClientError> {
        let events = jobtracker.events(self.job, self.events, EVENTS_AT_ONCE).await?;
        for event in events {
            // An attempt whose diagnostics do not come is told again.
            if event.has_failed() {
                let diagnostics = jobtracker.diagnostics(event.attempt).await?;
                self.failed_attempts += 1;
                told(News::Failure(event, diagnostics));
            }
            self.events += 1;
        }
        Ok(())
    }

    /// Costs are a courtesy: a market that does not tell is asked no more.
    async fn see_cost(&mut self, state: JobState) {
        let Some(costs) = self.costs else { return };
        if Instant::now() < self.next_cost && !state.is_over() {
            return;
        }
        self.next_cost = Instant::now() + COST_PAUSE;
        match costs.of(self.job).await {
            Ok(cost) => self.cost = cost.or(self.cost.take()),
            Err(NotTold) => self.costs = None,
        }
    }
}
