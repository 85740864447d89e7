//! The attempts of jobs, and when jobs ended.

use crate::api::{JobTasks, JobTimesList};
use crate::client::signed_query::escaped;
use crate::model::JobId;

use super::{MarketClient, MarketClientError, Signer};

/// Path of the attempts of a job.
const TASKS: &str = "/scheduler/tasks";
/// Path of the times of jobs.
const JOB_TIMES: &str = "/scheduler/jobs";

impl MarketClient {
    /// A job with its attempts, or with those that have not ended, as `user` may see them, asked for in portions. Only a ruling
    /// market needs a signature.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub(crate) async fn tasks(
        &self,
        job: JobId,
        is_running_only: bool,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<JobTasks, MarketClientError> {
        let running = if is_running_only { "&running" } else { "" };
        let query = format!("tasks={job}{running}&user.name={}", escaped(user));
        let mut tasks = self.read_tasks(&query, signer).await?;
        while let Some(next) = tasks.next {
            let mut portion = self.read_tasks(&format!("{query}&from={next}"), signer).await?;
            tasks.attempts.append(&mut portion.attempts);
            // A server that does not go forward is asked no more.
            tasks.next = portion.next.filter(|further| *further > next);
        }
        Ok(tasks)
    }

    async fn read_tasks(&self, query: &str, signer: Option<&Signer>) -> Result<JobTasks, MarketClientError> {
        if let Some(signer) = signer {
            match self.signed_json(TASKS, query, signer).await {
                // There may be no market.
                Err(MarketClientError::Refused(_)) if self.request("time").await.is_err() => {}
                answer => return answer,
            }
        }
        let answer = self.get(&format!("{TASKS}?{query}"), None).await?;
        self.read_json(&self.body_or_error(answer)?)
    }

    /// When the newest jobs were submitted and ended; a signer sees the costs of own jobs.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub(crate) async fn job_times(&self, signer: Option<&Signer>) -> Result<JobTimesList, MarketClientError> {
        if let Some(signer) = signer {
            match self.signed_json(JOB_TIMES, "jobs", signer).await {
                Err(MarketClientError::Refused(_)) if self.request("time").await.is_err() => {}
                answer => return answer,
            }
        }
        self.read_json(&self.body_or_error(self.get(&format!("{JOB_TIMES}?jobs"), None).await?)?)
    }
}
