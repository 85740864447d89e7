//! The jobs of this machine and the map outputs that are served: shared by heartbeat, threads of attempts and the web.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::super::failure::TaskFailure;
use super::super::shuffle::servlet::ServedOutputs;
use super::super::shuffle::signature::ShuffleSecret;
use super::job_place::JobPlace;
use super::local_folders::LocalFolders;
use crate::config::Configuration;
use crate::fs::FileUri;
use crate::wire::{AttemptId, JobId, Task};

/// A job that somebody brings here, or has brought.
type Arriving = Arc<Mutex<Option<Arc<JobPlace>>>>;

/// All jobs of which something is here.
#[derive(Debug)]
pub struct JobsHere {
    /// Folders of jobs lie in them.
    folders: Arc<LocalFolders>,
    configuration: Configuration,
    system: OnceLock<FileUri>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    jobs: BTreeMap<JobId, Arriving>,
    outputs: BTreeMap<AttemptId, (Arc<JobPlace>, PathBuf)>,
    /// No two places have one folder, not even one after the other.
    places: u64,
}

// === impl JobsHere ===

impl JobsHere {
    /// None yet; they will lie in `folders`.
    pub fn new(folders: Arc<LocalFolders>, configuration: Configuration) -> Self {
        Self { folders, configuration, system: OnceLock::new(), state: Mutex::default() }
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

    /// The place of a task's job, made by whoever comes first; others wait for it.
    ///
    /// # Errors
    /// [`TaskFailure`]
    pub fn place(&self, task: &Task) -> Result<Arc<JobPlace>, TaskFailure> {
        let job = task.status.attempt.task.job;
        let (arriving, name) = {
            let mut state = self.state();
            state.places += 1;
            let name = format!("{job}.{}", state.places);
            (state.jobs.entry(job).or_default().clone(), name)
        };
        let mut place = arriving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = &*place {
            return Ok(place.clone());
        }
        let system = self.system.get().ok_or_else(|| TaskFailure::Unusable {
            what: "the JobTracker".to_owned(),
            reason: "has not told where tokens are".to_owned(),
        })?;
        let made = Arc::new(JobPlace::make(task, (self.folders.clone(), name), system, &self.configuration)?);
        *place = Some(made.clone());
        Ok(made)
    }

    /// From now on the output of a map is served.
    pub fn serve(&self, attempt: AttemptId, place: Arc<JobPlace>, folder: PathBuf) {
        self.state().outputs.insert(attempt, (place, folder));
    }

    /// It is not any more.
    pub fn forget_output(&self, attempt: AttemptId) {
        let gone = self.state().outputs.remove(&attempt);
        if let Some((_, folder)) = gone {
            let _ = std::fs::remove_dir_all(folder);
        }
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

impl ServedOutputs for JobsHere {
    fn secret(&self, job: JobId) -> Option<ShuffleSecret> {
        let arriving = self.state().jobs.get(&job)?.clone();
        let place = arriving.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(|place| place.secret.clone())
    }

    fn output_folder(&self, attempt: AttemptId) -> Option<PathBuf> {
        self.state().outputs.get(&attempt).map(|(_, folder)| folder.clone())
    }
}
