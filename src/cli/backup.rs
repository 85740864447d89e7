//! `jobtracker backup`: a consistent copy of state.db, whether the daemon runs or not.

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::store::{BackupSummary, StoreError, backup, database_in};

use super::serve::ServeArguments;

/// What is copied where.
#[derive(Clone, Debug, clap::Args)]
pub struct BackupArguments {
    /// The copy; must not exist yet
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The daemon's configuration: it names the state folder.
    #[command(flatten)]
    pub configuration: ServeArguments,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupFailure {
    /// The configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The database, or the file.
    #[error("{0}")]
    Store(#[from] StoreError),
}

// === impl BackupFailure ===

impl BackupFailure {
    /// The exit code: 2 for what the caller must write otherwise, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => 2,
            Self::Store(_) => 1,
        }
    }
}

/// Copies the database and tells what is in the copy.
///
/// # Errors
/// [`BackupFailure`]
pub fn run(arguments: &BackupArguments) -> Result<String, BackupFailure> {
    let database = database_in(&arguments.configuration.load_options().state_dir()?);
    let BackupSummary { last_fact, schema_version, jobs, unfinished_jobs, queues, bytes } =
        backup(&database, &arguments.file)?;
    Ok(format!(
        "{} copied to {}, {bytes} bytes, checked\nlast fact {}, schema version {schema_version}; {jobs} jobs, \
         {unfinished_jobs} of them not over; {queues} queues with money\n",
        database.display(),
        arguments.file.display(),
        last_fact.0,
    ))
}
