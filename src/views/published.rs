//! One publication.

use std::sync::{Arc, OnceLock};

use crate::engine::{ClusterSnapshot, JobSnapshot};
use crate::model::{FactNumber, JobId};

use super::overview::{jobs, overview};
use super::read_model::Views;
use super::samples::Samples;
use super::shown::{Generation, Shown};
use super::volatile::{LastExplanation, Volatile};

/// What is shown from one publication to the next. Nothing in it changes.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) views: Views,
    volatile: Volatile,
    samples: Samples,
    /// Ends of jobs that the owner has reported.
    reported_ends: u64,
    /// Made by the first reader that needs it.
    overview: OnceLock<Arc<ClusterSnapshot>>,
}

/// How far a publication has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The last fact in it.
    pub(super) number: FactNumber,
    /// The last fact in its last delta, and when that was made, ms of the monotonic clock; 0: there was none yet.
    pub(super) delta_number: FactNumber,
    pub(super) delta_mono_ms: u64,
    /// The last fact of which only a delta shows all that it changed.
    pub(super) delta_due: FactNumber,
    /// When jobs were in a delta last; 0: never.
    pub(super) jobs_mono_ms: u64,
    /// Ends of jobs that the owner had reported.
    pub(super) reported_ends: u64,
}

// === impl Published ===

impl Published {
    pub(super) fn new(views: Views, volatile: Volatile, samples: Samples, reported_ends: u64) -> Self {
        Self { views, volatile, samples, reported_ends, overview: OnceLock::new() }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            number: self.views.number(),
            delta_number: self.volatile.number,
            delta_due: self.views.delta_due(),
            delta_mono_ms: self.volatile.at.mono_ms,
            jobs_mono_ms: self.volatile.jobs_mono_ms,
            reported_ends: self.reported_ends,
        }
    }

    /// All of it; none before the first delta.
    pub(super) fn shown(&self) -> Option<Shown> {
        let is_made = self.volatile.at.mono_ms != 0;
        is_made.then(|| Shown {
            views: self.views.clone(),
            overview: self.overview.get_or_init(|| Arc::new(overview(&self.views, &self.volatile))).clone(),
            samples: self.samples.clone(),
            generation: Generation { fact: self.views.number(), deltas: self.volatile.deltas },
        })
    }

    /// Why a job has no more slots, as the owner said it last.
    pub(super) fn explanation(&self, job: JobId) -> Option<&LastExplanation> {
        self.volatile.explained.get(&job)
    }

    /// The newest jobs that are wanted, at most so many, and how many more there are.
    pub(super) fn jobs(&self, is_wanted: impl Fn(&JobSnapshot) -> bool, most: usize) -> (Vec<JobSnapshot>, u64) {
        jobs(&self.views, &self.volatile, is_wanted, most)
    }
}
