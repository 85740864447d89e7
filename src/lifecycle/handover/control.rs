//! The control socket in the state folder, on which an operator requests an upgrade or asks about the scheduler: a line of JSON each way.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::api::{SchedulerStatus, SwitchPlan};
use crate::engine::AuditEntry;
use crate::fs::{Account, FolderHandle};
use crate::lifecycle::signals::OperatorStop;
use crate::server::write_audit_line;

/// The name of the socket in the state folder.
pub(crate) const CONTROL: &str = "control";
/// Only the daemon's own user connects; the peer's user is checked, too.
const MODE: u32 = 0o600;
/// Timeout for reading an operator's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Refusal of a request about the scheduler between two sessions.
const NOT_SERVING: &str = "the daemon is starting or stopping: try again soon";
/// Maximum length of a request, bytes.
const MAX_REQUEST_BYTES: u64 = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum ControlRequest {
    /// Replace the daemon by that program.
    Upgrade {
        program: PathBuf,
    },
    /// About the scheduler.
    Scheduler(SchedulerRequest),
    Stop,
}

/// A request about the scheduler, or for a reload of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum SchedulerRequest {
    /// Show which one rules.
    Show,
    /// Read the configuration again, as SIGHUP does.
    Reload,
    /// Show what a switch would do.
    Plan {
        class: String,
        /// Where jobs move whose queue it lacks.
        move_to: Option<String>,
    },
    Use {
        class: String,
        /// Where jobs move whose queue it lacks.
        move_to: Option<String>,
    },
}

/// An answer about the scheduler or a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchedulerAnswer {
    Status(SchedulerStatus),
    Plan(SwitchPlan),
    /// The switch waits; another answer follows. Closing the connection before withdraws it.
    Waits(SwitchPlan),
    Done(SwitchPlan),
    /// What a reload has changed.
    Reloaded {
        summary: String,
        changes: Vec<String>,
        /// What is suspicious in what was read, a line each; none of a daemon of an earlier version.
        #[serde(default)]
        warnings: Vec<String>,
    },
    /// Why nothing was done, where there is no plan.
    Refused {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StopAnswer {
    /// It stops; the connection closes when the process has ended.
    Stopping {
        process: u32,
        /// Whether a service manager may start it again.
        is_supervised: bool,
    },
    /// It does not.
    Refused { why: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UpgradeOutcome {
    /// The new process serves.
    Done {
        process: u32,
        /// A summary for the operator.
        summary: String,
    },
    /// The old process continues to serve.
    Refused { why: String },
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    #[error("cannot reach a daemon at {path}: {source}")]
    Unreached { path: PathBuf, source: io::Error },
    /// No answer, or one that cannot be parsed.
    #[error("the daemon did not report the outcome ({0}): see its log")]
    Unanswered(io::Error),
}

#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
    /// Whether dropping this removes the socket.
    is_ours: bool,
    requests: mpsc::Receiver<UpgradeRequest>,
    /// Where requests about the scheduler go while a session serves.
    scheduler: SchedulerCalls,
    accepting: AbortHandle,
}

/// Where requests about the scheduler go; none while no session serves.
type SchedulerCalls = Rc<RefCell<Option<mpsc::UnboundedSender<SchedulerCall>>>>;

/// A request about the scheduler, whose operator waits.
#[derive(Debug)]
pub(crate) struct SchedulerCall {
    pub(crate) request: SchedulerRequest,
    /// The number of the operator's user.
    pub(crate) user: u32,
    stream: tokio::net::UnixStream,
}

/// A request for an upgrade, whose operator waits.
#[derive(Debug)]
pub(crate) struct UpgradeRequest {
    pub(crate) program: PathBuf,
    /// The number of the operator's user.
    user: u32,
    stream: tokio::net::UnixStream,
    _guard: UpgradeGuard,
}

/// Held while an upgrade is in progress; there is at most one.
#[derive(Debug)]
struct UpgradeGuard(Rc<Cell<bool>>);

/// Requests that the daemon on that state folder be replaced by `program`, and waits.
pub(crate) fn request_upgrade(state_dir: &Path, program: &Path) -> Result<UpgradeOutcome, ControlError> {
    read_answer(&mut send_request(state_dir, &ControlRequest::Upgrade { program: program.to_owned() })?)
}

/// Asks the daemon on that state folder about its scheduler, and waits. `on_wait` shows a plan that waits for the market's next tick.
pub(crate) fn request_scheduler(
    state_dir: &Path,
    request: SchedulerRequest,
    mut on_wait: impl FnMut(&SwitchPlan),
) -> Result<SchedulerAnswer, ControlError> {
    let mut answers = send_request(state_dir, &ControlRequest::Scheduler(request))?;
    loop {
        match read_answer(&mut answers)? {
            SchedulerAnswer::Waits(plan) => on_wait(&plan),
            answer => return Ok(answer),
        }
    }
}

pub(super) fn send_request(state_dir: &Path, request: &ControlRequest) -> Result<BufReader<UnixStream>, ControlError> {
    let path = state_dir.join(CONTROL);
    let unreached = |source| ControlError::Unreached { path: path.clone(), source };
    let folder = FolderHandle::open(state_dir).map_err(|error| unreached(error.into()))?;
    let mut stream = UnixStream::connect(short_path(&folder)).map_err(unreached)?;
    let mut request = serde_json::to_vec(request).map_err(|error| ControlError::Unanswered(error.into()))?;
    request.push(b'\n');
    stream.write_all(&request).map_err(ControlError::Unanswered)?;
    Ok(BufReader::new(stream))
}

pub(super) fn read_answer<T: serde::de::DeserializeOwned>(
    answers: &mut BufReader<UnixStream>,
) -> Result<T, ControlError> {
    let mut answer = String::new();
    answers.read_line(&mut answer).map_err(ControlError::Unanswered)?;
    if answer.is_empty() {
        return Err(ControlError::Unanswered(io::ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_str(&answer).map_err(|error| ControlError::Unanswered(error.into()))
}

/// The socket's path by way of the open folder: socket addresses are limited to 107 bytes.
fn short_path(folder: &FolderHandle) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()).join(CONTROL)
}

impl Control {
    /// Listens in a state folder that this process holds; removes a socket left over by an earlier one.
    pub(crate) fn open(state_dir: &Path, stop: OperatorStop) -> io::Result<Self> {
        let folder = FolderHandle::open(state_dir)?;
        folder.remove(CONTROL.as_ref())?;
        let listener = UnixListener::bind(short_path(&folder))?;
        folder.set_mode_of_entry(CONTROL.as_ref(), MODE)?;
        let mut control = Self::on(listener, state_dir, stop)?;
        control.own_socket();
        Ok(control)
    }

    /// Uses the listener of another process, which owns the socket until [`Self::own_socket`].
    pub(crate) fn on(listener: UnixListener, state_dir: &Path, stop: OperatorStop) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let ours = tokio::net::UnixListener::from_std(listener.try_clone()?)?;
        let (sender, requests) = mpsc::channel(1);
        let scheduler = SchedulerCalls::default();
        let doors = Doors { upgrades: sender, scheduler: scheduler.clone(), stop, busy: Rc::default() };
        let accepting = tokio::task::spawn_local(accept(ours, doors)).abort_handle();
        Ok(Self { listener, path: state_dir.join(CONTROL), is_ours: false, requests, scheduler, accepting })
    }

    pub(crate) fn scheduler_calls(&self) -> mpsc::UnboundedReceiver<SchedulerCall> {
        let (sender, calls) = mpsc::unbounded_channel();
        self.scheduler.replace(Some(sender));
        calls
    }

    /// Gives a request to the session that serves now.
    pub(crate) fn hand_on(&self, call: SchedulerCall) {
        if let Some(calls) = &*self.scheduler.borrow() {
            // A session that ends drops it, and its operator sees that.
            let _: Result<_, _> = calls.send(call);
        }
    }

    pub(crate) async fn next(&mut self) -> UpgradeRequest {
        match self.requests.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn share(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }

    /// Makes this process the owner of the socket, which is removed when it ends.
    pub(crate) fn own_socket(&mut self) {
        self.is_ours = true;
    }

    /// Leaves the socket to the other process.
    pub(crate) fn release_socket(mut self) {
        self.is_ours = false;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.accepting.abort();
        // A start removes a socket that is left over.
        if self.is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[derive(Clone, Debug)]
struct Doors {
    upgrades: mpsc::Sender<UpgradeRequest>,
    scheduler: SchedulerCalls,
    stop: OperatorStop,
    /// Whether an upgrade is in progress.
    busy: Rc<Cell<bool>>,
}

async fn accept(listener: tokio::net::UnixListener, doors: Doors) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let doors = doors.clone();
                tokio::task::spawn_local(async move {
                    if let Err(error) = read_request(stream, doors).await {
                        tracing::debug!("cannot read an operator's request: {error}");
                    }
                });
            }
            Err(error) => {
                tracing::warn!("cannot accept a control connection, retrying: {error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn read_request(mut stream: tokio::net::UnixStream, doors: Doors) -> io::Result<()> {
    let Doors { upgrades: requests, scheduler, stop, busy } = doors;
    let user = stream.peer_cred()?.uid();
    let refusal = if user != 0 && user != rustix::process::geteuid().as_raw() {
        format!("user {user} is neither root nor the daemon's user")
    } else {
        let mut line = String::new();
        let mut reader = tokio::io::BufReader::new((&mut stream).take(MAX_REQUEST_BYTES));
        tokio::time::timeout(REQUEST_TIMEOUT, reader.read_line(&mut line)).await??;
        match serde_json::from_str(&line) {
            Err(error) => format!("cannot parse the request: {error}"),
            Ok(ControlRequest::Upgrade { .. }) if busy.get() => "an upgrade is already in progress".to_owned(),
            Ok(ControlRequest::Upgrade { program }) => {
                tracing::info!("user {user} requested an upgrade to {}", program.display());
                busy.set(true);
                let _ = requests.send(UpgradeRequest { program, user, stream, _guard: UpgradeGuard(busy) }).await;
                return Ok(());
            }
            Ok(ControlRequest::Stop) => {
                tracing::info!("user {user} requested a stop: stopping");
                write_audit_line(&AuditEntry::new("stop", name_of(user)).to_string());
                let process = std::process::id();
                let answer = StopAnswer::Stopping { process, is_supervised: stop.is_supervised };
                // The operator may have disconnected.
                let _ = write(&mut stream, &answer).await;
                stop.stop();
                // Open until this process ends, which is what the operator waits for.
                std::mem::forget(stream);
                return Ok(());
            }
            Ok(ControlRequest::Scheduler(request)) => {
                let call = SchedulerCall { request, user, stream };
                if busy.get() {
                    return call.refuse("an upgrade is in progress").await;
                }
                let Some(calls) = scheduler.borrow().clone() else { return call.refuse(NOT_SERVING).await };
                return match calls.send(call) {
                    Ok(()) => Ok(()),
                    Err(unsent) => unsent.0.refuse(NOT_SERVING).await,
                };
            }
        }
    };
    write(&mut stream, &UpgradeOutcome::Refused { why: refusal }).await
}

async fn write(stream: &mut tokio::net::UnixStream, answer: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// The name of a user, or the number.
pub(crate) fn name_of(user: u32) -> String {
    Account::of(user).map_or_else(|| user.to_string(), |account| account.name)
}

impl UpgradeRequest {
    pub(crate) async fn answer(mut self, outcome: UpgradeOutcome) {
        match &outcome {
            UpgradeOutcome::Done { summary, .. } => {
                tracing::info!("upgrade: {summary}");
                let entry = AuditEntry::new("upgrade", name_of(self.user)).with("program", self.program.display());
                write_audit_line(&entry.to_string());
            }
            UpgradeOutcome::Refused { why } => tracing::error!("upgrade failed: {why}"),
        }
        // The operator may have disconnected.
        let _ = write(&mut self.stream, &outcome).await;
    }
}

impl SchedulerCall {
    pub(crate) async fn answer(&mut self, answer: &SchedulerAnswer) -> io::Result<()> {
        write(&mut self.stream, answer).await
    }

    async fn refuse(mut self, why: &str) -> io::Result<()> {
        self.answer(&SchedulerAnswer::Refused { why: why.to_owned() }).await
    }

    pub(crate) async fn closed(&mut self) {
        let mut rest = [0; 64];
        while self.stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    }
}

impl Drop for UpgradeGuard {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
