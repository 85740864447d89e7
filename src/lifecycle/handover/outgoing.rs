//! The old process: starts the new one, waits until it is ready, and hands over.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::channel::Channel;
use crate::ipc::{InheritedTracker, Introduction};

use super::message::{
    ConnectionEntry, FromSuccessor, HandoverState, IntroductionEntry, Inventory, Offer, ToSuccessor, TrackerEntry,
    VERSION,
};

/// Timeout for reading the configuration.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for loading the state; calls wait meanwhile.
const RESTORED_TIMEOUT: Duration = Duration::from_secs(120);
/// Timeout for the report that it serves, before which nothing is left to do.
const SERVING_TIMEOUT: Duration = Duration::from_secs(10);

/// Argument of a process that is to take over; [`Successor::start`] adds it.
pub(super) const TAKE_OVER: &str = "--take-over";

/// A new process that replaces this one. Dropping it before it serves kills it.
#[derive(Debug)]
pub(crate) struct Successor {
    child: Child,
    channel: Arc<Channel>,
    pub(crate) program_version: String,
    is_serving: bool,
}

/// Why the new process does not take over. It is dead by then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuccessorError {
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("the new process refuses: {0}")]
    Refused(String),
    #[error("the new process exited ({status}) before it {before}: see its last lines in the log")]
    Ended { status: ExitStatus, before: &'static str },
    #[error("the new process did not report within {} seconds that it {before}", timeout.as_secs())]
    Silent { before: &'static str, timeout: Duration },
    #[error("cannot communicate with the new process: {0}")]
    Channel(io::Error),
    #[error("the new process speaks hand-over version {theirs}, this one {VERSION}: restart the daemon instead")]
    Version { theirs: u32 },
}

impl Successor {
    /// Starts `program` with these arguments and waits until it is ready.
    pub(crate) async fn start(program: &Path, arguments: &[OsString], offer: Offer) -> Result<Self, SuccessorError> {
        let failed = |source| SuccessorError::Start { program: program.display().to_string(), source };
        let (channel, theirs) = Channel::pair().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(arguments).arg(TAKE_OVER).stdin(Stdio::from(theirs));
        // It names this process; the watchdog applies to the new process as well.
        if std::env::var("WATCHDOG_PID").is_ok_and(|id| id == std::process::id().to_string()) {
            command.env_remove("WATCHDOG_PID");
        }
        let child = command.spawn().map_err(failed)?;
        // Only the child may hold its end.
        drop(command);
        let mut successor =
            Self { child, channel: Arc::new(channel), program_version: String::new(), is_serving: false };
        let received = successor.exchange("was ready", READY_TIMEOUT, move |channel| channel.send(&offer)).await?;
        match received {
            FromSuccessor::Ready { version: VERSION, program_version } => {
                successor.program_version = program_version;
                Ok(successor)
            }
            FromSuccessor::Ready { version: theirs, .. } => Err(SuccessorError::Version { theirs }),
            _ => Err(SuccessorError::Channel(ErrorKind::InvalidData.into())),
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Hands everything over; completes when the new process has loaded the state and only waits for permission to serve.
    pub(crate) async fn transfer(&mut self, state: Arc<HandoverState>) -> Result<(), SuccessorError> {
        let send = move |channel: &Channel| send_state(channel, &state);
        match self.exchange("had the state", RESTORED_TIMEOUT, send).await? {
            FromSuccessor::Restored => Ok(()),
            _ => Err(SuccessorError::Channel(ErrorKind::InvalidData.into())),
        }
    }

    pub(crate) async fn start_serving(&mut self) -> Result<(), SuccessorError> {
        match self.exchange("served", SERVING_TIMEOUT, |channel| channel.send(&ToSuccessor::Serve)).await? {
            FromSuccessor::Serving => {
                self.is_serving = true;
                Ok(())
            }
            _ => Err(SuccessorError::Channel(ErrorKind::InvalidData.into())),
        }
    }

    pub(crate) fn acknowledge_handover(&self) {
        // A closed channel means the same to it.
        let _ = self.channel.send(&ToSuccessor::Acknowledged);
    }

    pub(crate) fn stop(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        if let Err(error) = rustix::process::kill_process(process, rustix::process::Signal::TERM) {
            tracing::warn!("cannot stop process {}: {error}", self.process_id());
        }
    }

    /// Sends a message and receives the answer. After an error the process is dead.
    async fn exchange(
        &mut self,
        before: &'static str,
        timeout: Duration,
        send: impl FnOnce(&Channel) -> io::Result<()> + Send + 'static,
    ) -> Result<FromSuccessor, SuccessorError> {
        let channel = self.channel.clone();
        let exchange = move || {
            // A process that refuses or dies may not read any more; its last message is the better reason.
            let sent = send(&channel);
            channel.receive(Some(timeout)).or_else(|error| sent.and(Err(error)))
        };
        let received = tokio::task::spawn_blocking(exchange).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let error = match received {
            Ok(FromSuccessor::Refused { why }) => SuccessorError::Refused(why),
            Ok(received) => return Ok(received),
            Err(error) if error.kind() == ErrorKind::WouldBlock => SuccessorError::Silent { before, timeout },
            Err(error) => match (error.kind(), self.kill()) {
                (ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset, Ok(status)) => {
                    SuccessorError::Ended { status, before }
                }
                _ => SuccessorError::Channel(error),
            },
        };
        // No other process may hold the state when this one reopens it.
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
            tracing::error!("cannot kill process {}, which was to take over: {error}", self.process_id());
        }
    }
}

impl TrackerEntry {
    fn of(tracker: &InheritedTracker) -> Self {
        Self { name: tracker.name.to_string(), is_sure: tracker.is_sure }
    }
}

/// Blocking.
fn send_state(channel: &Channel, state: &HandoverState) -> io::Result<()> {
    let connections = state.connections.iter().map(|connection| ConnectionEntry {
        introduction: match &connection.introduction {
            Introduction::Opening(stage) => IntroductionEntry::Opening(*stage),
            Introduction::Done { protocol, user, real_user } => IntroductionEntry::Done {
                protocol: protocol.clone(),
                user: user.to_string(),
                real_user: real_user.as_ref().map(ToString::to_string),
            },
        },
        has_beaten: Some(connection.has_sent_heartbeat),
        trackers: connection.trackers.iter().map(TrackerEntry::of).collect(),
        unread_bytes: connection.unread.len(),
        unsent_bytes: connection.unsent.len(),
    });
    let trackers = state.trackers.iter().map(|name| name.to_string()).collect();
    let connections = connections.collect();
    let open_ids = state.open_ids.iter().map(|(id, user)| (id.to_string(), user.to_string())).collect();
    channel.send(&Inventory { has_control: state.control.is_some(), trackers, open_ids, connections })?;
    for connection in &state.connections {
        channel.send_bytes(&connection.unread)?;
        channel.send_bytes(&connection.unsent)?;
    }
    let mut descriptors = vec![state.rpc.as_fd(), state.http.as_fd()];
    descriptors.extend(state.control.as_ref().map(|control| control.as_fd()));
    descriptors.extend(state.connections.iter().map(|connection| connection.socket.as_fd()));
    channel.send_descriptors(&descriptors)
}
