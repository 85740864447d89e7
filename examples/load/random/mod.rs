//! Random small jobs whose tasks end in every way, each predicted by a model.
//!
//! Everything happens one call at a time, so that the model knows the order in which the JobTracker saw it. In the end every job
//! must be as predicted, every slot must be free, and nothing may be left in the system directory or the staging area.

mod model;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{bail, ensure};
use tokio::time::{Instant, sleep};

use model::{JobModel, Terms};

use crate::arguments::Random;
use crate::dice::Dice;
use crate::job_client::JobClient;
use crate::staging::JobFiles;
use crate::steady_tracker::{Slots, host_of};
use crate::wayward_tracker::{WaywardTask, WaywardTracker};

use jobtracker::fake_tracker::{AttemptStep, Role};
use jobtracker::fs::FileUri;
use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{JobId, PerKind, RunState};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Action, HeartbeatResponse};

const SLOTS: Slots = Slots::new(8, 4);
/// Jobs that may run at a time.
const LIVE_JOBS: usize = 150;
/// Heartbeats of the whole fleet within which the last jobs must end.
const LAST_ROUNDS: u32 = 300;
const FILES_GONE_WITHIN: Duration = Duration::from_secs(30);
const POLL_EVERY: Duration = Duration::from_millis(20);

struct Job {
    id: JobId,
    model: JobModel,
    is_untouched: bool,
}

struct Run {
    seed: u64,
    dice: Dice,
    client: JobClient,
    fleet: Vec<(WaywardTracker, IpcClient)>,
    /// Jobs that are not known to be over.
    live: BTreeMap<JobId, Job>,
    /// How many ended so.
    ended: BTreeMap<RunState, u32>,
    wrong: Vec<String>,
    heartbeats: u64,
}

/// Runs the jobs; an error when any ended otherwise than predicted, or something is left of them.
pub async fn run(jobtracker: SocketAddr, arguments: &Random) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut run = Run {
        seed: arguments.seed,
        dice: Dice::named(arguments.seed, "random jobs"),
        client: JobClient::connect(jobtracker, "load").await?,
        fleet: Vec::new(),
        live: BTreeMap::new(),
        ended: BTreeMap::new(),
        wrong: Vec::new(),
        heartbeats: 0,
    };
    for number in 0..arguments.trackers {
        let client = IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?;
        run.fleet.push((WaywardTracker::new(number, &host_of(number), SLOTS), client));
    }
    let (mut waiting, mut rounds) = (arguments.jobs, 0);
    while waiting > 0 || !run.live.is_empty() {
        for _ in 0..run.dice.below(30) {
            if waiting > 0 && run.live.len() < LIVE_JOBS {
                waiting -= 1;
                run.submit().await?;
            }
        }
        run.round(true).await?;
        run.notice_ends().await?;
        rounds = if waiting > 0 { 0 } else { rounds + 1 };
        ensure!(rounds < LAST_ROUNDS, "{} jobs do not end, such as {:?}", run.live.len(), run.live.keys().next());
    }
    run.slots_are_free().await?;
    run.files_are_gone().await?;
    println!(
        "{} jobs ended as predicted, {} not, in {:.1} s and {} heartbeats: {:?}",
        arguments.jobs as usize - run.wrong.len(),
        run.wrong.len(),
        began.elapsed().as_secs_f64(),
        run.heartbeats,
        run.ended
    );
    ensure!(run.wrong.is_empty(), "{}", run.wrong.join("\n"));
    Ok(())
}

// === impl Run ===

impl Run {
    async fn submit(&mut self) -> anyhow::Result<()> {
        let dice = &mut self.dice;
        let tasks = PerKind::new(dice.below(6), dice.below(3));
        let max_attempts = PerKind::new(1 + dice.below(4), 1 + dice.below(4));
        let percents = [0, 0, 20, 50, 100];
        let percent = PerKind::new(percents[dice.below(5) as usize], percents[dice.below(5) as usize]);
        let trackers = self.fleet.len() as u32;
        let splits = (0..tasks.map).map(|_| (0..dice.below(3)).map(|_| host_of(dice.below(trackers))).collect());
        let mut files = JobFiles { splits: splits.collect(), reduces: tasks.reduce, properties: Vec::new() };
        for (name, value) in [
            ("mapred.map.max.attempts", max_attempts.map),
            ("mapred.reduce.max.attempts", max_attempts.reduce),
            ("mapred.max.map.failures.percent", percent.map),
            ("mapred.max.reduce.failures.percent", percent.reduce),
        ] {
            files.properties.push((name.to_owned(), value.to_string()));
        }
        let staged = self.client.stage(&files).await?;
        self.client.submit(&staged).await?;
        let model = JobModel::new(Terms { tasks, max_attempts, percent });
        self.live.insert(staged.id, Job { id: staged.id, model, is_untouched: true });
        Ok(())
    }

    /// Everybody calls once; with `mishaps` also a few restarts, losses and kills.
    async fn round(&mut self, mishaps: bool) -> anyhow::Result<()> {
        if mishaps && self.dice.percent(25) {
            self.kill_a_job().await?;
        }
        for number in 0..self.fleet.len() {
            let mut is_lost = false;
            if mishaps {
                is_lost = self.dice.percent(3);
                if self.dice.percent(1) {
                    self.restart(number);
                } else if self.dice.percent(2)
                    && let Some(output) =
                        self.dice.pick(&self.fleet[number].0.tracker.outputs.iter().copied().collect::<Vec<_>>())
                {
                    self.fleet[number].0.lose_output(output);
                }
            }
            self.beat(number, is_lost).await?;
        }
        Ok(())
    }

    async fn kill_a_job(&mut self) -> anyhow::Result<()> {
        let ids: Vec<JobId> = self.live.keys().copied().collect();
        let Some(id) = self.dice.pick(&ids) else { return Ok(()) };
        self.client.call(JobSubmissionCall::KillJob { job: Some(id) }).await?;
        if let Some(job) = self.live.get_mut(&id) {
            job.model.killed(job.is_untouched);
        }
        Ok(())
    }

    fn restart(&mut self, number: usize) {
        let reinit = self.dice.percent(50);
        self.fleet[number].0.restart(reinit);
    }

    async fn beat(&mut self, number: usize, is_lost: bool) -> anyhow::Result<()> {
        let seed = self.seed;
        let (tracker, client) = &mut self.fleet[number];
        let repeats = tracker.is_unanswered();
        let roles: BTreeMap<_, _> = tracker.tracker.attempts.iter().map(|task| (task.id, task.role)).collect();
        let request = tracker.heartbeat(|task| fate(seed, task));
        let reports: Vec<_> = request.status.tasks.iter().map(|report| (report.attempt, report.state)).collect();
        let registers = request.initial_contact;
        let next_id = request.response_id.wrapping_add(1);
        let answer = heartbeat(client, Call::InterTracker(InterTrackerCall::Heartbeat { request: Box::new(request) }));
        let answer = answer.await?;
        ensure!(answer.response_id == next_id, "answer {} instead of {next_id}", answer.response_id);
        self.heartbeats += 1;
        // A repeated heartbeat was taken in the first time, and so was its answer.
        if !repeats {
            if registers {
                for lost in tracker.forget_lost() {
                    if let Some(job) = self.live.get_mut(&lost.task.job) {
                        job.model.lost(lost);
                    }
                }
            }
            for (attempt, state) in reports {
                if let Some(job) = self.live.get_mut(&attempt.task.job) {
                    let role = roles.get(&attempt).copied().unwrap_or(Role::Work);
                    job.model.reported(attempt, role, state);
                }
            }
            for action in &answer.actions {
                if let Action::LaunchTask(task) = action
                    && let Some(job) = self.live.get_mut(&task.status.attempt.task.job)
                {
                    job.is_untouched = false;
                }
            }
        }
        if !is_lost {
            tracker.obey(&answer);
        }
        Ok(())
    }

    /// Compares the jobs that are over with what was predicted.
    async fn notice_ends(&mut self) -> anyhow::Result<()> {
        let Value::JobStatuses(statuses) = self.client.call(JobSubmissionCall::JobsToComplete).await? else {
            bail!("jobsToComplete was answered by something else")
        };
        let over: Vec<JobId> =
            self.live.keys().filter(|id| !statuses.iter().any(|status| status.id == **id)).copied().collect();
        for id in over {
            let state = self.client.status(id).await?.run_state;
            *self.ended.entry(state).or_default() += 1;
            if let Some(job) = self.live.remove(&id)
                && job.model.end() != state
            {
                self.wrong.push(format!("{} is {state:?}, not {:?}: {:?}", job.id, job.model.end(), job.model));
            }
        }
        Ok(())
    }

    /// A job that takes every slot at once is given every slot at once.
    async fn slots_are_free(&mut self) -> anyhow::Result<()> {
        // All have heard of every end.
        self.round(false).await?;
        self.round(false).await?;
        let trackers = self.fleet.len() as u32;
        let (maps, reduces) = (trackers * SLOTS.map, trackers * SLOTS.reduce);
        let files = JobFiles {
            splits: vec![Vec::new(); maps as usize],
            reduces,
            properties: vec![("mapred.reduce.slowstart.completed.maps".to_owned(), "0".to_owned())],
        };
        let staged = self.client.stage(&files).await?;
        self.client.submit(&staged).await?;
        for _ in 0..4 {
            for (tracker, client) in &mut self.fleet {
                let advance = |task: &WaywardTask| match task.role {
                    Role::Work => AttemptStep::Wait,
                    Role::TaskCleanup | Role::Housekeeping => AttemptStep::Advance,
                };
                let request = Box::new(tracker.heartbeat(advance));
                let answer = heartbeat(client, Call::InterTracker(InterTrackerCall::Heartbeat { request })).await?;
                tracker.obey(&answer);
            }
        }
        let taken: usize = self.fleet.iter().map(|(tracker, _)| tracker.tracker.attempts.len()).sum();
        self.client.call(JobSubmissionCall::KillJob { job: Some(staged.id) }).await?;
        for _ in 0..8 {
            for (tracker, client) in &mut self.fleet {
                let request = Box::new(tracker.heartbeat(|_| AttemptStep::Advance));
                let answer = heartbeat(client, Call::InterTracker(InterTrackerCall::Heartbeat { request })).await?;
                tracker.obey(&answer);
            }
        }
        ensure!(taken == (maps + reduces) as usize, "only {taken} of {} slots are free", maps + reduces);
        Ok(())
    }

    async fn files_are_gone(&mut self) -> anyhow::Result<()> {
        let Value::String(Some(system)) = self.client.call(JobSubmissionCall::GetSystemDir).await? else {
            bail!("there is no system directory")
        };
        let system = FileUri::parse(&system)?;
        let end = Instant::now() + FILES_GONE_WITHIN;
        loop {
            let mut left = job_folders(&system.shown_path())?;
            left.extend(job_folders(&self.client.staging_directory())?);
            if left.is_empty() {
                return Ok(());
            }
            ensure!(Instant::now() < end, "{} folders are left, such as {}", left.len(), left[0]);
            sleep(POLL_EVERY).await;
        }
    }
}

fn job_folders(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut jobs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("job_")) {
            jobs.push(path.display().to_string());
        }
    }
    Ok(jobs)
}

async fn heartbeat(client: &mut IpcClient, call: Call) -> anyhow::Result<HeartbeatResponse> {
    match client.call(&call).await? {
        Value::Heartbeat(answer) => Ok(answer),
        other => bail!("a heartbeat was answered by {other:?}"),
    }
}

/// The fate of a task, drawn from its attempt, so that it is settled when it is launched.
fn fate(seed: u64, task: &WaywardTask) -> AttemptStep {
    let (id, attempt) = (task.id.task, task.id.number);
    let name = format!("{} {:?} {} {attempt} {:?}", id.job.number, id.kind, id.number, task.role);
    let mut dice = Dice::named(seed, &name);
    let chance = dice.below(100);
    let is_ripe = task.has_begun() && u32::from(task.plan.quarters) >= dice.below(2);
    match task.role {
        Role::TaskCleanup => AttemptStep::Advance,
        Role::Housekeeping if is_ripe && chance < 6 => AttemptStep::Fail,
        Role::Housekeeping => AttemptStep::Advance,
        Role::Work if !is_ripe => {
            if chance == 99 {
                AttemptStep::Die
            } else {
                AttemptStep::Advance
            }
        }
        Role::Work => match chance {
            0..10 => AttemptStep::Fail,
            10..18 => AttemptStep::FailUnclean,
            18..23 => AttemptStep::DieUnclean,
            23..26 => AttemptStep::Die,
            _ => AttemptStep::Advance,
        },
    }
}
