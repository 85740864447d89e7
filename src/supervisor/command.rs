//! A command to start, and where its three streams lead: pipes to its caller, files, or nowhere.

use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
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

/// What to start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CommandSpec {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The working directory.
    pub(crate) folder: PathBuf,
    /// The whole environment: nothing is inherited.
    pub(crate) environment: Vec<(String, String)>,
    /// The control group that it starts in; none: that of its supervisor, which alone can enter another.
    pub(crate) group: Option<CommandGroup>,
}

/// What a command has for its standard input, output and error output: ends of pipes, or open files.
pub(crate) struct CommandEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// The caller's ends of a command's pipes.
pub(crate) struct CallerEnds {
    pub(crate) stdin: PipeWriter,
    pub(crate) stdout: PipeReader,
    pub(crate) stderr: PipeReader,
}

/// An input without content, or an output that goes nowhere.
pub(crate) fn open_null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// Opens three pipes for a command.
pub(crate) fn open_pipes() -> io::Result<(CommandEnds, CallerEnds)> {
    let (stdin, caller_stdin) = io::pipe()?;
    let (caller_stdout, stdout) = io::pipe()?;
    let (caller_stderr, stderr) = io::pipe()?;
    let ends = CommandEnds { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
    Ok((ends, CallerEnds { stdin: caller_stdin, stdout: caller_stdout, stderr: caller_stderr }))
}

impl CommandGroup {
    /// Starts something in the group: this process, whose other threads start nothing, is in it meanwhile.
    ///
    /// # Errors
    /// Those of the system, and of the start.
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
}
