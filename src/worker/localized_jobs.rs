//! The jobs of this machine and the map outputs that are served: shared by heartbeat, threads of attempts and the web.
//!
//! Invariant: no lock is held over work on files, which may hang.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::config::Configuration;
use crate::fs::FileUri;
use crate::model::{AttemptId, JobId};
use crate::streaming::failure::TaskFailure;
use crate::streaming::shuffle::servlet::{OutputFolder, ServedOutputs};
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::wire::Task;

use super::attempt_handle::AttemptHandle;
use super::local_folders::LocalFolders;
use super::localization::{Brought, LOOK};
use super::localized_job::JobPlace;

/// All jobs of which something is here.
#[derive(Debug)]
pub struct JobsHere {
    /// Folders of jobs lie in them.
    folders: Arc<LocalFolders>,
    configuration: Configuration,
    system: OnceLock<FileUri>,
    state: Mutex<State>,
    /// Something was brought, or somebody failed to.
    brought: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: BTreeMap<JobId, Brought<Arc<JobPlace>>>,
    outputs: BTreeMap<AttemptId, (Arc<JobPlace>, PathBuf)>,
    /// No two places have one folder, not even one after the other.
    places: u64,
}

// === impl JobsHere ===

impl JobsHere {
    /// None yet; they will lie in `folders`.
    pub fn new(folders: Arc<LocalFolders>, configuration: Configuration) -> Self {
        Self { folders, configuration, system: OnceLock::new(), state: Mutex::default(), brought: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where files of jobs lie.
    pub fn folders(&self) -> &LocalFolders {
        &self.folders
    }

    /// Where the JobTracker keeps the jobs' tokens; the first word holds.
    pub fn set_system(&self, system: FileUri) {
        self.system.get_or_init(|| system);
    }

    /// The place of a task's job, made by the attempt that comes first; others wait for it.
    ///
    /// # Errors
    /// [`TaskFailure`]; also when the attempt is to end, or the one that brings the files hangs.
    pub fn place(&self, task: &Task, handle: &Arc<AttemptHandle>) -> Result<Arc<JobPlace>, TaskFailure> {
        let attempt = task.status.attempt;
        let job = attempt.task.job;
        let mut state = self.state();
        loop {
            match state.jobs.get(&job) {
                Some(Brought::Here(place)) => return Ok(place.clone()),
                Some(Brought::Coming(other)) if other.is_awaited()? => {}
                Some(Brought::Coming(_)) | None => break,
            }
            handle.check(attempt)?;
            (state, _) = self.brought.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        state.places += 1;
        let name = format!("{job}.{}", state.places);
        state.jobs.insert(job, Brought::Coming(handle.clone()));
        drop(state);
        let made = self.make_place(task, name).map(Arc::new);
        let mut state = self.state();
        // It may have been forgotten meanwhile.
        if matches!(state.jobs.get(&job), Some(Brought::Coming(ours)) if Arc::ptr_eq(ours, handle)) {
            match &made {
                Ok(place) => state.jobs.insert(job, Brought::Here(place.clone())),
                Err(_) => state.jobs.remove(&job),
            };
        }
        drop(state);
        self.brought.notify_all();
        made
    }

    fn make_place(&self, task: &Task, name: String) -> Result<JobPlace, TaskFailure> {
        let system = self.system.get().ok_or_else(|| TaskFailure::Unusable {
            what: "the JobTracker".to_owned(),
            reason: "has not told where tokens are".to_owned(),
        })?;
        JobPlace::make(task, (self.folders.clone(), name), system, &self.configuration)
    }

    /// From now on the output of a map is served.
    pub fn serve(&self, attempt: AttemptId, place: Arc<JobPlace>, folder: PathBuf) {
        let before = self.state().outputs.insert(attempt, (place, folder));
        // Its files may go with it: not under the lock.
        drop(before);
    }

    /// It is not any more. What is given back removes the files when it is dropped.
    #[must_use]
    pub fn forget_output(&self, attempt: AttemptId) -> impl Send + use<> {
        self.state().outputs.remove(&attempt).map(|(place, folder)| Leftover { folder, _place: place })
    }

    /// Forgets a job; its folder goes with the last of its attempts. What is given back removes files when it is dropped.
    #[must_use]
    pub fn forget(&self, job: JobId) -> impl Send + use<> {
        let mut state = self.state();
        let gone = state.jobs.remove(&job);
        let outputs = std::mem::take(&mut state.outputs);
        let (outputs, others) = outputs.into_iter().partition::<BTreeMap<_, _>, _>(|(id, _)| id.task.job == job);
        state.outputs = others;
        (gone, outputs)
    }

    /// Forgets all of them.
    #[must_use]
    pub fn forget_all(&self) -> impl Send + use<> {
        let mut state = self.state();
        (std::mem::take(&mut state.jobs), std::mem::take(&mut state.outputs))
    }
}

/// Files of an output that is served no more; removed when dropped.
struct Leftover {
    folder: PathBuf,
    _place: Arc<JobPlace>,
}

impl Drop for Leftover {
    fn drop(&mut self) {
        // What cannot be removed now goes with its job.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl ServedOutputs for JobsHere {
    fn secret(&self, job: JobId) -> Option<ShuffleSecret> {
        match self.state().jobs.get(&job)? {
            Brought::Here(place) => Some(place.secret.clone()),
            Brought::Coming(_) => None,
        }
    }

    fn output_folder(&self, attempt: AttemptId) -> Option<OutputFolder> {
        let path = self.state().outputs.get(&attempt).map(|(_, folder)| folder.clone())?;
        let root = self.folders.all().find(|root| path.starts_with(root))?.to_owned();
        Some(OutputFolder { root, path })
    }
}
