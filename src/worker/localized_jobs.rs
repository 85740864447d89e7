//! The jobs localized on this machine and the served map outputs: shared by heartbeat, threads of attempts and the web. Invariant: no lock
//! is held over work on files, which may hang.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::accounts::LoginUser;
use crate::config::Configuration;
use crate::fs::{FileUri, FolderHandle, FsError, remove_below};
use crate::model::{AttemptId, JobId, LogKey};
use crate::streaming::failure::TaskFailure;
use crate::streaming::private_files::{FILE_MODE, FOLDER_MODE, make_folder, write_file};
use crate::streaming::shuffle::servlet::{OutputFolder, ServedOutputs};
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::wire::Task;
use crate::wire::file::job_token_password;

use super::attempt_handle::AttemptHandle;
use super::attempt_logs::AttemptLogs;
use super::job_definition::{JobDefinition, LocalJobFiles, MAX_FILE_BYTES, TOKEN_FILE, secret_of, unusable};
use super::job_file_source::read_job_file;
use super::local_folders::LocalFolders;
use super::run_as::RunAs;

#[derive(Debug)]
pub(crate) struct LocalizedJobs {
    folders: Arc<LocalFolders>,
    configuration: Configuration,
    run_as: RunAs,
    system_dir: OnceLock<FileUri>,
    state: Mutex<LocalizationState>,
    localized: Condvar,
}

#[derive(Debug, Default)]
struct LocalizationState {
    jobs: BTreeMap<JobId, Localization<Arc<LocalizedJob>>>,
    outputs: BTreeMap<AttemptId, (Arc<LocalizedJob>, PathBuf)>,
    /// Numbers the folders: no two localizations share one, not even in sequence.
    folder_count: u64,
}

impl LocalizedJobs {
    pub(crate) fn run_as(&self) -> &RunAs {
        &self.run_as
    }

    /// No jobs yet; their files go to `folders`.
    pub(crate) fn new(folders: Arc<LocalFolders>, configuration: Configuration, run_as: RunAs) -> Self {
        let (system_dir, state, localized) = (OnceLock::new(), Mutex::default(), Condvar::new());
        Self { folders, configuration, run_as, system_dir, state, localized }
    }

    /// The cluster's configuration, below each job.xml.
    pub(crate) fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    fn state(&self) -> MutexGuard<'_, LocalizationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn folders(&self) -> &LocalFolders {
        &self.folders
    }

    /// Sets the folder with the jobs' tokens; the first call wins.
    pub(crate) fn set_system_dir(&self, system: FileUri) {
        self.system_dir.get_or_init(|| system);
    }

    /// The localized job of a task: the first attempt localizes it, the others wait.
    /// Errors: also when the attempt is stopped, or the one that copies the files hangs.
    pub(crate) fn localize(&self, task: &Task, handle: &Arc<AttemptHandle>) -> Result<Arc<LocalizedJob>, TaskFailure> {
        let attempt = task.status.attempt;
        let job = attempt.task.job;
        let mut state = self.state();
        loop {
            match state.jobs.get(&job) {
                Some(Localization::Done(localized_job)) => return Ok(localized_job.clone()),
                Some(Localization::InProgress(other)) if other.is_localizing()? => {}
                Some(Localization::InProgress(_)) | None => break,
            }
            handle.check(attempt)?;
            (state, _) = self.localized.wait_timeout(state, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        }
        state.folder_count += 1;
        let name = format!("{job}.{}", state.folder_count);
        state.jobs.insert(job, Localization::InProgress(handle.clone()));
        drop(state);
        let result = self.localize_job(task, name).map(Arc::new);
        let mut state = self.state();
        // The job may have been forgotten in between.
        if matches!(state.jobs.get(&job), Some(Localization::InProgress(ours)) if Arc::ptr_eq(ours, handle)) {
            match &result {
                Ok(localized_job) => state.jobs.insert(job, Localization::Done(localized_job.clone())),
                Err(_) => state.jobs.remove(&job),
            };
        }
        drop(state);
        self.localized.notify_all();
        result
    }

    fn localize_job(&self, task: &Task, name: String) -> Result<LocalizedJob, TaskFailure> {
        let system = self.system_dir.get().ok_or_else(|| TaskFailure::Unusable {
            what: "the JobTracker".to_owned(),
            reason: "has not sent its system directory".to_owned(),
        })?;
        LocalizedJob::localize(task, (self.folders.clone(), name), system, &self.configuration, &self.run_as)
    }

    pub(crate) fn serve_output(&self, attempt: AttemptId, localized_job: Arc<LocalizedJob>, folder: PathBuf) {
        let before = self.state().outputs.insert(attempt, (localized_job, folder));
        // Dropping it may remove files: not under the lock.
        drop(before);
    }

    /// Stops serving the output of a map. Drop the returned value to remove its files.
    #[must_use]
    pub(crate) fn forget_output(&self, attempt: AttemptId) -> impl Send + use<> {
        self.state().outputs.remove(&attempt).map(|(localized_job, folder)| {
            let root = self.folders.of(&folder).map(Path::to_owned);
            LeftoverOutput { root, folder, _job: localized_job }
        })
    }

    /// Forgets a job; its folder is removed with its last attempt. Drop the returned value to remove files.
    #[must_use]
    pub(crate) fn forget(&self, job: JobId) -> impl Send + use<> {
        let mut state = self.state();
        let gone = state.jobs.remove(&job);
        let outputs = std::mem::take(&mut state.outputs);
        let (outputs, others) = outputs.into_iter().partition::<BTreeMap<_, _>, _>(|(id, _)| id.task.job == job);
        state.outputs = others;
        (gone, outputs)
    }

    /// Forgets all jobs. Drop the returned value to remove files.
    #[must_use]
    pub(crate) fn forget_all(&self) -> impl Send + use<> {
        let mut state = self.state();
        (std::mem::take(&mut state.jobs), std::mem::take(&mut state.outputs))
    }
}

/// Files of an output that is no longer served; removed when dropped.
struct LeftoverOutput {
    root: Option<PathBuf>,
    folder: PathBuf,
    _job: Arc<LocalizedJob>,
}

impl Drop for LeftoverOutput {
    fn drop(&mut self) {
        // Its user may have put links on the way to it. The rest is removed with its job.
        let _ = self.root.as_ref().map(|root| remove_below(root, &self.folder));
    }
}

impl ServedOutputs for LocalizedJobs {
    fn secret(&self, job: JobId) -> Option<ShuffleSecret> {
        match self.state().jobs.get(&job)? {
            Localization::Done(localized_job) => Some(localized_job.secret.clone()),
            Localization::InProgress(_) => None,
        }
    }

    fn output_folder(&self, attempt: AttemptId) -> Option<OutputFolder> {
        let state = self.state();
        let (path, owner) = state.outputs.get(&attempt).map(|(job, folder)| (folder.clone(), job.owner_uid()))?;
        drop(state);
        let root = self.folders.of(&path)?.to_owned();
        Some(OutputFolder { root, path, owner })
    }
}

/// The worker's own user, in its configuration.
const USER_NAME: &str = "user.name";
/// Interval between two checks for a stop while waiting for files that another attempt copies.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Files that one attempt copies for all attempts of its job.
#[derive(Debug)]
pub(super) enum Localization<T> {
    InProgress(Arc<AttemptHandle>),
    Done(T),
}

/// Which user the attempts of a job run as.
#[derive(Debug)]
pub(crate) enum JobOwner {
    /// As the worker's own user, in its process, which has read job.xml.
    Worker(Box<JobDefinition>),
    /// As the job's user, each in a process of its own, which reads job.xml.
    User(LoginUser),
}

#[derive(Debug)]
pub(crate) struct LocalizedJob {
    pub(crate) id: JobId,
    /// Signs requests for its map output.
    pub(crate) secret: ShuffleSecret,
    /// Which user its attempts run as: the owner of its folders.
    pub(crate) owner: JobOwner,
    pub(crate) folder: PathBuf,
    /// Each of these disks may have a folder of this name.
    folders: Arc<LocalFolders>,
    name: String,
    log_key: LogKey,
    /// It is beside its logs, or an attempt writes it.
    is_log_key_kept: AtomicBool,
    files: Mutex<Option<Localization<LocalJobFiles>>>,
    /// The localization of its files succeeded or failed.
    localized: Condvar,
}

impl LocalizedJob {
    /// Copies what all attempts of the task's job share into a new folder of this name.
    /// Errors: a file of the job cannot be read, or jobs of its user do not run here.
    pub(crate) fn localize(
        task: &Task,
        (folders, name): (Arc<LocalFolders>, String),
        system: &FileUri,
        cluster: &Configuration,
        run_as: &RunAs,
    ) -> Result<Self, TaskFailure> {
        let id = task.status.attempt.task.job;
        let user = match run_as {
            RunAs::Worker => None,
            RunAs::JobUser(rules) => {
                Some(rules.admit(&task.user).map_err(|refused| TaskFailure::unstartable("the job's user", &refused))?)
            }
        };
        let token = system.join(&id.to_string())?.join(TOKEN_FILE)?;
        let own_files = cluster.file_systems(cluster.property(USER_NAME).unwrap_or_default());
        let token = read_job_file(&own_files, system, &token, MAX_FILE_BYTES)
            .map_err(|error| TaskFailure::unusable("a file of the job", &error))?;
        let secret = secret_of(&token)?;
        let password = job_token_password(&token).ok_or_else(|| unusable("jobToken", "holds no job token"))?;
        let log_key = LogKey::of_token(&password);
        let disk = folders.next().to_owned();
        let folder = disk.join(&name);
        let owner = match user {
            None => {
                let definition = JobDefinition::read(task, secret.clone(), folder.clone(), cluster, &|_| Ok(()))?;
                make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
                let path = definition.token_file();
                write_file(&path, &token).map_err(TaskFailure::file("write", &path))?;
                JobOwner::Worker(Box::new(definition))
            }
            Some(user) => {
                make_folder_of(&user, &disk, &name, Some(&token)).map_err(|error| of_folder(&error))?;
                JobOwner::User(user)
            }
        };
        let (files, localized) = (Mutex::default(), Condvar::new());
        let is_log_key_kept = AtomicBool::new(false);
        Ok(Self { id, secret, owner, folder, folders, name, log_key, is_log_key_kept, files, localized })
    }

    /// The first attempt keeps the key of the job's log tickets beside its logs, for requests after the job's end.
    pub(crate) fn keep_log_key(&self, logs: &AttemptLogs) {
        if self.is_log_key_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = logs.keep_key(self.id, &self.log_key) {
            tracing::warn!("with access lists on, the logs of {} cannot be shown: {error}", self.id);
        }
    }

    /// The jar and the cache: the first attempt copies them with `copy`, the others wait.
    /// Errors: [`TaskFailure`]; the next attempt retries. Also when the attempt is stopped, or the one that copies the files hangs.
    pub(crate) fn files(
        &self,
        attempt: AttemptId,
        handle: &Arc<AttemptHandle>,
        copy: impl FnOnce() -> Result<LocalJobFiles, TaskFailure>,
    ) -> Result<LocalJobFiles, TaskFailure> {
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
        let localized = copy();
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        *files = localized.as_ref().ok().map(|localized| Localization::Done(localized.clone()));
        drop(files);
        self.localized.notify_all();
        localized
    }

    /// The path of a folder for an attempt, on the next disk. Not created yet, but what it lies in is the job's user's.
    /// Errors: [`TaskFailure::Unusable`]: the folder that it lies in cannot be made.
    pub(crate) fn attempt_folder(&self, attempt: AttemptId) -> Result<PathBuf, TaskFailure> {
        let disk = self.folders.next();
        if let JobOwner::User(user) = &self.owner {
            make_folder_of(user, disk, &self.name, None).map_err(|error| of_folder(&error))?;
        }
        Ok(disk.join(&self.name).join(attempt.to_string()))
    }

    /// The id of the user that its files belong to.
    fn owner_uid(&self) -> u32 {
        match &self.owner {
            JobOwner::Worker(_) => rustix::process::geteuid().as_raw(),
            JobOwner::User(user) => user.uid,
        }
    }
}

/// Why a folder on the worker's own disk cannot be made.
fn of_folder(error: &FsError) -> TaskFailure {
    TaskFailure::unusable_here("the job's folder", error)
}

/// Makes a folder for its owner alone in a folder of ours, with the token in it, and gives both to the owner; one that is there stays.
fn make_folder_of(user: &LoginUser, disk: &Path, name: &str, token: Option<&[u8]>) -> Result<(), FsError> {
    let folder = FolderHandle::open(disk)?.make_folder(OsStr::new(name), FOLDER_MODE)?;
    if let Some(token) = token {
        folder.write_unsynced(OsStr::new(TOKEN_FILE), token, FILE_MODE)?;
        folder.give_entry(OsStr::new(TOKEN_FILE), user.uid, user.gid)?;
    }
    // Last: from then on the user decides what lies in it.
    folder.give(user.uid, Some(user.gid))
}

impl Drop for LocalizedJob {
    fn drop(&mut self) {
        for folder in self.folders.all() {
            // Whatever its user has put there. The next start removes the rest.
            let _ = remove_below(folder, Path::new(&self.name));
        }
    }
}
