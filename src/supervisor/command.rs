//! A command to start, and where its three streams lead: pipes to its caller, files, or nowhere; and how it ended.

use std::io;
use std::io::{ErrorKind, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

/// Attempts to start a file that is still open for writing: a process that another thread starts at that moment inherits it.
const MAX_STARTS: u32 = 50;
/// Between two of them.
const START_PAUSE: Duration = Duration::from_millis(10);

/// The variable whose folder marks the processes of a command.
pub(crate) const WORK_FOLDER_VARIABLE: &str = "HADOOP_WORK_DIR";

/// A control group in which a command starts, and with it all that it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandGroup {
    /// `cgroup.procs` of the group.
    pub(crate) procs: PathBuf,
    /// That of the group of the process that starts the command, to which it returns.
    pub(crate) own_procs: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CommandSpec {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) folder: PathBuf,
    /// The whole environment: nothing is inherited.
    pub(crate) environment: Vec<(String, String)>,
    /// The control group that it starts in; none: that of its supervisor, which alone can enter another.
    pub(crate) group: Option<CommandGroup>,
}

/// One end of each of a command's pipes: `In` of its standard input, `Out` of its outputs.
pub(crate) struct PipeEnds<In, Out> {
    pub(crate) stdin: In,
    pub(crate) stdout: Out,
    pub(crate) stderr: Out,
}

/// What a command has for its standard input, output and error output: ends of pipes, or open files.
pub(crate) type CommandEnds = PipeEnds<OwnedFd, OwnedFd>;

/// The caller's ends of a command's pipes.
pub(crate) type CallerEnds = PipeEnds<PipeWriter, PipeReader>;

/// An input without content, or an output that goes nowhere.
pub(crate) fn open_null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

pub(crate) fn open_pipes() -> io::Result<(CommandEnds, CallerEnds)> {
    let (stdin, caller_stdin) = io::pipe()?;
    let (caller_stdout, stdout) = io::pipe()?;
    let (caller_stderr, stderr) = io::pipe()?;
    let ends = CommandEnds { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
    Ok((ends, CallerEnds { stdin: caller_stdin, stdout: caller_stdout, stderr: caller_stderr }))
}

impl CommandGroup {
    /// Starts something in the group: this process, whose other threads start nothing, is in it meanwhile.
    pub(crate) fn with<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        enter(&self.procs)?;
        let started = start();
        // One that cannot return counts in the group, and ends with what it started.
        let _ = enter(&self.own_procs);
        started
    }
}

/// Moves this process into a control group.
fn enter(procs: &Path) -> io::Result<()> {
    let file = rustix::fs::open(procs, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, b"0")?;
    Ok(())
}

impl CommandSpec {
    /// The folder by which its processes are found when all else is lost: [`WORK_FOLDER_VARIABLE`] of its environment.
    pub(crate) fn marking_folder(&self) -> &Path {
        let mark = self.environment.iter().rfind(|(name, _)| name == WORK_FOLDER_VARIABLE);
        mark.map_or(&self.folder, |(_, folder)| Path::new(folder))
    }

    /// Starts the command in a process group of its own; calls `pause` before each further attempt.
    pub(crate) fn start(&self, ends: CommandEnds, pause: impl Fn(Duration)) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(ends.stdin).stdout(ends.stdout).stderr(ends.stderr).process_group(0);
        let mut starts = 0;
        loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && starts < MAX_STARTS => {
                    starts += 1;
                    pause(START_PAUSE);
                }
                // Dropping `command` closes our copies of its ends.
                started => return started,
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    /// With this exit code, 0 to 255.
    Exited(u8),
    Signalled(u8),
}

/// First byte of a message about an exit.
const EXITED: u8 = b'e';
/// First byte of a message about a signal.
const SIGNALLED: u8 = b's';

impl CommandEnd {
    /// Length of [`Self::message`], bytes.
    pub(crate) const MESSAGE_BYTES: usize = 2;

    /// As shells write it: the code, or 128 + n for signal n.
    pub(crate) fn shell_status(self) -> i32 {
        match self {
            Self::Exited(code) => i32::from(code),
            Self::Signalled(signal) => 128 + i32::from(signal),
        }
    }

    /// The message by which a supervisor reports it.
    pub(super) fn message(self) -> [u8; Self::MESSAGE_BYTES] {
        match self {
            Self::Exited(code) => [EXITED, code],
            Self::Signalled(signal) => [SIGNALLED, signal],
        }
    }

    pub(super) fn of_message(message: &[u8]) -> Option<Self> {
        match *message {
            [EXITED, code] => Some(Self::Exited(code)),
            [SIGNALLED, signal] => Some(Self::Signalled(signal)),
            _ => None,
        }
    }

    fn of(code: Option<i32>, signal: Option<i32>) -> Self {
        match code {
            // Of an exit code the system keeps eight bits.
            Some(code) => Self::Exited(code as u8),
            None => Self::Signalled(signal.unwrap_or(0) as u8),
        }
    }
}

/// The name of a signal that ends commands in practice.
pub(crate) fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        2 => "INT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        15 => "TERM",
        24 => "XCPU",
        25 => "XFSZ",
        _ => return None,
    })
}

impl From<WaitStatus> for CommandEnd {
    fn from(status: WaitStatus) -> Self {
        Self::of(status.exit_status(), status.terminating_signal())
    }
}

impl From<ExitStatus> for CommandEnd {
    fn from(status: ExitStatus) -> Self {
        Self::of(status.code(), status.signal())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_command_starts_in_its_group_and_who_starts_it_returns() {
        let scratch = tempfile::tempdir().unwrap();
        let [procs, own_procs] = ["group", "own"].map(|name| scratch.path().join(name));
        let group = CommandGroup { procs: procs.clone(), own_procs: own_procs.clone() };
        assert!(group.with(|| Ok(())).is_err(), "there is no such group");
        fs::write(&procs, "").unwrap();
        fs::write(&own_procs, "").unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let seen = group.with(|| Ok((read(&procs), read(&own_procs)))).unwrap();
        assert_eq!((seen, read(&own_procs)), (("0".to_owned(), String::new()), "0".to_owned()));
    }

    #[test]
    fn processes_are_found_by_the_folder_of_their_environment() {
        let spec = |environment: &[(&str, &str)]| CommandSpec {
            program: "/bin/true".into(),
            arguments: Vec::new(),
            folder: "/work".into(),
            environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            group: None,
        };
        assert_eq!(spec(&[("A", "/a")]).marking_folder(), Path::new("/work"));
        assert_eq!(spec(&[("HADOOP_WORK_DIR", "/own"), ("A", "/a")]).marking_folder(), Path::new("/own"));
    }

    #[test]
    fn a_message_tells_a_signal_from_the_code_that_shells_write_for_it() {
        let [code, signal] = [CommandEnd::Exited(137), CommandEnd::Signalled(9)];
        assert_eq!(code.shell_status(), signal.shell_status());
        for end in [code, signal, CommandEnd::Exited(0)] {
            assert_eq!(CommandEnd::of_message(&end.message()), Some(end));
        }
        assert_eq!(CommandEnd::of_message(b"t1"), None);
        assert_eq!(CommandEnd::from(ExitStatus::from_raw(15)), CommandEnd::Signalled(15));
        assert_eq!(CommandEnd::from(ExitStatus::from_raw(3 << 8)), CommandEnd::Exited(3));
    }
}
