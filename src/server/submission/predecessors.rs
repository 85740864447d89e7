//! Jobs of other JobTrackers in the system directory: found at the start, adopted once the daemon serves.
//!
//! Nothing that may still be useful is deleted: a job that cannot be adopted keeps its directory, and the next start
//! retries.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::engine::{Event, ForeignJob, ForeignState, Reply};
use crate::fs::FsError;
use crate::model::{Identifier, JobId};
use crate::store::LoadedState;

use super::read::{ReadConf, Splits};
use super::staging::make_staging_root;
use super::system_dir::SystemDir;
use super::{SubmissionError, Submissions};

/// Pause between two tries to reach the system directory.
const REACH_PAUSE: Duration = Duration::from_secs(2);

/// The content of the system directory at the start.
#[derive(Debug)]
pub struct SystemDirAtStart {
    system: SystemDir,
    jobs: BTreeSet<JobId>,
    /// A JobTracker of 1.2.1 has started there since our last run.
    was_another_here: bool,
    /// Its file system could not be reached, so that nothing is known of it.
    is_unread: bool,
}

/// A system directory whose file system could not be reached at the start.
#[derive(Debug)]
pub struct UnreadSystemDir {
    settings: Arc<Settings>,
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
///
/// # Errors
/// Of which of both, and why.
pub fn make_directories(settings: &Settings) -> Result<(), DirectoryError> {
    SystemDir::new(settings).make().map_err(DirectoryError::System)?;
    make_staging_root(settings).map_err(DirectoryError::StagingRoot)
}

/// Why system directory or staging root cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The system directory.
    #[error("{0}; set mapred.system.dir to a folder that this user may write to")]
    System(FsError),
    /// The staging root.
    #[error("mapreduce.jobtracker.staging.root.dir: {0}")]
    StagingRoot(FsError),
}

impl DirectoryError {
    /// Whether a later try may succeed.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        let (DirectoryError::System(error) | DirectoryError::StagingRoot(error)) = self;
        error.is_temporary()
    }
}

// === impl SystemDirAtStart ===

impl SystemDirAtStart {
    /// Makes what is missing of system directory and staging root, and reads the first. A file system that cannot be reached now is no
    /// error: see [`SystemDirAtStart::unread`]. Blocking.
    ///
    /// # Errors
    /// One of both cannot be made or read.
    pub fn read(settings: &Settings) -> Result<Self, DirectoryError> {
        match Self::read_now(settings) {
            Err(error) if error.is_temporary() => {
                tracing::warn!("no job can be submitted until the files of jobs can be reached: {error}");
                let (system, jobs) = (SystemDir::new(settings), BTreeSet::new());
                Ok(Self { system, jobs, was_another_here: false, is_unread: true })
            }
            read => read,
        }
    }

    fn read_now(settings: &Settings) -> Result<Self, DirectoryError> {
        make_directories(settings)?;
        let system = SystemDir::new(settings);
        let jobs = system.jobs().map_err(DirectoryError::System)?.into_iter().collect();
        let was_another_here = system.has_foreign_start_marker().map_err(DirectoryError::System)?;
        Ok(Self { system, jobs, was_another_here, is_unread: false })
    }

    /// What is to be done once its file system can be reached, if that is not so now.
    pub fn unread(&self, settings: &Settings, opened: &LoadedState) -> Option<UnreadSystemDir> {
        self.is_unread.then(|| UnreadSystemDir { settings: Arc::new(settings.clone()), known: KnownIds::of(opened) })
    }

    /// The jobs that have a directory.
    pub fn jobs(&self) -> &BTreeSet<JobId> {
        &self.jobs
    }

    /// The identifiers in the ids of these jobs.
    pub fn identifiers(&self) -> impl Iterator<Item = Identifier> {
        self.jobs.iter().map(|job| job.identifier)
    }

    /// Whether a JobTracker of 1.2.1 has started there since our last run.
    pub fn was_another_here(&self) -> bool {
        self.was_another_here
    }

    /// What the engine must know of it. `recover`: whether jobs are adopted at all. Blocking.
    pub fn predecessors(&self, opened: &LoadedState, recover: bool) -> ForeignState {
        ForeignState {
            unfinished_jobs: self.was_another_here.then(|| self.tokens(opened)),
            jobs: self.jobs_of_others(&KnownIds::of(opened), recover),
            is_copy: opened.is_copy,
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

// === impl Submissions ===

impl Submissions {
    /// Adopts the jobs that another JobTracker had accepted, then removes its start marker.
    pub(in crate::server) async fn adopt_found_jobs(&self, jobs: &BTreeSet<JobId>, was_another_here: bool) {
        for job in jobs {
            match self.adopt_job(*job).await {
                Ok(user) => {
                    tracing::warn!("adopted {job} of {user} from another JobTracker; it runs from the start")
                }
                Err(why) => {
                    self.owner.step(Event::ForeignJobNotFound { id: *job });
                    tracing::warn!("{job} of another JobTracker is not adopted: {why}; its system directory stays");
                }
            }
        }
        // If the daemon stops before, the next start repeats all of it.
        if was_another_here && self.owner.wait_durable(self.owner.last_fact()).await.is_ok() {
            let system = self.system.clone();
            self.report(self.on_pool(move || system.remove_foreign_start_marker()).await);
        }
    }

    /// Adopts one job; returns its user, or why it cannot be adopted.
    async fn adopt_job(&self, id: JobId) -> Result<Arc<str>, String> {
        let (system, reader) = (self.system.clone(), self.reader.clone());
        let (resolver, pool_property) = (self.resolver.clone(), self.pool_property());
        let read = move || -> Result<_, SubmissionError> {
            let info = system.read_job_info(id)?;
            let directory = info.directory.0.ok_or(SubmissionError::NoDirectory(id))?;
            let user: Arc<str> = info.user.0.into();
            let ReadConf { directory, mut spec, job_xml, .. } =
                reader.read_conf(id, &user, &directory, pool_property.as_deref())?;
            let read = reader.read_splits(id, &directory, spec.maps, spec.only_stock.is_some())?;
            spec.only_stock = spec.only_stock.or(read.only_stock);
            let rack_request = resolver.request_racks(&user, read.splits.hosts(), true);
            let splits = Splits::of(read.splits, rack_request, &resolver);
            Ok((user, spec, splits, system.read_job_token(id)?, job_xml))
        };
        let read = self.on_pool(read).await.map_err(|error| error.message)?;
        let (user, spec, splits, token_file, job_xml) = read.map_err(|error| error.to_string())?;
        let splits = match splits {
            Splits::Built(splits) => splits,
            Splits::WaitForRacks(builder, mut rack_request) => {
                rack_request.wait().await;
                Splits::build(builder, &self.resolver)
            }
        };
        let (spec, splits) = (Arc::new(spec), Arc::new(splits));
        let found = ForeignJob { id, spec, splits, token_file: token_file.into(), job_xml };
        match self.owner.step(Event::ForeignJobFound(Box::new(found))).0 {
            Reply::Refused(refusal) => Err(refusal.to_string()),
            _ => Ok(user),
        }
    }

    /// Waits until the system directory can be reached; returns the jobs to be adopted.
    async fn await_system_dir(&self, unread: UnreadSystemDir) -> BTreeSet<JobId> {
        let unread = Arc::new(unread);
        loop {
            let this = unread.clone();
            let read = move || {
                let found = SystemDirAtStart::read_now(&this.settings)?;
                let jobs = found.jobs_of_others(&this.known, this.settings.restart_recover);
                Ok::<_, DirectoryError>((found, jobs))
            };
            match self.on_pool(read).await {
                Ok(Ok((found, jobs))) => {
                    if found.was_another_here() {
                        // Its marker stays, so that the next start finds it.
                        tracing::error!(
                            "another JobTracker has started on {} since our last run: restart the daemon, which then takes over what that \
                             one did with unfinished jobs",
                            unread.settings.directories.system
                        );
                    }
                    self.awaited_files.clear();
                    tracing::info!("the files of jobs can be reached: jobs can be submitted");
                    return jobs;
                }
                Ok(Err(error)) => drop(self.awaited_files.set(error.to_string())),
                Err(error) => drop(self.awaited_files.set(error.message)),
            }
            tokio::time::sleep(REACH_PAUSE).await;
        }
    }

    /// Recovers the system directory: adoption, then cleanup.
    pub(crate) async fn recover_system_dir(self: Rc<Self>, mut leftovers: super::Leftovers, adopted: impl FnOnce()) {
        if let Some(unread) = leftovers.unread.take() {
            leftovers.found = self.await_system_dir(unread).await;
        }
        self.adopt_found_jobs(&leftovers.found, leftovers.was_another_here).await;
        adopted();
        self.settle(leftovers).await;
    }
}
