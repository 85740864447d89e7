//! History files of finished jobs (1.2.1 `JobHistory`): written from the state database by a task of its own, one job after the other,
//! after the end of the job is durable. Nothing waits for them; the users' copies, for which the report of a job's end waits, are
//! written beside them (`user_copies.rs`).
//!
//! A job's files are written once more after a failure and after a restart, until a fact says that they are. Their names and their
//! content follow from what is stored, so there is one file however often it is written.

mod aging;
mod dues;
mod files;
mod job_files;
mod lines;
mod names;
mod record;
mod user_copies;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::config::Settings;
use crate::engine::Event;
use crate::model::JobId;
use crate::store::{FaultPoint, FinishedJobReader};

use super::owner::Owner;
use super::rack_resolver::RackResolver;

pub(crate) use dues::HistoryCounts;
pub(crate) use job_files::HistoryContent;
pub(in crate::server) use lines::host_of_tracker;
pub(in crate::server) use names::log_file;
pub(crate) use user_copies::UserCopies;

use dues::HistoryDues;
use files::HistoryFiles;
use job_files::{HistoryPlaces, HistoryRacks, JobHistoryFiles};

/// Pause before what failed is tried once more, doubled each time up to the longest, ms.
const RETRY_PAUSES_MS: (u64, u64) = (30_000, 600_000);

pub(crate) struct HistoryWriter {
    owner: Rc<Owner>,
    racks: HistoryRacks,
    places: Arc<HistoryPlaces>,
    /// None: nothing is stored, so nothing is written.
    reader: Option<FinishedJobReader>,
    jobs: mpsc::UnboundedReceiver<JobId>,
    counts: HistoryCounts,
    /// When old files were looked for last, ms of the monotonic clock.
    cleaned_ms: Option<u64>,
}

/// A job whose history is due.
#[derive(Clone, Copy, Debug)]
struct DueHistory {
    job: JobId,
    /// Failed attempts.
    tries: u32,
}

/// How an attempt ended.
enum WriteOutcome {
    /// Written, or there is nothing to write.
    Done,
    /// To be tried once more.
    Failed(DueHistory),
}

impl HistoryWriter {
    /// A writer, and what gives it the jobs that end.
    pub(crate) fn new(
        owner: Rc<Owner>,
        settings: &Settings,
        resolver: Arc<RackResolver>,
        reader: Option<FinishedJobReader>,
    ) -> (Self, Rc<UserCopies>) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let counts = HistoryCounts::default();
        let dues = HistoryDues { jobs: sender, counts: counts.clone() };
        let (places, racks) = (Arc::new(HistoryPlaces::new(settings)), HistoryRacks(resolver));
        let copies =
            UserCopies::new(owner.clone(), places.clone(), racks.clone(), counts.clone(), dues, reader.clone());
        (Self { owner, racks, places, reader, jobs, counts, cleaned_ms: None }, Rc::new(copies))
    }

    /// What pages show of its files.
    pub(crate) fn content(&self) -> HistoryContent {
        HistoryContent { places: self.places.clone() }
    }

    pub(crate) fn counts(&self) -> HistoryCounts {
        self.counts.clone()
    }

    /// Writes histories as they come due, those that an earlier run has left first. Never completes.
    pub(crate) async fn run(mut self) {
        let Some(reader) = self.reader.clone() else { return std::future::pending().await };
        let mut left = self.left_by_earlier_runs(&reader).await;
        let mut retries: VecDeque<(u64, DueHistory)> = VecDeque::new();
        loop {
            self.counts.0.waiting.store((left.len() + retries.len() + self.jobs.len()) as u64, Ordering::Relaxed);
            let due = match left.pop_front() {
                Some(job) => DueHistory { job, tries: 0 },
                None => self.next(&mut retries).await,
            };
            match self.write(&reader, due).await {
                WriteOutcome::Done => {}
                WriteOutcome::Failed(due) => {
                    let (first_ms, longest_ms) = RETRY_PAUSES_MS;
                    let pause_ms = first_ms.saturating_mul(1 << due.tries.saturating_sub(1).min(16)).min(longest_ms);
                    retries.push_back((self.owner.clock().mono_ms() + pause_ms, due));
                }
            }
            self.remove_old().await;
        }
    }

    /// The next job, or one whose pause is over.
    async fn next(&mut self, retries: &mut VecDeque<(u64, DueHistory)>) -> DueHistory {
        let clock = self.owner.clock();
        let first =
            retries.iter().enumerate().min_by_key(|(_, (at_ms, _))| *at_ms).map(|(index, (at_ms, _))| (index, *at_ms));
        let pause = async {
            match first {
                Some((_, at_ms)) => tokio::time::sleep_until(clock.instant(at_ms)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(job) = self.jobs.recv() => DueHistory { job, tries: 0 },
            () = pause => {
                let retried = first.and_then(|(index, _)| retries.remove(index)).map(|(_, due)| due);
                match retried {
                    Some(due) => due,
                    None => std::future::pending().await,
                }
            }
            else => std::future::pending().await,
        }
    }

    /// Finished jobs whose histories an earlier run has not written. Jobs that have ended since come through the queue too, and are
    /// found to be written.
    async fn left_by_earlier_runs(&self, reader: &FinishedJobReader) -> VecDeque<JobId> {
        loop {
            let reader = reader.clone();
            match tokio::task::spawn_blocking(move || reader.due_histories()).await {
                Ok(Ok(due)) => return due.into(),
                Ok(Err(error)) => tracing::warn!("cannot look for histories that are to be written: {error}"),
                Err(error) => tracing::error!("looking for histories that are to be written: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(RETRY_PAUSES_MS.0)).await;
        }
    }

    async fn write(&self, reader: &FinishedJobReader, due: DueHistory) -> WriteOutcome {
        let job = due.job;
        let (store, max_bytes) = (reader.clone(), self.places.max_conf_bytes);
        let stored = match tokio::task::spawn_blocking(move || store.history(job, max_bytes)).await {
            Ok(Ok(Some(stored))) => stored,
            // It is written, or was deleted.
            Ok(Ok(None)) => return WriteOutcome::Done,
            Ok(Err(error)) => return self.failed(due, &format!("cannot read it: {error}")),
            Err(error) => return self.failed(due, &error.to_string()),
        };
        FaultPoint::HistoryDue.pass();
        let racks = self.racks.of(stored.trackers()).await;
        let places = self.places.clone();
        let written = tokio::task::spawn_blocking(move || JobHistoryFiles::new(&places, &stored, &racks).write_main());
        let path = match written.await {
            Ok(Ok(path)) => path,
            Ok(Err(error)) => return self.failed(due, &error.to_string()),
            Err(error) => return self.failed(due, &error.to_string()),
        };
        FaultPoint::HistoryWritten.pass();
        self.owner.step(Event::HistoryWritten { id: job, path });
        FaultPoint::HistoryRecorded.pass();
        self.counts.0.written.fetch_add(1, Ordering::Relaxed);
        WriteOutcome::Done
    }

    /// The first failure of a job is a line of the log; all are counted.
    fn failed(&self, due: DueHistory, why: &str) -> WriteOutcome {
        self.counts.0.failures.fetch_add(1, Ordering::Relaxed);
        if due.tries == 0 {
            tracing::warn!("cannot write the history of {}, retrying: {why}", due.job);
        }
        WriteOutcome::Failed(DueHistory { tries: due.tries + 1, ..due })
    }

    /// Removes old files, if that is due.
    async fn remove_old(&mut self) {
        let now = self.owner.clock().now();
        let history = &self.places.settings;
        let interval_ms = u64::try_from(history.cleaner_interval_ms).unwrap_or(0);
        if self.cleaned_ms.is_some_and(|cleaned_ms| now.mono_ms < cleaned_ms.saturating_add(interval_ms)) {
            return;
        }
        self.cleaned_ms = Some(now.mono_ms);
        let (done, max_age_ms) = (history.done.clone(), history.max_age_ms);
        let files = HistoryFiles::done(self.places.files.clone());
        let removal = move || aging::remove_old(files, &done, now.wall_ms, max_age_ms);
        let removed = tokio::task::spawn_blocking(removal).await;
        match removed {
            Ok(Ok(0)) => {}
            Ok(Ok(removed)) => tracing::info!("removed {removed} folders and files of old histories"),
            Ok(Err(error)) => tracing::warn!("cannot remove old histories: {error}"),
            Err(error) => tracing::error!("removing old histories: {error}"),
        }
    }
}
