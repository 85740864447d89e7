//! A running command and what comes of it: how it is ended, waited for, and judged.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid};

use super::failure::TaskFailure;
use super::keeper::{KeptCommand, Order, OurEnds, pipes};
use super::process_tree;
use super::progress::{CommandTree, Progress};

/// A running command.
#[derive(Debug)]
pub(super) struct Group {
    /// The command, or its keeper.
    child: Child,
    pid: Pid,
    leash: Leash,
    /// The working directory of the command.
    folder: PathBuf,
}

/// What holds the processes of a command together.
#[derive(Debug)]
enum Leash {
    /// Nothing but their process group; the descriptor is the command's.
    Group(OwnedFd),
    /// A keeper, which none of them escapes.
    Keeper(KeptCommand),
}

// === impl Group ===

impl Group {
    /// Starts a command, below a keeper if there is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(order: &Order, keeper: Option<&Path>, progress: &Progress) -> io::Result<(Self, OurEnds)> {
        let (own, ours) = pipes()?;
        let (leash, child) = match keeper {
            Some(keeper) => {
                let (kept, child) = KeptCommand::start(keeper, order, own)?;
                (Leash::Keeper(kept), child)
            }
            None => {
                let mut child = order.start(own, |time| {
                    let _ = progress.sleep(time);
                })?;
                match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
                    Ok(pidfd) => (Leash::Group(pidfd), child),
                    Err(error) => {
                        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                        let _ = child.wait();
                        return Err(error.into());
                    }
                }
            }
        };
        Ok((Self { pid: Pid::from_child(&child), child, leash, folder: order.folder.clone() }, ours))
    }

    /// The processes whose memory counts: a keeper's own does not.
    pub fn tree(&self) -> CommandTree {
        CommandTree { root: self.pid.as_raw_nonzero().get(), with_root: matches!(self.leash, Leash::Group(_)) }
    }

    /// Whether the command has ended within `time`.
    fn has_ended_within(&self, time: Duration) -> bool {
        let mut waited = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)];
        poll(&mut waited, Timespec::try_from(time).ok().as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Waits for the end of the command, or brings it about when the attempt is to end.
    pub fn wait(&self, progress: &Progress, kill_delay: Duration) {
        loop {
            let mut waited = [
                PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(progress.alarm(), PollFlags::IN),
            ];
            match poll(&mut waited, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) if !waited[0].revents().is_empty() => return self.end_unless_kept(),
                Ok(_) | Err(_) => return self.end(kill_delay),
            }
        }
    }

    /// Asks the command and its group to end; what does not is killed.
    pub fn end(&self, kill_delay: Duration) {
        match &self.leash {
            Leash::Group(_) => {
                let _ = kill_process_group(self.pid, Signal::TERM);
            }
            Leash::Keeper(kept) => kept.terminate(),
        }
        let _ = self.has_ended_within(kill_delay);
        self.kill_rest();
    }

    /// Kills what is left.
    pub fn kill_rest(&self) {
        match &self.leash {
            // The command is not reaped yet, so that nobody else can have its number.
            Leash::Group(_) => {
                let _ = kill_process_group(self.pid, Signal::KILL);
            }
            Leash::Keeper(kept) => kept.kill(),
        }
    }

    /// Time that all of it used. Waits for the end, and reads while it is not reaped.
    pub fn cpu_ms(&self) -> u64 {
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // Behind the name, which may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
        let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
        ticks.saturating_mul(1000).checked_div(rustix::param::clock_ticks_per_second()).unwrap_or(0)
    }

    /// Kills what can be found of the command when its keeper was killed, perhaps by the command itself.
    pub fn end_unless_kept(&self) {
        if let Leash::Keeper(kept) = &self.leash
            && kept.is_gone()
        {
            let left = process_tree::kill_workers_in(&self.folder);
            tracing::warn!("the process that kept a command was killed; so were {left} processes that it left");
        }
    }

    /// The status of the command, 128 + n for signal n.
    ///
    /// # Errors
    /// [`TaskFailure::Pipe`] when it cannot be waited for.
    pub fn reap(&mut self) -> Result<i32, TaskFailure> {
        let status = self.child.wait().map_err(TaskFailure::Pipe)?;
        Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }
}

impl AsFd for Group {
    /// Readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.leash {
            Leash::Group(pidfd) => pidfd.as_fd(),
            Leash::Keeper(kept) => kept.as_fd(),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Reached without a reaped child only when starting or a thread failed.
        if let Ok(None) = self.child.try_wait() {
            self.kill_rest();
            let _ = self.child.wait();
        }
    }
}
