//! A running command and its descendants: how they are ended and reaped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid};

use crate::process_stat::ProcessStat;

use super::command::{CommandEnd, CommandEnds, CommandSpec};
use super::keepers::{Keepers, KeptCommand};
use super::process::SupervisedCommand;
use super::process_tree;
use super::process_tree::CommandTree;

#[derive(Debug)]
pub(crate) struct RunningCommand {
    scope: ProcessScope,
    /// By which its processes are found without a supervisor.
    marking_folder: PathBuf,
}

/// Who watches over a command.
#[derive(Clone, Copy, Debug)]
pub enum Supervision<'a> {
    /// None: only its process group is killed.
    Absent,
    /// A supervisor of its own, which is this program.
    Own(&'a Path),
    /// A keeper, which keeps others after it.
    Keeper(&'a Arc<Keepers>),
}

/// What binds the processes of a command together.
#[derive(Debug)]
enum ProcessScope {
    /// Only their process group; the descriptor is the command's.
    Group(Child, OwnedFd),
    /// A supervisor, which no descendant escapes.
    Supervisor(Child, SupervisedCommand),
    /// A keeper, which no descendant escapes.
    Keeper(KeptCommand),
}

fn pid_of(child: &Child) -> i32 {
    Pid::from_child(child).as_raw_nonzero().get()
}

impl<'a> From<Option<&'a Path>> for Supervision<'a> {
    fn from(supervisor: Option<&'a Path>) -> Self {
        supervisor.map_or(Self::Absent, Self::Own)
    }
}

impl RunningCommand {
    /// Starts a command, under a supervisor if there is one; calls `pause` before each further attempt to start it.
    pub(crate) fn start<'a>(
        spec: &CommandSpec,
        ends: CommandEnds,
        supervision: impl Into<Supervision<'a>>,
        pause: impl Fn(Duration),
    ) -> io::Result<Self> {
        let scope = match supervision.into() {
            Supervision::Keeper(keepers) => ProcessScope::Keeper(keepers.start(spec, &ends)?),
            Supervision::Own(program) => {
                let (supervised, child) = SupervisedCommand::start(program, spec, ends)?;
                ProcessScope::Supervisor(child, supervised)
            }
            Supervision::Absent => {
                let mut child = spec.start(ends, pause)?;
                match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
                    Ok(pidfd) => ProcessScope::Group(child, pidfd),
                    Err(error) => {
                        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                        let _ = child.wait();
                        return Err(error.into());
                    }
                }
            }
        };
        Ok(Self { scope, marking_folder: spec.marking_folder().to_owned() })
    }

    /// The processes whose memory counts: the supervisor's own does not.
    pub(crate) fn tree(&self) -> CommandTree {
        match &self.scope {
            ProcessScope::Group(child, _) => CommandTree { root: pid_of(child), with_root: true },
            ProcessScope::Supervisor(child, _) => CommandTree { root: pid_of(child), with_root: false },
            ProcessScope::Keeper(kept) => CommandTree { root: kept.pid(), with_root: false },
        }
    }

    /// Whether the command has ended within `time`.
    pub(crate) fn has_ended_within(&self, time: Duration) -> bool {
        let mut waited = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)];
        poll(&mut waited, Timespec::try_from(time).ok().as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Waits for the end of the command; ends it when `alarm` becomes readable or hangs up.
    pub(crate) fn wait(&self, alarm: BorrowedFd<'_>, kill_delay: Duration) {
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
    pub(crate) fn terminate(&self) {
        match &self.scope {
            ProcessScope::Group(child, _) => {
                let _ = kill_process_group(Pid::from_child(child), Signal::TERM);
            }
            ProcessScope::Supervisor(_, supervised) => supervised.terminate(),
            ProcessScope::Keeper(kept) => kept.terminate(),
        }
    }

    /// Sends SIGTERM to the command and its group; kills what is left after `kill_delay`.
    pub(crate) fn end(&self, kill_delay: Duration) {
        self.terminate();
        let _ = self.has_ended_within(kill_delay);
        self.kill_rest();
    }

    pub(crate) fn kill_rest(&self) {
        match &self.scope {
            // The command is not reaped yet, so that no other process can have its number.
            ProcessScope::Group(child, _) => {
                let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            }
            ProcessScope::Supervisor(_, supervised) => supervised.kill(),
            ProcessScope::Keeper(kept) => kept.kill(),
        }
    }

    /// CPU time of the command and its reaped descendants. Waits for the end, and reads before reaping.
    pub(crate) fn cpu_ms(&mut self) -> u64 {
        let pid = match &mut self.scope {
            ProcessScope::Keeper(kept) => return kept.cpu_ms(),
            ProcessScope::Group(child, _) | ProcessScope::Supervisor(child, _) => Pid::from_child(child),
        };
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {
        }
        let stat = ProcessStat::of(pid.as_raw_nonzero().get());
        stat.map_or(0, |stat| stat.cpu_ms.saturating_add(stat.children_cpu_ms))
    }

    /// Kills what can be found of the command when its supervisor was killed, perhaps by the command itself.
    pub(crate) fn end_if_unsupervised(&self) {
        let is_lost = match &self.scope {
            ProcessScope::Group(..) => false,
            ProcessScope::Supervisor(_, supervised) => supervised.is_gone(),
            ProcessScope::Keeper(kept) => kept.is_lost(),
        };
        if is_lost {
            let left = process_tree::kill_processes_in(&self.marking_folder);
            tracing::warn!("the supervisor process of a command was killed; killed {left} processes that it left");
        }
    }

    /// How the command ended. Waits for its end, and for that of all its descendants if it has a supervisor.
    pub(crate) fn reap(&mut self) -> io::Result<CommandEnd> {
        match &mut self.scope {
            ProcessScope::Group(child, _) => Ok(child.wait()?.into()),
            ProcessScope::Supervisor(child, supervised) => {
                let status = child.wait()?;
                Ok(supervised.reported_end().unwrap_or_else(|| status.into()))
            }
            ProcessScope::Keeper(kept) => kept.reap(),
        }
    }
}

impl AsFd for RunningCommand {
    /// Readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.scope {
            ProcessScope::Group(_, pidfd) => pidfd.as_fd(),
            ProcessScope::Supervisor(_, supervised) => supervised.as_fd(),
            ProcessScope::Keeper(kept) => kept.as_fd(),
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // Reached without a reaped child only when starting or a thread failed.
        let is_over = match &mut self.scope {
            ProcessScope::Group(child, _) | ProcessScope::Supervisor(child, _) => !matches!(child.try_wait(), Ok(None)),
            // It ends its process itself.
            ProcessScope::Keeper(_) => true,
        };
        if !is_over {
            self.kill_rest();
            if let ProcessScope::Group(child, _) | ProcessScope::Supervisor(child, _) = &mut self.scope {
                let _ = child.wait();
            }
        }
    }
}
