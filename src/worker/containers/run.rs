//! Runs one container from its launch to its end, on the thread that calls. With a supervisor nothing of it is left afterwards.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::Instant;

use crate::api::ContainerEnd;
use crate::clock::wall_ms;
use crate::model::{ContainerExit, LogOverflow};
use crate::supervisor::Supervision;
use crate::supervisor::command::{CommandEnd, CommandEnds, open_null, signal_name};
use crate::supervisor::process::pause;
use crate::supervisor::running_command::RunningCommand;

use super::super::local_folders::is_good_part;
use super::control::{ContainerControl, KillWish};
use super::control_groups::ProcessLooks;
use super::fault::LaunchFault;
use super::order::ContainerOrder;
use super::output_log::{CollectedOutput, OutputLog};
use super::prepared::{OutputTarget, Prepared, prepare};

/// From the start of a container to the first look at its memory. Each pause after that is twice as long, up to the interval.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Longest wait for the end of output once all processes are killed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub struct ContainerRun<'a> {
    pub order: &'a ContainerOrder,
    pub control: &'a ContainerControl,
    /// Who watches over it; without a supervisor only the process group is killed.
    pub supervision: Supervision<'a>,
    pub looks: &'a ProcessLooks,
    /// Called once its process runs, with its number and the time, epoch ms.
    pub on_started: &'a dyn Fn(u32, i64),
}

/// Why a container that runs is to end.
#[derive(Debug)]
struct Stop {
    exit: ContainerExit,
    diagnostics: String,
    /// When the rest is killed; none: it was.
    kill_at: Option<Instant>,
}

/// A container whose process runs.
struct RunningContainer<'a> {
    order: &'a ContainerOrder,
    control: &'a ContainerControl,
    looks: &'a ProcessLooks,
    command: RunningCommand,
    outputs: Vec<CollectedOutput>,
    started_ms: i64,
    time_limit_at: Option<Instant>,
    look_at: Option<Instant>,
    look_pause: Duration,
    peak_bytes: u64,
    stop: Option<Stop>,
}

impl ContainerRun<'_> {
    /// Runs the container to its end, with its two logs, which are empty.
    pub fn run(&self, logs: [File; 2]) -> ContainerEnd {
        let time_limit_at = self.order.time_limit_from(Instant::now());
        let is_over_time = || time_limit_at.is_some_and(|at| at <= Instant::now());
        let prepared = prepare(self.order, &|| self.control.wish().is_some() || is_over_time());
        match prepared.and_then(|prepared| self.start(prepared, logs, time_limit_at)) {
            Ok(running) => {
                let pid = u32::try_from(running.command.tree().root).unwrap_or(0);
                (self.on_started)(pid, running.started_ms);
                running.run_to_end()
            }
            Err(LaunchFault::Stopped) if self.control.wish().is_none() => {
                let (exit, diagnostics) = over_time(self.order);
                ContainerEnd {
                    diagnostics: format!("{diagnostics}, in which its files were not brought"),
                    ..never_ran(exit)
                }
            }
            Err(fault) => end_without_start(&fault, self.control.wish()),
        }
    }

    fn start(
        &self,
        prepared: Prepared,
        logs: [File; 2],
        time_limit_at: Option<Instant>,
    ) -> Result<RunningContainer<'_>, LaunchFault> {
        if self.control.wish().is_some() {
            return Err(LaunchFault::Stopped);
        }
        let Prepared { spec, stdout, stderr } = prepared;
        let mut outputs = Vec::new();
        let [stdout_log, stderr_log] = logs;
        let ends = CommandEnds {
            stdin: open_null().map_err(LaunchFault::System)?,
            stdout: self.lead(stdout, stdout_log, &mut outputs).map_err(LaunchFault::System)?,
            stderr: self.lead(stderr, stderr_log, &mut outputs).map_err(LaunchFault::System)?,
        };
        let context = &self.order.launch.context;
        let started = RunningCommand::start(&spec, ends, self.supervision, pause);
        let program = context.command.first().map_or("", String::as_str);
        let command = started.map_err(|error| LaunchFault::of_start(program, &spec.program, &spec.folder, error))?;
        let now = Instant::now();
        let look_pause = FIRST_LOOK.min(self.order.memory_interval);
        Ok(RunningContainer {
            order: self.order,
            control: self.control,
            looks: self.looks,
            command,
            outputs,
            started_ms: wall_ms(),
            time_limit_at,
            look_at: self.order.watches_memory.then(|| now + look_pause),
            look_pause,
            peak_bytes: 0,
            stop: None,
        })
    }

    /// What the command has for an output.
    fn lead(&self, output: OutputTarget, log: File, outputs: &mut Vec<CollectedOutput>) -> io::Result<OwnedFd> {
        match output {
            OutputTarget::File(file) => Ok(file),
            OutputTarget::Log => {
                let (pipe, end) = io::pipe()?;
                outputs.push(CollectedOutput::new(pipe, OutputLog::new(log, self.order.log_limit_bytes))?);
                Ok(end.into())
            }
        }
    }
}

/// The end of a container that did not start.
pub(crate) fn end_without_start(fault: &LaunchFault, wish: Option<KillWish>) -> ContainerEnd {
    let (exit, diagnostics) = match (fault, wish) {
        (LaunchFault::Stopped, Some(wish)) => (wish.exit, wish.diagnostics),
        (fault, _) => (fault.exit(), fault.to_string()),
    };
    ContainerEnd { diagnostics, ..never_ran(exit) }
}

fn never_ran(exit: ContainerExit) -> ContainerEnd {
    let diagnostics = String::new();
    ContainerEnd { exit, diagnostics, started_ms: None, ended_ms: wall_ms(), peak_memory_mb: 0, cpu_ms: 0 }
}

/// What a container is killed with when its time is over.
fn over_time(order: &ContainerOrder) -> (ContainerExit, String) {
    let limit_ms = order.launch.context.time_limit_ms.unwrap_or(0);
    (ContainerExit::TIME_LIMIT, format!("ran longer than its time-limit-ms of {limit_ms}"))
}

/// The status of a process that ended by itself, and what to say about it.
fn own_exit(end: CommandEnd) -> (ContainerExit, String) {
    match end {
        CommandEnd::Exited(0) => (ContainerExit::SUCCESS, String::new()),
        CommandEnd::Exited(code) => (ContainerExit(i32::from(code)), format!("exit code {code}")),
        CommandEnd::Signalled(number) => {
            let number = i32::from(number);
            let name = signal_name(number).map(|name| format!(" {name}")).unwrap_or_default();
            let exit = ContainerExit::of_signal(number);
            (exit, format!("died of signal {number}{name}, which the worker did not send"))
        }
    }
}

/// What is said of output that could not be kept, and the status of a container that has ended well otherwise: of the node where others
/// have filled its disk, of the container where it has itself taken a good part of it.
fn lost_output(outputs: &[CollectedOutput], folder: &Path) -> Option<(ContainerExit, String)> {
    let lost: Vec<_> = outputs.iter().filter_map(CollectedOutput::lost).collect();
    let (first, _) = lost.first()?;
    let (lost_bytes, kept_bytes) = lost.iter().fold((0, 0), |sum, (lost, kept)| (sum.0 + lost.bytes, sum.1 + kept));
    let exit = if is_good_part(kept_bytes.saturating_add(lost_bytes), folder) {
        ContainerExit::OUTPUT_LOST
    } else {
        ContainerExit::DISKS_FAILED
    };
    Some((exit, format!("{lost_bytes} bytes of its output are lost: the worker cannot write its log: {}", first.error)))
}

/// In whole MB, rounded up.
pub(crate) fn whole_mb(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 20)).unwrap_or(u32::MAX)
}

/// What a container over its memory is killed with.
pub(crate) fn over_memory(used_bytes: u64, limit_bytes: u64) -> (ContainerExit, String) {
    let (used, limit) = (whole_mb(used_bytes), limit_bytes >> 20);
    (ContainerExit::KILLED_EXCEEDED_MEMORY, format!("used {used} MB of memory, more than its {limit} MB"))
}

impl RunningContainer<'_> {
    fn run_to_end(mut self) -> ContainerEnd {
        while !self.step() {}
        self.command.end_if_unsupervised();
        self.command.kill_rest();
        self.drain();
        let cpu_ms = self.command.cpu_ms();
        let ended = self.command.reap();
        // What came after the drain's time.
        for output in &mut self.outputs {
            output.take();
        }
        let (mut exit, mut diagnostics) = match (self.stop, ended) {
            (Some(stop), _) => (stop.exit, stop.diagnostics),
            (None, Ok(end)) => own_exit(end),
            (None, Err(error)) => (ContainerExit::INVALID, format!("its end cannot be known: {error}")),
        };
        if let Some((lost_exit, text)) = lost_output(&self.outputs, &self.order.folder) {
            if exit == ContainerExit::SUCCESS {
                exit = lost_exit;
            }
            diagnostics = if diagnostics.is_empty() { text } else { format!("{diagnostics}; {text}") };
        }
        ContainerEnd {
            exit,
            diagnostics,
            started_ms: Some(self.started_ms),
            ended_ms: wall_ms(),
            peak_memory_mb: whole_mb(self.peak_bytes),
            cpu_ms,
        }
    }

    /// Waits for the next thing to do, and does it; `true` once the command has ended.
    fn step(&mut self) -> bool {
        let open: Vec<usize> = (0..self.outputs.len()).filter(|at| !self.outputs[*at].is_over()).collect();
        let mut waited = vec![
            PollFd::from_borrowed_fd(self.command.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
        ];
        waited.extend(open.iter().map(|at| PollFd::from_borrowed_fd(self.outputs[*at].as_fd(), PollFlags::IN)));
        let timeout = self.next_time().map(|at| at.saturating_duration_since(Instant::now()));
        // Rounded up, so that it does not wake before the time.
        let timeout = timeout.and_then(|time| Timespec::try_from(time + Duration::from_millis(1)).ok());
        match poll(&mut waited, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return false,
            // The system is out of memory: end it as one that can no longer be looked after.
            Err(error) => {
                let diagnostics = format!("the worker cannot wait for it: {error}");
                self.stop(KillWish { exit: ContainerExit::ABORTED, diagnostics, grace: Duration::ZERO });
                return true;
            }
        }
        let is_ready = |at: usize| waited.get(at).is_some_and(|waited| !waited.revents().is_empty());
        let (has_ended, is_wished) = (is_ready(0), is_ready(1));
        let readable: Vec<usize> =
            open.iter().enumerate().filter(|(at, _)| is_ready(2 + at)).map(|(_, at)| *at).collect();
        drop(waited);
        for at in readable {
            if self.outputs[at].take() && self.order.launch.context.log_overflow == LogOverflow::Kill && !has_ended {
                let limit_kb = self.order.log_limit_bytes >> 10;
                let diagnostics = format!(
                    "wrote more than {limit_kb} kB into a log (jobtracker.containers.log.limit.kb), and asked to be killed for that"
                );
                let grace = self.own_grace();
                self.stop(KillWish { exit: ContainerExit::KILLED_FOR_LOGS, diagnostics, grace });
            }
        }
        if has_ended {
            return true;
        }
        if is_wished && let Some(wish) = self.control.answer_alarm() {
            self.stop(wish);
        }
        self.do_what_is_due();
        false
    }

    fn next_time(&self) -> Option<Instant> {
        let kill_at = self.stop.as_ref().and_then(|stop| stop.kill_at);
        [kill_at, self.time_limit_at, self.look_at].into_iter().flatten().min()
    }

    fn do_what_is_due(&mut self) {
        let now = Instant::now();
        if self.time_limit_at.is_some_and(|at| at <= now) {
            self.time_limit_at = None;
            let (exit, diagnostics) = over_time(self.order);
            let grace = self.own_grace();
            self.stop(KillWish { exit, diagnostics, grace });
        }
        if self.look_at.is_some_and(|at| at <= now) {
            self.look_at_memory(now);
        }
        if let Some(stop) = &mut self.stop
            && stop.kill_at.is_some_and(|at| at <= now)
        {
            stop.kill_at = None;
            self.command.kill_rest();
        }
    }

    fn look_at_memory(&mut self, now: Instant) {
        let used = self.looks.use_of(self.command.tree(), self.look_pause / 2).resident_bytes;
        self.peak_bytes = self.peak_bytes.max(used);
        let limit = self.order.memory_limit_bytes();
        if used > limit {
            let (exit, diagnostics) = over_memory(used, limit);
            self.stop(KillWish { exit, diagnostics, grace: Duration::ZERO });
            // It is killed at once: what it takes until then is not looked at.
            self.look_at = None;
            return;
        }
        self.look_pause = (self.look_pause * 2).min(self.order.memory_interval);
        self.look_at = now.checked_add(self.look_pause);
    }

    fn own_grace(&self) -> Duration {
        Duration::from_millis(self.order.launch.context.kill_grace_ms)
    }

    /// Sends TERM, and KILL after the grace. The first reason stays, and so does the end of a command that came before it.
    fn stop(&mut self, wish: KillWish) {
        let kill_at = Instant::now().checked_add(wish.grace);
        match &mut self.stop {
            Some(stop) => stop.kill_at = stop.kill_at.zip(kill_at).map(|(old, new)| old.min(new)),
            None if self.command.has_ended_within(Duration::ZERO) => {}
            None => {
                if !wish.grace.is_zero() {
                    self.command.terminate();
                }
                self.stop = Some(Stop { exit: wish.exit, diagnostics: wish.diagnostics, kill_at });
            }
        }
    }

    /// Takes what its processes wrote until none of them is left that could write.
    fn drain(&mut self) {
        let until = Instant::now() + DRAIN_TIMEOUT;
        loop {
            let waited = self.outputs.iter().filter(|output| !output.is_over());
            let mut waited: Vec<_> =
                waited.map(|output| PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN)).collect();
            let left = until.saturating_duration_since(Instant::now());
            if waited.is_empty() || left.is_zero() {
                return;
            }
            let _ = poll(&mut waited, Timespec::try_from(left).ok().as_ref());
            drop(waited);
            for output in &mut self.outputs {
                output.take();
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/run.rs"]
mod tests;
