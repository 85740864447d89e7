//! What the system directory holds when the daemon starts, or that it cannot be reached then.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Settings;
use crate::engine::ForeignState;
use crate::fs::{FileUri, FsError};
use crate::model::{Identifier, JobId};
use crate::store::LoadedState;

use super::staging::make_staging_root;
use super::system_dir::SystemDir;

/// The content of the system directory at the start.
#[derive(Debug)]
pub(crate) struct SystemDirAtStart {
    system: SystemDir,
    jobs: BTreeSet<JobId>,
    /// A JobTracker of 1.2.1 has started there since our last run.
    was_another_here: bool,
    /// Why its file system could not be reached, or that it was in safe mode, if so: nothing is known of it then.
    unread: Option<String>,
}

/// A system directory whose file system could not be reached at the start.
#[derive(Debug)]
pub(crate) struct UnreadSystemDir {
    pub(super) settings: Arc<Settings>,
    /// Why not.
    pub(super) reason: String,
    known: KnownIds,
}

/// What the state knows of job ids.
#[derive(Clone, Debug)]
struct KnownIds {
    identifiers: BTreeSet<Identifier>,
    looked_for: BTreeSet<JobId>,
    is_copy: bool,
}

impl KnownIds {
    fn of(opened: &LoadedState) -> Self {
        let LoadedState { identifiers, looked_for, is_copy, .. } = opened;
        Self { identifiers: identifiers.clone(), looked_for: looked_for.clone(), is_copy: *is_copy }
    }
}

/// Makes what is missing of system directory and staging root. Blocking.
pub(crate) fn make_directories(settings: &Settings) -> Result<(), DirectoryError> {
    SystemDir::new(settings).make().map_err(DirectoryError::System)?;
    make_staging_root(settings).map_err(DirectoryError::StagingRoot)
}

/// Why system directory or staging root cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectoryError {
    #[error("{0}{advice}", advice = system_advice(.0))]
    System(FsError),
    #[error("mapreduce.jobtracker.staging.root.dir: {0}")]
    StagingRoot(FsError),
    /// The NameNode of the system directory is in safe mode: files that it names can perhaps not be read, and none can be written.
    #[error("the NameNode of {0} is in safe mode")]
    SafeMode(FileUri),
}

/// What to do about a system directory that cannot be used for good.
fn system_advice(error: &FsError) -> &'static str {
    if error.is_temporary() { "" } else { "; set mapred.system.dir to a folder that this user may write to" }
}

impl DirectoryError {
    /// Whether a later try may succeed.
    #[must_use]
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            DirectoryError::System(error) | DirectoryError::StagingRoot(error) => error.is_temporary(),
            DirectoryError::SafeMode(_) => true,
        }
    }
}

impl SystemDirAtStart {
    /// Makes what is missing of system directory and staging root, and reads the first. A file system that cannot be reached now is no
    /// error: see [`SystemDirAtStart::unread`]. Blocking.
    pub(crate) fn read(settings: &Settings) -> Result<Self, DirectoryError> {
        match Self::read_now(settings) {
            Err(error) if error.is_temporary() => {
                tracing::warn!("no job can be submitted until the files of jobs can be reached: {error}");
                let (system, jobs) = (SystemDir::new(settings), BTreeSet::new());
                Ok(Self { system, jobs, was_another_here: false, unread: Some(error.to_string()) })
            }
            read => read,
        }
    }

    fn read_now(settings: &Settings) -> Result<Self, DirectoryError> {
        make_directories(settings)?;
        let system = SystemDir::new(settings);
        // After its own start it names directories before DataNodes have reported what the files in them consist of.
        if !system.is_writable().map_err(DirectoryError::System)? {
            return Err(DirectoryError::SafeMode(settings.directories.system.clone()));
        }
        let jobs = system.jobs().map_err(DirectoryError::System)?.into_iter().collect();
        let was_another_here = system.has_foreign_start_marker().map_err(DirectoryError::System)?;
        Ok(Self { system, jobs, was_another_here, unread: None })
    }

    /// What is to be done once its file system can be reached, if that is not so now.
    pub(crate) fn unread(&self, settings: &Settings, opened: &LoadedState) -> Option<UnreadSystemDir> {
        let reason = self.unread.clone()?;
        Some(UnreadSystemDir { settings: Arc::new(settings.clone()), reason, known: KnownIds::of(opened) })
    }

    pub(crate) fn jobs(&self) -> &BTreeSet<JobId> {
        &self.jobs
    }

    pub(crate) fn identifiers(&self) -> impl Iterator<Item = Identifier> {
        self.jobs.iter().map(|job| job.identifier)
    }

    /// Whether a JobTracker of 1.2.1 has started there since our last run.
    pub(crate) fn was_another_here(&self) -> bool {
        self.was_another_here
    }

    /// What the engine must know of it. `recover`: whether jobs are adopted at all. Blocking.
    pub(crate) fn predecessors(&self, opened: &LoadedState, recover: bool) -> ForeignState {
        ForeignState {
            unfinished_jobs: self.was_another_here.then(|| self.tokens(opened)),
            jobs: self.jobs_of_others(&KnownIds::of(opened), recover),
            is_copy: opened.is_copy,
            ended_since_copy: if opened.is_copy { ended_since_copy(opened) } else { BTreeMap::new() },
        }
    }

    /// The jobs that another JobTracker has left to be adopted. Blocking.
    fn jobs_of_others(&self, known: &KnownIds, recover: bool) -> BTreeSet<JobId> {
        let of_others = |job: &&JobId| {
            // A job with an id of ours that the state does not know was never answered, unless the state is an older
            // copy.
            let is_answered = self.was_another_here || known.is_copy;
            let is_ours = known.identifiers.contains(&job.identifier) && !is_answered;
            !is_ours && !known.looked_for.contains(job)
        };
        let mut jobs = BTreeSet::new();
        for job in self.jobs.iter().filter(of_others) {
            if !recover {
                tracing::warn!("{job} is not adopted: mapred.jobtracker.restart.recover is false; its directory stays");
            } else if !self.system.can_be_adopted(*job) {
                tracing::warn!(
                    "{job} is not adopted: its system directory lacks job-info or jobToken; the directory stays"
                );
            } else {
                jobs.insert(*job);
            }
        }
        jobs
    }

    /// The token files of our unfinished jobs that have a directory: another JobTracker has written new ones.
    fn tokens(&self, opened: &LoadedState) -> BTreeMap<JobId, Option<Arc<[u8]>>> {
        let unfinished = opened.jobs.unfinished.iter().map(|job| job.accepted.id);
        let present = unfinished.filter(|job| self.jobs.contains(job));
        let token = |job| self.system.read_job_token(job).ok().map(Arc::from);
        present.map(|job| (job, token(job))).collect()
    }
}

impl UnreadSystemDir {
    /// Tries again; returns the jobs to be adopted, and whether a JobTracker of 1.2.1 has started there. Blocking.
    pub(super) fn read(&self) -> Result<(BTreeSet<JobId>, bool), DirectoryError> {
        let found = SystemDirAtStart::read_now(&self.settings)?;
        let jobs = found.jobs_of_others(&self.known, self.settings.restart_recover);
        Ok((jobs, found.was_another_here))
    }
}
/// The unfinished jobs of a copy whose files are gone, each with what its output says. Of files that this host does not have,
/// or may not look for, nothing is known.
fn ended_since_copy(opened: &LoadedState) -> BTreeMap<JobId, String> {
    let specs = opened.jobs.unfinished.iter().map(|stored| (stored.accepted.id, &stored.accepted.spec));
    let gone = specs.filter(|(_, spec)| {
        let Some(folder) = local(&spec.submit_dir) else { return false };
        // Without the root of all staging directories, a disk is rather not mounted.
        let has_root = folder.ancestors().nth(LEVELS_BELOW_ROOT).is_some_and(Path::exists);
        has_root && is_missing(&folder)
    });
    let said = gone.map(|(job, spec)| {
        let output = spec.output.as_deref().unwrap_or_default();
        let said = match local(output).map(|folder| is_missing(&folder.join("_SUCCESS"))) {
            None => String::new(),
            Some(true) => format!("; {output} has no _SUCCESS"),
            Some(false) => format!("; {output} has _SUCCESS"),
        };
        (job, said)
    });
    said.collect()
}

/// A staging directory is `<root>/<user>/.staging/<job>`.
const LEVELS_BELOW_ROOT: usize = 3;

fn local(uri: &str) -> Option<PathBuf> {
    FileUri::parse(uri).ok()?.local_path().map(Path::to_owned)
}

fn is_missing(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
