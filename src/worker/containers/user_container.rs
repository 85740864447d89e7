//! The worker's side of a container that runs with the ids of its user: starts its process and serves it.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::accounts::LoginUser;
use crate::api::{ContainerEnd, ContainerKill};
use crate::clock::wall_ms;
use crate::model::ContainerExit;
use crate::supervisor::command::CommandGroup;

use super::super::job_user::{Identity, UserProcess, UserProcessSpec};
use super::CONTAINER_COMMAND;
use super::control::ContainerControl;
use super::fault::LaunchFault;
use super::order::ContainerOrder;
use super::run::end_without_start;

/// For the rest of a message whose start has come.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Without a sign of life for so long the process is killed: its command may have stopped it.
const SILENCE: Duration = Duration::from_secs(60);
/// Beyond the grace of a kill.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// A container in a process of its own.
pub(crate) struct UserContainer<'a> {
    pub(crate) order: &'a ContainerOrder,
    pub(crate) control: &'a ContainerControl,
    pub(crate) user: &'a LoginUser,
    /// Whether its command may gain rights that its user has not.
    pub(crate) may_gain: bool,
    /// The control group that the process starts in.
    pub(crate) group: Option<CommandGroup>,
    /// Called once its command runs.
    pub(crate) on_started: &'a dyn Fn(u32, i64),
}

impl UserContainer<'_> {
    pub(crate) fn run(&self, logs: &[File; 2]) -> ContainerEnd {
        let spec = UserProcessSpec {
            command: CONTAINER_COMMAND,
            folder: &self.order.folder,
            marking_folder: self.order.folder.clone(),
            path: self.order.environment.get("PATH").cloned(),
            group: self.group.clone(),
        };
        let mut process = match UserProcess::start(spec) {
            Ok(process) => process,
            Err(error) => return end_without_start(&LaunchFault::System(error), self.control.wish()),
        };
        // A process that ends before it has read all of it has sent the reason.
        let _ = process.channel.send(&Identity::of(self.user, self.may_gain));
        let _ = process.channel.send(self.order);
        let _ = process.channel.channel.send_descriptors(&[logs[0].as_fd(), logs[1].as_fd()]);
        let mut started_ms = None;
        let ended = self.serve(&process, &mut started_ms);
        let code = process.end();
        ended.unwrap_or_else(|| self.lost_end(started_ms, code))
    }

    /// Serves the process until its container has ended; none: it is gone, or does not do what it should.
    fn serve(&self, process: &UserProcess, started_ms: &mut Option<i64>) -> Option<ContainerEnd> {
        let channel = &process.channel.channel;
        let (mut gone_at, mut killed_at) = (Instant::now() + SILENCE, None::<Instant>);
        loop {
            let until = killed_at.map_or(gone_at, |at| at.min(gone_at));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let mut waited = [
                PollFd::from_borrowed_fd(channel.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
            ];
            if poll(&mut waited, Timespec::try_from(left).ok().as_ref()).is_err() {
                // A signal; or memory is short, which a pause may help.
                continue;
            }
            if !waited[1].revents().is_empty()
                && let Some(wish) = self.control.answer_alarm()
            {
                let at = Instant::now().checked_add(wish.grace + END_TIMEOUT);
                killed_at = killed_at.into_iter().chain(at).min();
                let grace_ms = u64::try_from(wish.grace.as_millis()).unwrap_or(u64::MAX);
                let (exit, diagnostics) = (wish.exit, wish.diagnostics);
                let kill = ContainerKill { id: self.order.launch.id, exit, diagnostics, grace_ms };
                // If it is gone, the next message says so.
                let _ = process.channel.send(&ToContainer::Kill(kill));
            }
            if waited[0].revents().is_empty() {
                continue;
            }
            let message = channel.receive(Some(MESSAGE_TIMEOUT));
            gone_at = Instant::now() + SILENCE;
            match message {
                Ok(FromContainer::Alive) => {}
                Ok(FromContainer::Started { pid, started_ms: at_ms }) => {
                    *started_ms = Some(at_ms);
                    (self.on_started)(pid, at_ms);
                }
                Ok(FromContainer::Ended(end)) => return Some(end),
                Err(_) => return None,
            }
        }
    }

    /// The end of a container whose process has gone without a word.
    fn lost_end(&self, started_ms: Option<i64>, code: Option<i32>) -> ContainerEnd {
        let (exit, diagnostics) = match self.control.wish() {
            Some(wish) => (wish.exit, wish.diagnostics),
            // Nothing of its user has run: the process got no memory, descriptor or thread.
            None if started_ms.is_none() => {
                (ContainerExit::ABORTED, "the process that was to run it has ended before the command began".to_owned())
            }
            None => {
                let code = code.map_or("no status".to_owned(), |code| format!("status {code}"));
                let text =
                    format!("the process that ran it was lost with {code}; its command may have ended or stopped it");
                (ContainerExit::of_signal(9), text)
            }
        };
        ContainerEnd { exit, diagnostics, started_ms, ended_ms: wall_ms(), peak_memory_mb: 0, cpu_ms: 0 }
    }
}

/// To the process. First comes the order, and the descriptors of the two logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToContainer {
    Kill(ContainerKill),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FromContainer {
    Started {
        pid: u32,
        /// Epoch ms.
        started_ms: i64,
    },
    Alive,
    /// Nothing of its command is left.
    Ended(ContainerEnd),
}
