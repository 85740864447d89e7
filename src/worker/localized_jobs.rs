//! The jobs localized on this machine and the served map outputs: shared by heartbeat, threads of attempts and the web.
//!
//! Invariant: no lock is held over work on files, which may hang.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::config::Configuration;
use crate::fs::{FileUri, remove_below};
use crate::model::{AttemptId, JobId};
use crate::streaming::failure::TaskFailure;
use crate::streaming::shuffle::servlet::{OutputFolder, ServedOutputs};
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::wire::Task;

use super::attempt_handle::AttemptHandle;
use super::local_folders::LocalFolders;
use super::localized_job::{CHECK_INTERVAL, Localization, LocalizedJob};
use super::run_as::RunAs;

#[derive(Debug)]
pub(crate) struct LocalizedJobs {
    /// The jobs' folders are in them.
    folders: Arc<LocalFolders>,
    configuration: Configuration,
    run_as: RunAs,
    system_dir: OnceLock<FileUri>,
    state: Mutex<LocalizationState>,
    /// A localization succeeded or failed.
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

    /// The folders for files of jobs.
    pub(crate) fn folders(&self) -> &LocalFolders {
        &self.folders
    }

    /// Sets the folder with the jobs' tokens; the first call wins.
    pub(crate) fn set_system_dir(&self, system: FileUri) {
        self.system_dir.get_or_init(|| system);
    }

    /// The localized job of a task: the first attempt localizes it, the others wait.
    ///
    /// # Errors
    /// [`TaskFailure`]; also when the attempt is stopped, or the one that copies the files hangs.
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

    /// Serves the output of a map.
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
