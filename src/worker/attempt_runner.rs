//! Runs one attempt from the job's files to its end, on a thread of its own (1.2.1 `TaskTracker.TaskInProgress`,
//! `Child`, `Task.done`).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::config::keys;
use crate::fs::FileUri;
use crate::model::AttemptId;
use crate::streaming::attempt::AttemptContext;
use crate::streaming::committer::OutputCommitter;
use crate::streaming::counters::FrameworkCounter;
use crate::streaming::environment::{AttemptInfo, SplitInfo, build_environment};
use crate::streaming::failure::TaskFailure;
use crate::streaming::map_task::MapSplit;
use crate::streaming::plan::ProcessPlan;
use crate::streaming::private_files::make_folder;
use crate::streaming::progress::Progress;
use crate::streaming::shuffle::fetch::HttpFetcher;
use crate::streaming::{map_task, reduce_task, working_folder};
use crate::wire::{CleanupOutcome, Phase, Task, TaskBody};

use super::attempt_handle::AttemptHandle;
use super::attempt_logs::AttemptLogs;
use super::attempt_table::{AttemptEvent, AttemptMessage};
use super::hang_monitor::HangMonitor;
use super::localized_job::LocalizedJob;
use super::localized_jobs::LocalizedJobs;
use super::map_completion_poller::MapCompletionPoller;
use super::memory_monitor::MemoryMonitor;
use super::tracked_attempt::AttemptOutcome;

/// The longest `job.split` that is read, bytes.
const MAX_SPLITS_BYTES: u64 = 1 << 30;

/// What the threads of all attempts share.
#[derive(Debug)]
pub struct AttemptRunner {
    /// Jobs and their outputs.
    pub jobs: Arc<LocalizedJobs>,
    /// Completion events of maps.
    pub map_completions: Arc<MapCompletionPoller>,
    /// Receive standard error and the reasons of failures.
    pub logs: AttemptLogs,
    /// The tracker's own environment.
    pub environment: BTreeMap<String, String>,
    /// The supervisor program for commands.
    pub supervisor: Option<PathBuf>,
    /// Measures their memory.
    pub memory_monitor: Arc<MemoryMonitor>,
    /// Whether memory limits apply.
    pub limits_memory: bool,
    /// Ends attempts whose files hang.
    pub hang_monitor: Arc<HangMonitor>,
    /// Time limit for reading a job's files while its own limit is not known; `None`: no limit.
    pub time_limit: Option<Duration>,
    /// Where events go.
    pub events: UnboundedSender<AttemptMessage>,
}

/// One running attempt.
struct AttemptRun<'a> {
    runner: &'a AttemptRunner,
    task: &'a Task,
    handle: &'a Arc<AttemptHandle>,
    launch: u64,
}

// === impl AttemptRunner ===

impl AttemptRunner {
    /// Starts the attempt's thread.
    ///
    /// # Errors
    /// Those of starting a thread.
    pub fn start(self: &Arc<Self>, task: Arc<Task>, handle: Arc<AttemptHandle>, launch: u64) -> std::io::Result<()> {
        let runner = self.clone();
        self.hang_monitor.add(task.status.attempt, launch, &handle);
        let name = format!("attempt {launch}");
        let run = move || {
            let run = AttemptRun { runner: &runner, task: &task, handle: &handle, launch };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.run_to_end()));
            let broken = |_| AttemptOutcome::Failed("the tasktracker itself failed; see its log".to_owned());
            if handle.claim_end() {
                run.send_event(AttemptEvent::Ended(ended.unwrap_or_else(broken)));
            } else {
                runner.hang_monitor.on_thread_returned(run.attempt());
            }
        };
        std::thread::Builder::new().name(name).spawn(run).map(drop)
    }
}

// === impl AttemptRun ===

impl AttemptRun<'_> {
    fn attempt(&self) -> AttemptId {
        self.task.status.attempt
    }

    fn send_event(&self, event: AttemptEvent) {
        // The receiver is gone when the tracker ends.
        let _ = self.runner.events.send((self.attempt(), self.launch, event));
    }

    fn run_to_end(&self) -> AttemptOutcome {
        let attempt = self.attempt();
        let outcome = match self.run() {
            Ok(output_bytes) => AttemptOutcome::Succeeded { output_bytes },
            Err(failure) if self.handle.is_killed() => AttemptOutcome::Killed(failure.to_string()),
            Err(failure) => {
                // Once the attempt is stopped, the reason for the stop is the reason of the failure.
                let failure = if self.handle.is_ending() { self.handle.end_reason(attempt) } else { failure };
                tracing::info!("{attempt} failed: {failure}");
                self.runner.logs.append_to_syslog(attempt, &failure.to_string());
                AttemptOutcome::Failed(failure.to_string())
            }
        };
        tracing::debug!("{attempt}: {outcome:?}");
        outcome
    }

    fn run(&self) -> Result<Option<u64>, TaskFailure> {
        let jobs = &self.runner.jobs;
        let job = self.handle.with_time_limit(self.runner.time_limit, || jobs.localize(self.task, self.handle))?;
        let limit = job.time_limit();
        if !self.task.is_ordinary() {
            self.handle.with_time_limit(limit, || self.run_housekeeping(&job))?;
            return Ok(None);
        }
        let output_bytes = self.run_task(&job)?;
        if let (None, Some(committer)) = (output_bytes, job.committer()?) {
            let abort = || self.handle.with_time_limit(limit, || committer.abort(self.attempt()));
            self.commit(&committer, limit).inspect_err(|_| drop(abort()))?;
        }
        Ok(output_bytes)
    }

    /// Runs a job's setup or cleanup, or cleans up after an attempt.
    fn run_housekeeping(&self, job: &LocalizedJob) -> Result<(), TaskFailure> {
        let (phase, status) = match self.task {
            Task { job_setup: true, .. } => (self.task.status.phase, "setup"),
            _ => (Phase::Cleanup, "cleanup"),
        };
        let progress = self.handle.start(Progress::new(self.attempt(), phase, None)?)?;
        progress.counters().add(FrameworkCounter::SpilledRecords, 0);
        progress.enter_phase(phase, status);
        self.send_event(AttemptEvent::Running);
        let Some(committer) = job.committer()? else { return Ok(()) };
        match self.task {
            Task { job_setup: true, .. } => committer.set_up_job(),
            Task { job_cleanup: Some(outcome), .. } => {
                committer.clean_up_job(*outcome == CleanupOutcome::Succeeded && job.marks_success())
            }
            _ => {
                // As Hadoop: an error here is ignored.
                let _ = committer.abort(self.attempt());
                Ok(())
            }
        }
    }

    fn commit(&self, committer: &OutputCommitter, limit: Option<Duration>) -> Result<(), TaskFailure> {
        if self.handle.with_time_limit(limit, || committer.needs_commit(self.attempt()))? {
            self.send_event(AttemptEvent::CommitPending);
            self.handle.wait_for_commit_permission()?;
            self.handle.with_time_limit(limit, || committer.commit(self.attempt()))?;
        }
        Ok(())
    }

    /// Runs a map or reduce; returns the bytes of a map's output.
    fn run_task(&self, job: &Arc<LocalizedJob>) -> Result<Option<u64>, TaskFailure> {
        let (attempt, plan) = (self.attempt(), job.plan()?);
        let first_phase = self.task.status.phase;
        let progress = self.handle.start(Progress::new(attempt, first_phase, plan.process.time_limit)?)?;
        self.limit_memory(&plan.process, progress);
        self.send_event(AttemptEvent::Running);
        let own = job.attempt_folder(attempt);
        let (folder, work_folder) = (own.join("output"), own.join("work"));
        self.handle.set_command(work_folder.clone(), plan.process.kill_delay);
        let (split, environment, log) = self.handle.with_time_limit(job.time_limit(), || {
            make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
            let split = self.split(job)?;
            let environment = self.environment(job, &own, &work_folder, split.as_ref())?;
            let log = self.runner.logs.create_logs(attempt)?;
            Ok::<_, TaskFailure>((split, environment, log))
        })?;
        let partition = u32::try_from(self.task.partition).unwrap_or(0);
        let work = AttemptContext {
            plan,
            partition,
            folder: &folder,
            work_folder: &work_folder,
            environment: &environment,
            supervisor: self.runner.supervisor.as_deref(),
            log: Some(&log),
            progress,
        };
        let ended = match (&self.task.body, &split) {
            (TaskBody::Reduce { maps }, _) => self.reduce(&work, job, *maps).map(|()| None),
            (TaskBody::Map { .. }, Some(split)) => {
                let ended = map_task::run(&work, split).map(|result| result.output_bytes);
                ended.map_err(|failure| failure.with_input(|| split.to_string()))
            }
            (TaskBody::Map { .. }, None) => {
                Err(TaskFailure::Unusable { what: "a map".to_owned(), reason: "came without a split".to_owned() })
            }
        };
        let _ = fs::remove_dir_all(&work_folder);
        match &ended {
            Ok(Some(_)) => self.runner.jobs.serve_output(attempt, job.clone(), folder),
            Ok(None) | Err(_) => drop(fs::remove_dir_all(&own)),
        }
        ended
    }

    fn limit_memory(&self, process: &ProcessPlan, progress: &Progress) {
        let limit_bytes = match self.task.body {
            TaskBody::Map { .. } => process.map_memory_bytes,
            TaskBody::Reduce { .. } => process.reduce_memory_bytes,
        };
        if let Some(bytes) = limit_bytes.filter(|_| self.runner.limits_memory) {
            progress.limit_memory(bytes);
        }
        self.runner.memory_monitor.add(self.handle);
    }

    fn split(&self, job: &LocalizedJob) -> Result<Option<MapSplit>, TaskFailure> {
        let TaskBody::Map { split: Some(index) } = &self.task.body else { return Ok(None) };
        let unusable = |reason: String| TaskFailure::Unusable { what: "the map's split".to_owned(), reason };
        let file = FileUri::parse(&index.file).map_err(|error| unusable(error.to_string()))?;
        let splits = job.splits(&file, MAX_SPLITS_BYTES)?;
        MapSplit::read(&splits, u64::try_from(index.offset_bytes).unwrap_or(u64::MAX)).map(Some)
    }

    fn environment(
        &self,
        job: &LocalizedJob,
        own: &std::path::Path,
        work_folder: &std::path::Path,
        split: Option<&MapSplit>,
    ) -> Result<Vec<(String, String)>, TaskFailure> {
        let unusable = |error: crate::config::ConfigError| TaskFailure::Unusable {
            what: "job.xml".to_owned(),
            reason: error.to_string(),
        };
        let files = job.files(self.attempt(), self.handle)?;
        let temporary = job.configuration.text(&keys::CHILD_TMP).map_err(unusable)?.unwrap_or_default();
        let temporary = temporary.trim_start_matches("./");
        working_folder::prepare_working_folder(work_folder, files.jar_content.as_deref(), &files.links, temporary)?;
        let facts = AttemptInfo {
            attempt: self.attempt(),
            partition: u32::try_from(self.task.partition).unwrap_or(0),
            user: job.user.clone(),
            work_folder: work_folder.to_owned(),
            attempt_folder: PathBuf::from(own),
            job_folder: job.shared_folder(),
            jar: files.jar,
            token_file: job.token_file(),
            cache_files: files.cache_files,
            cache_archives: files.cache_archives,
            split: split.map(|split| SplitInfo {
                file: split.uri.clone(),
                start_bytes: split.start_bytes,
                length_bytes: split.length_bytes,
            }),
            work_output: job
                .committer()?
                .map(|committer| committer.attempt_folder(self.attempt()))
                .transpose()?
                .map(|folder| folder.to_string()),
        };
        build_environment(&job.configuration, &facts, &self.runner.environment).map_err(unusable)
    }

    fn reduce(&self, work: &AttemptContext<'_>, job: &LocalizedJob, maps: i32) -> Result<(), TaskFailure> {
        let fetcher = HttpFetcher::new(job.secret.clone(), work.plan.shuffle.timeouts, work.progress);
        let feed = self.runner.map_completions.subscribe(job.id, self.handle.clone());
        reduce_task::run(work, u32::try_from(maps).unwrap_or(0), &feed, &fetcher)
    }
}
