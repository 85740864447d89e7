//! Runs one attempt on a thread of its own, which does its work or serves the process that does (1.2.1 `TaskTracker.TaskInProgress`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::AttemptId;
use crate::streaming::child::StderrLog;
use crate::streaming::failure::TaskFailure;
use crate::streaming::shuffle::copy_phase::MapCompletionFeed;
use crate::supervisor::shortage::is_shortage_panic;
use crate::wire::Task;

use super::attempt_handle::AttemptHandle;
use super::attempt_runner::AttemptRunner;
use super::attempt_table::AttemptEvent;
use super::attempt_work::{AttemptHost, AttemptWork};
use super::job_definition::{JobDefinition, LocalJobFiles};
use super::job_user::UserAttempt;
use super::localized_jobs::{JobOwner, LocalizedJob};
use super::tracked_attempt::AttemptOutcome;

struct AttemptRun<'a> {
    runner: &'a AttemptRunner,
    task: &'a Task,
    handle: &'a Arc<AttemptHandle>,
    launch: u64,
}

impl AttemptRunner {
    pub(crate) fn start(
        self: &Arc<Self>,
        task: Arc<Task>,
        handle: Arc<AttemptHandle>,
        launch: u64,
    ) -> std::io::Result<()> {
        let runner = self.clone();
        self.hang_monitor.add(task.status.attempt, launch, &handle);
        let name = format!("attempt {launch}");
        let run = move || {
            let run = AttemptRun { runner: &runner, task: &task, handle: &handle, launch };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.run_to_end()));
            let broken = |panic: Box<dyn std::any::Any + Send>| match is_shortage_panic(&*panic) {
                true => AttemptOutcome::Short("the tasktracker cannot start a thread".to_owned()),
                false => AttemptOutcome::Failed("the tasktracker itself failed; see its log".to_owned()),
            };
            if let Some(progress) = handle.progress() {
                progress.close_alarm();
            }
            if handle.claim_end() {
                run.send_event(AttemptEvent::Ended(ended.unwrap_or_else(broken)));
            } else {
                runner.hang_monitor.on_thread_returned(run.attempt());
            }
        };
        std::thread::Builder::new().name(name).spawn(run).map(drop)
    }
}

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
        let result = self.run().map_err(|failure| self.judge_disk(failure));
        let outcome = AttemptOutcome::of(result, attempt, self.handle);
        if let AttemptOutcome::Failed(failure) = &outcome {
            tracing::info!("{attempt} failed: {failure}");
            self.runner.logs.append_to_syslog(attempt, failure);
        }
        tracing::debug!("{attempt}: {outcome:?}");
        outcome
    }

    /// A full disk of the worker's is no failure of the attempt, unless it has filled it itself: of what is its own [`AttemptWork`] judges.
    fn judge_disk(&self, failure: TaskFailure) -> TaskFailure {
        let own = self.attempt().to_string();
        let is_own = |path: &Path| path.iter().any(|part| part == own.as_str());
        failure.of_full_disk_if(|path| self.runner.jobs.folders().of(path).is_some() && !is_own(path))
    }

    fn run(&self) -> Result<Option<u64>, TaskFailure> {
        let (runner, jobs) = (self.runner, &self.runner.jobs);
        let job = self.handle.with_time_limit(runner.time_limit, || {
            let job = jobs.localize(self.task, self.handle)?;
            job.keep_log_key(&runner.logs);
            Ok::<_, TaskFailure>(job)
        })?;
        match &job.owner {
            JobOwner::Worker(definition) => {
                let host = SameProcess { run: self, job: &job, definition };
                let work = AttemptWork {
                    task: self.task,
                    handle: self.handle,
                    job: definition,
                    environment: &runner.environment,
                    supervisor: runner.supervisor.as_deref(),
                    limits_memory: runner.limits_memory,
                    host: &host,
                };
                work.run()
            }
            JobOwner::User(user) => {
                let send_event = |event| self.send_event(event);
                let (task, handle) = (self.task, self.handle);
                UserAttempt { runner, task, handle, job: &job, user, send_event: &send_event }.run()
            }
        }
    }
}

struct SameProcess<'a> {
    run: &'a AttemptRun<'a>,
    job: &'a Arc<LocalizedJob>,
    definition: &'a JobDefinition,
}

impl AttemptHost for SameProcess<'_> {
    fn send_event(&self, event: AttemptEvent) {
        self.run.send_event(event);
    }

    fn job_files(&self) -> Result<LocalJobFiles, TaskFailure> {
        let (attempt, handle) = (self.run.attempt(), self.run.handle);
        self.job.files(attempt, handle, || self.definition.copy_files(&|step| handle.check_step(attempt, step)))
    }

    fn attempt_folder(&self) -> Result<PathBuf, TaskFailure> {
        self.job.attempt_folder(self.run.attempt())
    }

    fn stderr_log(&self) -> Result<StderrLog, TaskFailure> {
        let logs = &self.run.runner.logs;
        Ok(StderrLog::new(logs.create_logs(self.run.attempt())?, logs.limit_bytes))
    }

    fn measure_memory(&self) {
        self.run.runner.memory_monitor.add(self.run.handle);
    }

    fn subscribe(&self) -> Arc<MapCompletionFeed> {
        self.run.runner.map_completions.subscribe(self.job.id, self.run.handle.clone())
    }

    fn serve_output(&self, folder: PathBuf) {
        self.run.runner.jobs.serve_output(self.run.attempt(), self.job.clone(), folder);
    }
}
