//! A command as a process: its three pipes, and its end.
//!
//! Three threads serve the pipes, so that none can wait for another. Each waits for the attempt's alarm too: whatever the process and
//! its descendants do, the attempt ends when it is told. What comes of the command does not outlive it: see [`crate::supervisor::process`].

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::supervisor::command::CommandSpec;
use crate::supervisor::process_tree::ProcessTable;
use crate::supervisor::running_command::RunningCommand;

use super::command_stream::{CommandInput, CommandStream, Feed, INPUT_BUFFER_BYTES, Take};
use super::counters::Framework;
use super::failure::TaskFailure;
use super::line_reader::LineReader;
use super::progress::Progress;
use super::stderr_line::StderrLine;

/// Asked of the system for each pipe: fewer turns from one process to the other. Bytes.
const PIPE_BYTES: usize = 1 << 20;
/// Longer lines of standard error are cut, bytes.
const LONGEST_WORDS_BYTES: usize = 64 << 10;
/// Begins a command that may take only so much memory: no process of it is ever without the limit.
const WITH_LIMIT: &str = "ulimit -v \"$1\" && shift && exec \"$@\"";

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
    /// The program that keeps it, if any.
    pub keeper: Option<&'a Path>,
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

/// One of the three pipes, which waits for the alarm too.
struct PipeEnd<'a, P> {
    pipe: P,
    progress: &'a Progress,
    /// Once this has ended, no more is waited than so long, if there is such a limit.
    after: Option<(&'a RunningCommand, Option<Duration>)>,
}

/// What became of the standard input.
struct Fed {
    result: Result<(), TaskFailure>,
    /// The command does not read any more.
    broken: Option<io::Error>,
}

// === impl StderrLog ===

impl StderrLog {
    /// Writes to a file until `limit_bytes` are written; what comes then is dropped.
    #[must_use]
    pub fn new(file: File, limit_bytes: Option<u64>) -> Self {
        Self { file: std::sync::Mutex::new((file, limit_bytes.unwrap_or(u64::MAX))) }
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
        let (mut time, mut after) = (None, self.after);
        loop {
            let mut waited = vec![
                PollFd::from_borrowed_fd(self.pipe.as_fd(), wanted),
                PollFd::from_borrowed_fd(self.progress.alarm(), PollFlags::IN),
            ];
            waited.extend(after.map(|(group, _)| PollFd::from_borrowed_fd(group.as_fd(), PollFlags::IN)));
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
            if ready == 0 {
                return Ok(false);
            }
            if let Some((group, delay)) = after.take() {
                group.end_if_unsupervised();
                time = delay;
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
        let tree = self.progress.follow(group.tree());
        let result = std::thread::scope(|scope| {
            let feeder = scope.spawn(|| feed_all(stdin, feed, self.progress));
            let listener = scope.spawn(|| self.listen(stderr));
            let mut stdout = stdout;
            stdout.after = Some((&group, self.rules.join_delay));
            let taken = take(&mut stdout);
            drop(stdout);
            if taken.is_err() || self.progress.is_stopped() {
                group.end(self.rules.kill_delay);
            }
            let fed = feeder.join();
            group.wait(self.progress.alarm(), self.rules.kill_delay);
            group.kill_rest();
            let heard = listener.join();
            (taken, fed, heard)
        });
        drop(tree);
        self.progress.counters().add(Framework::CpuMilliseconds, group.cpu_ms());
        let code = group.reap().map_err(TaskFailure::Pipe)?;
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
    fn spec(&self) -> CommandSpec {
        let folder = self.folder.clone();
        let environment = self.environment.to_vec();
        let Some(limit_kb) = self.rules.ulimit_kb else {
            return CommandSpec {
                program: self.program.clone(),
                arguments: self.arguments.to_vec(),
                folder,
                environment,
            };
        };
        let program = self.program.display().to_string();
        let shell = ["-c", WITH_LIMIT, "sh"].map(str::to_owned).into_iter();
        let arguments = shell.chain([limit_kb.to_string(), program]).chain(self.arguments.iter().cloned()).collect();
        CommandSpec { program: "/bin/sh".into(), arguments, folder, environment }
    }

    #[expect(clippy::type_complexity, reason = "pipes differ by their direction")]
    fn start(
        &self,
    ) -> Result<(RunningCommand, PipeEnd<'_, PipeWriter>, PipeEnd<'_, PipeReader>, PipeEnd<'_, PipeReader>), TaskFailure>
    {
        let failed = |source: io::Error| TaskFailure::Start { program: self.program.display().to_string(), source };
        let pause = |time| {
            let _ = self.progress.sleep(time);
        };
        let (group, ends) = RunningCommand::start(&self.spec(), self.keeper, pause).map_err(failed)?;
        let stdin = PipeEnd::new(ends.stdin, self.progress)?;
        Ok((group, stdin, PipeEnd::new(ends.stdout, self.progress)?, PipeEnd::new(ends.stderr, self.progress)?))
    }

    /// Reads standard error to its end.
    fn listen(&self, stderr: PipeEnd<'_, PipeReader>) {
        let mut lines = LineReader::cutting(stderr, LONGEST_WORDS_BYTES);
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

fn feed_all(mut stdin: PipeEnd<'_, PipeWriter>, feed: Feed<'_>, progress: &Progress) -> Fed {
    struct Noted<'a, 'b> {
        stdin: &'a mut PipeEnd<'b, PipeWriter>,
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
    // A command that waits for the end of its input is still there, however short its life.
    if progress.counters().get(Framework::VirtualMemoryBytes) == 0 {
        progress.note_memory(&ProcessTable::read());
    }
    Fed { result, broken: noted.broken }
}

#[cfg(test)]
#[path = "tests/child.rs"]
mod tests;
