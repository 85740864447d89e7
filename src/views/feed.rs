//! The owner's way to the views: it sends and never waits.

use std::sync::{Arc, mpsc};

use crate::engine::VolatileDelta;
use crate::model::JobId;
use crate::store::FollowerWaker;

use super::looks::Looks;

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
    looks: Arc<Looks>,
}

impl ViewsFeed {
    pub(super) fn new(notes: mpsc::Sender<Note>, waker: FollowerWaker, looks: Arc<Looks>) -> Self {
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
        self.looks.jobs_to_explain(now_ms)
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
