//! A job on this machine: its configuration, its secret, its files (1.2.1 `TaskTracker.localizeJob`). Its folder is
//! removed with the last reference.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Configuration, keys};
use crate::fs::{Expected, FileUri, FsError, open_below};
use crate::model::{AttemptId, JobId, LogKey};
use crate::streaming::committer::OutputCommitter;
use crate::streaming::failure::TaskFailure;
use crate::streaming::plan::StreamingPlan;
use crate::streaming::private_files::{make_folder, write_file};
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::streaming::working_folder::{StopCheck, WorkStep, cache_entries, copy, localize, open_input, unpack_jar};
use crate::wire::Task;
use crate::wire::file::job_token_password;

use super::attempt_handle::AttemptHandle;
use super::attempt_logs::AttemptLogs;
use super::local_folders::LocalFolders;

/// The longest job.xml or token file that is read, bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Interval between two checks for a stop while waiting for files that another attempt copies.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Files that one attempt copies for all attempts of its job.
#[derive(Debug)]
pub(super) enum Localization<T> {
    /// This attempt copies them.
    InProgress(Arc<AttemptHandle>),
    /// They are here.
    Done(T),
}

/// What all attempts of a job share.
#[derive(Debug)]
pub struct LocalizedJob {
    /// The job.
    pub id: JobId,
    /// Its owner.
    pub user: String,
    /// Its shared files on this machine.
    folder: PathBuf,
    /// Each of these disks may have a folder of this name.
    folders: Arc<LocalFolders>,
    name: String,
    /// job.xml over the tracker's configuration.
    pub configuration: Configuration,
    /// Signs requests for its map output.
    pub secret: ShuffleSecret,
    /// Opens its logs.
    log_key: LogKey,
    /// It is beside its logs, or an attempt writes it.
    is_log_key_kept: AtomicBool,
    plan: Result<StreamingPlan, String>,
    files: Mutex<Option<Localization<JobFiles>>>,
    /// The localization of its files succeeded or failed.
    localized: Condvar,
}

/// Files that only maps and reduces need.
#[derive(Clone, Debug, Default)]
pub struct JobFiles {
    /// The job's jar.
    pub jar: Option<PathBuf>,
    /// Its content.
    pub jar_content: Option<PathBuf>,
    /// Cache files, in the order of the job.
    pub cache_files: Vec<PathBuf>,
    /// Unpacked cache archives.
    pub cache_archives: Vec<PathBuf>,
    /// Names in the working directory, and their targets.
    pub links: Vec<(String, PathBuf)>,
}

fn unusable(what: &str, reason: impl ToString) -> TaskFailure {
    TaskFailure::Unusable { what: what.to_owned(), reason: reason.to_string() }
}

/// `mapred.task.timeout` of a job, or of the cluster while the job is not known; `None`: no limit.
pub fn time_limit(configuration: &Configuration) -> Option<Duration> {
    // Elsewhere an invalid value is an error.
    configuration.limit(&keys::TASK_TIMEOUT, 1).ok().flatten().map(Duration::from_millis)
}

/// The folder below which no link to a job's file is followed: the parent of `USER` for `USER/.staging/JOB/job.xml`,
/// else the parent of the job's folder.
pub fn staging_root(job_file: &Path) -> &Path {
    let above = |levels| job_file.ancestors().nth(levels).unwrap_or(Path::new("/"));
    above(if above(2).ends_with(".staging") { 4 } else { 2 })
}

/// The content of a job's file, found without following links below `root`.
///
/// # Errors
/// [`FsError`]: a link, no regular file, one with further names, or too long.
pub fn read_job_file(root: &Path, path: &FileUri, max_bytes: u64) -> Result<Vec<u8>, FsError> {
    let expected = Expected::file_of_any_owner().with_one_link().at_most(max_bytes);
    open_below(root, path.as_path(), &expected)?.read_limited(max_bytes)
}

// === impl LocalizedJob ===

impl LocalizedJob {
    /// Copies what all attempts of the task's job share into a new folder of this name.
    ///
    /// # Errors
    /// [`TaskFailure`]: a file of the job cannot be read.
    pub fn localize(
        task: &Task,
        (folders, name): (Arc<LocalFolders>, String),
        system: &FileUri,
        cluster: &Configuration,
    ) -> Result<Self, TaskFailure> {
        let folder = folders.next().join(&name);
        let job = task.status.attempt.task.job;
        let read = |root: &Path, path: &FileUri| {
            read_job_file(root, path, MAX_FILE_BYTES).map_err(|error| unusable("a file of the job", error))
        };
        let job_file = FileUri::parse(&task.job_file).map_err(|error| unusable("job.xml", error))?;
        let mut configuration = cluster.with_property("user.name", &task.user);
        let job_xml = read(staging_root(job_file.as_path()), &job_file)?;
        configuration.add_job_xml(&job_file.to_string(), &job_xml).map_err(|error| unusable("job.xml", error))?;
        // A signature may submit further jobs: no command and no file of the tracker gets it.
        configuration.forget(&keys::JOB_SIGNATURE);
        configuration.forget(&keys::JOB_TIMESTAMP);
        let token = read(system.as_path(), &system.join(&job.to_string())?.join("jobToken")?)?;
        let secret = ShuffleSecret::of_token_file(&token).ok_or_else(|| unusable("jobToken", "holds no job token"))?;
        let password = job_token_password(&token).ok_or_else(|| unusable("jobToken", "holds no job token"))?;
        make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            write_file(&path, bytes).map_err(TaskFailure::file("write", &path))
        };
        write("jobToken", &token)?;
        let plan = StreamingPlan::read(&configuration).map_err(|error| error.to_string());
        Ok(Self {
            id: job,
            user: task.user.to_string(),
            folder,
            folders,
            name,
            configuration,
            secret,
            log_key: LogKey::of_token(&password),
            is_log_key_kept: AtomicBool::new(false),
            plan,
            files: Mutex::default(),
            localized: Condvar::new(),
        })
    }

    /// The plan of its tasks.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when only a stock TaskTracker can run it.
    pub fn plan(&self) -> Result<&StreamingPlan, TaskFailure> {
        self.plan.as_ref().map_err(|reason| unusable("a built-in tasktracker cannot run this job", reason))
    }

    /// The committer of its output folder, if it has one; also for a job whose tasks only a stock TaskTracker can run.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when Java code commits its output.
    pub fn committer(&self) -> Result<Option<OutputCommitter>, TaskFailure> {
        OutputCommitter::of_job(&self.configuration)
    }

    /// The first attempt keeps the key of the job's log tickets beside its logs, for requests after the job's end.
    pub fn keep_log_key(&self, logs: &AttemptLogs) {
        if self.is_log_key_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = logs.keep_key(self.id, &self.log_key) {
            tracing::warn!("with access lists on, the logs of {} cannot be shown: {error}", self.id);
        }
    }

    /// Whether a success writes `_SUCCESS`.
    pub fn marks_success(&self) -> bool {
        self.configuration.flag(&keys::MARK_SUCCESS).unwrap_or(true)
    }

    /// Longest time without progress of its tasks; `None`: no limit.
    pub fn time_limit(&self) -> Option<Duration> {
        time_limit(&self.configuration)
    }

    /// The jar and the cache: the first attempt copies them, the others wait.
    ///
    /// # Errors
    /// [`TaskFailure`]; the next attempt retries. Also when the attempt is stopped, or the one that copies the files hangs.
    pub fn files(&self, attempt: AttemptId, handle: &Arc<AttemptHandle>) -> Result<JobFiles, TaskFailure> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*files {
                Some(Localization::Done(files)) => return Ok(files.clone()),
                Some(Localization::InProgress(other)) if other.is_localizing()? => {}
                Some(Localization::InProgress(_)) | None => break,
            }
            handle.check(attempt)?;
            (files, _) = self.localized.wait_timeout(files, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        }
        *files = Some(Localization::InProgress(handle.clone()));
        drop(files);
        let localized = self.localize_files(&|step| {
            if step == WorkStep::Advanced {
                handle.record_activity();
            }
            handle.check(attempt)
        });
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        *files = localized.as_ref().ok().map(|localized| Localization::Done(localized.clone()));
        drop(files);
        self.localized.notify_all();
        localized
    }

    /// `check_stop` fails when the attempt is stopped.
    fn localize_files(&self, check_stop: &StopCheck<'_>) -> Result<JobFiles, TaskFailure> {
        let mut files = JobFiles::default();
        let unusable_jar = |error: &dyn std::fmt::Display| unusable(keys::JOB_JAR.name, error);
        let jar = self.configuration.text(&keys::JOB_JAR).map_err(|error| unusable_jar(&error))?;
        if let Some(jar) = jar {
            let source = FileUri::parse(jar.trim()).map_err(|error| unusable_jar(&error))?;
            let content = self.folder.join("jars");
            let local = content.join("job.jar");
            make_folder(&content).map_err(TaskFailure::file("make", &content))?;
            copy(open_input(source.as_path())?, &local, check_stop)?;
            unpack_jar(&local, &content, check_stop)?;
            (files.jar, files.jar_content) = (Some(local), Some(content));
        }
        for (at, entry) in cache_entries(&self.configuration)?.into_iter().enumerate() {
            let local = localize(&entry, &self.folder.join("distcache").join(at.to_string()), check_stop)?;
            files.links.extend(entry.link.map(|link| (link, local.clone())));
            if entry.is_archive { &mut files.cache_archives } else { &mut files.cache_files }.push(local);
        }
        let shared = self.shared_folder();
        make_folder(&shared).map_err(TaskFailure::file("make", &shared))?;
        Ok(files)
    }

    /// The path of a folder for an attempt, on the next disk. Not created yet.
    pub fn attempt_folder(&self, attempt: AttemptId) -> PathBuf {
        self.folders.next().join(&self.name).join(attempt.to_string())
    }

    /// The folder that the job's tasks on this machine share (`job.local.dir`).
    pub fn shared_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The job's tokens.
    pub fn token_file(&self) -> PathBuf {
        self.folder.join("jobToken")
    }
}

impl Drop for LocalizedJob {
    fn drop(&mut self) {
        for folder in self.folders.all() {
            // The next start removes the rest.
            let _ = fs::remove_dir_all(folder.join(&self.name));
        }
    }
}
