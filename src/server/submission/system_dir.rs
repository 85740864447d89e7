//! A job's system directory: where its trackers find the token, and another JobTracker what it adopts. Blocking:
//! runs on the pool.

use std::path::PathBuf;

use crate::fs::{
    CheckedFile, Expected, FileUri, FolderHandle, FsError, Privacy, TrustedFolder, open_below, open_folder_below,
    open_trusted_folder, remove_below,
};
use crate::model::JobId;
use crate::store::FaultPoint;
use crate::wire::file::{JOB_TOKEN_ALIAS, JobInfo, read_token_storage};
use crate::wire::{Decode, Encode, Reader, Text, WString, Writer};

use super::error::SubmissionError;

/// For the daemon's own user only, which is the trackers' too.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const JOB_INFO: &str = "job-info";
const JOB_TOKEN: &str = "jobToken";
/// Maximum sizes of `job-info` and `jobToken`.
const MAX_INFO_BYTES: u64 = 1 << 16;
const MAX_TOKEN_BYTES: u64 = 16 << 20;
/// Where a JobTracker of 1.2.1 counts its starts. It writes one of the two at each start, whatever else it does
/// to the directory (1.2.1 `JobTracker.RecoveryManager`), and can start without them.
const COUNTS_OF_STARTS: [&str; 2] = ["jobtracker.info", "jobtracker.info.recover"];

/// Makes the system directory, at the start. One that other users own or may change is refused.
pub fn make_system_dir(system: &FileUri) -> Result<(), FsError> {
    let TrustedFolder { folder, warnings } = open_trusted_folder(system.as_path(), DIRECTORY_MODE, Privacy::Private)?;
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    if folder.mode()? != DIRECTORY_MODE {
        folder.set_mode(DIRECTORY_MODE)?;
    }
    FaultPoint::SystemDirMade.pass();
    Ok(())
}

/// Writes `job-info` and `jobToken` of a job. After an error nothing remains.
///
/// Neither is synced: the state store has all of it, and four syncs were half of the cost of a submission.
pub(super) fn write(
    system: &FileUri,
    job: JobId,
    user: &str,
    submit_dir: &str,
    token_file: &[u8],
) -> Result<(), FsError> {
    let info = JobInfo { job, user: Text(user.to_owned()), directory: WString(Some(submit_dir.to_owned())) };
    let mut job_info = Vec::new();
    info.encode(&mut Writer::new(&mut job_info));
    // A directory of that name can only be left by a crash during a submission that was never answered.
    let write_all = || {
        // Recreates a missing system directory.
        let system = open_trusted_folder(system.as_path(), DIRECTORY_MODE, Privacy::Private)?.folder;
        let name = job.to_string();
        if system.remove(name.as_ref())? {
            FaultPoint::JobFilesRemoved.pass();
        }
        FaultPoint::JobFilesDue.pass();
        let directory = system.make_folder(name.as_ref(), DIRECTORY_MODE)?;
        FaultPoint::JobFilesDirMade.pass();
        directory.write_unsynced(JOB_INFO.as_ref(), &job_info, FILE_MODE)?;
        FaultPoint::JobFilesInfoWritten.pass();
        directory.write_unsynced(JOB_TOKEN.as_ref(), token_file, FILE_MODE)?;
        FaultPoint::JobFilesWritten.pass();
        Ok(())
    };
    let written = write_all();
    if written.is_err() {
        // The removal may fail for the same reason; the first error is the one to report.
        let _ = remove(system, job);
    }
    written
}

/// Whether the files for the trackers of a job are complete: unsynced files may be cut short after a power failure.
pub(super) fn is_whole(system: &FileUri, job: JobId, token_file: &[u8]) -> bool {
    let token = read(system, job, JOB_TOKEN, token_file.len() as u64);
    token.is_ok_and(|token| token == token_file) && open(system, job, JOB_INFO, MAX_INFO_BYTES).is_ok()
}

/// Whether a JobTracker, ours or a Java one, has left everything needed to adopt a job.
pub(super) fn can_be_adopted(system: &FileUri, job: JobId) -> bool {
    let longest = [(JOB_INFO, MAX_INFO_BYTES), (JOB_TOKEN, MAX_TOKEN_BYTES)];
    longest.into_iter().all(|(name, max_bytes)| open(system, job, name, max_bytes).is_ok())
}

/// The content of a job's `job-info`.
pub(super) fn read_job_info(system: &FileUri, job: JobId) -> Result<JobInfo, SubmissionError> {
    let path = path(system, job).join(JOB_INFO);
    let bytes = read(system, job, JOB_INFO, MAX_INFO_BYTES)?;
    let info = JobInfo::decode(&mut Reader::new(&bytes)).map_err(|source| SubmissionError::JobInfo { path, source })?;
    if info.job == job { Ok(info) } else { Err(SubmissionError::OtherJobInfo { job, found: info.job }) }
}

/// The content of a job's `jobToken`, if it has the job's token.
pub(super) fn read_job_token(system: &FileUri, job: JobId) -> Result<Vec<u8>, SubmissionError> {
    let path = path(system, job).join(JOB_TOKEN);
    let bytes = read(system, job, JOB_TOKEN, MAX_TOKEN_BYTES)?;
    let credentials = read_token_storage(&bytes).map_err(|source| SubmissionError::JobToken { path, source })?;
    let has_token = credentials.tokens.iter().any(|(alias, _)| &**alias == JOB_TOKEN_ALIAS);
    if has_token { Ok(bytes) } else { Err(SubmissionError::NoJobToken(job)) }
}

/// Removes `job-info`, without which no JobTracker adopts the job.
pub(super) fn remove_job_info(system: &FileUri, job: JobId) -> Result<(), FsError> {
    let directory = match open_folder_below(system.as_path(), &path(system, job)) {
        Err(error) if error.is_not_found() => return Ok(()),
        directory => directory?,
    };
    // Along with the checksum file of Java's file system.
    directory.remove(format!(".{JOB_INFO}.crc").as_ref())?;
    directory.remove(JOB_INFO.as_ref()).map(drop)
}

/// Whether a JobTracker of 1.2.1 has started on this directory since the marker was removed.
pub(super) fn has_foreign_start_marker(system: &FileUri) -> bool {
    COUNTS_OF_STARTS.iter().any(|name| system.as_path().join(name).exists())
}

/// Removes that marker.
pub(super) fn remove_foreign_start_marker(system: &FileUri) -> Result<(), FsError> {
    let directory = FolderHandle::open(system.as_path())?;
    COUNTS_OF_STARTS.iter().try_for_each(|name| {
        directory.remove(format!(".{name}.crc").as_ref())?;
        directory.remove(name.as_ref()).map(drop)
    })
}

/// The jobs that have a system directory.
pub(super) fn jobs(system: &FileUri) -> Result<Vec<JobId>, FsError> {
    let names = FolderHandle::open(system.as_path())?.names()?;
    Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// Removes the system directory of a job, if there is one.
pub(super) fn remove(system: &FileUri, job: JobId) -> Result<(), FsError> {
    if remove_below(system.as_path(), &path(system, job))? {
        FaultPoint::JobFilesRemoved.pass();
    }
    Ok(())
}

fn open(system: &FileUri, job: JobId, name: &str, max_bytes: u64) -> Result<CheckedFile, FsError> {
    let expected = Expected::file_of_any_owner().at_most(max_bytes);
    open_below(system.as_path(), &path(system, job).join(name), &expected)
}

fn read(system: &FileUri, job: JobId, name: &str, max_bytes: u64) -> Result<Vec<u8>, FsError> {
    open(system, job, name, max_bytes)?.read_limited(max_bytes)
}

/// A job id consists of letters, digits and `_`: no name leads out of the directory.
fn path(system: &FileUri, job: JobId) -> PathBuf {
    system.as_path().join(job.to_string())
}
