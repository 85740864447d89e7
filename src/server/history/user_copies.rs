//! The copies of histories that lie with the output of their jobs (1.2.1 `JobHistory`). Where one lies is its user's choice, so each is
//! written once, in a pool of its own and within a short time, before the end of its job is reported: a user who renames or removes the
//! output then does so for good. What is not written by then never is.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::model::JobId;
use crate::server::fair_pool::{FairPool, FairPoolError};
use crate::server::owner::Owner;
use crate::store::{FinishedJobReader, StoreError};

use super::dues::{HistoryCounts, HistoryDues};
use super::files::{CopyGate, HistoryFileError};
use super::job_files::{HistoryPlaces, HistoryRacks, JobHistoryFiles};

/// Copies at once, and of one user.
const COPIES: (usize, usize) = (4, 1);
/// Histories read at once, whosever they are.
const READINGS: usize = 4;
/// How long the end of a job may wait for its copy.
const COPY_LIMIT: Duration = Duration::from_secs(3);
/// Time after which a thread that writes a copy counts as stuck.
const COPY_TIMEOUT: Duration = Duration::from_secs(10);
/// Stuck threads at which no further copy is begun.
const MAX_STUCK: usize = 4;

pub(crate) struct UserCopies {
    owner: Rc<Owner>,
    places: Arc<HistoryPlaces>,
    racks: HistoryRacks,
    pool: FairPool,
    /// Finds out whether and where, which waits for nothing that users choose.
    readings: FairPool,
    counts: HistoryCounts,
    dues: HistoryDues,
    /// None: nothing is stored, so nothing is written.
    reader: Option<FinishedJobReader>,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error("not written within {} s after the end of the job", COPY_LIMIT.as_secs())]
    TooSlow,
    #[error(transparent)]
    File(#[from] HistoryFileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Pool(#[from] FairPoolError),
    #[error("the JobTracker failed internally: {0}")]
    Failed(#[from] tokio::task::JoinError),
}

/// Closes a gate when it is dropped: a daemon that stops reports the end at its next start.
struct CloseGate(Arc<CopyGate>);

impl Drop for CloseGate {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl UserCopies {
    pub(super) fn new(
        owner: Rc<Owner>,
        places: Arc<HistoryPlaces>,
        racks: HistoryRacks,
        counts: HistoryCounts,
        dues: HistoryDues,
        reader: Option<FinishedJobReader>,
    ) -> Self {
        let pool = FairPool::new(COPIES.0, COPIES.1, COPY_TIMEOUT, MAX_STUCK);
        let readings = FairPool::new(READINGS, READINGS, COPY_TIMEOUT, MAX_STUCK);
        Self { owner, places, racks, pool, readings, counts, dues, reader }
    }

    /// Writes the copy of a job that is over, then lets its end be reported; the daemon's own files are due as soon as the job is read.
    pub(crate) async fn settle(self: Rc<Self>, job: JobId) {
        let profile = self.owner.with_engine(|engine| engine.job_profile(job)).value;
        let user: Arc<str> = profile.map_or_else(|| Arc::from(""), |profile| Arc::from(&*profile.user));
        let until = Instant::now() + COPY_LIMIT;
        let gate = Arc::<CopyGate>::default();
        let closing = CloseGate(gate.clone());
        let (read, is_read) = oneshot::channel();
        let mut writing = tokio::task::spawn_local(self.clone().copy(job, user.clone(), gate, read));
        // Whatever the reading found, or that it found nothing in time.
        let _ = timeout_at(until, is_read).await;
        self.dues.write(job);
        let written = match timeout_at(until, &mut writing).await {
            Ok(Ok(written)) => written,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(CopyError::TooSlow),
        };
        drop(closing);
        if let Err(error) = written {
            self.counts.0.failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                "cannot write the copy of the history of {job} for user {user}: {error}; it stays without one"
            );
        }
        self.owner.report_end(job);
    }

    async fn copy(
        self: Rc<Self>,
        job: JobId,
        user: Arc<str>,
        gate: Arc<CopyGate>,
        read: oneshot::Sender<()>,
    ) -> Result<(), CopyError> {
        let Some(reader) = self.reader.clone() else { return Ok(()) };
        let max_bytes = self.places.max_conf_bytes;
        let find = {
            let (places, reader) = (self.places.clone(), reader.clone());
            move || -> Result<_, CopyError> {
                let Some(job) = reader.finished(job)? else { return Ok(None) };
                let job_xml = reader.job_xml(job.id, max_bytes)?;
                let Some(folder) = places.copy_folder(&job, job_xml.as_deref())? else { return Ok(None) };
                Ok(Some((job.spec.user.clone(), folder, reader.trackers_of(job.id)?)))
            }
        };
        let Some((user_of_files, folder, trackers)) = self.readings.run(&user, find).await?? else { return Ok(()) };
        let racks = self.racks.of(trackers.iter().map(String::as_str)).await;
        let places = self.places.clone();
        let write = move || -> Result<(), CopyError> {
            // Begins only while somebody waits for it, and reads the tasks only now: those that wait keep no history in memory.
            gate.check().map_err(HistoryFileError::from)?;
            let stored = reader.history(job, max_bytes)?;
            // Only now: once the daemon's own files are written, nothing is left to read. Who waits may have given up.
            let _ = read.send(());
            let Some(stored) = stored else { return Ok(()) };
            let Some(files) = places.files_of_copy(&user_of_files, &folder, gate)? else { return Ok(()) };
            Ok(JobHistoryFiles::new(&places, &stored, &racks).write_copy(&files, &folder)?)
        };
        self.pool.run(&user, write).await?
    }
}
