//! Client of the JobSubmissionProtocol, of this or the Java JobTracker; reconnects by itself.

use crate::client::http_request::waiting_for;
use crate::client::market::{MarketClient, MarketClientError, SignedReadError, Signer};
use crate::config::HostPort;
use crate::ipc::client::{IpcClient, IpcError};
use crate::model::{AttemptId, JobId, Kind};
use crate::wire::protocol::{Call, JobSubmissionCall as Ask, Protocol, Value};
use crate::wire::{Credentials, JobStatus};

use super::error::JobClientError;
use super::view::{JobCounter, JobEvent, JobLine, TaskTally};

/// Maximum number of events in one request.
const EVENTS_AT_A_TIME: i32 = 500;

/// A client of a JobTracker under a user name.
#[derive(Debug)]
pub struct JobTrackerClient {
    address: HostPort,
    /// How the address was found; ends the text of an error where it does not answer.
    origin: String,
    user: String,
    connection: Option<IpcClient>,
    /// Its web server.
    web: Option<MarketClient>,
    /// Signs again there what RPC denies.
    signer: Option<Signer>,
}

impl JobTrackerClient {
    /// A client of the JobTracker at `address`; does not connect yet.
    pub fn new(address: HostPort, user: impl Into<String>) -> Self {
        Self { address, origin: String::new(), user: user.into(), connection: None, web: None, signer: None }
    }

    /// With a text on how the address was found, which ends that of an error where it does not answer.
    #[must_use]
    pub(crate) fn found(self, origin: impl Into<String>) -> Self {
        Self { origin: origin.into(), ..self }
    }

    /// Asks its web server why an answer takes long; and where there is a signer, again, signed, for what RPC denies: an
    /// administrator proves the role by the signature.
    #[must_use]
    pub(crate) fn with_web(self, web: MarketClient, signer: Option<Signer>) -> Self {
        Self { web: Some(web), signer, ..self }
    }

    pub(crate) fn address(&self) -> &HostPort {
        &self.address
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Address of this machine on the connection to the JobTracker.
    pub(super) async fn local_address(&mut self) -> Result<std::net::IpAddr, JobClientError> {
        let address = self.connection().await.and_then(|connection| Ok(connection.local_address()?));
        address.map_err(|error| self.error(error))
    }

    /// Makes a call. If the server has closed the connection, reconnects once: all calls of this protocol are idempotent.
    pub(super) async fn call(&mut self, call: Ask) -> Result<Value, JobClientError> {
        let call = Call::JobSubmission(call);
        let was_connected = self.connection.is_some();
        let mut answer = self.attempt_or_say_why(&call).await;
        if was_connected && matches!(answer, Err(IpcError::Closed | IpcError::Io(_) | IpcError::OutOfStep)) {
            answer = self.attempt_or_say_why(&call).await;
        }
        answer.map_err(|error| self.error(error))
    }

    /// Makes a call that reads what the access lists of a job may deny.
    async fn read(&mut self, call: Ask) -> Result<Value, JobClientError> {
        let denied = match self.call(call.clone()).await {
            Err(denied @ JobClientError::Denied(_)) => denied,
            answer => return answer,
        };
        let (Some(market), Some(signer)) = (&self.web, &self.signer) else { return Err(denied) };
        match market.read(&Call::JobSubmission(call), signer).await {
            Ok(value) => Ok(value),
            Err(SignedReadError::Call(error)) => Err(self.error(error)),
            // There is no market, or the server is another.
            Err(SignedReadError::Market(MarketClientError::Refused(_))) => Err(denied),
            Err(SignedReadError::Market(error)) if error.is_passing() => Err(denied),
            Err(SignedReadError::Market(error)) => Err(JobClientError::Denied(error.to_string())),
        }
    }

    fn error(&self, error: IpcError) -> JobClientError {
        match JobClientError::of(error, &self.address.to_string()) {
            JobClientError::Unreachable { jobtracker, reason } => {
                JobClientError::Unreachable { jobtracker, reason: reason + &self.origin }
            }
            error => error,
        }
    }

    async fn attempt_or_say_why(&mut self, call: &Call) -> Result<Value, IpcError> {
        match self.web.clone() {
            Some(web) => waiting_for(web.server(), self.attempt(call)).await,
            None => self.attempt(call).await,
        }
    }

    async fn attempt(&mut self, call: &Call) -> Result<Value, IpcError> {
        let answer = self.connection().await?.call(call).await;
        if !matches!(answer, Ok(_) | Err(IpcError::Remote { fatal: false, .. })) {
            self.connection = None;
        }
        answer
    }

    async fn connection(&mut self) -> Result<&mut IpcClient, IpcError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let address = (self.address.host.as_str(), self.address.port);
                IpcClient::connect(address, Protocol::JobSubmission, &self.user).await?
            }
        };
        Ok(self.connection.insert(connection))
    }

    pub(super) async fn status(&mut self, job: JobId) -> Result<Option<JobStatus>, JobClientError> {
        match self.call(Ask::GetJobStatus { job: Some(job) }).await? {
            Value::JobStatus(status) => Ok(status),
            _ => Err(JobClientError::Answer("getJobStatus")),
        }
    }

    /// A job. Errors: [`JobClientError`], for an unknown job too.
    pub(crate) async fn job(&mut self, job: JobId) -> Result<JobLine, JobClientError> {
        let status = self.status(job).await?.ok_or(JobClientError::UnknownJob(job))?;
        self.line(&status).await
    }

    async fn line(&mut self, status: &JobStatus) -> Result<JobLine, JobClientError> {
        match self.call(Ask::GetJobProfile { job: Some(status.id) }).await? {
            Value::JobProfile(profile) => Ok(JobLine::of(status, profile.as_ref())),
            _ => Err(JobClientError::Answer("getJobProfile")),
        }
    }

    /// Whether a job is known.
    pub(super) async fn has_profile(&mut self, job: JobId) -> Result<bool, JobClientError> {
        match self.call(Ask::GetJobProfile { job: Some(job) }).await? {
            Value::JobProfile(profile) => Ok(profile.is_some()),
            _ => Err(JobClientError::Answer("getJobProfile")),
        }
    }

    pub(crate) async fn jobs(&mut self, all: bool) -> Result<Vec<JobLine>, JobClientError> {
        let call = if all { Ask::GetAllJobs } else { Ask::JobsToComplete };
        let Value::JobStatuses(mut statuses) = self.call(call).await? else {
            return Err(JobClientError::Answer("getAllJobs"));
        };
        statuses.sort_by_key(|status| status.id);
        let mut lines = Vec::with_capacity(statuses.len());
        for status in &statuses {
            lines.push(self.line(status).await?);
        }
        Ok(lines)
    }

    pub(crate) async fn job_ids(&mut self) -> Result<Vec<JobId>, JobClientError> {
        match self.call(Ask::JobsToComplete).await? {
            Value::JobStatuses(statuses) => Ok(statuses.iter().map(|status| status.id).collect()),
            _ => Err(JobClientError::Answer("jobsToComplete")),
        }
    }

    pub(crate) async fn queues(&mut self) -> Result<Vec<String>, JobClientError> {
        match self.call(Ask::GetQueues).await? {
            Value::Queues(queues) => Ok(queues.into_iter().map(|queue| queue.name.0).collect()),
            _ => Err(JobClientError::Answer("getQueues")),
        }
    }

    pub(crate) async fn kill(&mut self, job: JobId) -> Result<(), JobClientError> {
        self.call(Ask::KillJob { job: Some(job) }).await.map(drop)
    }

    /// Kills an attempt, or lets it fail; whether it was running.
    pub(crate) async fn kill_attempt(&mut self, attempt: AttemptId, should_fail: bool) -> Result<bool, JobClientError> {
        match self.call(Ask::KillTask { attempt: Some(attempt), should_fail }).await? {
            Value::Boolean(is_killed) => Ok(is_killed),
            _ => Err(JobClientError::Answer("killTask")),
        }
    }

    pub(crate) async fn set_priority(&mut self, job: JobId, priority: &str) -> Result<(), JobClientError> {
        self.call(Ask::SetJobPriority { job: Some(job), priority: Some(priority.to_owned()) }).await.map(drop)
    }

    /// Completion events: at most `count`, from number `from` on.
    pub(crate) async fn events(&mut self, job: JobId, from: u32, count: u32) -> Result<Vec<JobEvent>, JobClientError> {
        let mut lines = Vec::new();
        while (lines.len() as u64) < u64::from(count) {
            let next = i32::try_from(u64::from(from) + lines.len() as u64).unwrap_or(i32::MAX);
            let left = u64::from(count) - lines.len() as u64;
            let max = i32::try_from(left).unwrap_or(i32::MAX).min(EVENTS_AT_A_TIME);
            let call = Ask::GetTaskCompletionEvents { job: Some(job), from: next, max };
            let Value::CompletionEvents(events) = self.read(call).await? else {
                return Err(JobClientError::Answer("getTaskCompletionEvents"));
            };
            let is_last = events.len() < max as usize;
            lines.extend(events.iter().map(JobEvent::of));
            if is_last {
                break;
            }
        }
        Ok(lines)
    }

    pub(crate) async fn diagnostics(&mut self, attempt: AttemptId) -> Result<Vec<String>, JobClientError> {
        match self.read(Ask::GetTaskDiagnostics { attempt: Some(attempt) }).await? {
            Value::Strings(texts) => Ok(texts),
            _ => Err(JobClientError::Answer("getTaskDiagnostics")),
        }
    }

    pub(crate) async fn counters(&mut self, job: JobId) -> Result<Vec<JobCounter>, JobClientError> {
        match self.read(Ask::GetJobCounters { job: Some(job) }).await? {
            Value::Counters(counters) => Ok(counters.as_ref().map(JobCounter::all_of).unwrap_or_default()),
            _ => Err(JobClientError::Answer("getJobCounters")),
        }
    }

    pub(crate) async fn worker_count(&mut self) -> Result<u64, JobClientError> {
        match self.call(Ask::GetClusterStatus { detailed: false }).await? {
            Value::ClusterStatus(status) => {
                let count = |count: i32| u64::try_from(count).unwrap_or(0);
                Ok(count(status.active.count) + count(status.blacklisted.count))
            }
            _ => Err(JobClientError::Answer("getClusterStatus")),
        }
    }

    pub(crate) async fn tally(&mut self, job: JobId, kind: Kind) -> Result<TaskTally, JobClientError> {
        let call = match kind {
            Kind::Map => Ask::GetMapTaskReports { job: Some(job) },
            Kind::Reduce => Ask::GetReduceTaskReports { job: Some(job) },
        };
        match self.read(call).await? {
            Value::TaskReports(reports) => Ok(TaskTally::of(&reports)),
            _ => Err(JobClientError::Answer("getMapTaskReports")),
        }
    }

    pub(crate) async fn has_queue(&mut self, queue: &str) -> Result<bool, JobClientError> {
        match self.call(Ask::GetQueueInfo { queue: Some(queue.to_owned()) }).await? {
            Value::QueueInfo(queue) => Ok(queue.is_some()),
            _ => Err(JobClientError::Answer("getQueueInfo")),
        }
    }

    pub(super) async fn staging_area(&mut self) -> Result<String, JobClientError> {
        match self.call(Ask::GetStagingAreaDir).await? {
            Value::String(Some(area)) => Ok(area),
            _ => Err(JobClientError::Answer("getStagingAreaDir")),
        }
    }

    /// A new job id.
    pub(super) async fn new_job_id(&mut self) -> Result<JobId, JobClientError> {
        match self.call(Ask::GetNewJobId).await? {
            Value::JobId(id) => Ok(id),
            _ => Err(JobClientError::Answer("getNewJobId")),
        }
    }

    /// Access list for administering the jobs of a queue, as written to job.xml.
    pub(super) async fn queue_admins(&mut self, queue: &str) -> Result<String, JobClientError> {
        match self.call(Ask::GetQueueAdmins { queue: Some(queue.to_owned()) }).await? {
            Value::AccessControlList(list) => Ok(list.0.0),
            _ => Err(JobClientError::Answer("getQueueAdmins")),
        }
    }

    pub(super) async fn submit_job(&mut self, job: JobId, directory: &str) -> Result<(), JobClientError> {
        let directory = Some(directory.to_owned());
        let call = Ask::SubmitJob { job: Some(job), directory, credentials: Some(Credentials::default()) };
        match self.call(call).await? {
            Value::JobStatus(Some(_)) => Ok(()),
            _ => Err(JobClientError::Answer("submitJob")),
        }
    }
}
