//! A running command and its descendants: how they are ended and reaped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid};

use crate::process_stat::ProcessStat;

use super::command::{CommandEnds, CommandSpec};
use super::command_end::CommandEnd;
use super::process::SupervisedCommand;
use super::process_tree;
use super::process_tree::CommandTree;

/// A running command.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    /// The command, or its supervisor.
    child: Child,
    pid: Pid,
    scope: ProcessScope,
    /// By which its processes are found without a supervisor.
    marking_folder: PathBuf,
}

/// What binds the processes of a command together.
#[derive(Debug)]
enum ProcessScope {
    /// Only their process group; the descriptor is the command's.
    Group(OwnedFd),
    /// A supervisor, which no descendant escapes.
    Supervisor(SupervisedCommand),
}

// === impl RunningCommand ===

impl RunningCommand {
    /// Starts a command, under a supervisor if its program is given; calls `pause` before each further attempt to start it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(
        spec: &CommandSpec,
        ends: CommandEnds,
        supervisor: Option<&Path>,
        pause: impl Fn(Duration),
    ) -> io::Result<Self> {
        let (scope, child) = match supervisor {
            Some(program) => {
                let (supervised, child) = SupervisedCommand::start(program, spec, ends)?;
                (ProcessScope::Supervisor(supervised), child)
            }
            None => {
                let mut child = spec.start(ends, pause)?;
                match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
                    Ok(pidfd) => (ProcessScope::Group(pidfd), child),
                    Err(error) => {
                        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                        let _ = child.wait();
                        return Err(error.into());
                    }
                }
            }
        };
        Ok(Self { pid: Pid::from_child(&child), child, scope, marking_folder: spec.marking_folder().to_owned() })
    }

    /// The processes whose memory counts: the supervisor's own does not.
    pub fn tree(&self) -> CommandTree {
        CommandTree { root: self.pid.as_raw_nonzero().get(), with_root: matches!(self.scope, ProcessScope::Group(_)) }
    }

    /// Whether the command has ended within `time`.
    pub fn has_ended_within(&self, time: Duration) -> bool {
        let mut waited = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)];
        poll(&mut waited, Timespec::try_from(time).ok().as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Waits for the end of the command; ends it when `alarm` becomes readable or hangs up.
    pub fn wait(&self, alarm: BorrowedFd<'_>, kill_delay: Duration) {
        loop {
            let mut waited =
                [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN), PollFd::from_borrowed_fd(alarm, PollFlags::IN)];
            match poll(&mut waited, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) if !waited[0].revents().is_empty() => return self.end_if_unsupervised(),
                Ok(_) | Err(_) => return self.end(kill_delay),
            }
        }
    }

    /// Sends SIGTERM to the command and its group.
    pub fn terminate(&self) {
        match &self.scope {
            ProcessScope::Group(_) => {
                let _ = kill_process_group(self.pid, Signal::TERM);
            }
            ProcessScope::Supervisor(supervised) => supervised.terminate(),
        }
    }

    /// Sends SIGTERM to the command and its group; kills what is left after `kill_delay`.
    pub fn end(&self, kill_delay: Duration) {
        self.terminate();
        let _ = self.has_ended_within(kill_delay);
        self.kill_rest();
    }

    /// Kills what is left.
    pub fn kill_rest(&self) {
        match &self.scope {
            // The command is not reaped yet, so that no other process can have its number.
            ProcessScope::Group(_) => {
                let _ = kill_process_group(self.pid, Signal::KILL);
            }
            ProcessScope::Supervisor(supervised) => supervised.kill(),
        }
    }

    /// CPU time of the command and its reaped descendants. Waits for the end, and reads before reaping.
    pub fn cpu_ms(&self) -> u64 {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let stat = ProcessStat::of(self.pid.as_raw_nonzero().get());
        stat.map_or(0, |stat| stat.cpu_ms.saturating_add(stat.children_cpu_ms))
    }

    /// Kills what can be found of the command when its supervisor was killed, perhaps by the command itself.
    pub fn end_if_unsupervised(&self) {
        if let ProcessScope::Supervisor(supervised) = &self.scope
            && supervised.is_gone()
        {
            let left = process_tree::kill_processes_in(&self.marking_folder);
            tracing::warn!("the supervisor process of a command was killed; killed {left} processes that it left");
        }
    }

    /// How the command ended. Waits for its end, and for that of all its descendants if it has a supervisor.
    ///
    /// # Errors
    /// Those of waiting for it.
    pub fn reap(&mut self) -> io::Result<CommandEnd> {
        let status = self.child.wait()?;
        let reported = match &self.scope {
            ProcessScope::Group(_) => None,
            ProcessScope::Supervisor(supervised) => supervised.reported_end(),
        };
        Ok(reported.unwrap_or_else(|| status.into()))
    }
}

impl AsFd for RunningCommand {
    /// Readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.scope {
            ProcessScope::Group(pidfd) => pidfd.as_fd(),
            ProcessScope::Supervisor(supervised) => supervised.as_fd(),
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // Reached without a reaped child only when starting or a thread failed.
        if let Ok(None) = self.child.try_wait() {
            self.kill_rest();
            let _ = self.child.wait();
        }
    }
}
