//! The work of one attempt, from the job's definition to its end (1.2.1 `Child`, `Task.done`), in whatever process it runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{ConfigError, keys};
use crate::model::AttemptId;
use crate::streaming::attempt::AttemptContext;
use crate::streaming::child::StderrLog;
use crate::streaming::committer::OutputCommitter;
use crate::streaming::counters::FrameworkCounter;
use crate::streaming::environment::{AttemptEnvironment, build_environment};
use crate::streaming::failure::TaskFailure;
use crate::streaming::map_task::MapSplit;
use crate::streaming::plan::ProcessPlan;
use crate::streaming::private_files::make_folder;
use crate::streaming::progress::Progress;
use crate::streaming::shuffle::copy_phase::MapCompletionFeed;
use crate::streaming::shuffle::fetch::HttpFetcher;
use crate::streaming::{map_task, reduce_task, working_folder};
use crate::wire::{CleanupOutcome, Phase, Task, TaskBody};

use super::attempt_handle::AttemptHandle;
use super::attempt_table::AttemptEvent;
use super::job_definition::{JobDefinition, LocalJobFiles};
use super::local_folders::is_good_part;

/// The longest `job.split` that is read, bytes.
const MAX_SPLITS_BYTES: u64 = 1 << 30;

/// What an attempt needs of the worker: in the same process, or at the other end of a socket.
pub(super) trait AttemptHost {
    /// Reports that it runs or waits for permission to commit.
    fn send_event(&self, event: AttemptEvent);

    /// The copies of the job's files, made by the first attempt that asks.
    fn job_files(&self) -> Result<LocalJobFiles, TaskFailure>;

    fn attempt_folder(&self) -> Result<PathBuf, TaskFailure>;

    fn stderr_log(&self) -> Result<StderrLog, TaskFailure>;

    /// From now on its processes are measured.
    fn measure_memory(&self);

    fn subscribe(&self) -> Arc<MapCompletionFeed>;

    /// The output of a map is in this folder, to be fetched.
    fn serve_output(&self, folder: PathBuf);
}

/// In an attempt's folder, that of its output.
const OUTPUT: &str = "output";

/// A full disk is no failure of an attempt that has itself taken no good part of it.
fn judge_disk(failure: TaskFailure, own: &Path) -> TaskFailure {
    failure.of_full_disk_if(|path| path.starts_with(own) && !is_good_part(bytes_below(own), own))
}

/// What the files of a folder take, as far as they can be looked at.
fn bytes_below(folder: &Path) -> u64 {
    let (mut bytes, mut folders) = (0_u64, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) => bytes = bytes.saturating_add(about.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[derive(Clone, Copy)]
pub(super) struct AttemptWork<'a> {
    pub(super) task: &'a Task,
    pub(super) handle: &'a AttemptHandle,
    pub(super) job: &'a JobDefinition,
    pub(super) environment: &'a BTreeMap<String, String>,
    pub(super) supervisor: Option<&'a Path>,
    pub(super) limits_memory: bool,
    pub(super) host: &'a dyn AttemptHost,
}

impl AttemptWork<'_> {
    fn attempt(&self) -> AttemptId {
        self.task.status.attempt
    }

    /// Runs it to its end; returns the bytes of a map's output.
    pub(super) fn run(&self) -> Result<Option<u64>, TaskFailure> {
        let limit = self.job.time_limit();
        if !self.task.is_ordinary() {
            self.handle.with_time_limit(limit, || self.run_housekeeping())?;
            return Ok(None);
        }
        let output_bytes = self.run_task()?;
        if let (None, Some(committer)) = (output_bytes, self.job.committer()?) {
            let abort = || self.handle.with_time_limit(limit, || committer.abort(self.attempt()));
            self.commit(&committer, limit).inspect_err(|_| drop(abort()))?;
        }
        Ok(output_bytes)
    }

    /// Runs a job's setup or cleanup, or cleans up after an attempt.
    fn run_housekeeping(&self) -> Result<(), TaskFailure> {
        let (phase, status) = match self.task {
            Task { job_setup: true, .. } => (self.task.status.phase, "setup"),
            _ => (Phase::Cleanup, "cleanup"),
        };
        let progress = self.handle.start(Progress::new(self.attempt(), phase, None)?)?;
        progress.counters().add(FrameworkCounter::SpilledRecords, 0);
        progress.enter_phase(phase, status);
        self.host.send_event(AttemptEvent::Running);
        let Some(committer) = self.job.committer()? else { return Ok(()) };
        match self.task {
            Task { job_setup: true, .. } => committer.set_up_job(),
            Task { job_cleanup: Some(outcome), .. } => {
                committer.clean_up_job(*outcome == CleanupOutcome::Succeeded && self.job.marks_success())
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
            self.host.send_event(AttemptEvent::CommitPending);
            self.handle.wait_for_commit_permission()?;
            self.handle.with_time_limit(limit, || committer.commit(self.attempt()))?;
        }
        Ok(())
    }

    /// Runs a map or reduce; returns the bytes of a map's output.
    fn run_task(&self) -> Result<Option<u64>, TaskFailure> {
        let (attempt, plan) = (self.attempt(), self.job.plan()?);
        let first_phase = self.task.status.phase;
        let progress = self.handle.start(Progress::new(attempt, first_phase, plan.process.time_limit)?)?;
        self.limit_memory(&plan.process, progress);
        self.host.send_event(AttemptEvent::Running);
        let own = self.host.attempt_folder()?;
        let ended = self.run_task_in(&own, progress).map_err(|failure| judge_disk(failure, &own));
        match &ended {
            Ok(Some(_)) => self.host.serve_output(own.join(OUTPUT)),
            Ok(None) | Err(_) => drop(fs::remove_dir_all(&own)),
        }
        ended
    }

    /// Runs it in a folder of its own.
    fn run_task_in(&self, own: &Path, progress: &Progress) -> Result<Option<u64>, TaskFailure> {
        let plan = self.job.plan()?;
        let (folder, work_folder) = (own.join(OUTPUT), own.join("work"));
        self.handle.set_command(work_folder.clone(), plan.process.kill_delay);
        let (split, environment, log) = self.handle.with_time_limit(self.job.time_limit(), || {
            make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
            let split = self.split()?;
            let environment = self.command_environment(own, &work_folder, split.as_ref())?;
            let log = self.host.stderr_log()?;
            Ok::<_, TaskFailure>((split, environment, log))
        })?;
        let partition = u32::try_from(self.task.partition).unwrap_or(0);
        let work = AttemptContext {
            plan,
            files: &self.job.files,
            partition,
            folder: &folder,
            work_folder: &work_folder,
            environment: &environment,
            supervisor: self.supervisor,
            log: Some(&log),
            progress,
        };
        let ended = match (&self.task.body, &split) {
            (TaskBody::Reduce { maps }, _) => self.reduce(&work, *maps).map(|()| None),
            (TaskBody::Map { .. }, Some(split)) => {
                let ended = map_task::run(&work, split).map(|result| result.output_bytes);
                ended.map_err(|failure| failure.with_input(|| split.to_string()))
            }
            (TaskBody::Map { .. }, None) => {
                Err(TaskFailure::Unusable { what: "a map".to_owned(), reason: "came without a split".to_owned() })
            }
        };
        let _ = fs::remove_dir_all(&work_folder);
        ended
    }

    fn limit_memory(&self, process: &ProcessPlan, progress: &Progress) {
        let limit_bytes = match self.task.body {
            TaskBody::Map { .. } => process.map_memory_bytes,
            TaskBody::Reduce { .. } => process.reduce_memory_bytes,
        };
        if let Some(bytes) = limit_bytes.filter(|_| self.limits_memory) {
            progress.limit_memory(bytes);
        }
        self.host.measure_memory();
    }

    fn split(&self) -> Result<Option<MapSplit>, TaskFailure> {
        let TaskBody::Map { split: Some(index) } = &self.task.body else { return Ok(None) };
        let unusable = |reason: String| TaskFailure::Unusable { what: "the map's split".to_owned(), reason };
        let file = self.job.configuration.resolve(&index.file).map_err(|error| unusable(error.to_string()))?;
        let check_stop = |step| self.handle.check_step(self.attempt(), step);
        let splits = self.job.splits(self.attempt(), &file, MAX_SPLITS_BYTES, &check_stop)?;
        let default = self.job.configuration.default_file_system();
        MapSplit::read(&splits, u64::try_from(index.offset_bytes).unwrap_or(u64::MAX), &default).map(Some)
    }

    fn command_environment(
        &self,
        own: &Path,
        work_folder: &Path,
        split: Option<&MapSplit>,
    ) -> Result<Vec<(String, String)>, TaskFailure> {
        let job = self.job;
        let unusable =
            |error: ConfigError| TaskFailure::Unusable { what: "job.xml".to_owned(), reason: error.to_string() };
        let files = self.host.job_files()?;
        let temporary = job.configuration.text(&keys::CHILD_TMP).map_err(unusable)?.unwrap_or_default();
        let temporary = temporary.trim_start_matches("./");
        working_folder::prepare_working_folder(work_folder, files.jar_content.as_deref(), &files.links, temporary)?;
        let facts = AttemptEnvironment {
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
            split: split.cloned(),
            work_output: job
                .committer()?
                .map(|committer| committer.attempt_folder(self.attempt()))
                .transpose()?
                .map(|folder| folder.to_string()),
        };
        build_environment(&job.configuration, &facts, self.environment).map_err(unusable)
    }

    fn reduce(&self, work: &AttemptContext<'_>, maps: i32) -> Result<(), TaskFailure> {
        let fetcher = HttpFetcher::new(self.job.secret.clone(), work.plan.shuffle.timeouts, work.progress);
        let feed = self.host.subscribe();
        reduce_task::run(work, u32::try_from(maps).unwrap_or(0), &feed, &fetcher)
    }
}
