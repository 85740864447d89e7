//! Where files that clients hand over lie: `<staging root>/<user>/.staging/<job>`, the daemon's own or, where it may change owners, the
//! user's. Blocking: runs on threads of the pool.
//!
//! A marker in the state directory names each such folder, so that the next start finds what was never submitted.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use axum::http::StatusCode;
use rustix::process::{Uid, geteuid};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::clock::wall_ms;
use crate::config::settings::UploadLimits;
use crate::fs::{FolderHandle, FsError, ListBound};
use crate::market::JobUpload;
use crate::model::JobId;
use crate::server::submission::staging::{AREA, StagingRoot};
use crate::web::{FileRefusal, UploadPiece};

use super::ledger::{Owner, UploadReservation};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Folder of the markers in the state directory.
const MARKERS: &str = "uploads";
/// Longest user name that is a file name with a job id before it, bytes.
const MAX_USER_BYTES: usize = 128;
/// How often the room on the disk is looked at, bytes.
const ROOM_INTERVAL_BYTES: u64 = 64 << 20;
/// Tries to make the folders while the last job of the user ends and takes its empty ones away.
const TRIES: usize = 5;

#[derive(Clone, Debug)]
pub(super) struct UploadFolders {
    pub(super) staging: StagingRoot,
    state: PathBuf,
    limits: UploadLimits,
    daemon_user: String,
    /// Numbers the files that are being written.
    next_number: Arc<AtomicU64>,
}

/// A file that is being written; removed when dropped.
struct NewFile {
    folder: FolderHandle,
    name: OsString,
    file: std::fs::File,
    is_renamed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) owner: Owner,
    /// Sum of the files.
    pub(super) bytes: u64,
    /// Time since the first upload of the job.
    pub(super) age: Duration,
}

/// Whether a name is the name of a folder, and fits beside a job's id.
pub(super) fn is_user_name(user: &str) -> bool {
    !matches!(user, "" | "." | "..")
        && user.len() <= MAX_USER_BYTES
        && !user.contains(['/', '\0'])
        && !user.contains(char::is_control)
}

impl UploadFolders {
    pub(super) fn new(staging: StagingRoot, state: PathBuf, limits: UploadLimits, daemon_user: String) -> Self {
        Self { staging, state, limits, daemon_user, next_number: Arc::default() }
    }

    /// Receives a file and puts it in its place. Whatever fails, nothing of it stays.
    pub(super) fn receive(
        &self,
        upload: &JobUpload,
        user: &str,
        mut reservation: UploadReservation,
        mut pieces: mpsc::Receiver<UploadPiece>,
    ) -> Result<u64, FileRefusal> {
        let failed = |error: FsError| self.refusal(user, upload.job, &error);
        let owner = if geteuid().is_root() { self.staging.uid_of(user) } else { None };
        self.check_room(0)?;
        self.mark(user, upload.job).map_err(|error| FileRefusal::new(StatusCode::INSUFFICIENT_STORAGE, error))?;
        let (parts, name) = match upload.name.rsplit_once('/') {
            Some((above, name)) => (above.split('/').collect(), name),
            None => (Vec::new(), upload.name.as_str()),
        };
        let folder = self.make_folders(user, upload.job, &parts, owner).map_err(failed)?;
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let mut new = NewFile::create(folder, format!(".upload-{number}").into()).map_err(failed)?;
        let mut digest = Sha256::new();
        let mut unchecked_bytes = 0;
        loop {
            match pieces.blocking_recv() {
                Some(UploadPiece::Bytes(piece)) => {
                    let bytes = piece.len() as u64;
                    reservation.grow(bytes)?;
                    unchecked_bytes += bytes;
                    if unchecked_bytes >= ROOM_INTERVAL_BYTES {
                        self.check_room(0)?;
                        unchecked_bytes = 0;
                    }
                    digest.update(&piece);
                    new.file.write_all(&piece).map_err(|error| no_room(&error))?;
                }
                Some(UploadPiece::End) => break,
                None => return Err(FileRefusal::new(StatusCode::BAD_REQUEST, "the upload has been cut off")),
            }
        }
        if digest.finalize()[..] != upload.sha256 {
            let text = format!(
                "{}: {} has another SHA-256 than the request says: it was changed or damaged on the way",
                upload.job, upload.name
            );
            return Err(FileRefusal::new(StatusCode::BAD_REQUEST, text));
        }
        new.give_to(owner).map_err(failed)?;
        new.rename(name.as_ref()).map_err(failed)?;
        Ok(reservation.keep(&upload.name))
    }

    /// Whether `bytes` more leave the room that is to be kept.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), FileRefusal> {
        let keep_bytes = self.limits.keep_free_bytes;
        let root = self.staging.uri();
        let Some(path) = root.local_path() else {
            let text = format!("clients write the files of jobs to the staging root {root} by themselves");
            return Err(FileRefusal::new(StatusCode::NOT_IMPLEMENTED, text));
        };
        let free_bytes = FolderHandle::open(path).and_then(|root| root.free_bytes());
        let free_bytes = free_bytes.map_err(|error| FileRefusal::new(StatusCode::INSUFFICIENT_STORAGE, error))?;
        if free_bytes.saturating_sub(bytes) < keep_bytes {
            let text = format!(
                "the file system of the staging root has {} MB left; expected {} MB after the upload \
                 (jobtracker.upload.keep-free-mb)",
                free_bytes >> 20,
                keep_bytes >> 20
            );
            return Err(FileRefusal::new(StatusCode::INSUFFICIENT_STORAGE, text));
        }
        Ok(())
    }

    /// Removes the folder of a job that was never submitted.
    pub(super) fn remove(&self, (user, job): &Owner) -> Result<(), FsError> {
        if let Some(folder) = self.staging.job_directory(user, *job) {
            self.staging.remove(*job, &folder.to_string())?;
        }
        self.unmark(user, *job)
    }

    /// Removes the marker of a job.
    pub(super) fn unmark(&self, user: &str, job: JobId) -> Result<(), FsError> {
        match FolderHandle::open(&self.state)?.folder(Path::new(MARKERS)) {
            Err(error) if error.is_not_found() => Ok(()),
            folder => folder?.remove(marker_name(user, job).as_ref()).map(drop),
        }
    }

    /// The markers of earlier runs.
    pub(super) fn markers(&self) -> Result<Vec<Marker>, FsError> {
        let folder = match FolderHandle::open(&self.state)?.folder(Path::new(MARKERS)) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut markers = Vec::new();
        for name in folder.names(ListBound::OWN)? {
            let Some((job, user)) = name.to_str().and_then(|name| name.split_once('-')) else { continue };
            let Ok(job) = job.parse::<JobId>() else { continue };
            let changed = std::fs::symlink_metadata(folder.path().join(&name)).and_then(|found| found.modified());
            let changed = changed.ok().and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
            let changed_ms = changed.map_or(i64::MAX, |changed| i64::try_from(changed.as_millis()).unwrap_or(i64::MAX));
            // A time in the future, after the clock was set back, counts as now.
            let age_ms = u64::try_from(wall_ms().saturating_sub(changed_ms)).unwrap_or(0);
            let bytes = self.staging.size_of(user, job);
            markers.push(Marker { owner: (Arc::from(user), job), bytes, age: Duration::from_millis(age_ms) });
        }
        Ok(markers)
    }

    fn mark(&self, user: &str, job: JobId) -> Result<(), FsError> {
        let folder = FolderHandle::open(&self.state)?.make_folder(MARKERS.as_ref(), FOLDER_MODE)?;
        folder.open_own_file(marker_name(user, job).as_ref(), FILE_MODE).map(drop)
    }

    /// The folder of a job's file, made where it is missing.
    fn make_folders(
        &self,
        user: &str,
        job: JobId,
        parts: &[&str],
        owner: Option<u32>,
    ) -> Result<FolderHandle, FsError> {
        let job = job.to_string();
        let names: Vec<&str> = [user, AREA, &job].into_iter().chain(parts.iter().copied()).collect();
        let mut tries = 1;
        loop {
            let mut folder = FolderHandle::open(&self.staging.uri().shown_path())?;
            let made = names.iter().try_for_each(|name| {
                folder = own_folder(&folder, name.as_ref(), owner)?;
                Ok(())
            });
            match made {
                Err(error @ FsError::Refused { .. }) if error.is_not_found() && tries < TRIES => tries += 1,
                made => return made.map(|()| folder),
            }
        }
    }

    /// The refusal for an error in a user's folder: most likely the folder is the user's and closed to the daemon.
    fn refusal(&self, user: &str, job: JobId, error: &FsError) -> FileRefusal {
        let is_closed = error.is_denied() || matches!(error, FsError::WrongOwner { .. });
        if !is_closed {
            return FileRefusal::new(StatusCode::INSUFFICIENT_STORAGE, format_args!("{job}: {error}"));
        }
        let home = self.staging.uri().shown_path().join(user);
        let text = format!(
            "{job}: {error}; the JobTracker runs as {} and keeps handed-over files in a folder of its own: remove {} if no job \
             needs it",
            self.daemon_user,
            home.display()
        );
        FileRefusal::new(StatusCode::CONFLICT, text)
    }
}

/// A folder of the daemon's or the user's, made if it is missing.
fn own_folder(parent: &FolderHandle, name: &OsStr, owner: Option<u32>) -> Result<FolderHandle, FsError> {
    if parent.stat_of(name)?.is_none() {
        let made = parent.make_folder(name, FOLDER_MODE)?;
        if let Some(uid) = owner {
            give(made.give(uid, None))?;
        }
        return Ok(made);
    }
    let found = parent.folder(Path::new(name))?;
    let mut owners = vec![geteuid().as_raw()];
    owners.extend(owner);
    let is_owner = found.owner()?;
    if !owners.contains(&is_owner) {
        return Err(FsError::WrongOwner { path: found.path().to_owned(), owner: is_owner, expected: owners });
    }
    Ok(found)
}

/// A process without the right to change owners keeps what it has made.
fn give(given: Result<(), FsError>) -> Result<(), FsError> {
    match given {
        Err(error) if error.is_denied() => Ok(()),
        given => given,
    }
}

fn marker_name(user: &str, job: JobId) -> String {
    format!("{job}-{user}")
}

fn no_room(error: &std::io::Error) -> FileRefusal {
    FileRefusal::new(StatusCode::INSUFFICIENT_STORAGE, format_args!("the file cannot be written: {error}"))
}

impl NewFile {
    fn create(folder: FolderHandle, name: OsString) -> Result<Self, FsError> {
        let file = folder.create_file(&name, FILE_MODE)?;
        Ok(Self { folder, name, file, is_renamed: false })
    }

    fn give_to(&self, owner: Option<u32>) -> Result<(), FsError> {
        let Some(uid) = owner else { return Ok(()) };
        match rustix::fs::fchown(self.file.as_fd(), Some(Uid::from_raw(uid)), None) {
            Ok(()) | Err(rustix::io::Errno::PERM) => Ok(()),
            Err(source) => Err(FsError::Refused {
                action: "give away",
                path: self.folder.path().join(&self.name),
                expected: "a process that may change owners",
                source: source.into(),
            }),
        }
    }

    fn rename(&mut self, name: &OsStr) -> Result<(), FsError> {
        self.folder.rename(&self.name, name)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            // It goes with its folder otherwise.
            let _ = self.folder.remove(&self.name);
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
