//! Jobs of other JobTrackers in the system directory: found at the start, adopted once the daemon serves.
//!
//! Nothing that may still be useful is deleted: a job that cannot be adopted keeps its directory, and the next start
//! retries.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::{Event, ForeignJob, Reply};
use crate::model::JobId;

use super::read::{ReadConf, Splits};
use super::system_dir_at_start::UnreadSystemDir;
use super::{SubmissionError, Submissions};

/// Pause between two tries to reach the system directory.
const REACH_PAUSE: Duration = Duration::from_secs(2);

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
            let ReadConf { directory, mut spec, job_xml, uncallable, .. } =
                reader.read_conf(id, &user, &directory, pool_property.as_deref())?;
            if let Some(why) = uncallable {
                tracing::warn!(
                    "{id} of another JobTracker is adopted, its owner will not be notified of its end: {why}"
                );
                spec.end_notification = None;
            }
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

    /// Waits until the system directory can be reached; returns the jobs to be adopted. If another JobTracker has used it, another session
    /// is requested, again and again until this one ends.
    async fn await_system_dir(&self, unread: UnreadSystemDir) -> BTreeSet<JobId> {
        let unread = Arc::new(unread);
        loop {
            let this = unread.clone();
            match self.on_pool(move || this.read()).await {
                // What it did with unfinished jobs is taken over where the state is loaded: its marker stays, and the next session finds it.
                Ok(Ok((_, true))) => {
                    let system = &unread.settings.directories.system;
                    tracing::warn!(
                        "another JobTracker has started on {system} since our last run: loading the state again"
                    );
                    self.awaited_files.set("unfinished jobs are taken over from another JobTracker".to_owned());
                    self.needs_next_session.notify_one();
                }
                Ok(Ok((jobs, false))) => {
                    self.awaited_files.clear();
                    tracing::info!("the files of jobs can be reached: jobs can be submitted");
                    return jobs;
                }
                Ok(Err(error)) => self.awaited_files.set(error.to_string()),
                Err(error) => self.awaited_files.set(error.message),
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
