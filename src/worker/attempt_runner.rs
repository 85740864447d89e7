//! One attempt from the job's files to its end, on a thread of its own (1.2.1 `TaskTracker.TaskInProgress`, `Child`, `Task.done`).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::config::keys;
use crate::fs::FileUri;
use crate::model::AttemptId;
use crate::streaming::attempt::Attempt;
use crate::streaming::committer::OutputCommitter;
use crate::streaming::counters::Framework;
use crate::streaming::environment::{AttemptFacts, SplitFacts, environment_of};
use crate::streaming::failure::TaskFailure;
use crate::streaming::map_task::MapSplit;
use crate::streaming::plan::ProcessPlan;
use crate::streaming::private_files::make_folder;
use crate::streaming::progress::Progress;
use crate::streaming::shuffle::http::HttpFetcher;
use crate::streaming::{map_task, reduce_task, working_folder};
use crate::wire::{CleanupOutcome, Phase, Task, TaskBody};

use super::attempt_handle::AttemptHandle;
use super::attempt_logs::AttemptLogs;
use super::attempt_table::{AttemptEvent, Told};
use super::hang_monitor::HangWatch;
use super::localized_job::{JobPlace, read_job_file, staging_root};
use super::localized_jobs::JobsHere;
use super::map_completions::MapNewsDesk;
use super::memory_monitor::MemoryWatch;
use super::tracked_attempt::Ending;

/// The longest `job.split` that is read, bytes.
const LONGEST_SPLITS_BYTES: u64 = 1 << 30;

/// What the threads of all attempts share.
#[derive(Debug)]
pub struct Workshop {
    /// Jobs and their outputs.
    pub jobs: Arc<JobsHere>,
    /// News of maps.
    pub news: Arc<MapNewsDesk>,
    /// Where logs go.
    pub logs: AttemptLogs,
    /// The tracker's own environment.
    pub environment: BTreeMap<String, String>,
    /// The program that keeps commands.
    pub keeper: Option<PathBuf>,
    /// Who looks at their memory.
    pub memory: Arc<MemoryWatch>,
    /// Whether it has a limit.
    pub limits_memory: bool,
    /// Who ends attempts whose files hang.
    pub hangs: Arc<HangWatch>,
    /// Time in which the files of a job must get on while its own limit is not known; `None`: no limit.
    pub time_limit: Option<Duration>,
    /// Where events go.
    pub events: UnboundedSender<Told>,
}

/// One attempt under way.
struct Run<'a> {
    workshop: &'a Workshop,
    task: &'a Task,
    handle: &'a Arc<AttemptHandle>,
    launch: u64,
}

// === impl Workshop ===

impl Workshop {
    /// Starts the attempt's thread.
    ///
    /// # Errors
    /// Those of the system, when it gives no thread.
    pub fn start(self: &Arc<Self>, task: Arc<Task>, handle: Arc<AttemptHandle>, launch: u64) -> std::io::Result<()> {
        let workshop = self.clone();
        self.hangs.add(task.status.attempt, launch, &handle);
        let name = format!("attempt {launch}");
        let run = move || {
            let run = Run { workshop: &workshop, task: &task, handle: &handle, launch };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.to_its_end()));
            let broken = |_| Ending::Failed("the tasktracker itself failed; its log says how".to_owned());
            if handle.end() {
                run.tell(AttemptEvent::Ended(ended.unwrap_or_else(broken)));
            } else {
                workshop.hangs.note_return(run.attempt());
            }
        };
        std::thread::Builder::new().name(name).spawn(run).map(drop)
    }
}

// === impl Run ===

impl Run<'_> {
    fn attempt(&self) -> AttemptId {
        self.task.status.attempt
    }

    fn tell(&self, event: AttemptEvent) {
        // Nobody listens any more when the tracker ends.
        let _ = self.workshop.events.send((self.attempt(), self.launch, event));
    }

    fn to_its_end(&self) -> Ending {
        let attempt = self.attempt();
        let ending = match self.run() {
            Ok(output_bytes) => Ending::Succeeded { output_bytes },
            Err(failure) if self.handle.is_killed() => Ending::Killed(failure.to_string()),
            Err(failure) => {
                // Whatever it stumbled over when it was to end, that is why it ended.
                let failure = if self.handle.is_to_end() { self.handle.reason(attempt) } else { failure };
                tracing::info!("{attempt} failed: {failure}");
                self.workshop.logs.note(attempt, &failure.to_string());
                Ending::Failed(failure.to_string())
            }
        };
        tracing::debug!("{attempt}: {ending:?}");
        ending
    }

    fn run(&self) -> Result<Option<u64>, TaskFailure> {
        let jobs = &self.workshop.jobs;
        let place = self.handle.within(self.workshop.time_limit, || jobs.place(self.task, self.handle))?;
        let limit = place.time_limit();
        if !self.task.is_ordinary() {
            self.handle.within(limit, || self.run_aside(&place))?;
            return Ok(None);
        }
        let output_bytes = self.run_work(&place)?;
        if let (None, Some(committer)) = (output_bytes, place.committer()?) {
            let abort = || self.handle.within(limit, || committer.abort(self.attempt()));
            self.commit(&committer, limit).inspect_err(|_| drop(abort()))?;
        }
        Ok(output_bytes)
    }

    /// A job's setup or cleanup, or what an attempt left.
    fn run_aside(&self, place: &JobPlace) -> Result<(), TaskFailure> {
        let (phase, status) = match self.task {
            Task { job_setup: true, .. } => (self.task.status.phase, "setup"),
            _ => (Phase::Cleanup, "cleanup"),
        };
        let progress = self.handle.begin(Progress::new(self.attempt(), phase, None)?)?;
        progress.counters().add(Framework::SpilledRecords, 0);
        progress.enter(phase, status);
        self.tell(AttemptEvent::Runs);
        let Some(committer) = place.committer()? else { return Ok(()) };
        match self.task {
            Task { job_setup: true, .. } => committer.set_up_job(),
            Task { job_cleanup: Some(outcome), .. } => {
                committer.clean_up_job(*outcome == CleanupOutcome::Succeeded && place.marks_success())
            }
            _ => {
                // As Hadoop: that this fails is nobody's business any more.
                let _ = committer.abort(self.attempt());
                Ok(())
            }
        }
    }

    fn commit(&self, committer: &OutputCommitter, limit: Option<Duration>) -> Result<(), TaskFailure> {
        if self.handle.within(limit, || committer.needs_commit(self.attempt()))? {
            self.tell(AttemptEvent::WaitsForCommit);
            self.handle.wait_for_leave()?;
            self.handle.within(limit, || committer.commit(self.attempt()))?;
        }
        Ok(())
    }

    /// A map or reduce; gives back the bytes of a map's output.
    fn run_work(&self, place: &Arc<JobPlace>) -> Result<Option<u64>, TaskFailure> {
        let (attempt, plan) = (self.attempt(), place.plan()?);
        let first_phase = self.task.status.phase;
        let progress = self.handle.begin(Progress::new(attempt, first_phase, plan.process.time_limit)?)?;
        self.limit_memory(&plan.process, progress);
        self.tell(AttemptEvent::Runs);
        let own = place.folder_for(attempt);
        let (folder, work_folder) = (own.join("output"), own.join("work"));
        self.handle.set_command(work_folder.clone(), plan.process.kill_delay);
        let (split, environment, log) = self.handle.within(place.time_limit(), || {
            make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
            let split = self.split()?;
            let environment = self.environment(place, &own, &work_folder, split.as_ref())?;
            let log = self.workshop.logs.open(attempt)?;
            Ok::<_, TaskFailure>((split, environment, log))
        })?;
        let partition = u32::try_from(self.task.partition).unwrap_or(0);
        let work = Attempt {
            plan,
            partition,
            folder: &folder,
            work_folder: &work_folder,
            environment: &environment,
            keeper: self.workshop.keeper.as_deref(),
            log: Some(&log),
            progress,
        };
        let ended = match (&self.task.body, &split) {
            (TaskBody::Reduce { maps }, _) => self.reduce(&work, place, *maps).map(|()| None),
            (TaskBody::Map { .. }, Some(split)) => map_task::run(&work, split).map(|result| result.output_bytes),
            (TaskBody::Map { .. }, None) => {
                Err(TaskFailure::Unusable { what: "a map".to_owned(), reason: "came without a split".to_owned() })
            }
        };
        let _ = fs::remove_dir_all(&work_folder);
        match &ended {
            Ok(Some(_)) => self.workshop.jobs.serve(attempt, place.clone(), folder),
            Ok(None) | Err(_) => drop(fs::remove_dir_all(&own)),
        }
        ended
    }

    fn limit_memory(&self, process: &ProcessPlan, progress: &Progress) {
        let limit_bytes = match self.task.body {
            TaskBody::Map { .. } => process.map_memory_bytes,
            TaskBody::Reduce { .. } => process.reduce_memory_bytes,
        };
        if let Some(bytes) = limit_bytes.filter(|_| self.workshop.limits_memory) {
            progress.limit_memory(bytes);
        }
        self.workshop.memory.add(self.handle);
    }

    fn split(&self) -> Result<Option<MapSplit>, TaskFailure> {
        let TaskBody::Map { split: Some(index) } = &self.task.body else { return Ok(None) };
        let unusable = |reason: String| TaskFailure::Unusable { what: "the map's split".to_owned(), reason };
        let file = FileUri::parse(&index.file).map_err(|error| unusable(error.to_string()))?;
        let splits = read_job_file(staging_root(file.as_path()), &file, LONGEST_SPLITS_BYTES);
        let splits = splits.map_err(|error| unusable(error.to_string()))?;
        MapSplit::read(&splits, u64::try_from(index.offset_bytes).unwrap_or(u64::MAX)).map(Some)
    }

    fn environment(
        &self,
        place: &JobPlace,
        own: &std::path::Path,
        work_folder: &std::path::Path,
        split: Option<&MapSplit>,
    ) -> Result<Vec<(String, String)>, TaskFailure> {
        let unusable = |error: crate::config::ConfigError| TaskFailure::Unusable {
            what: "job.xml".to_owned(),
            reason: error.to_string(),
        };
        let files = place.files(self.attempt(), self.handle)?;
        let temporary = place.configuration.text(&keys::CHILD_TMP).map_err(unusable)?.unwrap_or_default();
        let temporary = temporary.trim_start_matches("./");
        working_folder::prepare(work_folder, files.jar_content.as_deref(), &files.links, temporary)?;
        let facts = AttemptFacts {
            attempt: self.attempt(),
            partition: u32::try_from(self.task.partition).unwrap_or(0),
            user: place.user.clone(),
            work_folder: work_folder.to_owned(),
            attempt_folder: PathBuf::from(own),
            job_folder: place.shared_folder(),
            jar: files.jar,
            token_file: place.token_file(),
            cache_files: files.cache_files,
            cache_archives: files.cache_archives,
            split: split.map(|split| SplitFacts {
                file: split.uri.clone(),
                start_bytes: split.start_bytes,
                length_bytes: split.length_bytes,
            }),
            work_output: place
                .committer()?
                .map(|committer| committer.attempt_folder(self.attempt()))
                .transpose()?
                .map(|folder| folder.to_string()),
        };
        environment_of(&place.configuration, &facts, &self.workshop.environment).map_err(unusable)
    }

    fn reduce(&self, work: &Attempt<'_>, place: &JobPlace, maps: i32) -> Result<(), TaskFailure> {
        let shuffle = &work.plan.shuffle;
        let fetcher = HttpFetcher {
            secret: place.secret.clone(),
            connect_timeout: shuffle.connect_timeout,
            read_timeout: shuffle.read_timeout,
            progress: work.progress,
        };
        let news = self.workshop.news.follow(place.job, self.handle.clone());
        reduce_task::run(work, u32::try_from(maps).unwrap_or(0), &news, &fetcher)
    }
}
