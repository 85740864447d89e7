//! A command as a process: its three pipes, its limits, its exit status. Three threads serve the pipes, so that none can wait for another.
//! Each waits for the attempt's alarm too: whatever the process and its descendants do, the attempt stops when the tracker stops it. No
//! descendant outlives it: see [`crate::supervisor::process`].

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::fs::script_fault;
use crate::supervisor::command::{CommandSpec, open_pipes};
use crate::supervisor::process_tree::ProcessTable;
use crate::supervisor::running_command::RunningCommand;

use super::command_exit::{CommandExit, LastLines, StderrLine};
use super::command_stream::{CommandInput, CommandStream, Feed, INPUT_BUFFER_BYTES, Take};
use super::counters::FrameworkCounter;
use super::failure::TaskFailure;
use super::line_reader::LineReader;
use super::progress::Progress;

/// Requested size of each pipe, bytes: fewer switches between processes.
const PIPE_BYTES: usize = 1 << 20;
/// Longer lines of standard error are cut, bytes.
const MAX_STDERR_LINE_BYTES: usize = 64 << 10;
/// Starts a command under a memory limit: every process of it has the limit from its start.
const WITH_LIMIT: &str = "ulimit -v \"$1\" && shift && exec \"$@\"";

#[derive(Debug)]
pub(crate) struct ChildCommand<'a> {
    pub(crate) program: PathBuf,
    /// The command as it was given: program and arguments.
    pub(crate) line: &'a [String],
    pub(crate) folder: PathBuf,
    pub(crate) environment: &'a [(String, String)],
    pub(crate) supervisor: Option<&'a Path>,
    pub(crate) rules: ChildRules<'a>,
    /// Receives activity, counters and status; stops the command.
    pub(crate) progress: &'a Progress,
    pub(crate) log: Option<&'a StderrLog>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildRules<'a> {
    pub(crate) non_zero_exit_is_failure: bool,
    /// Prefix of reports on standard error.
    pub(crate) reporter_prefix: &'a str,
    /// Whether its counters and status are reported; those of a combiner are not.
    pub(crate) reports_count: bool,
    pub(crate) kill_delay: Duration,
    /// Longest wait for output after the end of the command.
    pub(crate) join_delay: Option<Duration>,
    /// Virtual memory limit, kB.
    pub(crate) ulimit_kb: Option<u64>,
}

/// The log of an attempt's standard error, with a limit.
#[derive(Debug)]
pub(crate) struct StderrLog {
    file: std::sync::Mutex<(File, u64)>,
}

/// One of the three pipes, which waits for the alarm too.
struct PipeEnd<'a, P> {
    pipe: P,
    progress: &'a Progress,
    alarm: Arc<PipeReader>,
    /// After this command has ended, waits at most for this time, if there is a limit.
    after: Option<(&'a RunningCommand, Option<Duration>)>,
}

struct FeedResult {
    result: Result<(), TaskFailure>,
    /// Set when the command no longer reads.
    broken: Option<io::Error>,
}

impl StderrLog {
    /// Writes to `file` up to `limit_bytes`; drops the rest.
    pub(crate) fn new(file: File, limit_bytes: Option<u64>) -> Self {
        Self { file: std::sync::Mutex::new((file, limit_bytes.unwrap_or(u64::MAX))) }
    }

    /// Appends a line; a full disk loses log lines, not the attempt.
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

impl<'a, P: AsFd> PipeEnd<'a, P> {
    fn new(pipe: P, progress: &'a Progress) -> Result<Self, TaskFailure> {
        rustix::io::ioctl_fionbio(&pipe, true).map_err(|error| TaskFailure::Pipe(error.into()))?;
        // The system may refuse the size; then the pipe keeps its own.
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_BYTES);
        Ok(Self { pipe, progress, alarm: progress.alarm()?, after: None })
    }

    /// Waits until the pipe is ready; `false` when waiting is over.
    fn wait(&self, wanted: PollFlags) -> io::Result<bool> {
        let (mut time, mut after) = (None, self.after);
        loop {
            let mut waited = vec![
                PollFd::from_borrowed_fd(self.pipe.as_fd(), wanted),
                PollFd::from_borrowed_fd(self.alarm.as_fd(), PollFlags::IN),
            ];
            waited.extend(after.map(|(command, _)| PollFd::from_borrowed_fd(command.as_fd(), PollFlags::IN)));
            let timeout = time.and_then(|time: Duration| Timespec::try_from(time).ok());
            let ready = match poll(&mut waited, timeout.as_ref()) {
                Ok(ready) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if !waited[1].revents().is_empty() {
                return Err(stopped());
            }
            if !waited[0].revents().is_empty() {
                return Ok(true);
            }
            if ready == 0 {
                return Ok(false);
            }
            if let Some((command, delay)) = after.take() {
                command.end_if_unsupervised();
                time = delay;
            }
        }
    }
}

impl<P: AsFd + Read> Read for PipeEnd<'_, P> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            // One that always has more to read is never waited for.
            if self.progress.is_stopped() {
                return Err(stopped());
            }
            match self.pipe.read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !self.wait(PollFlags::IN)? {
                        return Ok(0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    self.progress.record_activity();
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
                    self.progress.record_activity();
                    return result;
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stopped() -> io::Error {
    io::Error::other("the attempt is stopped")
}

impl CommandStream for ChildCommand<'_> {
    fn stream(&self, feed: Feed<'_>, take: Take<'_>) -> Result<(), TaskFailure> {
        self.progress.check()?;
        let alarm = self.progress.alarm()?;
        let (mut command, stdin, stdout, stderr) = self.start()?;
        let tree = self.progress.track_command(command.tree());
        let result = std::thread::scope(|scope| {
            let feeder = scope.spawn(|| feed_all(stdin, feed, self.progress));
            let listener = scope.spawn(|| self.read_stderr(stderr));
            let mut stdout = stdout;
            stdout.after = Some((&command, self.rules.join_delay));
            let taken = take(&mut stdout);
            drop(stdout);
            if taken.is_err() || self.progress.is_stopped() {
                command.end(self.rules.kill_delay);
            }
            let fed = feeder.join();
            command.wait(alarm.as_fd(), self.rules.kill_delay);
            command.kill_rest();
            let stderr_read = listener.join();
            (taken, fed, stderr_read)
        });
        drop(tree);
        self.progress.counters().add(FrameworkCounter::CpuMilliseconds, command.cpu_ms());
        let code = command.reap().map_err(TaskFailure::Pipe)?.shell_status();
        self.progress.check()?;
        let (taken, Ok(fed), Ok(last_lines)) = result else {
            return Err(TaskFailure::Pipe(io::Error::other("a thread that served it panicked")));
        };
        taken?;
        if code != 0 && self.rules.non_zero_exit_is_failure {
            let command = self.line.join(" ");
            return Err(TaskFailure::ExitStatus(Box::new(CommandExit { code, command, input: None, last_lines })));
        }
        match fed.broken {
            // Stock tasks fail when a command stops reading early and ends well; here it may.
            Some(_) => Ok(()),
            None => fed.result,
        }
    }
}

impl ChildCommand<'_> {
    fn arguments(&self) -> &[String] {
        self.line.get(1..).unwrap_or_default()
    }

    fn spec(&self) -> CommandSpec {
        let folder = self.folder.clone();
        let environment = self.environment.to_vec();
        let Some(limit_kb) = self.rules.ulimit_kb else {
            return CommandSpec {
                program: self.program.clone(),
                arguments: self.arguments().to_vec(),
                folder,
                environment,
                group: None,
            };
        };
        let program = self.program.display().to_string();
        let shell = ["-c", WITH_LIMIT, "sh"].map(str::to_owned).into_iter();
        let arguments = shell.chain([limit_kb.to_string(), program]).chain(self.arguments().iter().cloned()).collect();
        CommandSpec { program: "/bin/sh".into(), arguments, folder, environment, group: None }
    }

    #[expect(clippy::type_complexity, reason = "pipes differ by their direction")]
    fn start(
        &self,
    ) -> Result<(RunningCommand, PipeEnd<'_, PipeWriter>, PipeEnd<'_, PipeReader>, PipeEnd<'_, PipeReader>), TaskFailure>
    {
        let failed = |source: io::Error| {
            let program = self.line.first().cloned().unwrap_or_default();
            match script_fault(&self.program, &self.folder, None) {
                Some(fault) => TaskFailure::Script { program, fault },
                None => TaskFailure::Start { program, source },
            }
        };
        let pause = |time| {
            let _ = self.progress.sleep(time);
        };
        let (command_ends, ends) = open_pipes().map_err(failed)?;
        let command = RunningCommand::start(&self.spec(), command_ends, self.supervisor, pause).map_err(failed)?;
        let stdin = PipeEnd::new(ends.stdin, self.progress)?;
        Ok((command, stdin, PipeEnd::new(ends.stdout, self.progress)?, PipeEnd::new(ends.stderr, self.progress)?))
    }

    fn read_stderr(&self, stderr: PipeEnd<'_, PipeReader>) -> LastLines {
        let mut last_lines = LastLines::default();
        let mut lines = LineReader::cutting(stderr, MAX_STDERR_LINE_BYTES);
        while let Ok(Some(_)) = lines.advance() {
            let rules = &self.rules;
            match StderrLine::parse(lines.text(), rules.reporter_prefix) {
                StderrLine::Counter { group, name, count } if rules.reports_count => {
                    if let Err(too_many) = self.progress.counters().add_of_command(&group, &name, count) {
                        self.progress.stop_for_counters(too_many);
                    }
                }
                StderrLine::Status(status) if rules.reports_count => self.progress.set_command_status(status),
                StderrLine::Counter { .. } | StderrLine::Status(_) => {}
                StderrLine::Malformed(line) => {
                    self.log(format!("WARN: cannot be understood, dropped: {line}").as_bytes());
                }
                StderrLine::Log(line) => {
                    last_lines.add(line);
                    self.log(line);
                }
            }
        }
        last_lines
    }

    fn log(&self, line: &[u8]) {
        if let Some(log) = self.log {
            log.append(line);
        }
    }
}

fn feed_all(mut stdin: PipeEnd<'_, PipeWriter>, feed: Feed<'_>, progress: &Progress) -> FeedResult {
    struct BrokenPipeRecorder<'a, 'b> {
        stdin: &'a mut PipeEnd<'b, PipeWriter>,
        broken: Option<io::Error>,
    }
    impl Write for BrokenPipeRecorder<'_, '_> {
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
    let mut recorder = BrokenPipeRecorder { stdin: &mut stdin, broken: None };
    let mut input: CommandInput<'_> = BufWriter::with_capacity(INPUT_BUFFER_BYTES, &mut recorder);
    let result = feed(&mut input);
    let _ = input.flush();
    // Unwritten bytes are not retried.
    let _ = input.into_parts();
    // A command that waits for the end of its input still runs, however short-lived it is.
    if progress.counters().get(FrameworkCounter::VirtualMemoryBytes) == 0 {
        progress.record_memory(&ProcessTable::read());
    }
    FeedResult { result, broken: recorder.broken }
}

#[cfg(test)]
#[path = "tests/child.rs"]
mod tests;
