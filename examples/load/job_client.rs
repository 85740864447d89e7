//! A job client.

use std::net::SocketAddr;

use anyhow::{Context, bail};

use crate::staging;
use crate::staging::{JobFiles, JobShape};

use jobtracker::fs::{FileSystems, FileUri};
use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{JobId, RunState};
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Credentials, JobStatus};

/// A connection of a user.
#[derive(Debug)]
pub struct JobClient {
    ipc: IpcClient,
    files: FileSystems,
    staging: FileUri,
}

/// A job whose files are written.
#[derive(Clone, Debug)]
pub struct StagedJob {
    /// The job.
    pub id: JobId,
    directory: FileUri,
}

// === impl JobClient ===

impl JobClient {
    /// Connects, and asks where staged files go.
    pub async fn connect(jobtracker: SocketAddr, user: &str) -> anyhow::Result<Self> {
        let mut ipc = IpcClient::connect(jobtracker, Protocol::JobSubmission, user).await?;
        let staging = match ipc.call(&Call::JobSubmission(JobSubmissionCall::GetStagingAreaDir)).await? {
            Value::String(Some(staging)) => FileUri::parse(&staging)?,
            other => bail!("getStagingAreaDir was answered by {other:?}"),
        };
        Ok(Self { ipc, files: FileSystems::with_defaults(user), staging })
    }

    /// Where its jobs are staged.
    pub fn staging_directory(&self) -> std::path::PathBuf {
        self.staging.shown_path()
    }

    /// Makes a call.
    pub async fn call(&mut self, call: JobSubmissionCall) -> anyhow::Result<Value> {
        let name = call.method().name;
        self.ipc.call(&Call::JobSubmission(call)).await.context(name)
    }

    /// Gets an id and writes the files of a job.
    pub async fn stage(&mut self, files: &JobFiles) -> anyhow::Result<StagedJob> {
        let Value::JobId(id) = self.call(JobSubmissionCall::GetNewJobId).await? else { bail!("no job id") };
        let directory = self.staging.join(&id.to_string())?;
        staging::write(&self.files, &directory, id, files)?;
        Ok(StagedJob { id, directory })
    }

    /// Stages so many jobs.
    pub async fn stage_many(&mut self, count: u32, shape: &JobShape) -> anyhow::Result<Vec<StagedJob>> {
        self.stage_alike(count, &shape.files()).await
    }

    /// Stages so many jobs of these files.
    pub async fn stage_alike(&mut self, count: u32, files: &JobFiles) -> anyhow::Result<Vec<StagedJob>> {
        let mut staged = Vec::new();
        for _ in 0..count {
            staged.push(self.stage(files).await?);
        }
        Ok(staged)
    }

    /// Submits a job.
    pub async fn submit(&mut self, job: &StagedJob) -> anyhow::Result<()> {
        let call = JobSubmissionCall::SubmitJob {
            job: Some(job.id),
            directory: Some(job.directory.to_string()),
            credentials: Some(Credentials::default()),
        };
        match self.call(call).await? {
            Value::JobStatus(Some(status)) if status.id == job.id => Ok(()),
            other => bail!("submitJob of {} was answered by {other:?}", job.id),
        }
    }

    /// The status of a job, which must be known.
    pub async fn status(&mut self, id: JobId) -> anyhow::Result<JobStatus> {
        match self.call(JobSubmissionCall::GetJobStatus { job: Some(id) }).await? {
            Value::JobStatus(Some(status)) => Ok(status),
            other => bail!("getJobStatus of {id} was answered by {other:?}"),
        }
    }

    /// Whether a job is over; an error when it did not succeed. One that is forgotten has succeeded.
    pub async fn has_succeeded(&mut self, id: JobId) -> anyhow::Result<bool> {
        match self.call(JobSubmissionCall::GetJobStatus { job: Some(id) }).await? {
            Value::JobStatus(None) => Ok(true),
            Value::JobStatus(Some(status)) => match status.run_state {
                RunState::Succeeded => Ok(true),
                RunState::Prep | RunState::Running => Ok(false),
                RunState::Failed | RunState::Killed => bail!("{id} ended as {status:?}"),
            },
            other => bail!("getJobStatus of {id} was answered by {other:?}"),
        }
    }
}
