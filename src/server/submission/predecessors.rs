//! What other JobTrackers have left in the system directory: found at a start, and taken in once the daemon runs.
//!
//! Nothing is deleted that could still be of use: a job that cannot be taken in keeps its directory, and the next start
//! tries again.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::engine::{Event, ForeignJob, ForeignState, Reply};
use crate::fs::{FileUri, FsError};
use crate::model::{Identifier, JobId};
use crate::store::LoadedState;

use super::read::{ReadConf, Splits};
use super::{SubmissionError, Submissions, system_dir};

/// What stands in the system directory at a start.
#[derive(Debug)]
pub struct SystemDirAtStart {
    system: FileUri,
    jobs: BTreeSet<JobId>,
    /// A JobTracker of 1.2.1 has started there since our last run.
    was_another_here: bool,
}

// === impl SystemDirAtStart ===

impl SystemDirAtStart {
    /// Looks. Blocking.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn look(system: &FileUri) -> Result<Self, FsError> {
        let jobs = system_dir::jobs(system)?.into_iter().collect();
        let was_another_here = system_dir::has_sign_of_another(system);
        Ok(Self { system: system.clone(), jobs, was_another_here })
    }

    /// The jobs that have a directory.
    pub fn jobs(&self) -> &BTreeSet<JobId> {
        &self.jobs
    }

    /// The identifiers of those who gave these jobs their ids.
    pub fn identifiers(&self) -> impl Iterator<Item = Identifier> {
        self.jobs.iter().map(|job| job.identifier)
    }

    /// Whether a JobTracker of 1.2.1 has started there since our last run.
    pub fn was_another_here(&self) -> bool {
        self.was_another_here
    }

    /// What the engine has to know of it. `recover`: whether jobs are taken in at all. Blocking.
    pub fn predecessors(&self, opened: &LoadedState, recover: bool) -> ForeignState {
        let of_others = |job: &&JobId| {
            // What we have made and do not know was never answered, unless the state is an older one.
            let is_answered = self.was_another_here || opened.is_copy;
            let is_ours = opened.identifiers.contains(&job.identifier) && !is_answered;
            !is_ours && !opened.looked_for.contains(job)
        };
        let mut jobs = BTreeSet::new();
        for job in self.jobs.iter().filter(of_others) {
            if !recover {
                tracing::warn!(
                    "{job} is not taken in: mapred.jobtracker.restart.recover is false; its directory stays"
                );
            } else if !system_dir::can_be_taken_in(&self.system, *job) {
                tracing::warn!("{job} is not taken in: its system directory lacks job-info or jobToken; it stays");
            } else {
                jobs.insert(*job);
            }
        }
        ForeignState {
            unfinished_jobs: self.was_another_here.then(|| self.tokens(opened)),
            jobs,
            is_copy: opened.is_copy,
        }
    }

    /// The token files of our unfinished jobs that have a directory: another JobTracker has made new ones.
    fn tokens(&self, opened: &LoadedState) -> BTreeMap<JobId, Option<Arc<[u8]>>> {
        let unfinished = opened.jobs.unfinished.iter().map(|job| job.accepted.id);
        let present = unfinished.filter(|job| self.jobs.contains(job));
        let token = |job| system_dir::read_job_token(&self.system, job).ok().map(Arc::from);
        present.map(|job| (job, token(job))).collect()
    }
}

// === impl Submissions ===

impl Submissions {
    /// Takes in what another JobTracker had accepted, then its sign away.
    pub(in crate::server) async fn take_in_found(&self, jobs: &BTreeSet<JobId>, was_another_here: bool) {
        for job in jobs {
            match self.take_in_one(*job).await {
                Ok(user) => {
                    tracing::warn!("{job} of {user} is taken in from another JobTracker; it runs from the start")
                }
                Err(why) => {
                    self.owner.step(Event::ForeignJobNotFound { id: *job });
                    tracing::warn!("{job} of another JobTracker is not taken in: {why}; its system directory stays");
                }
            }
        }
        // Should the daemon die before, the next start does all of it once more.
        if was_another_here && self.owner.wait_durable(self.owner.last_fact()).await.is_ok() {
            let system = self.system.clone();
            self.report(self.on_pool(move || system_dir::remove_sign_of_another(&system)).await);
        }
    }

    /// Returns whose job it is, or why it cannot be taken in.
    async fn take_in_one(&self, id: JobId) -> Result<Arc<str>, String> {
        let (system, reading) = (self.system.clone(), self.reading.clone());
        let topology = self.topology.clone();
        let read = move || -> Result<_, SubmissionError> {
            let info = system_dir::read_job_info(&system, id)?;
            let directory = info.directory.0.ok_or(SubmissionError::NoDirectory(id))?;
            let user: Arc<str> = info.user.0.into();
            let ReadConf { directory, mut spec, .. } = reading.read_conf(id, &user, &directory)?;
            let read = reading.read_splits(id, &directory, spec.maps, spec.only_stock.is_some())?;
            spec.only_stock = spec.only_stock.or(read.only_stock);
            let asking = topology.ask(&user, read.splits.hosts(), true);
            let splits = Splits::of(read.splits, asking, &topology);
            Ok((user, spec, splits, system_dir::read_job_token(&system, id)?))
        };
        let read = self.on_pool(read).await.map_err(|error| error.message)?;
        let (user, spec, splits, token_file) = read.map_err(|error| error.to_string())?;
        let splits = match splits {
            Splits::Built(splits) => splits,
            Splits::WaitForRacks(builder, mut asking) => {
                asking.wait().await;
                Splits::build(builder, &self.topology)
            }
        };
        let found = ForeignJob { id, spec: Arc::new(spec), splits: Arc::new(splits), token_file: token_file.into() };
        match self.owner.step(Event::ForeignJobFound(Box::new(found))).0 {
            Reply::Refused(refusal) => Err(refusal.to_string()),
            _ => Ok(user),
        }
    }

    /// The whole of what a start has to do with the system directory.
    pub(crate) async fn put_in_order(self: Rc<Self>, leftovers: super::Leftovers, taken_in: impl FnOnce()) {
        self.take_in_found(&leftovers.found, leftovers.was_another_here).await;
        taken_in();
        self.settle(leftovers).await;
    }
}
