//! What can be wrong with a store.

use std::io;
use std::path::PathBuf;

/// A store that cannot be opened, read, copied or closed as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder of the store.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried, for example `create`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder is not ours alone, or something of others stands in it.
    #[error(transparent)]
    Folder(#[from] crate::fs::FsError),
    /// A second daemon.
    #[error("{path} is held by {}: only one JobTracker may run on a state folder; stop it or set another jobtracker.state.dir", holder(.pid))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, if the file names one.
        pid: Option<u32>,
    },
    /// Written by a newer program.
    #[error(
        "{path} has schema version {found}, this program knows versions up to {known}: start the newer program, or restore a backup made before it ran"
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// Something in the database is not what it must be.
    #[error("{path}: {column} holds {value:?} where {expected} is expected")]
    Value {
        /// The database.
        path: PathBuf,
        /// Table and column.
        column: &'static str,
        /// What is there.
        value: String,
        /// What should be there.
        expected: &'static str,
    },
    /// SQLite refuses.
    #[error("cannot {action} {path}: {source}")]
    Database {
        /// What was tried.
        action: &'static str,
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Pages of the database contradict each other.
    #[error("{path} is damaged: {text}")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// The first thing that SQLite found.
        text: String,
    },
    /// No thread for the writer.
    #[error("cannot start the writer thread of the store: {0}")]
    Thread(io::Error),
    /// Closing did not bring all facts to the disk.
    #[error("{facts} facts are not written: {text}")]
    Unwritten {
        /// How many.
        facts: u64,
        /// What the last try said.
        text: String,
    },
}

fn holder(pid: &Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
