//! The worker's side of an attempt that runs as its job's user: starts its process, serves it, and clears up after it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::Instant;

use crate::accounts::LoginUser;
use crate::fs::remove_below;
use crate::model::AttemptId;
use crate::streaming::environment::is_passed_on;
use crate::streaming::failure::TaskFailure;
use crate::streaming::progress::Progress;
use crate::wire::Task;

use super::super::attempt_handle::AttemptHandle;
use super::super::attempt_table::AttemptEvent;
use super::super::job_definition::LocalJobFiles;
use super::super::tracked_attempt::AttemptOutcome;
use super::ATTEMPT_COMMAND;
use super::identity::Identity;
use super::message::{FromAttempt, ProcessOrder, ToAttempt, encode_task};
use super::user_process::{UserProcess, UserProcessSpec};
use crate::worker::attempt_runner::AttemptRunner;
use crate::worker::localized_jobs::LocalizedJob;

/// Between two checks for what has no descriptor.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Without a sign of life for so long the process is killed: a command may have stopped it.
const SILENCE: Duration = Duration::from_secs(60);
/// For the rest of a message whose start has come.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two looks for completion events.
const EVENTS_INTERVAL: Duration = Duration::from_secs(1);

/// An attempt in a process of its own.
pub(crate) struct UserAttempt<'a> {
    pub(crate) runner: &'a AttemptRunner,
    pub(crate) task: &'a Task,
    pub(crate) handle: &'a Arc<AttemptHandle>,
    pub(crate) job: &'a Arc<LocalizedJob>,
    pub(crate) user: &'a LoginUser,
    pub(crate) send_event: &'a dyn Fn(AttemptEvent),
}

struct AttemptConversation<'a> {
    attempt: &'a UserAttempt<'a>,
    process: &'a UserProcess,
    progress: &'a Progress,
    has_sent_kill: bool,
    waits_for_commit: bool,
    answered_at: Instant,
}

fn lost(reason: impl ToString) -> TaskFailure {
    TaskFailure::Unusable { what: "the process of the attempt".to_owned(), reason: reason.to_string() }
}

impl UserAttempt<'_> {
    fn attempt(&self) -> AttemptId {
        self.task.status.attempt
    }

    /// Runs it to its end; returns the bytes of a map's output, which is served from then on.
    pub(crate) fn run(&self) -> Result<Option<u64>, TaskFailure> {
        let progress = self.handle.start(Progress::new(self.attempt(), self.task.status.phase, None)?)?;
        let folder = self.task.is_ordinary().then(|| self.job.attempt_folder(self.attempt())).transpose()?;
        let ended = self.run_in(folder.as_deref(), progress);
        if let Some(folder) = &folder {
            match &ended {
                Ok(Some(_)) => self.runner.jobs.serve_output(self.attempt(), self.job.clone(), folder.join("output")),
                Ok(None) | Err(_) => self.remove(folder),
            }
        }
        ended
    }

    /// Its own process has removed what it could.
    fn remove(&self, folder: &Path) {
        let root = self.runner.jobs.folders().of(folder);
        // The rest is removed with the job.
        let _ = root.map(|root| remove_below(root, folder));
    }

    fn run_in(&self, folder: Option<&Path>, progress: &Progress) -> Result<Option<u64>, TaskFailure> {
        let log = folder.map(|_| self.runner.logs.create_logs(self.attempt())).transpose()?;
        let work_folder = folder.map(|folder| folder.join("work"));
        let path = self.runner.environment.get("PATH").cloned();
        let spec = UserProcessSpec {
            command: ATTEMPT_COMMAND,
            folder: &self.job.folder,
            marking_folder: work_folder.unwrap_or_else(|| self.job.folder.clone()),
            path,
            group: None,
        };
        let mut process =
            UserProcess::start(spec).map_err(|error| TaskFailure::unstartable("the process of the attempt", &error))?;
        // A process that ends before it has read all of it has sent the reason.
        let _ = process.channel.send(&Identity::of(self.user, self.runner.jobs.run_as().may_gain()));
        let _ = process.channel.send(&self.order(folder, log.is_some()));
        let _ = log.map(|log| process.channel.channel.send_descriptors(&[log.as_fd()]));
        let conversation = AttemptConversation {
            attempt: self,
            process: &process,
            progress,
            has_sent_kill: false,
            waits_for_commit: false,
            answered_at: Instant::now(),
        };
        let outcome = conversation.serve();
        let code = process.end();
        match outcome? {
            Some(AttemptOutcome::Succeeded { output_bytes }) => Ok(output_bytes),
            Some(AttemptOutcome::Failed(text) | AttemptOutcome::Killed(text)) => Err(TaskFailure::Reported(text)),
            Some(AttemptOutcome::Short(text)) => Err(TaskFailure::Short(text)),
            None => Err(lost(match code {
                Some(code) => {
                    format!("has ended with status {code}, and its attempt with it; a command may have killed it")
                }
                None => "does not answer, and was killed; a command may have stopped it".to_owned(),
            })),
        }
    }

    fn order(&self, folder: Option<&Path>, has_log: bool) -> ProcessOrder {
        // A job may name any variable of it: as in a login, there are none of root's.
        let of_worker = self.runner.environment.iter().filter(|(name, _)| is_passed_on(name));
        let mut environment: BTreeMap<_, _> = of_worker.map(|(name, value)| (name.clone(), value.clone())).collect();
        environment.insert("HOME".to_owned(), self.user.home.clone());
        ProcessOrder {
            task: encode_task(self.task),
            configuration: self.runner.jobs.configuration().clone(),
            environment,
            job_folder: self.job.folder.clone(),
            attempt_folder: folder.map(Path::to_owned),
            has_log,
            log_limit_bytes: self.runner.logs.limit_bytes,
            limits_memory: self.runner.limits_memory,
            memory_interval: self.runner.memory_interval,
        }
    }
}

impl AttemptConversation<'_> {
    /// Serves the process until its attempt has ended; `None`: it is gone or does not answer.
    fn serve(mut self) -> Result<Option<AttemptOutcome>, TaskFailure> {
        loop {
            let Some(message) = self.next_message()? else { return Ok(None) };
            match message {
                FromAttempt::Event(AttemptEvent::Ended(outcome)) => return Ok(Some(outcome)),
                FromAttempt::Event(event) => self.on_event(event),
                FromAttempt::NeedFiles => self.send_files()?,
                FromAttempt::Subscribe => self.forward_map_events()?,
                // Not asked for.
                FromAttempt::CopiedFiles(_) | FromAttempt::CopyFailed(..) => {}
                FromAttempt::Progress(_) | FromAttempt::KillDelay(_) | FromAttempt::TimedOut(_) => {}
            }
        }
    }

    fn on_event(&mut self, event: AttemptEvent) {
        self.waits_for_commit |= event == AttemptEvent::CommitPending;
        (self.attempt.send_event)(event);
    }

    fn send(&self, message: &ToAttempt) {
        // If it is gone, the next message says so.
        let _ = self.process.channel.send(message);
    }

    /// The files of the job, which this attempt's process copies if it is the first that needs them.
    fn send_files(&mut self) -> Result<(), TaskFailure> {
        let (job, attempt, handle) = (self.attempt.job, self.attempt.attempt(), self.attempt.handle);
        match job.files(attempt, handle, || self.let_it_copy()) {
            Ok(files) => self.send(&ToAttempt::Files(files)),
            Err(failure) => self.send(&ToAttempt::NoFiles(failure.to_string(), failure.is_shortage())),
        }
        Ok(())
    }

    fn let_it_copy(&mut self) -> Result<LocalJobFiles, TaskFailure> {
        self.send(&ToAttempt::CopyFiles);
        loop {
            match self.next_message()? {
                Some(FromAttempt::CopiedFiles(files)) => return Ok(files),
                Some(FromAttempt::CopyFailed(text, is_shortage)) => {
                    return Err(TaskFailure::reported(text, is_shortage));
                }
                Some(FromAttempt::Event(AttemptEvent::Ended(_))) | None => {
                    return Err(lost("has ended while it copied the files of the job"));
                }
                Some(FromAttempt::Event(event)) => self.on_event(event),
                Some(_) => {}
            }
        }
    }

    /// Sends completion events as they come, on a thread that ends with the process.
    fn forward_map_events(&self) -> Result<(), TaskFailure> {
        let runner = self.attempt.runner;
        let feed = runner.map_completions.subscribe(self.attempt.job.id, self.attempt.handle.clone());
        let (channel, handle) = (self.process.channel.clone(), self.attempt.handle.clone());
        let forward = move || {
            while !handle.has_ended() {
                let events = feed.take(EVENTS_INTERVAL);
                if !events.is_empty() && channel.send(&ToAttempt::MapEvents(events)).is_err() {
                    return;
                }
            }
        };
        let started = std::thread::Builder::new().name("map events".to_owned()).spawn(forward);
        started.map(drop).map_err(|error| TaskFailure::unstartable("a thread of the attempt", &error))
    }

    /// The next message, after progress and the like are applied; `None`: the process is gone or does not answer.
    fn next_message(&mut self) -> Result<Option<FromAttempt>, TaskFailure> {
        loop {
            self.pass_on_wishes()?;
            if !self.is_readable() {
                if self.answered_at.elapsed() > SILENCE {
                    return Ok(None);
                }
                continue;
            }
            let Ok(message) = self.process.channel.channel.receive(Some(MESSAGE_TIMEOUT)) else { return Ok(None) };
            self.answered_at = Instant::now();
            match message {
                FromAttempt::Progress(report) => {
                    report.into_iter().for_each(|report| self.progress.apply_report(report))
                }
                FromAttempt::KillDelay(delay) => {
                    self.attempt.handle.set_command(self.process.folder.clone(), delay);
                }
                FromAttempt::TimedOut(limit) => self.attempt.handle.time_out(limit),
                message => return Ok(Some(message)),
            }
        }
    }

    /// Sends what the JobTracker wants of the attempt.
    fn pass_on_wishes(&mut self) -> Result<(), TaskFailure> {
        let handle = self.attempt.handle;
        if handle.is_abandoned() {
            return Err(handle.end_reason(self.attempt.attempt()));
        }
        if handle.is_killed() && !self.has_sent_kill {
            self.has_sent_kill = true;
            self.send(&ToAttempt::Kill);
        }
        if self.waits_for_commit && handle.may_commit() {
            self.waits_for_commit = false;
            self.send(&ToAttempt::Commit);
        }
        Ok(())
    }

    fn is_readable(&self) -> bool {
        let mut waited = vec![PollFd::from_borrowed_fd(self.process.channel.channel.as_fd(), PollFlags::IN)];
        let alarm = self.progress.alarm().ok().filter(|_| !self.progress.is_stopped());
        waited.extend(alarm.as_ref().map(|alarm| PollFd::from_borrowed_fd(alarm.as_fd(), PollFlags::IN)));
        let waits = self.waits_for_commit || self.progress.is_stopped();
        let interval = if waits { CHECK_INTERVAL } else { EVENTS_INTERVAL };
        let _ = poll(&mut waited, Timespec::try_from(interval).ok().as_ref());
        !waited[0].revents().is_empty()
    }
}
