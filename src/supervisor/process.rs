//! The supervisor process: one between the caller and each command, which kills whatever the command leaves behind.
//!
//! All descendants of the command stay below the supervisor, also those that leave its process group or lose their parents: it is their
//! subreaper. When the caller closes the channel, or is gone, however it ended, the supervisor kills until none is left.
//!
//! The supervisor is this very program, started with [`SUPERVISE_COMMAND`]. Its standard input is a [`Channel`]: it receives a
//! `CommandSpec` and what the command has for its three streams, replies with the result of the start, and reports the end of the command.
//! It accepts `TERMINATE`; the end of the channel means kill. Its own environment is empty, so that the job's cannot mislead it.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use rustix::event::{Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process_group, pidfd_open, pidfd_send_signal, wait,
};
use serde::{Deserialize, Serialize};

use crate::channel::Channel;

use super::command::{CommandEnd, CommandEnds, CommandSpec};
use super::process_tree;
use super::shortage::SupervisorGone;

/// The argument that makes the program a supervisor.
pub(crate) const SUPERVISE_COMMAND: &str = "keep-command";
/// The supervisor's program: this one, also when its file has been replaced.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";
/// Sends SIGTERM to the command.
const TERMINATE: u8 = b't';
/// Between two rounds of killing: killed processes have to be reaped.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum StartResult {
    Started,
    /// With the system's error number, if it has one.
    Failed(Option<i32>),
}

/// The caller's handle on a command under a supervisor.
#[derive(Debug)]
pub(crate) struct SupervisedCommand {
    channel: Channel,
}

impl SupervisedCommand {
    /// Starts a supervisor, which starts the command. The returned child is the supervisor; it exits with the status of the command.
    pub(crate) fn start(program: &Path, spec: &CommandSpec, ends: CommandEnds) -> io::Result<(Self, Child)> {
        let (channel, its_end) = Channel::pair()?;
        let mut command = Command::new(program);
        command.arg0("jobtracker").arg(SUPERVISE_COMMAND).env_clear().process_group(0);
        let mut child = command.stdin(its_end).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        drop(command);
        let result = channel.send(spec).and_then(|()| {
            channel.send_descriptors(&[ends.stdin.as_fd(), ends.stdout.as_fd(), ends.stderr.as_fd()])?;
            drop(ends);
            channel.receive(None)
        });
        let error = match result {
            Ok(StartResult::Started) => return Ok((Self { channel }, child)),
            Ok(StartResult::Failed(number)) => {
                Some(number.map_or_else(|| ErrorKind::Other.into(), io::Error::from_raw_os_error))
            }
            Err(_) => None,
        };
        channel.shutdown_write();
        let _ = child.wait();
        Err(error.unwrap_or_else(|| {
            // It may have started the command all the same.
            process_tree::kill_processes_in(spec.marking_folder());
            io::Error::other(SupervisorGone)
        }))
    }

    /// Sends SIGTERM to the command and its process group.
    pub(crate) fn terminate(&self) {
        // A supervisor that is gone has killed them.
        let _ = self.channel.send_bytes(&[TERMINATE]);
    }

    /// Whether the supervisor has gone without reporting the end of the command.
    pub(crate) fn is_gone(&self) -> bool {
        self.channel.is_closed()
    }

    /// How the command ended, as the supervisor reported it; for one that has ended itself. None: it was killed before.
    pub(crate) fn reported_end(&self) -> Option<CommandEnd> {
        CommandEnd::of_message(&self.channel.receive_bytes(CommandEnd::MESSAGE_BYTES).ok()?)
    }

    /// Lets the supervisor kill whatever is left of the command.
    pub(crate) fn kill(&self) {
        self.channel.shutdown_write();
    }
}

impl AsFd for SupervisedCommand {
    /// Readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// What both threads of the supervisor know of the command.
struct Supervisor {
    command: Pid,
    pidfd: OwnedFd,
    channel: Channel,
    /// From then on another process may have its number.
    is_reaped: AtomicBool,
}

/// Runs as a supervisor: returns the status of the command, once nothing is left of it.
pub(crate) fn supervise() -> ExitCode {
    // The end of the channel reports an error to the caller.
    supervise_one().map_or(ExitCode::FAILURE, |code| ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn supervise_one() -> io::Result<i32> {
    close_inherited()?;
    let channel = Channel::of_stdin()?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let spec: CommandSpec = channel.receive(None)?;
    let started = start_with_received_ends(&channel, &spec)?;
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            channel.send(&StartResult::Failed(error.raw_os_error()))?;
            return Err(error);
        }
    };
    let command = Pid::from_child(&child);
    let supervisor = Supervisor::begin(command, channel).inspect_err(|_| {
        let _ = kill_process_group(command, Signal::KILL);
    })?;
    Ok(supervisor.reap_all())
}

impl Supervisor {
    /// Reports that the command runs, and accepts requests from now on.
    fn begin(command: Pid, channel: Channel) -> io::Result<Arc<Self>> {
        // Not reaped yet, so that it can be opened.
        let pidfd = pidfd_open(command, PidfdFlags::empty())?;
        let supervisor = Arc::new(Self { command, pidfd, channel, is_reaped: AtomicBool::new(false) });
        let listener = supervisor.clone();
        std::thread::Builder::new().spawn(move || listener.serve_caller())?;
        // If the caller is gone, the other thread notices.
        let _ = supervisor.channel.send(&StartResult::Started);
        Ok(supervisor)
    }

    /// Serves the caller's requests; kills everything once the channel has ended.
    fn serve_caller(&self) {
        while let Ok(request) = self.channel.receive_bytes(1) {
            if request == [TERMINATE] && !self.is_reaped.load(Ordering::SeqCst) {
                let _ = kill_process_group(self.command, Signal::TERM);
            }
        }
        // The process ends when the other thread has no child left to wait for.
        loop {
            let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
            process_tree::kill_children(getpid());
            pause(PAUSE);
        }
    }

    /// Waits for the command and all its descendants, and reports its end; returns its status, 128 + n for signal n.
    fn reap_all(&self) -> i32 {
        let mut code = 0;
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.command => {
                    let end = CommandEnd::from(status);
                    code = end.shell_status();
                    self.is_reaped.store(true, Ordering::SeqCst);
                    let _ = self.channel.send_bytes(&end.message());
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return code,
            }
        }
    }
}

pub(crate) fn pause(time: Duration) {
    let _ = poll(&mut [], Timespec::try_from(time).ok().as_ref());
}

/// Starts a command in its group with the ends of its pipes, which come next. Errors: the outer one: they do not come; the inner
/// one: it cannot be started.
pub(super) fn start_with_received_ends(channel: &Channel, spec: &CommandSpec) -> io::Result<io::Result<Child>> {
    let mut ends = channel.receive_descriptors(3)?.into_iter();
    let (Some(stdin), Some(stdout), Some(stderr)) = (ends.next(), ends.next(), ends.next()) else {
        return Err(ErrorKind::UnexpectedEof.into());
    };
    let start = || spec.start(CommandEnds { stdin, stdout, stderr }, pause);
    Ok(match &spec.group {
        Some(group) => group.with(start),
        None => start(),
    })
}

/// The first one that is none of the three streams.
const FIRST: i32 = 3;

/// Closes all that this process has inherited, but for its three streams, so that a command has these alone. Before it has opened anything,
/// on its only thread.
pub(super) fn close_inherited() -> io::Result<()> {
    let open = fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<i32> =
        open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|fd| *fd >= FIRST).collect();
    for number in numbers {
        // That of the list is closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
