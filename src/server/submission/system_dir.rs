//! A job's system directory: where its trackers find the token. Blocking: runs on the pool.

use std::path::PathBuf;

use crate::fs::{FileUri, FsError, LocalFileSystem};
use crate::store::FaultPoint;
use crate::wire::file::JobInfo;
use crate::wire::{Encode, JobId, Text, WString, Writer};

/// Only the daemon's own user, under which the trackers run too, may look inside.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes the system directory itself, at start.
pub fn make_system_dir(system: &FileUri) -> Result<(), FsError> {
    LocalFileSystem.make_dir_all(system.as_path(), DIRECTORY_MODE)?;
    FaultPoint::SystemDirMade.pass();
    Ok(())
}

/// Writes `job-info` and `jobToken` of a job. On an error nothing stays.
///
/// Neither is synced: the state store holds all that they say, and four syncs were half of what a submission cost.
pub(super) fn write(
    system: &FileUri,
    job: JobId,
    user: &str,
    submit_dir: &str,
    token_file: &[u8],
) -> Result<(), FsError> {
    let directory = path(system, job);
    let info = JobInfo { job, user: Text(user.to_owned()), directory: WString(Some(submit_dir.to_owned())) };
    let mut job_info = Vec::new();
    info.encode(&mut Writer::new(&mut job_info));
    // A directory of that name can only be what a crash has left of a submission that was never answered.
    let write_all = || {
        remove(system, job)?;
        FaultPoint::JobFilesDue.pass();
        LocalFileSystem.make_dir_all(&directory, DIRECTORY_MODE)?;
        FaultPoint::JobFilesDirMade.pass();
        LocalFileSystem.write_unsynced(&directory.join("job-info"), &job_info, FILE_MODE)?;
        FaultPoint::JobFilesInfoWritten.pass();
        LocalFileSystem.write_unsynced(&directory.join("jobToken"), token_file, FILE_MODE)?;
        FaultPoint::JobFilesWritten.pass();
        Ok(())
    };
    let written = write_all();
    if written.is_err() {
        // What cannot be written cannot always be removed; the first error is the one that tells.
        let _ = remove(system, job);
    }
    written
}

/// Whether all is there for trackers of a job: what was never synced may be cut short after a power failure.
pub(super) fn is_whole(system: &FileUri, job: JobId, token_file: &[u8]) -> bool {
    let directory = path(system, job);
    let token = LocalFileSystem.read_limited(&directory.join("jobToken"), token_file.len() as u64);
    token.is_ok_and(|token| token == token_file) && directory.join("job-info").is_file()
}

/// The jobs that have a system directory.
pub(super) fn jobs(system: &FileUri) -> Result<Vec<JobId>, FsError> {
    let names = LocalFileSystem.names_in(system.as_path())?;
    Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// Removes the system directory of a job, if there is one.
pub(super) fn remove(system: &FileUri, job: JobId) -> Result<(), FsError> {
    if LocalFileSystem.remove_dir_all(&path(system, job))? {
        FaultPoint::JobFilesRemoved.pass();
    }
    Ok(())
}

/// A job id is letters, digits and `_`: no name leads out of the directory.
fn path(system: &FileUri, job: JobId) -> PathBuf {
    system.as_path().join(job.to_string())
}
