//! The process of one attempt, which takes its user's ids and does the work.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tokio::time::Instant;

use crate::channel::Channel;
use crate::fs::{Expected, open_below};
use crate::model::AttemptId;
use crate::streaming::child::StderrLog;
use crate::streaming::failure::TaskFailure;
use crate::streaming::progress::ProgressReport;
use crate::streaming::shuffle::copy_phase::MapCompletionFeed;
use crate::supervisor::process::THIS_PROGRAM;
use crate::supervisor::process_tree::ProcessTable;
use crate::supervisor::shortage::is_shortage_panic;
use crate::wire::Task;

use super::super::attempt_handle::AttemptHandle;
use super::super::attempt_table::AttemptEvent;
use super::super::attempt_work::{AttemptHost, AttemptWork};
use super::super::job_definition::{
    JobDefinition, LocalJobFiles, MAX_FILE_BYTES, TOKEN_FILE, secret_of, time_limit, unusable,
};
use super::super::tracked_attempt::AttemptOutcome;
use super::identity::Identity;
use super::message::{FromAttempt, ProcessOrder, SharedChannel, ToAttempt, decode_task, sleep_between_reports};

/// Between two reports of progress, and two looks for a step that hangs.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// Reports in which nothing has changed between two signs of life.
const SILENT_REPORTS: u32 = 25;

struct AttemptProcess {
    attempt: AttemptId,
    order: ProcessOrder,
    channel: Arc<SharedChannel>,
    handle: AttemptHandle,
    feed: Arc<MapCompletionFeed>,
    /// Whether the last report is sent. Locked from the look at the progress until it is sent, so that no older report comes later.
    is_reported: Mutex<bool>,
}

/// The worker, at the other end of the channel.
struct OtherProcess<'a> {
    process: &'a Arc<AttemptProcess>,
    job: &'a JobDefinition,
    answers: Mutex<Receiver<ToAttempt>>,
    log: Mutex<Option<File>>,
}

/// Runs the attempt that the worker sends. Errors reach the worker as the attempt's end, or as that of the channel.
pub(crate) fn run_attempt_process() -> ExitCode {
    let Ok(channel) = Channel::of_stdin() else { return ExitCode::FAILURE };
    let channel = Arc::new(SharedChannel::new(channel));
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&channel)));
    let ran = ran.unwrap_or_else(|panic| match is_shortage_panic(&*panic) {
        true => Err(TaskFailure::Short("its process cannot start a thread".to_owned())),
        false => std::panic::resume_unwind(panic),
    });
    let outcome = ran.unwrap_or_else(|failure| match failure.is_shortage() {
        true => AttemptOutcome::Short(failure.to_string()),
        false => AttemptOutcome::Failed(failure.to_string()),
    });
    let sent = channel.send(&FromAttempt::Event(AttemptEvent::Ended(outcome)));
    if sent.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(channel: &Arc<SharedChannel>) -> Result<AttemptOutcome, TaskFailure> {
    let of_worker = |error: std::io::Error| TaskFailure::unusable("the worker's order", &error);
    let identity: Identity = channel.channel.receive(None).map_err(of_worker)?;
    // Before anything else.
    identity.take().map_err(|error| unusable("the attempt", error))?;
    let order: ProcessOrder = channel.channel.receive(None).map_err(of_worker)?;
    let log = match order.has_log {
        true => channel.channel.receive_descriptors(1).map_err(of_worker)?.pop(),
        false => None,
    };
    check_program()?;
    let task = decode_task(&order.task).map_err(|error| unusable("the worker's order", error))?;
    let attempt = task.status.attempt;
    let (channel, feed, handle) = (channel.clone(), Arc::default(), AttemptHandle::default());
    let is_reported = Mutex::new(false);
    let process = Arc::new(AttemptProcess { attempt, order, channel, handle, feed, is_reported });
    let (answer, answers) = mpsc::channel();
    let listener = process.clone();
    start_thread("worker", move || listener.obey(&answer))?;
    let reporter = process.clone();
    start_thread("reports", move || reporter.report_at_intervals())?;
    let result = process.work(&task, answers, log.map(File::from)).map_err(|failure| process.judge_disk(failure));
    process.send_last_report();
    Ok(AttemptOutcome::of(result, attempt, &process.handle))
}

fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TaskFailure> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| TaskFailure::unstartable("a thread of the attempt", &error))
}

/// Commands run below a supervisor, which is this program, started with the ids of the user.
fn check_program() -> Result<(), TaskFailure> {
    let may_execute = rustix::fs::access(THIS_PROGRAM, rustix::fs::Access::EXEC_OK);
    may_execute.map_err(|error| {
        let program = std::env::current_exe().unwrap_or_else(|_| THIS_PROGRAM.into());
        let reason =
            format!("{}: {error}; the worker's program must be executable for the users of jobs", program.display());
        unusable("the supervisor of commands", reason)
    })
}

impl AttemptProcess {
    fn send(&self, message: &FromAttempt) {
        // When the worker is gone, the thread that listens to it ends this process.
        let _ = self.channel.send(message);
    }

    /// Does what the worker asks for. When it is gone, so is the reason for this process.
    fn obey(&self, answer: &Sender<ToAttempt>) {
        loop {
            match self.channel.channel.receive(None) {
                Ok(ToAttempt::Kill) => self.handle.kill(),
                Ok(ToAttempt::Commit) => self.handle.grant_commit(),
                Ok(ToAttempt::MapEvents(events)) => self.feed.push(events),
                Ok(files @ (ToAttempt::CopyFiles | ToAttempt::Files(_) | ToAttempt::NoFiles(..))) => {
                    // Not asked for.
                    let _ = answer.send(files);
                }
                Err(_) => std::process::exit(1),
            }
        }
    }

    /// Reports progress, and what hangs, until the last report is sent.
    fn report_at_intervals(&self) {
        let (mut last, mut unchanged, mut has_timed_out) = (None, 0, false);
        loop {
            sleep_between_reports(REPORT_INTERVAL);
            self.handle.expire_step(Instant::now());
            if let Some(limit) = self.handle.timed_out().filter(|_| !has_timed_out) {
                has_timed_out = true;
                self.send(&FromAttempt::TimedOut(limit));
            }
            let is_over = self.is_reported.lock().unwrap_or_else(PoisonError::into_inner);
            if *is_over {
                return;
            }
            let report = self.report();
            let has_changed = report != last;
            unchanged = if has_changed { 0 } else { unchanged + 1 };
            if has_changed || unchanged == SILENT_REPORTS {
                unchanged = 0;
                self.send(&FromAttempt::Progress(report.clone()));
                last = report;
            }
            drop(is_over);
        }
    }

    /// The attempt has not filled the disk with what its job has there.
    fn judge_disk(&self, failure: TaskFailure) -> TaskFailure {
        let own = self.order.attempt_folder.as_deref();
        failure.of_full_disk_if(|path| {
            path.starts_with(&self.order.job_folder) && !own.is_some_and(|own| path.starts_with(own))
        })
    }

    fn report(&self) -> Option<ProgressReport> {
        self.handle.progress().map(|progress| progress.report())
    }

    fn send_last_report(&self) {
        let mut is_over = self.is_reported.lock().unwrap_or_else(PoisonError::into_inner);
        self.send(&FromAttempt::Progress(self.report()));
        *is_over = true;
    }

    fn work(
        self: &Arc<Self>,
        task: &Task,
        answers: Receiver<ToAttempt>,
        log: Option<File>,
    ) -> Result<Option<u64>, TaskFailure> {
        let order = &self.order;
        let job = self.handle.with_time_limit(time_limit(&order.configuration), || self.job(task))?;
        let host = OtherProcess { process: self, job: &job, answers: Mutex::new(answers), log: Mutex::new(log) };
        let work = AttemptWork {
            task,
            handle: &self.handle,
            job: &job,
            environment: &order.environment,
            supervisor: Some(Path::new(THIS_PROGRAM)),
            limits_memory: order.limits_memory,
            host: &host,
        };
        work.run()
    }

    fn job(&self, task: &Task) -> Result<JobDefinition, TaskFailure> {
        let folder = &self.order.job_folder;
        let token = open_below(folder, Path::new(TOKEN_FILE), &Expected::file_of_any_owner().at_most(MAX_FILE_BYTES));
        let token = token.and_then(|token| token.read_limited(MAX_FILE_BYTES));
        let secret = secret_of(&token.map_err(|error| TaskFailure::unusable("the job's token", &error))?)?;
        let check_stop = |step| self.handle.check_step(self.attempt, step);
        JobDefinition::read(task, secret, folder.clone(), &self.order.configuration, &check_stop)
    }
}

impl OtherProcess<'_> {
    fn next_answer(&self) -> Result<ToAttempt, TaskFailure> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.recv().map_err(|error| unusable("the worker", error))
    }
}

impl AttemptHost for OtherProcess<'_> {
    fn send_event(&self, event: AttemptEvent) {
        self.process.send(&FromAttempt::Event(event));
    }

    fn job_files(&self) -> Result<LocalJobFiles, TaskFailure> {
        self.process.send(&FromAttempt::KillDelay(self.process.handle.kill_delay()));
        self.process.send(&FromAttempt::NeedFiles);
        match self.next_answer()? {
            ToAttempt::Files(files) => return Ok(files),
            ToAttempt::NoFiles(text, is_shortage) => return Err(TaskFailure::reported(text, is_shortage)),
            ToAttempt::CopyFiles | ToAttempt::Kill | ToAttempt::Commit | ToAttempt::MapEvents(_) => {}
        }
        let (attempt, handle) = (self.process.attempt, &self.process.handle);
        let copied = self.job.copy_files(&|step| handle.check_step(attempt, step));
        self.process.send(&match &copied {
            Ok(files) => FromAttempt::CopiedFiles(files.clone()),
            Err(failure) => FromAttempt::CopyFailed(failure.to_string(), failure.is_shortage()),
        });
        // The worker answers either.
        match self.next_answer()? {
            ToAttempt::Files(files) => Ok(files),
            _ => copied,
        }
    }

    fn attempt_folder(&self) -> Result<PathBuf, TaskFailure> {
        self.process.order.attempt_folder.clone().ok_or_else(|| unusable("the worker's order", "names no folder"))
    }

    fn stderr_log(&self) -> Result<StderrLog, TaskFailure> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).take();
        let log = log.ok_or_else(|| unusable("the worker's order", "came without a log"))?;
        Ok(StderrLog::new(log, self.process.order.log_limit_bytes))
    }

    fn measure_memory(&self) {
        let process = self.process.clone();
        let measure = move || {
            loop {
                sleep_between_reports(process.order.memory_interval);
                if let Some(progress) = process.handle.progress() {
                    progress.record_memory(&ProcessTable::read());
                }
            }
        };
        // Without a thread they are measured once, at the end of the input.
        let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(measure);
    }

    fn subscribe(&self) -> Arc<MapCompletionFeed> {
        self.process.send(&FromAttempt::Subscribe);
        self.process.feed.clone()
    }

    fn serve_output(&self, _folder: PathBuf) {
        // The worker knows the folder, and serves it once the attempt has ended.
    }
}
