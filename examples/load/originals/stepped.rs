//! A Java JobTracker under `SteppedScheduler` (`tests/hadoop/stepped/`).

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::job_client::{JobClient, StagedJob};
use crate::scripted::play::{JobTracker, job_id};
use crate::scripted::script::{HOSTS, PRIORITIES, PlannedJob, Script, USERS};
use crate::scripted::settings::SchedulerName;
use crate::staging::JobFiles;

use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::model::{AttemptId, JobId, RunState};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Action, HeartbeatRequest, HeartbeatResponse};

/// Its connections. Jobs of the script are known by other ids there.
#[derive(Debug)]
pub struct SteppedJobTracker {
    scheduler: SchedulerName,
    control: BufReader<TcpStream>,
    clients: BTreeMap<&'static str, JobClient>,
    trackers: Vec<IpcClient>,
    /// Holds the configuration of the script.
    folder: TempDir,
    jobs: BTreeMap<JobId, JobId>,
}

// === impl SteppedJobTracker ===

impl SteppedJobTracker {
    /// Connects a fleet, all users, and what moves the time.
    pub async fn connect(rpc: SocketAddr, control: SocketAddr, scheduler: SchedulerName) -> anyhow::Result<Self> {
        let mut clients = BTreeMap::new();
        for user in USERS {
            clients.insert(user, JobClient::connect(rpc, user).await?);
        }
        let mut trackers = Vec::new();
        for _ in HOSTS {
            trackers.push(IpcClient::connect(rpc, Protocol::InterTracker, "load").await?);
        }
        let control = BufReader::new(TcpStream::connect(control).await.context("the control of the scheduler")?);
        Ok(Self { scheduler, control, clients, trackers, folder: TempDir::new()?, jobs: BTreeMap::new() })
    }

    async fn command(&mut self, command: &str) -> anyhow::Result<()> {
        self.control.write_all(format!("{command}\n").as_bytes()).await?;
        let mut answer = String::new();
        self.control.read_line(&mut answer).await?;
        ensure!(answer == "ok\n", "{command}: {}", answer.trim_end());
        Ok(())
    }

    fn client(&mut self, user: &str) -> anyhow::Result<&mut JobClient> {
        self.clients.get_mut(user).with_context(|| format!("no user is called {user}"))
    }

    async fn call(&mut self, call: JobSubmissionCall) -> anyhow::Result<Value> {
        self.client(USERS[0])?.call(call).await
    }

    /// Every job of the last script must have ended.
    async fn check_ended(&mut self) -> anyhow::Result<()> {
        for job in self.jobs.values().copied().collect::<Vec<_>>() {
            let status = self.client(USERS[0])?.status(job).await?;
            let is_over = !matches!(status.run_state, RunState::Prep | RunState::Running);
            ensure!(is_over, "{job} of the script before is still {:?}", status.run_state);
        }
        Ok(())
    }

    /// An attempt of the script under its id there.
    fn attempt_there(&self, attempt: AttemptId) -> AttemptId {
        let job = self.jobs.get(&attempt.task.job).copied().unwrap_or(attempt.task.job);
        job.task(attempt.task.kind, attempt.task.number).attempt(attempt.number)
    }

    fn job_of_script(&self, there: JobId) -> Option<JobId> {
        self.jobs.iter().find(|(_, job)| **job == there).map(|(job, _)| *job)
    }

    fn attempt_of_script(&self, there: AttemptId) -> Option<AttemptId> {
        Some(self.job_of_script(there.task.job)?.task(there.task.kind, there.task.number).attempt(there.number))
    }

    /// None of it is about earlier scripts: their jobs have ended, and trackers forget those.
    fn action_of_script(&self, action: Action) -> Option<Action> {
        Some(match action {
            Action::LaunchTask(mut task) => {
                task.status.attempt = self.attempt_of_script(task.status.attempt)?;
                Action::LaunchTask(task)
            }
            Action::KillTask(attempt) => Action::KillTask(self.attempt_of_script(attempt)?),
            Action::CommitTask(attempt) => Action::CommitTask(self.attempt_of_script(attempt)?),
            Action::KillJob(job) => Action::KillJob(self.job_of_script(job)?),
            Action::ReinitTracker => Action::ReinitTracker,
        })
    }
}

impl JobTracker for SteppedJobTracker {
    async fn begin(&mut self, script: &Script) -> anyhow::Result<()> {
        self.check_ended().await?;
        self.jobs.clear();
        let folder = self.folder.path().to_str().context("a folder with a strange name")?.to_owned();
        for (name, text) in script.settings.files(&folder) {
            fs::write(self.folder.path().join(name), text)?;
        }
        self.command(&format!("fresh {} {folder}", self.scheduler)).await
    }

    async fn advance(&mut self, now_ms: u64) -> anyhow::Result<()> {
        self.command(&format!("time {now_ms}")).await
    }

    async fn submit(&mut self, job: usize, plan: &PlannedJob) -> anyhow::Result<bool> {
        let files = files(plan);
        let client = self.client(&plan.user)?;
        let staged = client.stage(&files).await?;
        let is_accepted = is_accepted(client, &staged).await?;
        if is_accepted {
            self.jobs.insert(job_id(job), staged.id);
        }
        Ok(is_accepted)
    }

    async fn beat(&mut self, tracker: usize, request: HeartbeatRequest) -> anyhow::Result<HeartbeatResponse> {
        let mut request = Box::new(request);
        for report in &mut request.status.tasks {
            report.attempt = self.attempt_there(report.attempt);
        }
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        let mut answer = match self.trackers[tracker].call(&call).await? {
            Value::Heartbeat(answer) => answer,
            other => bail!("a heartbeat was answered by {other:?}"),
        };
        let actions = std::mem::take(&mut answer.actions);
        answer.actions = actions.into_iter().filter_map(|action| self.action_of_script(action)).collect();
        Ok(answer)
    }

    async fn kill_job(&mut self, job: usize) -> anyhow::Result<()> {
        let job = self.jobs.get(&job_id(job)).copied();
        self.call(JobSubmissionCall::KillJob { job }).await.map(drop)
    }

    async fn set_priority(&mut self, job: usize, priority: &str) -> anyhow::Result<()> {
        let job = self.jobs.get(&job_id(job)).copied();
        self.call(JobSubmissionCall::SetJobPriority { job, priority: Some(priority.to_owned()) }).await.map(drop)
    }
}

async fn is_accepted(client: &mut JobClient, staged: &StagedJob) -> anyhow::Result<bool> {
    match client.submit(staged).await {
        Ok(()) => Ok(true),
        Err(error) => match error.downcast_ref::<IpcError>() {
            Some(IpcError::Remote { fatal: false, .. }) => Ok(false),
            _ => Err(error),
        },
    }
}

fn files(plan: &PlannedJob) -> JobFiles {
    let mut properties: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| properties.push((name.to_owned(), value));
    set("mapred.job.queue.name", plan.queue.clone());
    set("mapred.job.priority", PRIORITIES[plan.priority].to_owned());
    let slowstart = f64::from(plan.slowstart_millionths) / 1e6;
    set("mapred.reduce.slowstart.completed.maps", slowstart.to_string());
    // A host is never avoided for its failures.
    set("mapred.max.tracker.failures", "1000".to_owned());
    if let Some(pool) = &plan.pool {
        set("mapred.fairscheduler.pool", pool.clone());
    }
    if let Some((map, reduce)) = plan.memory_mb {
        set("mapred.job.map.memory.mb", map.to_string());
        set("mapred.job.reduce.memory.mb", reduce.to_string());
    }
    JobFiles { splits: plan.splits.clone(), reduces: plan.reduces, properties }
}
