//! The staging directory: a job's files for JobTracker and TaskTrackers (1.2.1 `JobSubmissionFiles`).
//!
//! No checksum files are written: Java reads files without them unchecked.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::fs::{Account, FileUri, LocalFileSystem};
use crate::model::JobId;

use super::error::JobClientError;

/// Mode of the area and of each job's directory.
const DIRECTORY_MODE: u32 = 0o700;
/// Mode of the files; the directory's mode protects them.
const FILE_MODE: u32 = 0o644;

/// A job's directory. It is removed on drop, unless the job was submitted.
#[derive(Debug)]
pub(super) struct Staging {
    directory: FileUri,
    is_submitted: bool,
}

// === impl Staging ===

impl Staging {
    /// Creates the directory of `job` in the staging area of `user`, and the area if it does not exist.
    pub(super) fn create(area: &str, job: JobId, user: &str) -> Result<Self, JobClientError> {
        let area = FileUri::parse(area)?;
        if let Ok(metadata) = std::fs::metadata(area.as_path()) {
            let owner = metadata.uid();
            let us = rustix::process::geteuid().as_raw();
            if owner != us && Account::named(user).map(|account| account.uid) != Some(owner) {
                return Err(JobClientError::ForeignStagingArea {
                    path: area.to_string(),
                    owner,
                    user: user.to_owned(),
                });
            }
        }
        LocalFileSystem.make_dir_all(area.as_path(), DIRECTORY_MODE)?;
        let directory = area.join(&job.to_string())?;
        let made = Self { directory, is_submitted: false };
        LocalFileSystem.make_dir_all(made.directory.as_path(), DIRECTORY_MODE)?;
        Ok(made)
    }

    /// Its URI.
    pub(super) fn uri(&self) -> &FileUri {
        &self.directory
    }

    /// The path of a file.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.as_path().join(name)
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), JobClientError> {
        Ok(LocalFileSystem.write_unsynced(&self.path(name), bytes, FILE_MODE)?)
    }

    /// Sets whether the directory belongs to the JobTracker, which removes it at the end of the job.
    pub(super) fn set_submitted(&mut self, is_submitted: bool) {
        self.is_submitted = is_submitted;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_submitted {
            // An error here cannot be reported.
            let _ = LocalFileSystem.remove_dir_all(self.directory.as_path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn it_is_closed_to_others_and_removed_unless_submitted() {
        let folder = tempfile::tempdir().unwrap();
        let area = folder.path().join("alice/.staging");
        std::fs::create_dir_all(&area).unwrap();
        std::fs::set_permissions(&area, std::fs::Permissions::from_mode(0o755)).unwrap();
        let job: JobId = "job_202611211200_0001".parse().unwrap();
        let create = || Staging::create(&format!("file:{}", area.display()), job, "alice").unwrap();
        let staging = create();
        staging.write("job.split", b"x").unwrap();
        let (directory, file) = (area.join(job.to_string()), staging.path("job.split"));
        assert_eq!([mode(&area), mode(&directory), mode(&file)], [0o700, 0o700, 0o644]);
        drop(staging);
        assert!(!directory.exists());
        create().set_submitted(true);
        assert!(directory.exists());
    }

    #[test]
    fn other_file_systems_are_refused() {
        let job: JobId = "job_202611211200_0001".parse().unwrap();
        let error = Staging::create("hdfs://n:8020/tmp/x", job, "alice").unwrap_err();
        assert!(error.to_string().contains("\"hdfs\" is not supported yet"), "{error}");
    }
}
