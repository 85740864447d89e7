//! A process that takes the ids of a user: this program under a supervisor of the worker's, with a channel between them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::channel::Channel;
use crate::supervisor::command::{CommandEnds, CommandGroup, CommandSpec, WORK_FOLDER_VARIABLE};
use crate::supervisor::process::{SupervisedCommand, THIS_PROGRAM};
use crate::supervisor::process_tree::kill_processes_in;

use super::message::SharedChannel;

/// For the end of the processes of one that has ended. Beyond it they are left to their supervisor.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The process, under a supervisor.
pub(crate) struct UserProcess {
    pub(crate) channel: Arc<SharedChannel>,
    supervised: SupervisedCommand,
    supervisor: Option<Child>,
    pub(crate) folder: PathBuf,
}

pub(crate) struct UserProcessSpec<'a> {
    /// The argument that makes the program this process.
    pub(crate) command: &'a str,
    pub(crate) folder: &'a Path,
    /// By which it is found when all else is lost.
    pub(crate) marking_folder: PathBuf,
    pub(crate) path: Option<String>,
    /// The control group that it starts in.
    pub(crate) group: Option<CommandGroup>,
}

impl UserProcess {
    /// Starts the process, as root: it takes the ids of the user itself.
    pub(crate) fn start(spec: UserProcessSpec<'_>) -> std::io::Result<Self> {
        let UserProcessSpec { command, folder, marking_folder, path, group } = spec;
        let (channel, its_end) = Channel::pair()?;
        // Its log lines are the worker's.
        let [stdout, stderr] = [own_stderr()?, own_stderr()?];
        let ends = CommandEnds { stdin: its_end, stdout, stderr };
        let mut environment: BTreeMap<String, String> =
            [(WORK_FOLDER_VARIABLE.to_owned(), marking_folder.display().to_string())].into();
        environment.extend(std::env::var("RUST_LOG").ok().map(|levels| ("RUST_LOG".to_owned(), levels)));
        // For the programs that unpack archives.
        environment.extend(path.map(|path| ("PATH".to_owned(), path)));
        let spec = CommandSpec {
            program: THIS_PROGRAM.into(),
            arguments: vec![command.to_owned()],
            folder: folder.to_owned(),
            environment: environment.into_iter().collect(),
            group,
        };
        let (supervised, supervisor) = SupervisedCommand::start(Path::new(THIS_PROGRAM), &spec, ends)?;
        let channel = Arc::new(SharedChannel::new(channel));
        Ok(Self { channel, supervised, supervisor: Some(supervisor), folder: marking_folder })
    }

    /// Kills what is left of it; returns the status of the process, unless it takes too long.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.supervised.kill();
        let mut supervisor = self.supervisor.take()?;
        let is_over = pidfd_open(Pid::from_child(&supervisor), PidfdFlags::empty()).is_ok_and(|pidfd| {
            let mut waited = [PollFd::new(&pidfd, PollFlags::IN)];
            poll(&mut waited, Timespec::try_from(END_TIMEOUT).ok().as_ref()).is_ok_and(|ready| ready > 0)
        });
        if !is_over {
            // A process hangs in the system. Its slot is free; it is reaped when the system lets it go.
            let reap = move || drop(supervisor.wait());
            let _ = std::thread::Builder::new().name("reaper".to_owned()).spawn(reap);
            return None;
        }
        let code = supervisor.wait().ok()?.code();
        if code.is_none() {
            // The supervisor itself was killed.
            kill_processes_in(&self.folder);
        }
        code
    }
}

impl Drop for UserProcess {
    fn drop(&mut self) {
        // Unless it has ended in order.
        self.end();
    }
}

fn own_stderr() -> std::io::Result<OwnedFd> {
    rustix::stdio::stderr().try_clone_to_owned()
}
