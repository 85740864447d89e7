//! A process between the tasktracker and a command, for each command: whatever comes of the command, ends with it.
//!
//! All descendants of the command stay below the keeper, also those that leave its process group or lose their parents: it is their
//! subreaper. When the attempt is over, or when the tasktracker is gone, however it ended, the keeper kills until none is left.
//!
//! The keeper is this very program, started with [`KEEP_COMMAND`]. Its standard input is a [`Channel`]: it takes an `Order` and the
//! three pipes of the command, says how the start went, and then one byte when the command has ended. It hears `TERMINATE`, and the
//! end of the talk, which means to kill. Its own environment is empty, so that the job's cannot lead it astray.

use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, pidfd_open, pidfd_send_signal, wait,
};
use serde::{Deserialize, Serialize};

use crate::channel::Channel;

use super::process_tree;

/// The argument that makes the program a keeper.
pub const KEEP_COMMAND: &str = "keep-command";
/// The keeper's program: this one, also when its file has been replaced.
pub const THIS_PROGRAM: &str = "/proc/self/exe";
/// Asks the command to end.
const TERMINATE: u8 = b't';
/// The command has ended.
const ENDED: u8 = b'e';
/// Between two rounds of killing: those that were killed have to be waited for.
const PAUSE: Duration = Duration::from_millis(2);
/// Tries to start a file that somebody still writes: a process that another thread started just then holds it open.
const MOST_STARTS: u32 = 50;
/// Between two of them.
const START_PAUSE: Duration = Duration::from_millis(10);

/// What is to be started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: Vec<(String, String)>,
}

/// The ends of a command's pipes that are its own.
pub(super) struct OwnEnds {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// The ends of a command's pipes that are the tasktracker's.
pub(super) struct OurEnds {
    pub stdin: PipeWriter,
    pub stdout: PipeReader,
    pub stderr: PipeReader,
}

/// How a start went.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Started {
    Well,
    /// With the system's number of the error, where it has one.
    Badly(Option<i32>),
}

/// A command with its keeper, as the tasktracker holds it.
#[derive(Debug)]
pub(super) struct KeptCommand {
    channel: Channel,
}

/// Three new pipes.
pub(super) fn pipes() -> io::Result<(OwnEnds, OurEnds)> {
    let (stdin, our_stdin) = io::pipe()?;
    let (our_stdout, stdout) = io::pipe()?;
    let (our_stderr, stderr) = io::pipe()?;
    let own = OwnEnds { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
    Ok((own, OurEnds { stdin: our_stdin, stdout: our_stdout, stderr: our_stderr }))
}

// === impl Order ===

impl Order {
    /// Starts the command in a group of its own; `pause` is called before it is tried again.
    pub fn start(&self, ends: OwnEnds, pause: impl Fn(Duration)) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(ends.stdin).stdout(ends.stdout).stderr(ends.stderr).process_group(0);
        let mut tries = 0;
        loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && tries < MOST_STARTS => {
                    tries += 1;
                    pause(START_PAUSE);
                }
                // The ends of the pipes that are still here go with `command`.
                started => return started,
            }
        }
    }
}

// === impl KeptCommand ===

impl KeptCommand {
    /// Starts a keeper, and it the command. The child that is given back is the keeper; it ends with the status of the command.
    ///
    /// # Errors
    /// Those of either start.
    pub fn start(keeper: &std::path::Path, order: &Order, ends: OwnEnds) -> io::Result<(Self, Child)> {
        let (channel, its_end) = Channel::pair()?;
        let mut command = Command::new(keeper);
        command.arg0("jobtracker").arg(KEEP_COMMAND).env_clear().process_group(0);
        let mut child = command.stdin(its_end).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        drop(command);
        let told = channel.send(order).and_then(|()| {
            channel.send_descriptors(&[ends.stdin.as_fd(), ends.stdout.as_fd(), ends.stderr.as_fd()])?;
            drop(ends);
            channel.receive(None)
        });
        let error = match told {
            Ok(Started::Well) => return Ok((Self { channel }, child)),
            Ok(Started::Badly(number)) => number.map_or_else(|| ErrorKind::Other.into(), io::Error::from_raw_os_error),
            // It may have started the command all the same.
            Err(_) => io::Error::other("the process that keeps it has gone"),
        };
        channel.shutdown_write();
        let _ = child.wait();
        process_tree::kill_workers_in(&order.folder);
        Err(error)
    }

    /// Asks the command, and all of its group, to end.
    pub fn terminate(&self) {
        // A keeper that is gone has killed them.
        let _ = self.channel.send_bytes(&[TERMINATE]);
    }

    /// Whether the keeper has gone without a word on the command.
    pub fn is_gone(&self) -> bool {
        self.channel.is_closed()
    }

    /// Has everything killed that is left of the command.
    pub fn kill(&self) {
        self.channel.shutdown_write();
    }
}

impl AsFd for KeptCommand {
    /// Readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

// === The keeper's own process ===

/// What both threads of the keeper know of the command.
struct Kept {
    command: Pid,
    pidfd: OwnedFd,
    channel: Channel,
    /// Its number may be another's by now.
    is_reaped: AtomicBool,
}

/// Runs as a keeper: ends with the status of the command, once nothing is left of it.
pub fn keep() -> ExitCode {
    // Whoever has to be told is told by the end of the channel.
    keep_one().map_or(ExitCode::FAILURE, |code| ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn keep_one() -> io::Result<i32> {
    let channel = Channel::of_stdin()?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let order: Order = channel.receive(None)?;
    let mut ends = channel.receive_descriptors(3)?.into_iter();
    let (Some(stdin), Some(stdout), Some(stderr)) = (ends.next(), ends.next(), ends.next()) else {
        return Err(ErrorKind::UnexpectedEof.into());
    };
    let child = match order.start(OwnEnds { stdin, stdout, stderr }, pause) {
        Ok(child) => child,
        Err(error) => {
            channel.send(&Started::Badly(error.raw_os_error()))?;
            return Err(error);
        }
    };
    let command = Pid::from_child(&child);
    let kept = Kept::begin(command, channel).inspect_err(|_| {
        let _ = kill_process_group(command, Signal::KILL);
    })?;
    Ok(kept.reap_all())
}

// === impl Kept ===

impl Kept {
    /// Says that the command runs, and listens from now on.
    fn begin(command: Pid, channel: Channel) -> io::Result<Arc<Self>> {
        // Not reaped yet, so that it can be opened.
        let pidfd = pidfd_open(command, PidfdFlags::empty())?;
        let kept = Arc::new(Self { command, pidfd, channel, is_reaped: AtomicBool::new(false) });
        let listens = kept.clone();
        std::thread::Builder::new().spawn(move || listens.listen())?;
        // Should the tasktracker be gone, the other thread hears it.
        let _ = kept.channel.send(&Started::Well);
        Ok(kept)
    }

    /// Hears what the tasktracker wants.
    fn listen(&self) {
        while let Ok(heard) = self.channel.receive_bytes(1) {
            if heard == [TERMINATE] && !self.is_reaped.load(Ordering::SeqCst) {
                let _ = kill_process_group(self.command, Signal::TERM);
            }
        }
        // The process ends when the other thread has nobody left to wait for.
        loop {
            let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
            process_tree::kill_children(getpid());
            pause(PAUSE);
        }
    }

    /// Waits for the command and all that comes of it; gives back the status of the command, 128 + n for signal n.
    fn reap_all(&self) -> i32 {
        let mut code = 0;
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.command => {
                    code = status_code(status);
                    self.is_reaped.store(true, Ordering::SeqCst);
                    let _ = self.channel.send_bytes(&[ENDED]);
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return code,
            }
        }
    }
}

fn pause(time: Duration) {
    let _ = poll(&mut [], Timespec::try_from(time).ok().as_ref());
}

fn status_code(status: WaitStatus) -> i32 {
    status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0))
}
