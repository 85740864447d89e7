//! The staging directory: a job's files for JobTracker and TaskTrackers (1.2.1 `JobSubmissionFiles`). No checksum files are written: Java
//! reads files without them unchecked.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::client::market::{MarketClient, Signer};
use crate::fs::{Account, EntryOwner, FileSystem, FileSystems, FileUri, LocalFileSystem};
use crate::model::JobId;

use super::error::JobClientError;
use super::hand_over::{Access, HandOver, access, files_in};

/// Mode of the area and of each job's directory.
const DIRECTORY_MODE: u32 = 0o700;
/// Mode of the files; the directory's mode protects them.
const FILE_MODE: u32 = 0o644;

/// A job's directory, or the folder of files that are handed over. It is removed on drop, unless it is the job's and the job was submitted.
#[derive(Debug)]
pub(super) struct Staging {
    /// Where the JobTracker has the files.
    directory: FileUri,
    /// Where this process writes them.
    local: PathBuf,
    /// How they get from there to the directory.
    transfer: Transfer,
    /// Why the JobTracker was not asked which folders it reads.
    unknown: Option<String>,
    is_submitted: bool,
}

/// How the files of a job get from where they are written to where the JobTracker has them.
#[derive(Debug)]
enum Transfer {
    /// They are written there.
    InPlace,
    /// They are copied to a file system that no path of this machine leads to.
    Copied(FileSystem),
    /// The JobTracker takes them over HTTP.
    HandedOver(HandOver),
}

impl Staging {
    /// Creates the directory of `job` in the staging area of the user of `files`, and the area if it does not exist; or a folder for
    /// files that go to the JobTracker's `web`.
    pub(super) async fn create(
        files: &FileSystems,
        area: &str,
        job: JobId,
        web: Option<&MarketClient>,
    ) -> Result<Self, JobClientError> {
        let area = FileUri::parse(area)?;
        let in_area = || Self::in_area(&files.of(&area), &area, job, files.user());
        let (taken, error) = match access(&area, web).await {
            Access::Takes(rules) => (Some(rules), None),
            Access::Reads => return in_area(),
            Access::ReadsOrTakes(rules) => match in_area() {
                Ok(made) => return Ok(made),
                Err(error) => (Some(rules), Some(error)),
            },
            Access::Unknown(reason) => {
                return match in_area() {
                    Ok(mut made) => {
                        made.unknown = Some(reason);
                        Ok(made)
                    }
                    Err(staging) => Err(JobClientError::NoWay { staging: Box::new(staging), reason }),
                };
            }
        };
        match (taken, web, error) {
            (Some(rules), Some(web), _) => Self::beside(&area, job, HandOver { web: web.clone(), rules }),
            (_, _, Some(error)) => Err(error),
            (_, _, None) => in_area(),
        }
    }

    fn in_area(files: &FileSystem, area: &FileUri, job: JobId, user: &str) -> Result<Self, JobClientError> {
        if let Ok(Some(status)) = files.status(area) {
            let is_users = match &status.owner {
                EntryOwner::Uid(uid) => Account::named(user).is_some_and(|account| account.uid == *uid),
                EntryOwner::Name(_) => false,
            };
            if !files.is_own(&status.owner) && !is_users {
                return Err(JobClientError::ForeignStagingArea {
                    path: area.to_string(),
                    owner: status.owner,
                    user: user.to_owned(),
                });
            }
        }
        files.make_dir_all(area, DIRECTORY_MODE)?;
        let directory = area.join(&job.to_string())?;
        let (local, transfer) = match directory.local_path() {
            Some(path) => (path.to_owned(), Transfer::InPlace),
            None => (own_folder(job)?, Transfer::Copied(files.clone())),
        };
        let made = Self { directory, local, transfer, unknown: None, is_submitted: false };
        files.make_dir_all(&made.directory, DIRECTORY_MODE)?;
        Ok(made)
    }

    /// A folder of this process, whose files the JobTracker will have in `area`.
    fn beside(area: &FileUri, job: JobId, hand_over: HandOver) -> Result<Self, JobClientError> {
        // Empty folders of our own, from jobs that were staged there, would keep the JobTracker from making its own.
        for folder in area.local_path().unwrap_or(Path::new("")).ancestors().take(2) {
            let _ = std::fs::remove_dir(folder);
        }
        let (local, directory) = (own_folder(job)?, area.join(&job.to_string())?);
        Ok(Self { directory, local, transfer: Transfer::HandedOver(hand_over), unknown: None, is_submitted: false })
    }

    /// Its URI.
    pub(super) fn uri(&self) -> &FileUri {
        &self.directory
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.local.join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), JobClientError> {
        Ok(LocalFileSystem.write_unsynced(&self.path(name), bytes, FILE_MODE)?)
    }

    /// Brings the files to the JobTracker, if they are not where it reads them; `replication`: copies on a file system that keeps some.
    pub(super) async fn hand_over(
        &self,
        job: JobId,
        replication: u16,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), JobClientError> {
        match &self.transfer {
            Transfer::InPlace => Ok(()),
            Transfer::Copied(files) => copy_all(files, &self.local, &self.directory, replication),
            Transfer::HandedOver(hand_over) => hand_over.send_all(job, &self.local, user, signer).await,
        }
    }

    /// The error for a refused submission, with the reason for which the files were not handed over if that would have helped.
    pub(super) fn explain_refusal(&self, text: String) -> JobClientError {
        match &self.unknown {
            Some(reason) if text.contains("may not read") => {
                let reason = reason.clone();
                JobClientError::NoWay { staging: Box::new(JobClientError::Refused(text)), reason }
            }
            _ => JobClientError::Refused(text),
        }
    }

    /// Sets whether the directory belongs to the JobTracker, which removes it at the end of the job.
    pub(super) fn set_submitted(&mut self, is_submitted: bool) {
        self.is_submitted = is_submitted;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // An error here cannot be reported.
        if let (Transfer::Copied(files), false) = (&self.transfer, self.is_submitted) {
            let _ = files.remove_dir_all(&self.directory);
        }
        if !self.is_submitted || !matches!(self.transfer, Transfer::InPlace) {
            let _ = LocalFileSystem.remove_dir_all(&self.local);
        }
    }
}

/// A new folder of this process for the files of a job.
fn own_folder(job: JobId) -> Result<PathBuf, JobClientError> {
    let local = std::env::temp_dir().join(format!("{job}-{}", std::process::id()));
    let made = std::fs::DirBuilder::new().mode(DIRECTORY_MODE).create(&local);
    made.map_err(|error| JobClientError::Refused(format!("cannot make folder {}: {error}", local.display())))?;
    Ok(local)
}

fn copy_all(files: &FileSystem, from: &Path, to: &FileUri, replication: u16) -> Result<(), JobClientError> {
    for (path, _) in files_in(from)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        files.copy_in(&path, &to.join(name)?, FILE_MODE, Some(replication))?;
    }
    Ok(())
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
        let area_uri = FileUri::parse(area.to_str().unwrap()).unwrap();
        let files = FileSystems::with_defaults("alice").of(&area_uri);
        let create = || Staging::in_area(&files, &area_uri, job, "alice").unwrap();
        let staging = create();
        staging.write("job.split", b"x").unwrap();
        let (directory, file) = (area.join(job.to_string()), staging.path("job.split"));
        assert_eq!([mode(&area), mode(&directory), mode(&file)], [0o700, 0o700, 0o644]);
        drop(staging);
        assert!(!directory.exists());
        create().set_submitted(true);
        assert!(directory.exists());
    }

    #[tokio::test]
    async fn other_file_systems_are_refused() {
        let job: JobId = "job_202611211200_0001".parse().unwrap();
        let error = Staging::create(&FileSystems::with_defaults("alice"), "s3://n/tmp/x", job, None).await.unwrap_err();
        assert!(error.to_string().contains("unknown file system \"s3\""), "{error}");
    }
}
