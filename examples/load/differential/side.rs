//! One of the two JobTrackers: its connections, and its job ids told as places in the script.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{bail, ensure};
use tokio::time::{Instant, sleep};

use crate::job_client::JobClient;
use crate::staging::JobFiles;

use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{AttemptId, Identifier, JobId};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Action, HeartbeatRequest, HeartbeatResponse};

use super::script::FLEET;

/// A JobTracker.
#[derive(Debug)]
pub struct Side {
    client: JobClient,
    trackers: Vec<IpcClient>,
    stranger: IpcClient,
    /// Its ids of the script's jobs, by their places; none while a job is not submitted.
    jobs: Vec<Option<JobId>>,
    /// Trackers that were given any of a job since they registered.
    ran: BTreeSet<(usize, JobId)>,
}

/// Java makes a job ready on another thread; that long it may take.
const READY_WITHIN: Duration = Duration::from_secs(30);
const POLL_EVERY: Duration = Duration::from_millis(2);

/// The id under which a job of the script is known on both sides.
pub fn job_of_script(place: usize) -> JobId {
    JobId::new(Identifier::from_number(0), place as i32)
}

// === impl Side ===

impl Side {
    /// Connects a fleet and a client.
    pub async fn connect(jobtracker: SocketAddr) -> anyhow::Result<Self> {
        let client = JobClient::connect(jobtracker, "load").await?;
        let mut trackers = Vec::new();
        for _ in 0..FLEET {
            trackers.push(IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?);
        }
        let stranger = IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?;
        Ok(Self { client, trackers, stranger, jobs: Vec::new(), ran: BTreeSet::new() })
    }

    /// Forgets the jobs of the last script and expects so many.
    pub fn begin(&mut self, jobs: usize) {
        self.jobs = vec![None; jobs];
        self.ran.clear();
    }

    /// The places of the jobs submitted so far.
    pub fn submitted(&self) -> Vec<usize> {
        (0..self.jobs.len()).filter(|place| self.jobs[*place].is_some()).collect()
    }

    /// Submits a job and waits until it is ready to be set up.
    pub async fn submit(&mut self, place: usize, files: &JobFiles) -> anyhow::Result<()> {
        let staged = self.client.stage(files).await?;
        self.jobs[place] = Some(staged.id);
        self.client.submit(&staged).await?;
        let end = Instant::now() + READY_WITHIN;
        loop {
            match self.client.call(JobSubmissionCall::GetSetupTaskReports { job: Some(staged.id) }).await? {
                Value::TaskReports(reports) if reports.is_empty() => {}
                Value::TaskReports(_) => return Ok(()),
                other => bail!("getSetupTaskReports was answered by {other:?}"),
            }
            ensure!(Instant::now() < end, "{} is not ready within {READY_WITHIN:?}", staged.id);
            sleep(POLL_EVERY).await;
        }
    }

    /// A client's call about a job of the script.
    pub async fn ask(
        &mut self,
        place: usize,
        call: impl Fn(Option<JobId>) -> JobSubmissionCall,
    ) -> anyhow::Result<Value> {
        self.client.call(call(self.jobs[place])).await
    }

    /// Kills an attempt of the script.
    pub async fn kill_task(&mut self, attempt: AttemptId, should_fail: bool) -> anyhow::Result<Value> {
        let attempt = self.here(attempt);
        self.client.call(JobSubmissionCall::KillTask { attempt, should_fail }).await
    }

    /// A heartbeat of a tracker of the fleet, which it forgets the past with when it registers.
    pub async fn beat(&mut self, tracker: usize, request: &HeartbeatRequest) -> anyhow::Result<HeartbeatResponse> {
        if request.initial_contact {
            self.ran.retain(|(ran, _)| *ran != tracker);
        }
        let request = self.request_here(request);
        let mut answer = heartbeat(&mut self.trackers[tracker], request).await?;
        let actions = std::mem::take(&mut answer.actions);
        for action in actions {
            answer.actions.extend(self.action_of_script(tracker, action));
        }
        Ok(answer)
    }

    /// A heartbeat of a tracker that is not of the fleet.
    pub async fn strange_beat(&mut self, request: &HeartbeatRequest) -> anyhow::Result<HeartbeatResponse> {
        heartbeat(&mut self.stranger, Box::new(request.clone())).await
    }

    fn request_here(&self, request: &HeartbeatRequest) -> Box<HeartbeatRequest> {
        let mut request = Box::new(request.clone());
        for report in &mut request.status.tasks {
            report.attempt = self.here(report.attempt).unwrap_or(report.attempt);
            for map in report.reduce.iter_mut().flat_map(|reduce| &mut reduce.failed_fetches) {
                *map = self.here(*map).unwrap_or(*map);
            }
        }
        request
    }

    /// An attempt of the script under its id here.
    fn here(&self, attempt: AttemptId) -> Option<AttemptId> {
        let job = (*self.jobs.get(attempt.task.job.number as usize)?)?;
        Some(job.task(attempt.task.kind, attempt.task.number).attempt(attempt.number))
    }

    /// The place of a job of here in the script.
    pub fn job_here(&self, job: JobId) -> Option<JobId> {
        self.jobs.iter().position(|here| *here == Some(job)).map(job_of_script)
    }

    /// An attempt of here as the script knows it.
    pub fn attempt_of_script(&self, attempt: AttemptId) -> AttemptId {
        let job = self.job_here(attempt.task.job).unwrap_or(attempt.task.job);
        job.task(attempt.task.kind, attempt.task.number).attempt(attempt.number)
    }

    /// Text with the ids of the script's jobs.
    pub fn text_of_script(&self, text: &str) -> String {
        let bare = |id: JobId| id.to_string().trim_start_matches("job_").to_owned();
        let mut text = text.to_owned();
        for (place, here) in self.jobs.iter().enumerate() {
            if let Some(here) = here {
                text = text.replace(&bare(*here), &bare(job_of_script(place)));
            }
        }
        text
    }

    /// What it orders a tracker to do, in the script's ids. The news that a job is over goes to every tracker under Java
    /// and to those that ran any of it under ours, so only the latter counts; so does news of earlier scripts not at all.
    fn action_of_script(&mut self, tracker: usize, action: Action) -> Option<Action> {
        Some(match action {
            Action::LaunchTask(mut task) => {
                self.ran.insert((tracker, task.status.attempt.task.job));
                task.status.attempt = self.attempt_of_script(task.status.attempt);
                Action::LaunchTask(task)
            }
            Action::KillTask(attempt) => Action::KillTask(self.attempt_of_script(attempt)),
            Action::CommitTask(attempt) => Action::CommitTask(self.attempt_of_script(attempt)),
            Action::KillJob(job) if !self.ran.contains(&(tracker, job)) => return None,
            Action::KillJob(job) => Action::KillJob(self.job_here(job)?),
            Action::ReinitTracker => Action::ReinitTracker,
        })
    }
}

async fn heartbeat(client: &mut IpcClient, request: Box<HeartbeatRequest>) -> anyhow::Result<HeartbeatResponse> {
    match client.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await? {
        Value::Heartbeat(answer) => Ok(answer),
        other => bail!("a heartbeat was answered by {other:?}"),
    }
}
