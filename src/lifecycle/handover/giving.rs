//! The old process: starts the new one, has it prove itself, and hands over.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::channel::Channel;
use crate::ipc::{Carried, CarriedTracker, Introduction};
use crate::model::JobId;

use super::message::{
    ConnectionEntry, FromSuccessor, IntroductionEntry, Inventory, Offer, ToSuccessor, TrackerEntry, VERSION,
};

/// How long the new process may take to read its configuration.
const READY_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to load the state; calls wait meanwhile.
const RESTORED_PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to say that it serves, for which nothing is left to be done.
const SERVING_PATIENCE: Duration = Duration::from_secs(10);

/// Said to a process that is to take over; [`Successor::start`] adds it.
pub(super) const TAKE_OVER: &str = "--take-over";

/// A new process that goes on for this one. Dropping it kills it.
#[derive(Debug)]
pub(in crate::lifecycle) struct Successor {
    child: Child,
    channel: Arc<Channel>,
    /// What it says it is.
    pub(in crate::lifecycle) program_version: String,
    is_serving: bool,
}

/// What is handed over. The descriptors stay open here too.
#[derive(Debug)]
pub(in crate::lifecycle) struct Estate {
    pub(in crate::lifecycle) rpc: TcpListener,
    pub(in crate::lifecycle) http: TcpListener,
    pub(in crate::lifecycle) control: Option<UnixListener>,
    /// The names of the trackers that serve.
    pub(in crate::lifecycle) trackers: Vec<Arc<str>>,
    /// Job ids that wait for their submission, with their users.
    pub(in crate::lifecycle) open_ids: Vec<(JobId, Arc<str>)>,
    pub(in crate::lifecycle) connections: Vec<Carried>,
}

/// Why the new process does not go on. It is dead by then.
#[derive(Debug, thiserror::Error)]
pub(in crate::lifecycle) enum SuccessorError {
    #[error("{program} cannot be started: {source}")]
    Start { program: String, source: io::Error },
    #[error("the new process refuses: {0}")]
    Refused(String),
    #[error("the new process ended ({status}) before it {before}; its last lines in the log say why")]
    Ended { status: ExitStatus, before: &'static str },
    #[error("the new process did not say within {} seconds that it {before}", patience.as_secs())]
    Silent { before: &'static str, patience: Duration },
    #[error("the new process cannot be talked to: {0}")]
    Unheard(io::Error),
    #[error("the new process hands over by version {theirs}, this one by {VERSION}: restart it plainly")]
    Version { theirs: u32 },
}

// === impl Successor ===

impl Successor {
    /// Starts `program` with these arguments and waits until it says that it could go on.
    pub(in crate::lifecycle) async fn start(
        program: &Path,
        arguments: &[OsString],
        offer: Offer,
    ) -> Result<Self, SuccessorError> {
        let failed = |source| SuccessorError::Start { program: program.display().to_string(), source };
        let (channel, theirs) = Channel::pair().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(arguments).arg(TAKE_OVER).stdin(Stdio::from(theirs));
        // Meant for us, the supervisor's wish to hear whether we live is meant for whoever goes on, too.
        if std::env::var("WATCHDOG_PID").is_ok_and(|id| id == std::process::id().to_string()) {
            command.env_remove("WATCHDOG_PID");
        }
        let child = command.spawn().map_err(failed)?;
        // Only the child is to hold its end.
        drop(command);
        let mut successor =
            Self { child, channel: Arc::new(channel), program_version: String::new(), is_serving: false };
        let heard = successor.exchange("was ready", READY_PATIENCE, move |channel| channel.tell(&offer)).await?;
        match heard {
            FromSuccessor::Ready { version: VERSION, program_version } => {
                successor.program_version = program_version;
                Ok(successor)
            }
            FromSuccessor::Ready { version: theirs, .. } => Err(SuccessorError::Version { theirs }),
            _ => Err(SuccessorError::Unheard(ErrorKind::InvalidData.into())),
        }
    }

    /// The number of its process.
    pub(in crate::lifecycle) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Hands everything over; completes when the new process has the state, too, and only waits for the word.
    pub(in crate::lifecycle) async fn give(&mut self, estate: Arc<Estate>) -> Result<(), SuccessorError> {
        let give = move |channel: &Channel| give(channel, &estate);
        match self.exchange("had the state", RESTORED_PATIENCE, give).await? {
            FromSuccessor::Restored => Ok(()),
            _ => Err(SuccessorError::Unheard(ErrorKind::InvalidData.into())),
        }
    }

    /// Has it serve.
    pub(in crate::lifecycle) async fn go(&mut self) -> Result<(), SuccessorError> {
        match self.exchange("served", SERVING_PATIENCE, |channel| channel.tell(&ToSuccessor::Go)).await? {
            FromSuccessor::Serving => {
                self.is_serving = true;
                Ok(())
            }
            _ => Err(SuccessorError::Unheard(ErrorKind::InvalidData.into())),
        }
    }

    /// Tells it that the supervisor knows of it.
    pub(in crate::lifecycle) fn farewell(&self) {
        // Our end says the same to it.
        let _ = self.channel.tell(&ToSuccessor::Farewell);
    }

    /// Tells it to stop, as this process was.
    pub(in crate::lifecycle) fn stop(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        if let Err(error) = rustix::process::kill_process(process, rustix::process::Signal::TERM) {
            tracing::warn!("process {} cannot be told to stop: {error}", self.process_id());
        }
    }

    /// Says something and hears the answer. After an error the process is dead.
    async fn exchange(
        &mut self,
        before: &'static str,
        patience: Duration,
        say: impl FnOnce(&Channel) -> io::Result<()> + Send + 'static,
    ) -> Result<FromSuccessor, SuccessorError> {
        let channel = self.channel.clone();
        let exchange = move || {
            // One that refuses or dies may not listen any more; what it said last tells more than that.
            let said = say(&channel);
            channel.hear(Some(patience)).or_else(|error| said.and(Err(error)))
        };
        let heard = tokio::task::spawn_blocking(exchange).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let error = match heard {
            Ok(FromSuccessor::Refused { why }) => SuccessorError::Refused(why),
            Ok(heard) => return Ok(heard),
            Err(error) if error.kind() == ErrorKind::WouldBlock => SuccessorError::Silent { before, patience },
            Err(error) => match (error.kind(), self.kill()) {
                (ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset, Ok(status)) => {
                    SuccessorError::Ended { status, before }
                }
                _ => SuccessorError::Unheard(error),
            },
        };
        // Nobody else may hold the state when we take it again.
        let _ = self.kill();
        Err(error)
    }

    fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        if !self.is_serving
            && let Err(error) = self.kill()
        {
            tracing::error!("process {}, which was to take over, cannot be ended: {error}", self.process_id());
        }
    }
}

// === impl TrackerEntry ===

impl TrackerEntry {
    fn of(tracker: &CarriedTracker) -> Self {
        Self { name: tracker.name.to_string(), is_sure: tracker.is_sure }
    }
}

/// Blocking.
fn give(channel: &Channel, estate: &Estate) -> io::Result<()> {
    let connections = estate.connections.iter().map(|connection| ConnectionEntry {
        introduction: match &connection.introduction {
            Introduction::Opening(stage) => IntroductionEntry::Opening(*stage),
            Introduction::Done { protocol, user } => {
                IntroductionEntry::Done { protocol: protocol.clone(), user: user.to_string() }
            }
        },
        has_beaten: Some(connection.has_beaten),
        trackers: connection.trackers.iter().map(TrackerEntry::of).collect(),
        unread_bytes: connection.unread.len(),
        unsent_bytes: connection.unsent.len(),
    });
    let trackers = estate.trackers.iter().map(|name| name.to_string()).collect();
    let connections = connections.collect();
    let open_ids = estate.open_ids.iter().map(|(id, user)| (id.to_string(), user.to_string())).collect();
    channel.tell(&Inventory { has_control: estate.control.is_some(), trackers, open_ids, connections })?;
    for connection in &estate.connections {
        channel.tell_bytes(&connection.unread)?;
        channel.tell_bytes(&connection.unsent)?;
    }
    let mut descriptors = vec![estate.rpc.as_fd(), estate.http.as_fd()];
    descriptors.extend(estate.control.as_ref().map(|control| control.as_fd()));
    descriptors.extend(estate.connections.iter().map(|connection| connection.socket.as_fd()));
    channel.give(&descriptors)
}
