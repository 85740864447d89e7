//! Why an attempt failed, in the text of its diagnostics.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::ScriptFault;
use crate::model::{AttemptId, START_FAILURE};
use crate::supervisor::shortage::{
    has_disk_fault, has_shortage, has_shortage_at_start, is_of_disk, is_shortage, is_shortage_at_start,
};

use super::command_exit::CommandExit;
use super::counters::TooManyCounters;

#[derive(Debug, thiserror::Error)]
pub enum TaskFailure {
    #[error(transparent)]
    ExitStatus(Box<CommandExit>),
    #[error("{START_FAILURE}{program:?}: {source}; {}", what_starts(source))]
    Start { program: String, source: io::Error },
    #[error("{START_FAILURE}{program:?}: {fault}")]
    Script { program: String, fault: ScriptFault },
    #[error("a file or pipe of the command failed: {0}")]
    Pipe(io::Error),
    #[error("Task {attempt} failed to report status for {seconds} seconds. Killing!")]
    TimedOut { attempt: AttemptId, seconds: u64 },
    #[error("killed on request")]
    Killed,
    #[error(transparent)]
    TooManyCounters(#[from] TooManyCounters),
    #[error(transparent)]
    TooMuchMemory(#[from] TooMuchMemory),
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    /// Records between maps and reduces could not be written or read; `Self::in_folder` adds the path.
    #[error("sorted records: {0}")]
    SortedRecords(io::Error),
    #[error("{what}: {reason}")]
    Unusable { what: String, reason: String },
    /// The worker lacks processes, descriptors, memory or room: no fault of the attempt.
    #[error("{0}")]
    Short(String),
    #[error("{0}")]
    Reported(String),
    /// A reduce could not gather its input; the text is that of 1.2.1 `ReduceTask`.
    #[error("Shuffle Error: {reason}; bailing-out.")]
    Shuffle {
        /// Which limit was reached.
        reason: &'static str,
    },
}

/// Processes used more memory than the job asked for; the text is that of 1.2.1 `TaskMemoryManagerThread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "TaskTree [pid={pid},tipID={attempt}] is running beyond memory-limits. Current usage : {used_bytes}bytes. Limit : {limit_bytes}bytes. Killing task."
)]
pub struct TooMuchMemory {
    pub(super) attempt: AttemptId,
    pub(super) pid: i32,
    pub(super) used_bytes: u64,
    pub(super) limit_bytes: u64,
}

impl TaskFailure {
    pub(crate) fn file<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| TaskFailure::File { action, path: path.to_owned(), source }
    }

    /// Adds the folder where it happened, if the error names no path yet.
    pub(crate) fn in_folder(self, folder: &Path) -> Self {
        match self {
            TaskFailure::SortedRecords(source) => {
                TaskFailure::File { action: "write or read sorted records in", path: folder.to_owned(), source }
            }
            failure => failure,
        }
    }

    /// Adds which part of the input the command had, if the command failed by itself.
    pub(crate) fn with_input(mut self, input: impl FnOnce() -> String) -> Self {
        if let TaskFailure::ExitStatus(exit) = &mut self {
            exit.input = Some(input());
        }
        self
    }

    /// Something cannot be used because of this error, which may be a shortage of the worker.
    pub(crate) fn unusable(what: &str, error: &(dyn Error + 'static)) -> Self {
        Self::short_or_unusable(has_shortage(error), what, error)
    }

    /// The same of the start of a process or thread.
    pub(crate) fn unstartable(what: &str, error: &(dyn Error + 'static)) -> Self {
        Self::short_or_unusable(has_shortage_at_start(error), what, error)
    }

    /// The same of something on the worker's own disks that no attempt has filled.
    pub(crate) fn unusable_here(what: &str, error: &(dyn Error + 'static)) -> Self {
        Self::short_or_unusable(has_shortage(error) || has_disk_fault(error), what, error)
    }

    fn short_or_unusable(is_short: bool, what: &str, error: &dyn Error) -> Self {
        match is_short {
            true => Self::Short(format!("{what}: {error}")),
            false => Self::Unusable { what: what.to_owned(), reason: error.to_string() },
        }
    }

    /// What another process of the attempt has reported.
    pub(crate) fn reported(text: String, is_shortage: bool) -> Self {
        if is_shortage { Self::Short(text) } else { Self::Reported(text) }
    }

    /// Whether the worker lacked something: no fault of the attempt.
    pub(crate) fn is_shortage(&self) -> bool {
        match self {
            Self::Short(_) => true,
            Self::Start { source, .. } | Self::Pipe(source) => is_shortage_at_start(source),
            Self::File { source, .. } | Self::SortedRecords(source) => is_shortage(source),
            _ => false,
        }
    }

    /// The file or folder for which a disk had no room.
    fn full_disk_at(&self) -> Option<&Path> {
        match self {
            Self::File { source, path, .. } if is_of_disk(source) => Some(path),
            _ => None,
        }
    }

    /// A shortage where the path of a full disk says so; else itself.
    pub(crate) fn of_full_disk_if(self, is_short: impl FnOnce(&Path) -> bool) -> Self {
        if self.full_disk_at().is_some_and(is_short) { Self::Short(self.to_string()) } else { self }
    }
}

fn what_starts(error: &io::Error) -> &'static str {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOEXEC) => {
            "expected a script whose first line begins with #!, or a program for this machine"
        }
        Some(rustix::io::Errno::ACCESS) => "expected a file that this worker may execute",
        _ => "expected a program among the job's files or along PATH",
    }
}
