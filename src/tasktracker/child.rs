//! A command as a process: a group of its own, its three pipes, its end.
//!
//! Three threads serve the pipes, so that none can wait for another. Each waits for the attempt's alarm too: whatever the process and
//! its descendants do, the attempt ends when it is told. No process of the group outlives the command.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, prlimit};

use super::command_stream::{CommandInput, CommandStream, Feed, INPUT_BUFFER_BYTES, Take};
use super::counters::Framework;
use super::failure::TaskFailure;
use super::lines::LineReader;
use super::progress::Progress;
use super::reporter::StderrLine;

/// Asked of the system for each pipe: fewer turns from one process to the other. Bytes.
const PIPE_BYTES: usize = 1 << 20;
/// Tries to start a file that somebody still writes: a process that another thread started just then holds it open.
const MOST_STARTS: u32 = 50;

/// A command of one attempt.
#[derive(Debug)]
pub struct ChildCommand<'a> {
    /// What is started.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Its working directory.
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: &'a [(String, String)],
    /// What it may do.
    pub rules: ChildRules<'a>,
    /// Told of life, counters and status; tells when to end.
    pub progress: &'a Progress,
    /// Where words of its standard error go.
    pub log: Option<&'a StderrLog>,
}

/// What a process may do and how it is judged.
#[derive(Clone, Copy, Debug)]
pub struct ChildRules<'a> {
    /// Whether a status other than 0 is a failure.
    pub non_zero_exit_is_failure: bool,
    /// What reports on standard error begin with.
    pub reporter_prefix: &'a str,
    /// Whether its reports count; those of a combiner do not.
    pub reports_count: bool,
    /// Between the signals TERM and KILL.
    pub kill_delay: Duration,
    /// Longest wait for output that comes after its end.
    pub join_delay: Option<Duration>,
    /// Most virtual memory, kB.
    pub ulimit_kb: Option<u64>,
}

/// The log of an attempt's standard error, with a limit.
#[derive(Debug)]
pub struct StderrLog {
    file: std::sync::Mutex<(File, u64)>,
}

/// A running command.
struct Group<'a> {
    child: Child,
    pid: Pid,
    pidfd: OwnedFd,
    rules: &'a ChildRules<'a>,
}

/// One of the three pipes, which waits for the alarm too.
struct PipeEnd<'a, P> {
    pipe: P,
    progress: &'a Progress,
    /// When the process has ended, no more is waited than this.
    after: Option<(BorrowedFd<'a>, Duration)>,
}

/// What became of the standard input.
struct Fed {
    result: Result<(), TaskFailure>,
    /// The command does not read any more.
    broken: Option<io::Error>,
}

// === impl StderrLog ===

impl StderrLog {
    /// Appends to a file until it holds `limit_bytes`; what comes then is dropped.
    ///
    /// # Errors
    /// [`TaskFailure::File`].
    pub fn open(path: &std::path::Path, limit_bytes: Option<u64>) -> Result<Self, TaskFailure> {
        let file = File::options().create(true).append(true).open(path).map_err(TaskFailure::file("write", path))?;
        Ok(Self { file: std::sync::Mutex::new((file, limit_bytes.unwrap_or(u64::MAX))) })
    }

    /// A line; a full disk costs words of the log, not the attempt.
    pub(crate) fn append(&self, line: &[u8]) {
        let mut guard = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (file, left) = &mut *guard;
        let with_end = line.len() as u64 + 1;
        if *left >= with_end {
            *left -= with_end;
            let _ = file.write_all(&[line, b"\n"].concat());
        } else {
            *left = 0;
        }
    }
}

// === impl PipeEnd ===

impl<'a, P: AsFd> PipeEnd<'a, P> {
    fn new(pipe: P, progress: &'a Progress) -> Result<Self, TaskFailure> {
        rustix::io::ioctl_fionbio(&pipe, true).map_err(|error| TaskFailure::Pipe(error.into()))?;
        // The system may refuse so much; then the pipe is as it was.
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_BYTES);
        Ok(Self { pipe, progress, after: None })
    }

    /// Waits until the pipe can be used; `false` when nothing more is to be waited for.
    fn wait(&self, wanted: PollFlags) -> io::Result<bool> {
        let mut time = None;
        loop {
            let mut waited = vec![
                PollFd::from_borrowed_fd(self.pipe.as_fd(), wanted),
                PollFd::from_borrowed_fd(self.progress.alarm(), PollFlags::IN),
            ];
            if let (Some((process, _)), None) = (self.after, time) {
                waited.push(PollFd::from_borrowed_fd(process, PollFlags::IN));
            }
            let timeout = time.and_then(|time: Duration| Timespec::try_from(time).ok());
            let ready = match poll(&mut waited, timeout.as_ref()) {
                Ok(ready) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if !waited[1].revents().is_empty() {
                return Err(io::Error::other("the attempt is to end"));
            }
            if !waited[0].revents().is_empty() {
                return Ok(true);
            }
            match (ready, self.after) {
                (0, _) => return Ok(false),
                (_, Some((_, delay))) => time = Some(delay),
                (_, None) => {}
            }
        }
    }
}

impl<P: AsFd + Read> Read for PipeEnd<'_, P> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.pipe.read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !self.wait(PollFlags::IN)? {
                        return Ok(0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    self.progress.note_life();
                    return result;
                }
            }
        }
    }
}

impl<P: AsFd + Write> Write for PipeEnd<'_, P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.pipe.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    self.progress.note_life();
                    return result;
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// === impl ChildCommand ===

impl CommandStream for ChildCommand<'_> {
    fn stream(&self, feed: Feed<'_>, take: Take<'_>) -> Result<(), TaskFailure> {
        self.progress.check()?;
        let (mut group, stdin, stdout, stderr) = self.start()?;
        let result = std::thread::scope(|scope| {
            let feeder = scope.spawn(|| feed_all(stdin, feed));
            let listener = scope.spawn(|| self.listen(stderr));
            let mut stdout = stdout;
            stdout.after = self.rules.join_delay.map(|delay| (group.pidfd.as_fd(), delay));
            let taken = take(&mut stdout);
            drop(stdout);
            if taken.is_err() || self.progress.is_stopped() {
                group.end();
            }
            let fed = feeder.join();
            group.wait(self.progress);
            group.kill_rest();
            let heard = listener.join();
            (taken, fed, heard)
        });
        self.progress.counters().add(Framework::CpuMilliseconds, group.cpu_ms());
        let code = group.reap()?;
        self.progress.check()?;
        let (taken, Ok(fed), Ok(())) = result else {
            return Err(TaskFailure::Pipe(io::Error::other("a thread that served it panicked")));
        };
        taken?;
        if code != 0 && self.rules.non_zero_exit_is_failure {
            return Err(TaskFailure::ExitStatus { code });
        }
        match fed.broken {
            // Stock tasks fail when a command stops reading early and ends well; here it may.
            Some(_) => Ok(()),
            None => fed.result,
        }
    }
}

impl ChildCommand<'_> {
    #[expect(clippy::type_complexity, reason = "the three pipes have three types")]
    fn start(
        &self,
    ) -> Result<(Group<'_>, PipeEnd<'_, ChildStdin>, PipeEnd<'_, ChildStdout>, PipeEnd<'_, ChildStderr>), TaskFailure>
    {
        let failed = |source: io::Error| TaskFailure::Start { program: self.program.display().to_string(), source };
        let mut command = Command::new(&self.program);
        command.args(self.arguments).current_dir(&self.folder).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut tries = 0;
        let mut child = loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && tries < MOST_STARTS => {
                    tries += 1;
                    self.progress.sleep(Duration::from_millis(10));
                }
                started => break started.map_err(failed)?,
            }
        };
        let pid = Pid::from_child(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let prepared = pidfd_open(pid, PidfdFlags::empty()).and_then(|pidfd| {
            if let Some(limit) = self.rules.ulimit_kb.and_then(|limit_kb| limit_kb.checked_mul(1024)) {
                let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
                prlimit(Some(pid), Resource::As, limit)?;
            }
            Ok(pidfd)
        });
        let pidfd = match prepared {
            Ok(pidfd) => pidfd,
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = child.wait();
                return Err(failed(error.into()));
            }
        };
        let group = Group { child, pid, pidfd, rules: &self.rules };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::Error::other("the system gave no pipes")));
        };
        let pipes = (
            PipeEnd::new(stdin, self.progress),
            PipeEnd::new(stdout, self.progress),
            PipeEnd::new(stderr, self.progress),
        );
        Ok((group, pipes.0?, pipes.1?, pipes.2?))
    }

    /// Reads standard error to its end.
    fn listen(&self, stderr: PipeEnd<'_, ChildStderr>) {
        let mut lines = LineReader::new(stderr);
        while let Ok(Some(_)) = lines.advance() {
            let rules = &self.rules;
            match StderrLine::parse(lines.text(), rules.reporter_prefix) {
                StderrLine::Counter { group, name, count } if rules.reports_count => {
                    if let Err(too_many) = self.progress.counters().add_of_command(&group, &name, count) {
                        self.progress.stop_counting(too_many);
                    }
                }
                StderrLine::Status(status) if rules.reports_count => self.progress.tell_for_command(status),
                StderrLine::Counter { .. } | StderrLine::Status(_) => {}
                StderrLine::Malformed(line) => {
                    self.log(format!("WARN: cannot be understood, dropped: {line}").as_bytes());
                }
                StderrLine::Log(line) => self.log(line),
            }
        }
    }

    fn log(&self, line: &[u8]) {
        if let Some(log) = self.log {
            log.append(line);
        }
    }
}

fn feed_all(mut stdin: PipeEnd<'_, ChildStdin>, feed: Feed<'_>) -> Fed {
    struct Noted<'a, 'b> {
        stdin: &'a mut PipeEnd<'b, ChildStdin>,
        broken: Option<io::Error>,
    }
    impl Write for Noted<'_, '_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let result = self.stdin.write(bytes);
            if let Err(error) = &result {
                self.broken.get_or_insert_with(|| error.kind().into());
            }
            result
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut noted = Noted { stdin: &mut stdin, broken: None };
    let mut input: CommandInput<'_> = BufWriter::with_capacity(INPUT_BUFFER_BYTES, &mut noted);
    let result = feed(&mut input);
    let _ = input.flush();
    // What could not be written is not tried again.
    let _ = input.into_parts();
    Fed { result, broken: noted.broken }
}

// === impl Group ===

impl Group<'_> {
    /// Whether the process has ended within `time`.
    fn has_ended_within(&self, time: Duration) -> bool {
        let mut waited = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        poll(&mut waited, Timespec::try_from(time).ok().as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Waits for the end of the process, or brings it about when the attempt is to end.
    fn wait(&self, progress: &Progress) {
        loop {
            let mut waited = [
                PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(progress.alarm(), PollFlags::IN),
            ];
            match poll(&mut waited, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(_) if !waited[0].revents().is_empty() => return,
                Ok(_) | Err(_) => return self.end(),
            }
        }
    }

    /// Asks all processes of the group to end; those that do not are killed.
    fn end(&self) {
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = self.has_ended_within(self.rules.kill_delay);
        self.kill_rest();
    }

    /// The process itself is not reaped yet, so that nobody else can have its number.
    fn kill_rest(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Time that the process and those it waited for used. Read while it is not reaped.
    fn cpu_ms(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // Behind the name, which may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
        let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
        ticks.saturating_mul(1000).checked_div(rustix::param::clock_ticks_per_second()).unwrap_or(0)
    }

    /// The status, 128 + n for signal n.
    fn reap(&mut self) -> Result<i32, TaskFailure> {
        let status = self.child.wait().map_err(TaskFailure::Pipe)?;
        Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // Reached without a reaped child only when starting or a thread failed.
        if let Ok(None) = self.child.try_wait() {
            self.kill_rest();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
#[path = "tests/child.rs"]
mod tests;
