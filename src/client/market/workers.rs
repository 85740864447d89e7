//! Where work starts: workers, listed, drained and resumed; jobs, held and released; queues, paused and resumed.

use crate::api::Workers;
use crate::client::signed_query::escaped;
use crate::model::JobId;
use crate::wire::runs_streaming_only;

use super::{MarketClient, MarketClientError, SCHEDULER, Signer};

const WORKERS: &str = "/scheduler/workers";
const PAUSE: &str = "/scheduler/pause";

#[derive(Clone, Copy, Debug)]
pub(crate) enum PauseOf<'a> {
    /// A job.
    Job(JobId),
    /// A queue.
    Queue(&'a str),
}

impl MarketClient {
    pub(crate) async fn workers(&self) -> Result<Workers, MarketClientError> {
        self.read_json(&self.body_or_error(self.get(WORKERS, None).await?)?)
    }

    /// Whether a stock TaskTracker is connected; where the JobTracker does not say, one may be.
    pub(crate) async fn may_have_stock_workers(&self) -> bool {
        self.workers().await.map_or(true, |found| {
            let mut trackers = found.workers.iter().filter_map(|worker| worker.tracker.as_deref());
            trackers.any(|tracker| !runs_streaming_only(tracker))
        })
    }

    /// Drains a worker, or resumes it: signed where there is a market and a signer, else in the name of `user`, who is believed unless the
    /// market rules. Errors: [`MarketClientError`]; [`MarketClientError::Refused`] for an unknown worker.
    pub(crate) async fn drain_worker(
        &self,
        worker: &str,
        is_on: bool,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), MarketClientError> {
        let query = format!("{}={}", if is_on { "drain" } else { "resume" }, escaped(worker));
        self.change_starts(WORKERS, &query, user, signer).await
    }

    /// Holds a job or releases it, pauses a queue or resumes it, by the same rules.
    /// Errors: [`MarketClientError`]; [`MarketClientError::Refused`] for an unknown one.
    pub(crate) async fn pause(
        &self,
        target: &PauseOf<'_>,
        is_on: bool,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), MarketClientError> {
        let query = match (target, is_on) {
            (PauseOf::Job(job), true) => format!("holdJob={job}"),
            (PauseOf::Job(job), false) => format!("releaseJob={job}"),
            (PauseOf::Queue(queue), true) => format!("pauseQueue={}", escaped(queue)),
            (PauseOf::Queue(queue), false) => format!("resumeQueue={}", escaped(queue)),
        };
        self.change_starts(PAUSE, &query, user, signer).await
    }

    async fn change_starts(
        &self,
        believed_at: &str,
        query: &str,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), MarketClientError> {
        if let Some(signer) = signer
            && self.request("time").await.is_ok()
        {
            return self.send_signed(SCHEDULER, query, signer).await.map(drop);
        }
        let path = format!("{believed_at}?{query}&user.name={}", escaped(user));
        self.send_believed(&path).await.map(drop)
    }
}
