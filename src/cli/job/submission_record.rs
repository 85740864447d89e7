//! What was asked of `job submit`, kept on this machine for `job resubmit`: neither JobTracker keeps the files and options of a job
//! that has ended. Beside the job's id: the options and the folder that paths are relative to, never a key.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::client::job::{JobClientError, JobId};
use crate::fs::{FileUri, LocalFileSystem};

use super::connection::JobCommandError;
use super::submit_arguments::SubmitArguments;

/// Folder below the home directory.
const FOLDER: &str = ".local/state/jobtracker/submissions";
/// Records that are kept; the oldest go first.
const MOST_RECORDS: usize = 1_000;
/// Longest record, bytes.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SubmissionRecord {
    pub(super) job: JobId,
    /// When it was accepted, epoch ms.
    pub(super) submitted_ms: i64,
    /// The folder that paths are relative to.
    pub(super) directory: PathBuf,
    /// The RPC address that was given.
    pub(super) jobtracker: Option<String>,
    /// The conf folder that was given.
    pub(super) conf: Option<PathBuf>,
    /// The HTTP address that was given.
    pub(super) server: Option<String>,
    /// All other options.
    pub(super) arguments: SubmitArguments,
    /// The output directory; older records have none.
    #[serde(default)]
    pub(super) output: Option<FileUri>,
}

impl SubmissionRecord {
    /// Keeps it; without a home directory there is no record.
    pub(super) fn write(&self) -> io::Result<()> {
        let Some(folder) = folder() else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = path_in(&folder, self.job);
        LocalFileSystem.write_new(&path, &serde_json::to_vec_pretty(self)?, 0o600)?;
        remove_oldest(&folder)
    }

    pub(super) fn read(job: JobId) -> Result<Self, JobCommandError> {
        let unknown = |why: String| {
            JobCommandError::Argument(format!(
                "{job} cannot be submitted again from here: {why}; only the user who submitted it, on the machine where that was \
                 done, has its record"
            ))
        };
        let folder = folder().ok_or_else(|| unknown("HOME is not set".to_owned()))?;
        let path = path_in(&folder, job);
        let refused = |why: &dyn std::fmt::Display| unknown(format!("cannot read {}: {why}", path.display()));
        let text = LocalFileSystem.read_limited(&path, MAX_BYTES).map_err(|error| unknown(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| refused(&error))
    }

    /// The output directory, as a URI.
    pub(super) fn output(&self) -> Result<String, JobCommandError> {
        if let Some(output) = &self.output {
            return Ok(output.to_string());
        }
        let directory = FileUri::parse(&self.directory.to_string_lossy()).map_err(JobClientError::from)?;
        Ok(self.arguments.job(&directory)?.output.to_string())
    }
}

fn folder() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(FOLDER))
}

fn path_in(folder: &Path, job: JobId) -> PathBuf {
    folder.join(format!("{job}.json"))
}

/// Removes the records beyond the limit, those written first.
fn remove_oldest(folder: &Path) -> io::Result<()> {
    let mut records = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        records.push((entry.metadata()?.modified()?, entry.path()));
    }
    records.sort();
    let excess = records.len().saturating_sub(MOST_RECORDS);
    records.iter().take(excess).try_for_each(|(_, path)| fs::remove_file(path))
}
