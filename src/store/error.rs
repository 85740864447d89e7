//! Errors of the store.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A store that cannot be opened, read, copied or closed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder of the store cannot be used.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// The failed action, for example `create`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The folder is not private, or contains a file of another user.
    #[error(transparent)]
    Folder(#[from] crate::fs::FsError),
    /// Another daemon has the state folder.
    #[error("{path} is held by {}: only one JobTracker may run on a state folder; stop it or set another jobtracker.state.dir", holder(.pid))]
    Locked {
        path: PathBuf,
        /// The process that holds it, if the file names one.
        pid: Option<u32>,
    },
    /// The database has a schema that this program cannot open.
    #[error("{path} {found}, expected schema version {expected}: {}", remedy(.found, .copy.as_deref()))]
    OtherSchema {
        path: PathBuf,
        found: SchemaFound,
        /// This program's version.
        expected: u32,
        /// The newest copy beside it that this program can open.
        copy: Option<PathBuf>,
    },
    /// An older database cannot be migrated for want of space.
    #[error(
        "{path} cannot be migrated to this program's schema: {folder} has {free_bytes} bytes free, the copy and the changes \
         take {needed_bytes}; nothing is changed: free some space, or start the program that wrote it"
    )]
    NoRoom {
        path: PathBuf,
        folder: PathBuf,
        /// What the migration takes at most.
        needed_bytes: u64,
        free_bytes: u64,
    },
    #[error("{path}: {column} holds {value:?} where {expected} is expected")]
    Value { path: PathBuf, column: &'static str, value: String, expected: &'static str },
    #[error("cannot {action} {path}: {source}")]
    Database { action: &'static str, path: PathBuf, source: rusqlite::Error },
    /// Pages of the database contradict each other.
    #[error("{path} is damaged: {text}")]
    Damaged {
        path: PathBuf,
        /// The first damage that SQLite found.
        text: String,
    },
    /// The database is empty, and was not.
    #[error(
        "{} has no bytes, but {} lies beside it: put a backup in its place (jobtracker restore FILE), or remove it to start with \
         an empty state",
        path.display(),
        remains.display()
    )]
    Emptied {
        path: PathBuf,
        /// What it has left.
        remains: PathBuf,
    },
    /// The writer thread cannot be started.
    #[error("cannot start the writer thread of the store: {0}")]
    Thread(io::Error),
    /// Closing did not write all facts.
    #[error("{facts} facts are not written: {text}")]
    Unwritten {
        /// How many are left.
        facts: u64,
        /// Error of the last try.
        text: String,
    },
}

/// The schema that a database was found with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFound {
    /// It has no tables.
    None,
    Version(u32),
    /// That of a program older than the first version, in a version of its own count.
    Unreleased(u32),
    /// Some other program's.
    Foreign,
}

impl StoreError {
    /// Whether another start would fail alike until a person acts.
    #[must_use]
    pub(crate) fn is_permanent(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            Self::File { source, .. } => crate::fs::is_permanent(source),
            Self::Folder(error) => error.is_permanent(),
            Self::OtherSchema { .. } | Self::Value { .. } | Self::Damaged { .. } | Self::Emptied { .. } => true,
            Self::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::NotADatabase
                        | ErrorCode::DatabaseCorrupt
                        | ErrorCode::CannotOpen
                        | ErrorCode::ReadOnly
                        | ErrorCode::PermissionDenied
                )
            ),
            // The other daemon may end, and room may come back.
            Self::Locked { .. } | Self::NoRoom { .. } | Self::Thread(_) | Self::Unwritten { .. } => false,
        }
    }
}

/// For `map_err`: the failed action and its database.
pub(super) fn failed(action: &'static str, path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Database { action, path: path.clone(), source }
}

fn remedy(found: &SchemaFound, copy: Option<&Path>) -> String {
    let text = match (found, copy) {
        (SchemaFound::None | SchemaFound::Version(_), Some(copy)) => {
            let copy = copy.display();
            return format!(
                "start the program that wrote it; or go back to its copy from before that program, which loses what was \
                 recorded since: jobtracker restore {copy}"
            );
        }
        (SchemaFound::None | SchemaFound::Version(_), None) => {
            "start the program that wrote it, or restore a backup that this program made"
        }
        (SchemaFound::Unreleased(_), _) => {
            "move state.db, state.db-wal and state.db-shm to another folder to start with an empty state"
        }
        (SchemaFound::Foreign, _) => "move it to another folder, or set another jobtracker.state.dir",
    };
    text.to_owned()
}

impl fmt::Display for SchemaFound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("has no schema"),
            Self::Version(version) => write!(out, "has schema version {version}"),
            Self::Unreleased(version) => write!(out, "has schema version {version} of an unreleased program"),
            Self::Foreign => out.write_str("is a database of another program"),
        }
    }
}

fn holder(pid: &Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
