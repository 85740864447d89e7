//! Runs a program of the system or the administrator to its end. Blocking: never on the owner's thread.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Poll interval for the exit of a program that has closed its outputs.
const PAUSE: Duration = Duration::from_millis(2);
/// How long an output may stay open after the end of the program.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Bytes per read.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("cannot be run: {0}")]
    Io(#[from] std::io::Error),
    #[error("has not answered within {} s and was killed", .0.as_secs())]
    TooSlow(Duration),
    /// It ended, and a process that it started kept an output; its process group was killed.
    #[error("ended, but a process that it started kept its output open and was killed: redirect its output")]
    LeftOpen,
    #[error("printed more than {0} bytes and was killed")]
    TooLong(usize),
    #[error("was stopped with the JobTracker")]
    Stopped,
}

/// Process groups of running programs, to be killed at a stop; none once stopped.
#[derive(Debug)]
pub(crate) struct RunningPrograms(Mutex<Option<BTreeSet<i32>>>);

/// Runs a program with a timeout and a limit of `max_bytes` for each of its two outputs.
pub(crate) fn run(command: &mut Command, timeout: Duration, max_bytes: usize) -> Result<ProgramOutput, ProgramError> {
    RunningPrograms::default().run(command, timeout, max_bytes)
}

impl Default for RunningPrograms {
    fn default() -> Self {
        Self(Mutex::new(Some(BTreeSet::new())))
    }
}

impl RunningPrograms {
    /// As [`run`], until [`Self::stop`].
    pub(crate) fn run(
        &self,
        command: &mut Command,
        timeout: Duration,
        max_bytes: usize,
    ) -> Result<ProgramOutput, ProgramError> {
        self.run_with_input(command, Stdio::null(), timeout, max_bytes)
    }

    /// The same with a standard input: a file, so that a program that does not read it blocks nothing.
    pub(crate) fn run_with_input(
        &self,
        command: &mut Command,
        input: Stdio,
        timeout: Duration,
        max_bytes: usize,
    ) -> Result<ProgramOutput, ProgramError> {
        let deadline = now() + timeout;
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = self.spawn(command)?;
        let outcome = read_outputs(&mut child, deadline, max_bytes).and_then(|(stdout, stderr)| {
            let status = self.await_exit(&mut child, deadline)?;
            Ok(ProgramOutput { status, stdout, stderr })
        });
        if self.is_stopped() {
            let _ = child.wait();
            return Err(ProgramError::Stopped);
        }
        outcome.map_err(|failure| {
            self.kill(&mut child);
            match failure {
                RunFailure::Io(error) => ProgramError::Io(error),
                RunFailure::TooSlow => ProgramError::TooSlow(timeout),
                RunFailure::LeftOpen => ProgramError::LeftOpen,
                RunFailure::TooLong => ProgramError::TooLong(max_bytes),
            }
        })
    }

    /// Kills the running programs with their children; no further one starts.
    pub(crate) fn stop(&self) {
        for group in self.groups().take().into_iter().flatten() {
            if let Some(group) = Pid::from_raw(group) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.groups().is_none()
    }

    fn groups(&self) -> MutexGuard<'_, Option<BTreeSet<i32>>> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(&self, command: &mut Command) -> Result<Child, ProgramError> {
        let mut groups = self.groups();
        let Some(groups) = &mut *groups else { return Err(ProgramError::Stopped) };
        let child = command.spawn()?;
        groups.insert(Pid::from_child(&child).as_raw_nonzero().get());
        Ok(child)
    }

    fn await_exit(&self, child: &mut Child, deadline: Instant) -> Result<ExitStatus, RunFailure> {
        loop {
            let mut groups = self.groups();
            if let Some(status) = child.try_wait()? {
                // From now on its process group id may be another's.
                forget(&mut groups, child);
                return Ok(status);
            }
            drop(groups);
            if now() >= deadline {
                return Err(RunFailure::TooSlow);
            }
            pause();
        }
    }

    fn kill(&self, child: &mut Child) {
        forget(&mut self.groups(), child);
        // It may have exited; its process group id is still reserved, since it was not waited for.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        let _ = child.wait();
    }
}

fn forget(groups: &mut Option<BTreeSet<i32>>, child: &Child) {
    if let Some(groups) = groups {
        groups.remove(&Pid::from_child(child).as_raw_nonzero().get());
    }
}

enum RunFailure {
    Io(std::io::Error),
    TooSlow,
    LeftOpen,
    TooLong,
}

impl From<std::io::Error> for RunFailure {
    fn from(error: std::io::Error) -> Self {
        RunFailure::Io(error)
    }
}

/// Reads both outputs until the program closes them, and those that it started.
fn read_outputs(child: &mut Child, deadline: Instant, max_bytes: usize) -> Result<(Vec<u8>, Vec<u8>), RunFailure> {
    let (mut stdout, mut stderr) = (ProgramPipe::of(child.stdout.take())?, ProgramPipe::of(child.stderr.take())?);
    let mut life = Life::of(child, deadline);
    loop {
        let mut open: Vec<PollFd<'_>> = stdout.poll().into_iter().chain(stderr.poll()).collect();
        if open.is_empty() {
            return Ok((stdout.bytes, stderr.bytes));
        }
        let Some(left) = life.due.checked_duration_since(now()) else { return Err(life.failure()) };
        let timeout = Timespec::try_from(left).map_err(|_| RunFailure::TooSlow)?;
        open.extend(life.poll());
        match poll(&mut open, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(RunFailure::Io(error.into())),
        }
        let has_ended = open.last().is_some_and(|last| !last.revents().is_empty());
        drop(open);
        life.note(has_ended);
        stdout.read(max_bytes)?;
        stderr.read(max_bytes)?;
    }
}

/// Until when the outputs of a program are read.
struct Life {
    due: Instant,
    /// None: it has ended, or the system does not say.
    running: Option<OwnedFd>,
    has_ended: bool,
}

impl Life {
    fn of(child: &Child, deadline: Instant) -> Self {
        let running = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok();
        Self { due: deadline, running, has_ended: false }
    }

    fn poll(&self) -> Option<PollFd<'_>> {
        self.running.as_ref().map(|running| PollFd::new(running, PollFlags::IN))
    }

    fn note(&mut self, is_readable: bool) {
        if is_readable && self.running.take().is_some() {
            self.has_ended = true;
            self.due = self.due.min(now() + LAST_WORDS);
        }
    }

    fn failure(&self) -> RunFailure {
        if self.has_ended { RunFailure::LeftOpen } else { RunFailure::TooSlow }
    }
}

/// One output of a program.
struct ProgramPipe<R> {
    pipe: Option<R>,
    bytes: Vec<u8>,
}

impl<R: Read + AsFd> ProgramPipe<R> {
    fn of(pipe: Option<R>) -> std::io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, bytes: Vec::new() })
    }

    fn poll(&self) -> Option<PollFd<'_>> {
        self.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN))
    }

    fn read(&mut self, max_bytes: usize) -> Result<(), RunFailure> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut buffer = [0; READ_BYTES];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    return Ok(());
                }
                Ok(read) if self.bytes.len() + read > max_bytes => return Err(RunFailure::TooLong),
                Ok(read) => self.bytes.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(RunFailure::Io(error)),
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a time limit is about the clock of the machine")]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program whose outputs are closed has most often ended; its exit sends no event"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Result<ProgramOutput, ProgramError> {
        run(Command::new("/bin/sh").args(["-c", script]), timeout, 100_000)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn both_outputs_and_the_status_come_back() {
        let ran = shell("head -c 90000 /dev/zero; echo trouble >&2; exit 3", LONG).unwrap();
        assert_eq!((ran.status.code(), ran.stdout.len(), &*ran.stderr), (Some(3), 90_000, &b"trouble\n"[..]));
    }

    #[test]
    fn what_takes_too_long_or_says_too_much_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("alive");
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        // The child holds the pipe open until it is dead; the reader below then reads to its end.
        let script = format!("(exec sleep 1000 > {}) & sleep 1000", fifo.display());
        let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
        let error = shell(&script, Duration::from_millis(300)).unwrap_err();
        assert!(matches!(error, ProgramError::TooSlow(_)), "{error}");
        assert_eq!(reader.join().unwrap(), b"");
        let error = shell("yes", LONG).unwrap_err();
        assert!(matches!(error, ProgramError::TooLong(100_000)), "{error}");
        // It prints nothing more, and does not exit either.
        let error = shell("exec >&- 2>&-; exec sleep 1000", Duration::from_millis(300)).unwrap_err();
        assert!(matches!(error, ProgramError::TooSlow(_)), "{error}");
    }

    #[test]
    fn an_output_that_is_left_open_is_waited_for_a_moment_and_what_holds_it_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("alive");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let script = format!("echo done; (exec 3> {}; exec sleep 1000) & exit 0", fifo.display());
        let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
        let error = shell(&script, LONG).unwrap_err();
        assert!(matches!(error, ProgramError::LeftOpen), "{error}");
        assert_eq!(reader.join().unwrap(), b"");
        // One that closes it soon loses nothing.
        let ran = shell("{ echo early; echo late; } & exit 0", LONG).unwrap();
        assert_eq!(ran.stdout, b"early\nlate\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = run(&mut Command::new("/nonexistent/program"), LONG, 10).unwrap_err();
        assert!(matches!(error, ProgramError::Io(_)), "{error}");
    }
}
