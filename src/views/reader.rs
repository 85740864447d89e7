//! The ways to the views: of the owner, which sends and never waits, and of readers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::clock::Clock;
use crate::engine::{JobSnapshot, VolatileDelta, Watched};
use crate::model::{FactNumber, JobId};
use crate::store::FollowerWaker;

use super::job_view::JobView;
use super::last_reads::FRESH_MS;
use super::looks::ReaderLooks;
use super::published::{Publication, PublicationProgress, Publications};
use super::read_model::Views;
use super::shown::{Generation, Shown};
use super::volatile::{LastExplanation, LastSaid};
use super::watched_job::WatchedJob;

/// Shows what was published last. Cheap to clone, for any thread; nothing that it does is an event for the owner.
#[derive(Clone, Debug)]
pub struct ViewsReader {
    published: Arc<ArcSwap<Publications>>,
    progress: watch::Receiver<PublicationProgress>,
    looks: Arc<ReaderLooks>,
    clock: Clock,
    /// The last fact of the changes that were made beside this reader: who made one sees it.
    required: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookAt {
    /// All but the jobs of its report.
    Cluster,
    /// All of it.
    Policy,
    /// All of it; what the policy makes of jobs as it was a moment ago.
    OfLate,
}

impl ViewsReader {
    pub(super) fn new(
        published: Arc<ArcSwap<Publications>>,
        progress: watch::Receiver<PublicationProgress>,
        looks: Arc<ReaderLooks>,
        clock: Clock,
    ) -> Self {
        Self { published, progress, looks, clock, required: Arc::default() }
    }

    /// What facts have made, as it was published last.
    pub(crate) fn views(&self) -> Views {
        self.published.load().newest().views.clone()
    }

    /// What one of the last publications shows; none: it is not kept.
    pub(crate) fn at(&self, generation: Generation) -> Option<Shown> {
        self.published.load().at(generation)
    }

    /// The newest jobs that are wanted, at most so many, as they were published last, and how many more there are.
    pub(crate) fn jobs(&self, is_wanted: impl Fn(&JobSnapshot) -> bool, most: usize) -> (Vec<JobSnapshot>, u64) {
        self.published.load().newest().jobs(is_wanted, most)
    }

    /// Later overviews show at least this fact.
    pub(crate) fn require(&self, number: FactNumber) {
        self.required.fetch_max(number.0, Ordering::Relaxed);
    }

    /// All that was `durable` when the call came, and little more than a second old in what is no fact; after `limit` as far as
    /// there is anything. None before the first publication.
    pub(crate) async fn look(&self, at: LookAt, durable: FactNumber, limit: Duration) -> Option<Shown> {
        let (asked_ms, at_jobs) = (self.clock.mono_ms(), at != LookAt::Cluster);
        let is_looked_at = match at {
            LookAt::Cluster => self.looks.is_looked_at(asked_ms),
            LookAt::Policy | LookAt::OfLate => self.looks.are_jobs_looked_at(asked_ms),
        };
        self.looks.look(asked_ms, at_jobs);
        // Who looks first sees this moment.
        let oldest_ms = if is_looked_at { asked_ms.saturating_sub(FRESH_MS) } else { asked_ms };
        let required = FactNumber(self.required.load(Ordering::Relaxed));
        // What the policy makes of a change of a job is shown by a delta alone.
        let required = if at == LookAt::Policy { required.max(durable) } else { required };
        let reported_ends = self.looks.reported_ends();
        let has_fresh_delta = |progress: &PublicationProgress| {
            let made_ms = if at_jobs { progress.jobs_mono_ms } else { progress.delta_mono_ms };
            made_ms >= oldest_ms && progress.delta_number >= required.max(progress.delta_due)
        };
        let is_good = |progress: &PublicationProgress| {
            progress.number >= durable && progress.reported_ends >= reported_ends && has_fresh_delta(progress)
        };
        let mut progress = self.progress.clone();
        let looked = async {
            let found = progress.wait_for(|progress| progress.number >= durable).await;
            if found.is_ok_and(|progress| !has_fresh_delta(&progress)) {
                self.looks.wanted.notify_one();
            }
            progress.wait_for(is_good).await.is_ok()
        };
        // Without a publication in time, or with none to come, the last one is shown.
        let _ = timeout(limit, looked).await;
        self.published.load().newest().shown()
    }

    /// Why a job has no more slots, not much older than a second, or, with many such readers, than a round over their jobs; after
    /// `limit` what there is. The owner says it beside all else that is no fact.
    pub(crate) async fn explanation(&self, job: JobId, limit: Duration) -> Option<LastExplanation> {
        let asked_ms = self.clock.mono_ms();
        self.looks.look(asked_ms, false);
        let oldest_ms = self.looks.explanations().read(job, asked_ms);
        self.wait_for_said(oldest_ms, limit, |published| published.explanation(job)).await;
        self.published.load().newest().explanation(job).cloned()
    }

    /// A job as facts have it, all that was `durable` when the call came. Of one that is not over also what the owner says beside
    /// facts of what is `wanted`, not much older than a second; after `limit` what there is. None of an unknown job.
    pub(crate) async fn watched_job(
        &self,
        job: JobId,
        wanted: Option<Watched>,
        durable: FactNumber,
        limit: Duration,
    ) -> Option<WatchedJob> {
        let asked_ms = self.clock.mono_ms();
        self.looks.look(asked_ms, false);
        let mut progress = self.progress.clone();
        let _ = timeout(limit, progress.wait_for(|progress| progress.number >= durable)).await;
        let is_over = |job: &Arc<JobView>| job.finish_ms().is_some();
        let wanted = wanted.filter(|_| self.published.load().newest().views.job(job).is_some_and(|job| !is_over(job)));
        if let Some(wanted) = wanted {
            let oldest_ms = self.looks.watched().read(wanted, asked_ms);
            self.wait_for_said(oldest_ms, limit, |published| published.watched(wanted)).await;
        }
        self.published.load().newest().watched_job(job, wanted)
    }

    /// Waits until the owner has said something no earlier than at a moment, ms of the monotonic clock.
    async fn wait_for_said<T>(
        &self,
        oldest_ms: u64,
        limit: Duration,
        last: impl Fn(&Publication) -> Option<&LastSaid<T>>,
    ) {
        let required = FactNumber(self.required.load(Ordering::Relaxed));
        let is_said = || {
            let published = self.published.load();
            last(published.newest()).is_some_and(|last| last.made_mono_ms >= oldest_ms && last.number >= required)
        };
        if !is_said() {
            self.looks.wanted.notify_one();
            let mut progress = self.progress.clone();
            let _ = timeout(limit, progress.wait_for(|_| is_said())).await;
        }
    }
}

/// What the owner says beside facts.
#[derive(Debug)]
pub(super) enum Note {
    /// What is no fact, as far as it has changed.
    Delta(Box<VolatileDelta>),
    /// The end of this job may be shown.
    EndReported(JobId),
}

/// Sends to the views what is no fact.
#[derive(Clone, Debug)]
pub struct ViewsFeed {
    notes: mpsc::Sender<Note>,
    waker: FollowerWaker,
    looks: Arc<ReaderLooks>,
}

impl ViewsFeed {
    pub(super) fn new(notes: mpsc::Sender<Note>, waker: FollowerWaker, looks: Arc<ReaderLooks>) -> Self {
        Self { notes, waker, looks }
    }

    /// Sends what is no fact.
    pub(crate) fn send(&self, delta: VolatileDelta) {
        self.looks.send_delta();
        self.note(Note::Delta(Box::new(delta)));
    }

    /// The end of a job, which was withheld, may be shown.
    pub(crate) fn report_end(&self, job: JobId) {
        self.looks.report_end();
        self.note(Note::EndReported(job));
    }

    fn note(&self, note: Note) {
        // The views may be gone: the daemon stops.
        let _ = self.notes.send(note);
        self.waker.wake();
    }

    /// Whether somebody has looked of late.
    pub(crate) fn is_looked_at(&self, now_ms: u64) -> bool {
        self.looks.is_looked_at(now_ms)
    }

    /// Whether somebody has looked at the jobs as the policy has them.
    pub(crate) fn are_jobs_looked_at(&self, now_ms: u64) -> bool {
        self.looks.are_jobs_looked_at(now_ms)
    }

    /// The jobs to explain in the next delta: of those whose explanations are read, the ones explained longest ago.
    pub(crate) fn jobs_to_explain(&self, now_ms: u64) -> Vec<JobId> {
        self.looks.explanations().take_due(now_ms)
    }

    /// The jobs and tasks to say beside facts in the next delta.
    pub(crate) fn to_watch(&self, now_ms: u64) -> Vec<Watched> {
        self.looks.watched().take_due(now_ms)
    }

    /// Whether the last delta still waits: the views are behind, and another one would only wait too.
    pub(crate) fn is_delta_waiting(&self) -> bool {
        self.looks.is_delta_waiting()
    }

    /// Completes when a reader waits for a delta.
    pub(crate) async fn wanted(&self) {
        self.looks.wanted.notified().await;
    }
}
