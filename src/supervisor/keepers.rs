//! Keepers that wait for their next command, and the handle on one that has a command.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::channel::Channel;
use crate::process_stat::ProcessStat;

use super::command::{CommandEnd, CommandEnds, CommandSpec};
use super::keeper_process::{ALL_GONE, KEEP_COMMANDS, KILL, START, TERMINATE};
use super::process::StartResult;
use super::process_tree;
use super::shortage::SupervisorGone;

/// Most keepers that wait for a command.
const MOST_IDLE: usize = 64;

/// The keepers of one caller, whose commands all have the ids of this process.
#[derive(Debug)]
pub struct Keepers {
    program: PathBuf,
    idle: Mutex<Vec<IdleKeeper>>,
}

#[derive(Debug)]
struct IdleKeeper {
    process: KeeperProcess,
    since: Instant,
}

/// A keeper's process: it is gone when this is dropped, with all that it keeps.
#[derive(Debug)]
struct KeeperProcess {
    channel: Arc<Channel>,
    child: Child,
    /// Of it and its reaped descendants, when its last command was gone, ms.
    cpu_ms: u64,
}

#[derive(Debug)]
pub(super) struct KeptCommand {
    keepers: Arc<Keepers>,
    channel: Arc<Channel>,
    /// None once nothing is left of the command.
    process: Option<KeeperProcess>,
    pid: i32,
    end: Option<CommandEnd>,
    cpu_ms: u64,
}

impl Keepers {
    /// None yet. `program` is this one.
    pub fn new(program: PathBuf) -> Self {
        Self { program, idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleKeeper>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command under a keeper that waits, or under another one.
    pub(super) fn start(self: &Arc<Self>, spec: &CommandSpec, ends: &CommandEnds) -> io::Result<KeptCommand> {
        let mut process = match self.take() {
            Some(process) => process,
            None => self.start_process()?,
        };
        match process.start(spec, ends) {
            Ok(StartResult::Started) => {
                let (keepers, channel, pid) = (self.clone(), process.channel.clone(), process.pid());
                Ok(KeptCommand { keepers, channel, process: Some(process), pid, end: None, cpu_ms: 0 })
            }
            Ok(StartResult::Failed(number)) => {
                self.put(process);
                Err(number.map_or_else(|| ErrorKind::Other.into(), io::Error::from_raw_os_error))
            }
            Err(_) => {
                drop(process);
                // It may have started the command all the same.
                process_tree::kill_processes_in(spec.marking_folder());
                Err(io::Error::other(SupervisorGone))
            }
        }
    }

    /// The keeper that has waited for the shortest time: others may come to be no longer needed.
    fn take(&self) -> Option<KeeperProcess> {
        loop {
            let idle = self.idle().pop()?;
            if !idle.process.channel.is_closed() {
                return Some(idle.process);
            }
        }
    }

    fn put(&self, process: KeeperProcess) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(IdleKeeper { process, since: Instant::now() });
        }
    }

    /// Ends the keepers that have waited for so long.
    pub fn end_idle(&self, time: Duration) {
        let mut idle = self.idle();
        let kept = idle.iter().position(|keeper| keeper.since.elapsed() < time).unwrap_or(idle.len());
        let ended: Vec<IdleKeeper> = idle.drain(..kept).collect();
        drop(idle);
        drop(ended);
    }

    fn start_process(&self) -> io::Result<KeeperProcess> {
        let (channel, its_end) = Channel::pair()?;
        let mut command = Command::new(&self.program);
        command.arg0("jobtracker").arg(KEEP_COMMANDS).env_clear().process_group(0);
        let child = command.stdin(its_end).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(KeeperProcess { channel: Arc::new(channel), child, cpu_ms: 0 })
    }
}

impl KeeperProcess {
    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn start(&mut self, spec: &CommandSpec, ends: &CommandEnds) -> io::Result<StartResult> {
        self.channel.send_bytes(&[START])?;
        self.channel.send(spec)?;
        self.channel.send_descriptors(&[ends.stdin.as_fd(), ends.stdout.as_fd(), ends.stderr.as_fd()])?;
        self.channel.receive(None)
    }
}

impl Drop for KeeperProcess {
    fn drop(&mut self) {
        self.channel.shutdown_write();
        let _ = self.child.wait();
    }
}

impl KeptCommand {
    /// The keeper's process, of which the command descends.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends SIGTERM to the command and its process group.
    pub(crate) fn terminate(&self) {
        self.request(TERMINATE);
    }

    /// Has the keeper kill whatever is left of the command.
    pub(crate) fn kill(&self) {
        if !self.channel.peek(CommandEnd::MESSAGE_BYTES + 1).ends_with(&[ALL_GONE]) {
            self.request(KILL);
        }
    }

    fn request(&self, request: u8) {
        // Afterwards the keeper is another command's. One that is gone has left nothing that it could find.
        if self.process.is_some() {
            let _ = self.channel.send_bytes(&[request]);
        }
    }

    /// Whether the keeper has gone without reporting the end of the command.
    pub(crate) fn is_lost(&self) -> bool {
        self.process.is_some() && self.channel.is_closed()
    }

    /// Waits until nothing is left of the command.
    fn finish(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let end = process.channel.receive_bytes(CommandEnd::MESSAGE_BYTES).ok();
        self.end = end.and_then(|message| CommandEnd::of_message(&message));
        if self.end.is_some() && process.channel.receive_bytes(1).is_ok_and(|report| report == [ALL_GONE]) {
            let stat = ProcessStat::of(self.pid);
            let cpu_ms = stat.map_or(process.cpu_ms, |stat| stat.cpu_ms.saturating_add(stat.children_cpu_ms));
            self.cpu_ms = cpu_ms.saturating_sub(process.cpu_ms);
            process.cpu_ms = cpu_ms;
            return self.keepers.put(process);
        }
        process.channel.shutdown_write();
        let status = process.child.wait().ok();
        self.end = self.end.or(status.map(CommandEnd::from));
    }

    /// CPU time of the command, its descendants and what its keeper took for it, ms. Waits until nothing is left of it.
    pub(crate) fn cpu_ms(&mut self) -> u64 {
        self.finish();
        self.cpu_ms
    }

    /// How the command ended. Waits until nothing is left of it.
    pub(crate) fn reap(&mut self) -> io::Result<CommandEnd> {
        self.finish();
        self.end.ok_or_else(|| io::Error::other(SupervisorGone))
    }
}

impl AsFd for KeptCommand {
    /// Readable once the command has ended; of no use after it was reaped.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
