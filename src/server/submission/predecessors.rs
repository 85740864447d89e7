//! Jobs of other JobTrackers in the system directory: found at the start, adopted once the daemon serves.
//!
//! Nothing that may still be useful is deleted: a job that cannot be adopted keeps its directory, and the next start
//! retries.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::engine::{Event, ForeignJob, ForeignState, Reply};
use crate::fs::{FileUri, FsError};
use crate::model::{Identifier, JobId};
use crate::store::LoadedState;

use super::read::{ReadConf, Splits};
use super::{SubmissionError, Submissions, system_dir};

/// The content of the system directory at the start.
#[derive(Debug)]
pub struct SystemDirAtStart {
    system: FileUri,
    jobs: BTreeSet<JobId>,
    /// A JobTracker of 1.2.1 has started there since our last run.
    was_another_here: bool,
}

// === impl SystemDirAtStart ===

impl SystemDirAtStart {
    /// Reads the directory. Blocking.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read(system: &FileUri) -> Result<Self, FsError> {
        let jobs = system_dir::jobs(system)?.into_iter().collect();
        let was_another_here = system_dir::has_foreign_start_marker(system);
        Ok(Self { system: system.clone(), jobs, was_another_here })
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
        let of_others = |job: &&JobId| {
            // A job with an id of ours that the state does not know was never answered, unless the state is an older
            // copy.
            let is_answered = self.was_another_here || opened.is_copy;
            let is_ours = opened.identifiers.contains(&job.identifier) && !is_answered;
            !is_ours && !opened.looked_for.contains(job)
        };
        let mut jobs = BTreeSet::new();
        for job in self.jobs.iter().filter(of_others) {
            if !recover {
                tracing::warn!("{job} is not adopted: mapred.jobtracker.restart.recover is false; its directory stays");
            } else if !system_dir::can_be_adopted(&self.system, *job) {
                tracing::warn!(
                    "{job} is not adopted: its system directory lacks job-info or jobToken; the directory stays"
                );
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

    /// The token files of our unfinished jobs that have a directory: another JobTracker has written new ones.
    fn tokens(&self, opened: &LoadedState) -> BTreeMap<JobId, Option<Arc<[u8]>>> {
        let unfinished = opened.jobs.unfinished.iter().map(|job| job.accepted.id);
        let present = unfinished.filter(|job| self.jobs.contains(job));
        let token = |job| system_dir::read_job_token(&self.system, job).ok().map(Arc::from);
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
            self.report(self.on_pool(move || system_dir::remove_foreign_start_marker(&system)).await);
        }
    }

    /// Adopts one job; returns its user, or why it cannot be adopted.
    async fn adopt_job(&self, id: JobId) -> Result<Arc<str>, String> {
        let (system, reader) = (self.system.clone(), self.reader.clone());
        let (resolver, pool_property) = (self.resolver.clone(), self.pool_property());
        let read = move || -> Result<_, SubmissionError> {
            let info = system_dir::read_job_info(&system, id)?;
            let directory = info.directory.0.ok_or(SubmissionError::NoDirectory(id))?;
            let user: Arc<str> = info.user.0.into();
            let ReadConf { directory, mut spec, job_xml, .. } =
                reader.read_conf(id, &user, &directory, pool_property.as_deref())?;
            let read = reader.read_splits(id, &directory, spec.maps, spec.only_stock.is_some())?;
            spec.only_stock = spec.only_stock.or(read.only_stock);
            let rack_request = resolver.request_racks(&user, read.splits.hosts(), true);
            let splits = Splits::of(read.splits, rack_request, &resolver);
            Ok((user, spec, splits, system_dir::read_job_token(&system, id)?, job_xml))
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

    /// Recovers the system directory: adoption, then cleanup.
    pub(crate) async fn recover_system_dir(self: Rc<Self>, leftovers: super::Leftovers, adopted: impl FnOnce()) {
        self.adopt_found_jobs(&leftovers.found, leftovers.was_another_here).await;
        adopted();
        self.settle(leftovers).await;
    }
}
