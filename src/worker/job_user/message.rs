//! What the worker and the process of an attempt send each other.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::config::Configuration;
use crate::streaming::progress::ProgressReport;
use crate::streaming::shuffle::fetch_schedule::MapEvent;
use crate::wire::{Decode, Encode, Reader, Task, WireError, Writer};

use super::super::attempt_table::AttemptEvent;
use super::super::job_definition::LocalJobFiles;

/// What an attempt is, and what it runs with: the second message to its process, after the identity. With a log, its descriptor follows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProcessOrder {
    /// As launched by the JobTracker, in bytes of the wire.
    pub(super) task: Vec<u8>,
    pub(super) configuration: Configuration,
    /// The worker's environment, with the user's home.
    pub(super) environment: BTreeMap<String, String>,
    /// The job's folder, with its token.
    pub(super) job_folder: PathBuf,
    /// The folder of all that is its own, of a map or reduce.
    pub(super) attempt_folder: Option<PathBuf>,
    /// Whether the log of standard error follows.
    pub(super) has_log: bool,
    pub(super) log_limit_bytes: Option<u64>,
    pub(super) limits_memory: bool,
    pub(super) memory_interval: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToAttempt {
    Kill,
    Commit,
    /// Copy the job's files for all attempts.
    CopyFiles,
    Files(LocalJobFiles),
    /// They cannot be had, for this reason; whether it is a shortage of the worker.
    NoFiles(String, bool),
    MapEvents(Vec<MapEvent>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromAttempt {
    /// It runs, waits for permission to commit, or has ended.
    Event(AttemptEvent),
    /// It needs the copies of the job's files.
    NeedFiles,
    CopiedFiles(LocalJobFiles),
    /// It could not make them, for this reason; whether it is a shortage of the worker.
    CopyFailed(String, bool),
    /// It wants completion events of the job's maps.
    Subscribe,
    /// How far it is; also when nothing has changed, as a sign of life.
    Progress(Option<ProgressReport>),
    /// The time between SIGTERM and SIGKILL to its command.
    KillDelay(Duration),
    /// A step has made no progress within this time; it is about to end.
    TimedOut(Duration),
}

/// A channel on which several threads send.
#[derive(Debug)]
pub(crate) struct SharedChannel {
    pub(crate) channel: Channel,
    sending: Mutex<()>,
}

impl SharedChannel {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel, sending: Mutex::default() }
    }

    pub(crate) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        self.channel.send(message)
    }
}

#[expect(clippy::disallowed_methods, reason = "reports are sent at intervals of the machine's clock")]
pub(crate) fn sleep_between_reports(interval: Duration) {
    std::thread::sleep(interval);
}

pub(super) fn encode_task(task: &Task) -> Vec<u8> {
    let mut bytes = Vec::new();
    task.encode(&mut Writer::new(&mut bytes));
    bytes
}

pub(super) fn decode_task(bytes: &[u8]) -> Result<Task, WireError> {
    Task::decode(&mut Reader::new(bytes))
}
