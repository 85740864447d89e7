//! The control socket in the state folder, on which an operator requests an upgrade: one line of JSON each way.

use std::cell::Cell;
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

use crate::fs::FolderHandle;

/// The name of the socket in the state folder.
pub const CONTROL: &str = "control";
/// Only the daemon's own user connects; the peer's user is checked, too.
const MODE: u32 = 0o600;
/// Timeout for reading an operator's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a request, bytes.
const MAX_REQUEST_BYTES: u64 = 64 << 10;

/// A request of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum ControlRequest {
    /// Replace the daemon by that program.
    Upgrade { program: PathBuf },
}

/// The outcome of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpgradeOutcome {
    /// The new process serves.
    Done {
        /// Its process id.
        process: u32,
        /// A summary for the operator.
        summary: String,
    },
    /// The old process continues to serve.
    Refused {
        /// The reason.
        why: String,
    },
}

/// Why the outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No daemon listens.
    #[error("cannot reach a daemon at {path}: {source}")]
    Unreached {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No answer, or one that cannot be parsed.
    #[error("the daemon did not report the outcome ({0}): see its log")]
    Unanswered(io::Error),
}

/// The daemon's end of the control socket.
#[derive(Debug)]
pub(in crate::lifecycle) struct Control {
    listener: UnixListener,
    path: PathBuf,
    /// Whether dropping this removes the socket.
    is_ours: bool,
    requests: mpsc::Receiver<UpgradeRequest>,
    accepting: AbortHandle,
}

/// A request for an upgrade, whose operator waits.
#[derive(Debug)]
pub(in crate::lifecycle) struct UpgradeRequest {
    /// The program of the new process.
    pub(in crate::lifecycle) program: PathBuf,
    stream: tokio::net::UnixStream,
    _guard: UpgradeGuard,
}

/// Held while an upgrade is in progress; there is at most one.
#[derive(Debug)]
struct UpgradeGuard(Rc<Cell<bool>>);

/// Requests that the daemon on that state folder be replaced by `program`, and waits.
///
/// # Errors
/// [`ControlError`]
pub fn request_upgrade(state_dir: &Path, program: &Path) -> Result<UpgradeOutcome, ControlError> {
    let path = state_dir.join(CONTROL);
    let unreached = |source| ControlError::Unreached { path: path.clone(), source };
    let folder = FolderHandle::open(state_dir).map_err(|error| unreached(error.into()))?;
    let mut stream = UnixStream::connect(short_path(&folder)).map_err(unreached)?;
    let mut request = serde_json::to_vec(&ControlRequest::Upgrade { program: program.to_owned() })
        .map_err(|error| ControlError::Unanswered(error.into()))?;
    request.push(b'\n');
    let mut answer = String::new();
    stream
        .write_all(&request)
        .and_then(|()| BufReader::new(stream).read_line(&mut answer))
        .map_err(ControlError::Unanswered)?;
    if answer.is_empty() {
        return Err(ControlError::Unanswered(io::ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_str(&answer).map_err(|error| ControlError::Unanswered(error.into()))
}

/// The socket's path by way of the open folder: socket addresses are limited to 107 bytes.
fn short_path(folder: &FolderHandle) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()).join(CONTROL)
}

// === impl Control ===

impl Control {
    /// Listens in a state folder that this process holds; removes a socket left over by an earlier one.
    pub(in crate::lifecycle) fn open(state_dir: &Path) -> io::Result<Self> {
        let folder = FolderHandle::open(state_dir)?;
        folder.remove(CONTROL.as_ref())?;
        let listener = UnixListener::bind(short_path(&folder))?;
        folder.set_mode_of_entry(CONTROL.as_ref(), MODE)?;
        let mut control = Self::on(listener, state_dir)?;
        control.own_socket();
        Ok(control)
    }

    /// Uses the listener of another process, which owns the socket until [`Self::own_socket`].
    pub(in crate::lifecycle) fn on(listener: UnixListener, state_dir: &Path) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let ours = tokio::net::UnixListener::from_std(listener.try_clone()?)?;
        let (sender, requests) = mpsc::channel(1);
        let accepting = tokio::task::spawn_local(accept(ours, sender)).abort_handle();
        Ok(Self { listener, path: state_dir.join(CONTROL), is_ours: false, requests, accepting })
    }

    /// The next request.
    pub(in crate::lifecycle) async fn next(&mut self) -> UpgradeRequest {
        match self.requests.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }

    /// A copy of the listener for another process.
    pub(in crate::lifecycle) fn share(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }

    /// Makes this process the owner of the socket, which is removed when it ends.
    pub(in crate::lifecycle) fn own_socket(&mut self) {
        self.is_ours = true;
    }

    /// Leaves the socket to the other process.
    pub(in crate::lifecycle) fn release_socket(mut self) {
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

async fn accept(listener: tokio::net::UnixListener, requests: mpsc::Sender<UpgradeRequest>) {
    let busy = Rc::new(Cell::new(false));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (requests, busy) = (requests.clone(), busy.clone());
                tokio::task::spawn_local(async move {
                    if let Err(error) = read_request(stream, requests, busy).await {
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

async fn read_request(
    mut stream: tokio::net::UnixStream,
    requests: mpsc::Sender<UpgradeRequest>,
    busy: Rc<Cell<bool>>,
) -> io::Result<()> {
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
                let _ = requests.send(UpgradeRequest { program, stream, _guard: UpgradeGuard(busy) }).await;
                return Ok(());
            }
        }
    };
    write(&mut stream, &UpgradeOutcome::Refused { why: refusal }).await
}

async fn write(stream: &mut tokio::net::UnixStream, outcome: &UpgradeOutcome) -> io::Result<()> {
    let mut line = serde_json::to_vec(outcome)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

// === impl UpgradeRequest ===

impl UpgradeRequest {
    /// Sends the outcome to the operator.
    pub(in crate::lifecycle) async fn answer(mut self, outcome: UpgradeOutcome) {
        match &outcome {
            UpgradeOutcome::Done { summary, .. } => tracing::info!("upgrade: {summary}"),
            UpgradeOutcome::Refused { why } => tracing::error!("upgrade failed: {why}"),
        }
        // The operator may have disconnected.
        let _ = write(&mut self.stream, &outcome).await;
    }
}

// === impl UpgradeGuard ===

impl Drop for UpgradeGuard {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
