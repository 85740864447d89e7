//! Publications: what is shown from one to the next, and the last of them.

use std::sync::{Arc, OnceLock};

use crate::engine::{ClusterSnapshot, JobSnapshot, Watched, WatchedState};
use crate::model::{FactNumber, JobId};

use super::overview::{jobs, overview};
use super::read_model::Views;
use super::samples::Samples;
use super::shown::{Generation, Shown};
use super::volatile::{LastExplanation, LastSaid, Volatile};
use super::watched_job::WatchedJob;

/// What is shown from one publication to the next. Nothing in it changes.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) views: Views,
    volatile: Volatile,
    samples: Samples,
    reported_ends: u64,
    /// Made by the first reader that needs it.
    overview: OnceLock<Arc<ClusterSnapshot>>,
}

/// Publications before the newest that may still be asked for.
const KEPT_BEFORE: usize = 3;

/// The newest publication and some before it.
#[derive(Debug)]
pub(super) struct Publications {
    newest: Arc<Publication>,
    /// Newest first.
    before: Vec<Arc<Publication>>,
}

/// How far a publication has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PublicationProgress {
    pub(super) number: FactNumber,
    /// The last fact in its last delta, and when that was made, ms of the monotonic clock; 0: there was none yet.
    pub(super) delta_number: FactNumber,
    pub(super) delta_mono_ms: u64,
    /// The last fact of which only a delta shows all that it changed.
    pub(super) delta_due: FactNumber,
    /// When jobs were in a delta last; 0: never.
    pub(super) jobs_mono_ms: u64,
    pub(super) reported_ends: u64,
}

impl Publications {
    pub(super) fn new(first: Publication) -> Self {
        Self { newest: Arc::new(first), before: Vec::new() }
    }

    /// These with a newer one.
    pub(super) fn followed_by(&self, newest: Publication) -> Self {
        let before = [&self.newest].into_iter().chain(&self.before).take(KEPT_BEFORE).cloned().collect();
        Self { newest: Arc::new(newest), before }
    }

    pub(super) fn newest(&self) -> &Publication {
        &self.newest
    }

    /// The one of a generation, while it is kept.
    pub(super) fn at(&self, generation: Generation) -> Option<Shown> {
        let mut all = [&self.newest].into_iter().chain(&self.before);
        all.find(|one| one.generation() == generation).and_then(|one| one.shown())
    }
}

impl Publication {
    pub(super) fn new(views: Views, volatile: Volatile, samples: Samples, reported_ends: u64) -> Self {
        Self { views, volatile, samples, reported_ends, overview: OnceLock::new() }
    }

    pub(super) fn progress(&self) -> PublicationProgress {
        PublicationProgress {
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
            generation: self.generation(),
        })
    }

    fn generation(&self) -> Generation {
        Generation { fact: self.views.number(), deltas: self.volatile.deltas }
    }

    /// Why a job has no more slots, as the owner said it last.
    pub(super) fn explanation(&self, job: JobId) -> Option<&LastExplanation> {
        self.volatile.explained.get(&job)
    }

    /// What is no fact of a job or a task that is looked at, as the owner said it last.
    pub(super) fn watched(&self, watched: Watched) -> Option<&LastSaid<WatchedState>> {
        self.volatile.watched.get(&watched)
    }

    /// A job with what the owner said of it last; none of an unknown one.
    pub(super) fn watched_job(&self, job: JobId, watched: Option<Watched>) -> Option<WatchedJob> {
        let state = watched.and_then(|watched| self.watched(watched)?.value.clone());
        WatchedJob::new(&self.views, &self.volatile, job, state)
    }

    /// The newest jobs that are wanted, at most so many, and how many more there are.
    pub(super) fn jobs(&self, is_wanted: impl Fn(&JobSnapshot) -> bool, most: usize) -> (Vec<JobSnapshot>, u64) {
        jobs(&self.views, &self.volatile, is_wanted, most)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::Now;
    use crate::store::LoadedState;
    use crate::views::ReadModel;

    fn published(deltas: u64) -> Publication {
        let at = Now { mono_ms: deltas + 1, wall_ms: 0 };
        let views = ReadModel::load(&LoadedState::default(), 9).views().clone();
        Publication::new(views, Volatile { deltas, at, ..Volatile::default() }, Samples::default(), 0)
    }

    #[test]
    fn the_last_four_may_be_asked_for() {
        let all = (2..=6).fold(Publications::new(published(1)), |all, deltas| all.followed_by(published(deltas)));
        let generation = |deltas| Generation { fact: FactNumber(0), deltas };
        let kept = |deltas| all.at(generation(deltas)).map(|shown| shown.generation);
        assert_eq!((1..=7).filter_map(kept).collect::<Vec<_>>(), [3, 4, 5, 6].map(generation));
        assert_eq!(Generation::parse(&generation(6).to_string()), Some(generation(6)));
        assert_eq!(["7", "7.", ".7", "7.x", "7.7.7", ""].map(Generation::parse), [None; 6]);
    }
}
