//! The socket in the state folder on which an operator asks for an upgrade: one line of JSON each way.

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
/// Only the daemon's own user connects; the user of the other end is looked at, too.
const MODE: u32 = 0o600;
/// An operator's question must be there after so long.
const QUESTION_PATIENCE: Duration = Duration::from_secs(10);
/// The longest question, bytes.
const LONGEST_QUESTION_BYTES: u64 = 64 << 10;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    /// To be replaced by that program.
    Upgrade { program: PathBuf },
}

/// What came of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The new process serves.
    Done {
        /// Its number.
        process: u32,
        /// In words.
        told: String,
    },
    /// The daemon that was asked serves on.
    Refused {
        /// Why.
        why: String,
    },
}

/// Why no outcome is known.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody is there.
    #[error("no daemon is reached by {path}: {source}")]
    Unreached {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It has said nothing, or nothing that is understood.
    #[error("the daemon has not said what came of it ({0}); its log tells")]
    Unanswered(io::Error),
}

/// The daemon's end.
#[derive(Debug)]
pub(in crate::lifecycle) struct Control {
    listener: UnixListener,
    path: PathBuf,
    /// Whether the socket goes with this value.
    is_ours: bool,
    questions: mpsc::Receiver<Asked>,
    accepting: AbortHandle,
}

/// An operator who waits for an upgrade.
#[derive(Debug)]
pub(in crate::lifecycle) struct Asked {
    /// The program that is to take over.
    pub(in crate::lifecycle) program: PathBuf,
    stream: tokio::net::UnixStream,
    _turn: Turn,
}

/// Stands for the one upgrade that may be under way.
#[derive(Debug)]
struct Turn(Rc<Cell<bool>>);

/// Asks the daemon on that state folder to be replaced by `program`, and waits.
///
/// # Errors
/// [`AskError`]
pub fn ask(state_dir: &Path, program: &Path) -> Result<Outcome, AskError> {
    let path = state_dir.join(CONTROL);
    let unreached = |source| AskError::Unreached { path: path.clone(), source };
    let folder = FolderHandle::open(state_dir).map_err(|error| unreached(error.into()))?;
    let mut stream = UnixStream::connect(short_path(&folder)).map_err(unreached)?;
    let mut question = serde_json::to_vec(&Question::Upgrade { program: program.to_owned() })
        .map_err(|error| AskError::Unanswered(error.into()))?;
    question.push(b'\n');
    let mut answer = String::new();
    stream
        .write_all(&question)
        .and_then(|()| BufReader::new(stream).read_line(&mut answer))
        .map_err(AskError::Unanswered)?;
    if answer.is_empty() {
        return Err(AskError::Unanswered(io::ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_str(&answer).map_err(|error| AskError::Unanswered(error.into()))
}

/// The socket by way of the open folder: names of sockets may have 107 bytes only.
fn short_path(folder: &FolderHandle) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()).join(CONTROL)
}

// === impl Control ===

impl Control {
    /// Listens in a state folder that this process holds, so that a socket which is there is left over.
    pub(in crate::lifecycle) fn open(state_dir: &Path) -> io::Result<Self> {
        let folder = FolderHandle::open(state_dir)?;
        folder.remove(CONTROL.as_ref())?;
        let listener = UnixListener::bind(short_path(&folder))?;
        folder.set_mode_of_entry(CONTROL.as_ref(), MODE)?;
        let mut control = Self::on(listener, state_dir)?;
        control.keep();
        Ok(control)
    }

    /// Goes on with the listener of another process, whose socket it stays until [`Self::keep`].
    pub(in crate::lifecycle) fn on(listener: UnixListener, state_dir: &Path) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let ours = tokio::net::UnixListener::from_std(listener.try_clone()?)?;
        let (sender, questions) = mpsc::channel(1);
        let accepting = tokio::task::spawn_local(accept(ours, sender)).abort_handle();
        Ok(Self { listener, path: state_dir.join(CONTROL), is_ours: false, questions, accepting })
    }

    /// The next who asks.
    pub(in crate::lifecycle) async fn next(&mut self) -> Asked {
        match self.questions.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }

    /// A copy for another process.
    pub(in crate::lifecycle) fn share(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }

    /// This process serves: the socket is removed when it ends.
    pub(in crate::lifecycle) fn keep(&mut self) {
        self.is_ours = true;
    }

    /// The other process listens now; the name stays.
    pub(in crate::lifecycle) fn leave(mut self) {
        self.is_ours = false;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.accepting.abort();
        // A start removes one that is left over.
        if self.is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

async fn accept(listener: tokio::net::UnixListener, questions: mpsc::Sender<Asked>) {
    let busy = Rc::new(Cell::new(false));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (questions, busy) = (questions.clone(), busy.clone());
                tokio::task::spawn_local(async move {
                    if let Err(error) = read_question(stream, questions, busy).await {
                        tracing::debug!("an operator's question is not understood: {error}");
                    }
                });
            }
            Err(error) => {
                tracing::warn!("an operator cannot be heard: {error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn read_question(
    mut stream: tokio::net::UnixStream,
    questions: mpsc::Sender<Asked>,
    busy: Rc<Cell<bool>>,
) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    let refusal = if user != 0 && user != rustix::process::geteuid().as_raw() {
        format!("user {user} is neither root nor the daemon's user")
    } else {
        let mut line = String::new();
        let mut reader = tokio::io::BufReader::new((&mut stream).take(LONGEST_QUESTION_BYTES));
        tokio::time::timeout(QUESTION_PATIENCE, reader.read_line(&mut line)).await??;
        match serde_json::from_str(&line) {
            Err(error) => format!("the question is not understood: {error}"),
            Ok(Question::Upgrade { .. }) if busy.get() => "an upgrade is under way already".to_owned(),
            Ok(Question::Upgrade { program }) => {
                tracing::info!("user {user} asks for an upgrade by {}", program.display());
                busy.set(true);
                let _ = questions.send(Asked { program, stream, _turn: Turn(busy) }).await;
                return Ok(());
            }
        }
    };
    write(&mut stream, &Outcome::Refused { why: refusal }).await
}

async fn write(stream: &mut tokio::net::UnixStream, outcome: &Outcome) -> io::Result<()> {
    let mut line = serde_json::to_vec(outcome)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

// === impl Asked ===

impl Asked {
    /// Tells what came of it.
    pub(in crate::lifecycle) async fn answer(mut self, outcome: Outcome) {
        match &outcome {
            Outcome::Done { told, .. } => tracing::info!("upgrade: {told}"),
            Outcome::Refused { why } => tracing::error!("no upgrade: {why}"),
        }
        // Who asked may have gone.
        let _ = write(&mut self.stream, &outcome).await;
    }
}

// === impl Turn ===

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
