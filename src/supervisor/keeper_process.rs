//! A supervisor process that keeps one command after another: starting a process of this program costs more than a short command.
//!
//! It is this very program, started with `KEEP_COMMANDS`. Its standard input is a [`Channel`], on which one byte begins each
//! request: `START` is followed by a `CommandSpec` and what the command has for its three streams, and answered by the result of
//! the start; then come how the command ended, and `ALL_GONE` once nothing of it is left. `TERMINATE` and `KILL` are about
//! the command that runs, and change nothing after it. The end of the channel means kill, and end.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process_group, pidfd_open, pidfd_send_signal, wait,
};

use crate::channel::Channel;

use super::command::{CommandEnd, CommandSpec};
use super::process::{StartResult, close_inherited, start_with_received_ends};
use super::process_tree;

/// The argument that makes the program a keeper.
pub(crate) const KEEP_COMMANDS: &str = "keep-commands";
/// Starts a command.
pub(super) const START: u8 = b's';
/// Sends SIGTERM to the command and its process group.
pub(super) const TERMINATE: u8 = b't';
/// Kills what is left of the command.
pub(super) const KILL: u8 = b'k';
/// Nothing is left of the command: another one may start.
pub(super) const ALL_GONE: u8 = b'g';
/// Between two rounds of killing: killed processes have to be reaped.
const PAUSE: Duration = Duration::from_millis(2);

/// The command that runs, or has left something.
struct Kept {
    command: Pid,
    pidfd: OwnedFd,
    /// From then on another process may have its number.
    is_reaped: bool,
}

struct Keeper {
    channel: Channel,
    kept: Mutex<Option<Kept>>,
    /// Nothing is left of the command.
    all_gone: Condvar,
}

/// Runs as a keeper until its caller closes the channel, or is gone.
pub(crate) fn keep_commands() -> ExitCode {
    // The end of the channel reports an error to the caller.
    keep().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn keep() -> io::Result<()> {
    close_inherited()?;
    let caller = Channel::of_stdin()?;
    // All descendants of a command stay below this process, also those that leave its process group or lose their parents.
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let keeper = Arc::new(Keeper { channel: caller, kept: Mutex::default(), all_gone: Condvar::new() });
    let (started, starts) = channel();
    let reaper = keeper.clone();
    std::thread::Builder::new().spawn(move || reaper.reap(&starts))?;
    let served = keeper.serve(&started);
    keeper.kill();
    served
}

impl Keeper {
    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves the caller's requests until the channel ends.
    fn serve(&self, started: &Sender<()>) -> io::Result<()> {
        while let Ok(request) = self.channel.receive_bytes(1) {
            match request[..] {
                [START] => self.start(started)?,
                [TERMINATE] => {
                    if let Some(kept) = self.kept().as_ref().filter(|kept| !kept.is_reaped) {
                        let _ = kill_process_group(kept.command, Signal::TERM);
                    }
                }
                [KILL] => self.kill(),
                _ => return Err(ErrorKind::InvalidData.into()),
            }
        }
        Ok(())
    }

    fn start(&self, started: &Sender<()>) -> io::Result<()> {
        let spec: CommandSpec = self.channel.receive(None)?;
        let child = match start_with_received_ends(&self.channel, &spec)? {
            Ok(child) => child,
            Err(error) => return self.channel.send(&StartResult::Failed(error.raw_os_error())),
        };
        let command = Pid::from_child(&child);
        // Not reaped yet, so that it can be opened.
        let pidfd = match pidfd_open(command, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                let _ = kill_process_group(command, Signal::KILL);
                return Err(error.into());
            }
        };
        *self.kept() = Some(Kept { command, pidfd, is_reaped: false });
        // If the caller is gone, the next request is the end of the channel. Its end is reported after its start.
        let _ = self.channel.send(&StartResult::Started);
        started.send(()).map_err(|_| ErrorKind::BrokenPipe.into())
    }

    /// Kills until nothing is left. What has ended by itself is often just being reaped.
    fn kill(&self) {
        let mut kept = self.kept();
        while kept.is_some() {
            kept = self.all_gone.wait_timeout(kept, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(left) = &*kept {
                let _ = pidfd_send_signal(&left.pidfd, Signal::KILL);
                process_tree::kill_children(getpid());
            }
        }
    }

    /// For each command that has started, waits for it and all its descendants, and reports its end.
    fn reap(&self, starts: &Receiver<()>) {
        while starts.recv().is_ok() {
            // A caller whose keeper is gone finds what is left by itself.
            let Some(end) = self.reap_command() else { std::process::exit(1) };
            let mut report = end.message().to_vec();
            // Most commands leave nothing: one message says both.
            if !self.is_all_reaped() {
                let _ = self.channel.send_bytes(&std::mem::take(&mut report));
                while let Ok(_) | Err(rustix::io::Errno::INTR) = wait(WaitOptions::empty()) {}
            }
            report.push(ALL_GONE);
            // Before the caller knows, who may start the next one.
            *self.kept() = None;
            self.all_gone.notify_all();
            let _ = self.channel.send_bytes(&report);
        }
    }

    /// Waits until the command has ended; none if there is none.
    fn reap_command(&self) -> Option<CommandEnd> {
        let command = self.kept().as_ref()?.command;
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == command => {
                    if let Some(kept) = &mut *self.kept() {
                        kept.is_reaped = true;
                    }
                    return Some(CommandEnd::from(status));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether no child is left; reaps those that have ended.
    fn is_all_reaped(&self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}
