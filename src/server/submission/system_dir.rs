//! The system directory, with a directory for each job: where its trackers find the token, and another JobTracker what it adopts.
//! Blocking: runs on the pool.

use std::path::PathBuf;

use crate::config::Settings;
use crate::fs::{Expected, FileSystem, FileUri, Folder, FsError, ListBound, OpenFile, Privacy, TrustedFolder};
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

/// The system directory, reached as the daemon's user. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SystemDir {
    files: FileSystem,
    uri: FileUri,
}

impl SystemDir {
    #[must_use]
    pub(crate) fn new(settings: &Settings) -> Self {
        let uri = settings.directories.system.clone();
        Self { files: settings.files.of(&uri), uri }
    }

    #[cfg(test)]
    pub(super) fn at(files: FileSystem, uri: FileUri) -> Self {
        Self { files, uri }
    }

    /// Makes it, at the start. One that other users own or may change is refused.
    pub(crate) fn make(&self) -> Result<(), FsError> {
        let TrustedFolder { folder, warnings } = self.trusted()?;
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
    pub(super) fn write(&self, job: JobId, user: &str, submit_dir: &str, token_file: &[u8]) -> Result<(), FsError> {
        let info = JobInfo { job, user: Text(user.to_owned()), directory: WString(Some(submit_dir.to_owned())) };
        let mut job_info = Vec::new();
        info.encode(&mut Writer::new(&mut job_info));
        // A directory of that name can only be left by a crash during a submission that was never answered.
        let write_all = || {
            // Recreates a missing system directory.
            let system = self.trusted()?.folder;
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
            let _ = self.remove(job);
        }
        written
    }

    /// Whether the files for the trackers of a job are complete: unsynced files may be cut short after a power failure.
    pub(super) fn is_whole(&self, job: JobId, token_file: &[u8]) -> Result<bool, FsError> {
        let token = self.read(job, JOB_TOKEN, token_file.len() as u64);
        let looked = token.and_then(|token| {
            self.open(job, JOB_INFO, MAX_INFO_BYTES)?;
            Ok(token == token_file)
        });
        match looked {
            Err(error) if error.is_temporary() => Err(error),
            looked => Ok(looked.unwrap_or(false)),
        }
    }

    /// Whether files can be written there.
    pub(super) fn is_writable(&self) -> Result<bool, FsError> {
        self.files.is_writable(&self.uri)
    }

    /// Whether a JobTracker, ours or a Java one, has left everything needed to adopt a job.
    pub(super) fn can_be_adopted(&self, job: JobId) -> bool {
        let longest = [(JOB_INFO, MAX_INFO_BYTES), (JOB_TOKEN, MAX_TOKEN_BYTES)];
        longest.into_iter().all(|(name, max_bytes)| self.open(job, name, max_bytes).is_ok())
    }

    /// The content of a job's `job-info`.
    pub(super) fn read_job_info(&self, job: JobId) -> Result<JobInfo, SubmissionError> {
        let bytes = self.read(job, JOB_INFO, MAX_INFO_BYTES)?;
        let info = JobInfo::decode(&mut Reader::new(&bytes));
        let info = info.map_err(|source| SubmissionError::JobInfo { path: self.shown_path(job, JOB_INFO), source })?;
        if info.job == job { Ok(info) } else { Err(SubmissionError::OtherJobInfo { job, found: info.job }) }
    }

    /// The content of a job's `jobToken`, if it has the job's token.
    pub(super) fn read_job_token(&self, job: JobId) -> Result<Vec<u8>, SubmissionError> {
        let bytes = self.read(job, JOB_TOKEN, MAX_TOKEN_BYTES)?;
        let credentials = read_token_storage(&bytes);
        let credentials = credentials
            .map_err(|source| SubmissionError::JobToken { path: self.shown_path(job, JOB_TOKEN), source })?;
        let has_token = credentials.tokens.iter().any(|(alias, _)| &**alias == JOB_TOKEN_ALIAS);
        if has_token { Ok(bytes) } else { Err(SubmissionError::NoJobToken(job)) }
    }

    /// Removes `job-info`, without which no JobTracker adopts the job.
    pub(super) fn remove_job_info(&self, job: JobId) -> Result<(), FsError> {
        let directory = match self.folder().and_then(|system| system.folder(&name_of(job))) {
            Err(error) if error.is_not_found() => return Ok(()),
            directory => directory?,
        };
        // Along with the checksum file of Java's local file system.
        directory.remove(format!(".{JOB_INFO}.crc").as_ref())?;
        directory.remove(JOB_INFO.as_ref()).map(drop)
    }

    /// Whether a JobTracker of 1.2.1 has started on this directory since the marker was removed.
    pub(super) fn has_foreign_start_marker(&self) -> Result<bool, FsError> {
        let system = self.folder()?;
        for name in COUNTS_OF_STARTS {
            if system.status_of(name.as_ref())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn remove_foreign_start_marker(&self) -> Result<(), FsError> {
        let system = self.folder()?;
        COUNTS_OF_STARTS.iter().try_for_each(|name| {
            system.remove(format!(".{name}.crc").as_ref())?;
            system.remove(name.as_ref()).map(drop)
        })
    }

    pub(super) fn jobs(&self) -> Result<Vec<JobId>, FsError> {
        let names = self.folder()?.names(ListBound::OWN)?;
        Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
    }

    /// Removes the directory of a job, if there is one.
    pub(super) fn remove(&self, job: JobId) -> Result<(), FsError> {
        let removed = match self.folder() {
            Err(error) if error.is_not_found() => false,
            system => system?.remove(name_of(job).as_os_str())?,
        };
        if removed {
            FaultPoint::JobFilesRemoved.pass();
        }
        Ok(())
    }

    fn trusted(&self) -> Result<TrustedFolder<Folder>, FsError> {
        self.files.trusted_folder(&self.uri, DIRECTORY_MODE, Privacy::Private)
    }

    fn folder(&self) -> Result<Folder, FsError> {
        self.files.folder(&self.uri)
    }

    fn open(&self, job: JobId, name: &str, max_bytes: u64) -> Result<OpenFile, FsError> {
        self.folder()?.file(&name_of(job).join(name), &Expected::file_of_any_owner().at_most(max_bytes))
    }

    fn read(&self, job: JobId, name: &str, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        self.open(job, name, max_bytes)?.read_limited(max_bytes)
    }

    /// Where a file of a job lies, for messages.
    fn shown_path(&self, job: JobId, name: &str) -> PathBuf {
        self.uri.shown_path().join(name_of(job)).join(name)
    }
}

/// A job id consists of letters, digits and `_`: no name leads out of the directory.
fn name_of(job: JobId) -> PathBuf {
    PathBuf::from(job.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::FileSystems;
    use crate::hdfs::tests::fake_hdfs::cluster::Cluster;

    fn on(cluster: &Cluster) -> SystemDir {
        let uri = FileUri::parse(&format!("{}/system", cluster.uri())).unwrap();
        let system = SystemDir::at(FileSystems::with_defaults("mapred").of(&uri), uri);
        system.make().unwrap();
        system
    }

    /// A daemon that is killed between create and complete leaves a file that its former life holds the lease of, for a minute at least.
    #[test]
    fn files_that_our_former_life_has_left_open_are_written_again() {
        let cluster = Cluster::stock(&[None]);
        let (system, job) = (on(&cluster), "job_7_0001".parse().unwrap());
        for open in ["job-info", "jobToken"] {
            system.write(job, "alice", "hdfs://n/staging", b"secret").unwrap();
            cluster.leave_open("mapred", &format!("/system/job_7_0001/{open}"));
            if open == "jobToken" {
                assert!(!system.is_whole(job, b"secret").unwrap());
                assert!(system.read_job_token(job).is_err());
            }
            system.write(job, "alice", "hdfs://n/staging", b"secret").unwrap();
            assert!(system.is_whole(job, b"secret").unwrap(), "{open}");
            assert_eq!(cluster.content("/system/job_7_0001/jobToken").as_deref(), Some(&b"secret"[..]));
        }
        let state = cluster.state.lock();
        let modes = ["job-info", "jobToken"].map(|name| state.files[&format!("/system/job_7_0001/{name}")].mode);
        assert_eq!((modes, state.directories["/system/job_7_0001"].mode), ([0o600; 2], 0o700));
        drop(state);
        system.remove_job_info(job).unwrap();
        assert!(!system.can_be_adopted(job));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        const QUOTA: &str = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException";
        let cluster = Cluster::stock(&[None]);
        let (system, job) = (on(&cluster), "job_7_0001".parse().unwrap());
        for call in ["create", "addBlock", "complete", "mkdirs"] {
            cluster.refuse(
                call,
                "",
                "/system/job_7_0001",
                (QUOTA, "The NameSpace quota of /system is exceeded: quota=3"),
            );
            let error = system.write(job, "alice", "hdfs://n/staging", b"secret").unwrap_err().to_string();
            assert!(error.contains("/system/job_7_0001") && error.contains("quota=3"), "{error}");
            cluster.state.lock().refusals.clear();
            assert_eq!(system.jobs().unwrap(), [], "{call}");
        }
        system.write(job, "alice", "hdfs://n/staging", b"secret").unwrap();
    }
}
