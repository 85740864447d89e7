//! Follows a job to its end, across restarts of the JobTracker.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout};

use crate::api::PendingReason;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::model::{JobId, Kind};

use super::error::JobClientError;
use super::jobtracker::JobTrackerClient;
use super::view::{JobEvent, JobLine, JobState, TaskTally};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobUpdate {
    /// Its progress.
    Progress(Box<JobProgress>),
    /// A failed attempt and its diagnostics.
    Failure(JobEvent, Vec<String>),
    /// The JobTracker does not answer; sent once.
    Disconnected(String),
    /// The JobTracker answers again.
    Reconnected,
    /// Nothing of the job runs, for no worker is connected to the JobTracker; sent once.
    NoWorker,
    /// Nothing of the job runs, for no connected worker can run it: the whole sentence; sent once.
    CannotRun(String),
    /// Nothing of the job runs, and why as `explain` knows it: once, as soon as it is known that its queue cannot pay, for any
    /// other reason after a while.
    Waits(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobProgress {
    pub(crate) job: JobLine,
    pub(crate) map: TaskTally,
    pub(crate) reduce: TaskTally,
    /// Number of failed attempts.
    pub(crate) failed_attempts: u32,
    pub(crate) cost: JobCostState,
}

/// Reads the signer, if there is a key.
pub(crate) type ReadSigner = dyn Fn() -> Option<Signer> + Send + Sync;

#[derive(Clone)]
pub(crate) struct JobCostSource {
    pub(crate) market: MarketClient,
    /// The signer, read before each request: its key may be replaced while a job is followed. Not needed without a market.
    pub(crate) signer: Arc<ReadSigner>,
    /// The wall clock, epoch ms.
    pub(crate) wall_ms: fn() -> i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum JobCostState {
    /// There is no market.
    #[default]
    None,
    /// The cost up to the last tick.
    UpToLastTick(String),
    /// There is a market, and it does not say.
    Unknown {
        /// Since when, epoch ms.
        since_ms: i64,
        /// Why.
        reason: String,
    },
}

const COST_TIMEOUT: Duration = Duration::from_secs(5);
/// First pause between two polls: small jobs finish soon.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two polls.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const COST_PAUSE: Duration = Duration::from_secs(5);
/// Reports of many tasks take long: requests for them may take one part in this many of the time.
const REPORT_SHARE: u32 = 20;
/// Time without an answer after which following fails.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// Pause between two attempts to reconnect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// Pause until workers are counted, and between two counts, while nothing of the job runs.
const WORKERS_PAUSE: Duration = Duration::from_secs(5);
const EVENTS_AT_ONCE: u32 = 10_000;

impl JobCostSource {
    /// The cost of a job up to the last tick, after what was known of it. A cost that cannot be read any more is unknown, never
    /// the last one read.
    pub(crate) async fn cost_of(&self, job: JobId, known: &JobCostState) -> JobCostState {
        self.explained(job, known).await.0
    }

    /// Why nothing of a job will run soon that has just been submitted: its queue bids, and cannot pay.
    pub(crate) async fn why_unpaid(&self, job: JobId) -> Option<String> {
        let (_, reasons) = self.explained(job, &JobCostState::None).await;
        unpaid(&reasons).map(ToString::to_string)
    }

    /// The cost, and why the job has no more slots, as far as the server says.
    async fn explained(&self, job: JobId, known: &JobCostState) -> (JobCostState, Vec<PendingReason>) {
        let job = job.to_string();
        let signer = (self.signer)();
        let asked = timeout(COST_TIMEOUT, self.market.explain(&job, signer.as_ref())).await;
        match asked {
            Ok(Ok(explanation)) => {
                let cost = explanation.cost.map_or(JobCostState::None, |c| JobCostState::UpToLastTick(c.to_string()));
                (cost, explanation.why)
            }
            refused => (self.unknown_cost(refused, signer.is_some(), known), Vec::new()),
        }
    }

    fn unknown_cost<T>(
        &self,
        refused: Result<Result<T, MarketClientError>, Elapsed>,
        is_signed: bool,
        known: &JobCostState,
    ) -> JobCostState {
        let reason = match refused {
            Ok(Ok(_)) => return JobCostState::None,
            // Who cannot sign sees no cost; who signs in vain sees why.
            Ok(Err(MarketClientError::Denied { .. })) if !is_signed && *known == JobCostState::None => {
                return JobCostState::None;
            }
            Ok(Err(error @ MarketClientError::Denied { .. })) => error.to_string(),
            // No JobTracker of Java has a market.
            _ if *known == JobCostState::None => return JobCostState::None,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", COST_TIMEOUT.as_secs()),
        };
        let since_ms = match known {
            JobCostState::Unknown { since_ms, .. } => *since_ms,
            JobCostState::None | JobCostState::UpToLastTick(_) => (self.wall_ms)(),
        };
        JobCostState::Unknown { since_ms, reason }
    }
}

impl fmt::Debug for JobCostSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CostSource").field("market", &self.market).finish_non_exhaustive()
    }
}

/// Follows `job` until it has finished, and reports updates. If the future is dropped and another watch started, failures are reported
/// again. Errors: the JobTracker refuses, has forgotten the job, or does not answer for ten minutes.
pub(crate) async fn watch(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    costs: Option<&JobCostSource>,
    report: &mut impl FnMut(JobUpdate),
) -> Result<JobProgress, JobClientError> {
    let mut watch = Watch {
        job,
        costs,
        events: 0,
        failed_attempts: 0,
        cost: JobCostState::None,
        next_cost: Instant::now(),
        tallies: None,
        next_workers: Some(Instant::now() + WORKERS_PAUSE),
        said_why: None,
        begin: Instant::now(),
        reasons: Vec::new(),
        has_said_reason: false,
    };
    let mut pause = SHORTEST_PAUSE;
    let mut lost_at = None;
    loop {
        match watch.poll(jobtracker, report).await {
            Ok(progress) => {
                if lost_at.take().is_some() {
                    report(JobUpdate::Reconnected);
                }
                report(JobUpdate::Progress(Box::new(progress.clone())));
                if progress.job.state.is_finished() {
                    return Ok(progress);
                }
                sleep(pause).await;
                pause = (pause * 5 / 4).min(LONGEST_PAUSE);
            }
            Err(error) if error.is_unreachable() => {
                if lost_at.is_none() {
                    report(JobUpdate::Disconnected(error.to_string()));
                }
                if lost_at.get_or_insert_with(Instant::now).elapsed() > ANSWER_TIMEOUT {
                    return Err(error);
                }
                sleep(RECONNECT_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

struct Watch<'a> {
    job: JobId,
    costs: Option<&'a JobCostSource>,
    /// Number of events read.
    events: u32,
    failed_attempts: u32,
    cost: JobCostState,
    next_cost: Instant,
    /// When workers are counted next; never again once their absence is reported.
    next_workers: Option<Instant>,
    /// Whether it was reported that no worker can run it.
    said_why: Option<String>,
    begin: Instant,
    /// Why it has no more slots, and whether that was reported.
    reasons: Vec<PendingReason>,
    has_said_reason: bool,
    /// The last tallies, and when they may be requested again.
    tallies: Option<(TaskTally, TaskTally, Instant)>,
}

impl Watch<'_> {
    async fn poll(
        &mut self,
        jobtracker: &mut JobTrackerClient,
        report: &mut impl FnMut(JobUpdate),
    ) -> Result<JobProgress, JobClientError> {
        let job = jobtracker.job(self.job).await?;
        let is_finished = job.state.is_finished();
        self.poll_failures(jobtracker, report).await?;
        let (map, reduce) = match &self.tallies {
            Some((map, reduce, next)) if !is_finished && Instant::now() < *next => (*map, *reduce),
            _ => self.poll_tasks(jobtracker).await?,
        };
        let (map, reduce) = (job.tally_at_end(Kind::Map, map), job.tally_at_end(Kind::Reduce, reduce));
        self.poll_cost(job.state).await;
        if let Some(why) = job.why_it_waits().filter(|why| !is_finished && self.said_why.as_ref() != Some(why)) {
            report(JobUpdate::CannotRun(why.clone()));
        }
        self.said_why = job.why_it_waits().cloned().or(self.said_why.take());
        if !is_finished && map.running + reduce.running == 0 {
            self.poll_workers(jobtracker, report).await?;
            self.report_reason(report);
        }
        Ok(JobProgress { job, map, reduce, failed_attempts: self.failed_attempts, cost: self.cost.clone() })
    }

    async fn poll_tasks(
        &mut self,
        jobtracker: &mut JobTrackerClient,
    ) -> Result<(TaskTally, TaskTally), JobClientError> {
        let begin = Instant::now();
        let map = jobtracker.tally(self.job, Kind::Map).await?;
        let reduce = jobtracker.tally(self.job, Kind::Reduce).await?;
        let next = Instant::now() + begin.elapsed() * REPORT_SHARE;
        self.tallies = Some((map, reduce, next));
        Ok((map, reduce))
    }

    async fn poll_workers(
        &mut self,
        jobtracker: &mut JobTrackerClient,
        report: &mut impl FnMut(JobUpdate),
    ) -> Result<(), JobClientError> {
        if self.next_workers.is_none_or(|next| Instant::now() < next) {
            return Ok(());
        }
        self.next_workers = Some(Instant::now() + WORKERS_PAUSE);
        if jobtracker.worker_count().await? == 0 {
            report(JobUpdate::NoWorker);
            self.next_workers = None;
        }
        Ok(())
    }

    async fn poll_failures(
        &mut self,
        jobtracker: &mut JobTrackerClient,
        report: &mut impl FnMut(JobUpdate),
    ) -> Result<(), JobClientError> {
        let events = jobtracker.events(self.job, self.events, EVENTS_AT_ONCE).await?;
        for event in events {
            // If its diagnostics cannot be fetched, the event is read again.
            if event.has_failed() {
                let diagnostics = jobtracker.diagnostics(event.attempt).await?;
                if !JobEvent::was_stopped(&diagnostics) {
                    self.failed_attempts += 1;
                    report(JobUpdate::Failure(event, diagnostics));
                }
            }
            self.events += 1;
        }
        Ok(())
    }

    async fn poll_cost(&mut self, state: JobState) {
        let Some(costs) = self.costs else { return };
        if Instant::now() < self.next_cost && !state.is_finished() {
            return;
        }
        self.next_cost = Instant::now() + COST_PAUSE;
        (self.cost, self.reasons) = costs.explained(self.job, &self.cost).await;
    }

    /// Why nothing runs, unless other updates say it.
    fn report_reason(&mut self, report: &mut impl FnMut(JobUpdate)) {
        // What is said of a job at its begin is soon over.
        let is_late = self.next_cost.duration_since(self.begin) >= WORKERS_PAUSE + COST_PAUSE;
        let reason = unpaid(&self.reasons).or(self.reasons.first().filter(|_| is_late));
        if let Some(reason) = reason.filter(|reason| !self.has_said_reason && !is_said_otherwise(reason)) {
            self.has_said_reason = true;
            report(JobUpdate::Waits(format!("none of it runs yet: {reason}")));
        }
    }
}

/// That its queue bids and cannot pay: no slot comes but those that no other queue wants.
fn unpaid(reasons: &[PendingReason]) -> Option<&PendingReason> {
    reasons.iter().find(|reason| matches!(reason, PendingReason::NotFunded { .. }))
}

/// Whether another update, or the line of progress, says it.
fn is_said_otherwise(reason: &PendingReason) -> bool {
    matches!(
        reason,
        PendingReason::Over { .. }
            | PendingReason::Ending
            | PendingReason::Held { .. }
            | PendingReason::QueuePaused { .. }
            | PendingReason::NoWorker
            | PendingReason::NoWorkerCanRun { .. }
            | PendingReason::SetupRuns
            | PendingReason::NothingWaits
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Credits;

    /// What a watch reports of these reasons, when its costs were read at its begin, and again after a while.
    fn reported(reasons: &[PendingReason]) -> [Vec<String>; 2] {
        let begin = Instant::now();
        let mut watch = Watch {
            job: "job_202611211200_0001".parse().unwrap(),
            costs: None,
            events: 0,
            failed_attempts: 0,
            cost: JobCostState::None,
            next_cost: begin + COST_PAUSE,
            tallies: None,
            next_workers: None,
            said_why: None,
            begin,
            reasons: reasons.to_vec(),
            has_said_reason: false,
        };
        [begin + COST_PAUSE, begin + COST_PAUSE + WORKERS_PAUSE].map(|next_cost| {
            watch.next_cost = next_cost;
            let mut texts = Vec::new();
            for _ in 0..2 {
                watch.report_reason(&mut |update| match update {
                    JobUpdate::Waits(why) => texts.push(why),
                    other => panic!("{other:?}"),
                });
            }
            texts
        })
    }

    #[test]
    fn an_unpaid_queue_is_said_at_once_and_other_reasons_after_a_while() {
        let credits = |text: &str| text.parse::<Credits>().unwrap();
        let unpaid = PendingReason::NotFunded { budget: credits("0"), bid: credits("1") };
        let text = format!("none of it runs yet: {unpaid}");
        assert_eq!(reported(&[PendingReason::SetupWaits, unpaid]), [vec![text], vec![]]);
        let no_bid = format!("none of it runs yet: {}", PendingReason::NoBid);
        assert_eq!(reported(&[PendingReason::NoBid]), [vec![], vec![no_bid]]);
        for said in [PendingReason::NoWorker, PendingReason::SetupRuns, PendingReason::NothingWaits] {
            assert_eq!(reported(&[said]), [Vec::<String>::new(), vec![]]);
        }
    }
}
