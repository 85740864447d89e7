//! A job with what the owner says of it beside facts while somebody looks at it.

use std::sync::Arc;

use crate::engine::{LiveJob, TrackerSnapshot, WatchedState};
use crate::model::{JobId, RunState};

use super::job_view::JobView;
use super::read_model::Views;
use super::shared_map::SharedMap;
use super::volatile::{ShownTracker, Volatile};

#[derive(Clone, Debug)]
pub(crate) struct WatchedJob {
    pub(crate) job: Arc<JobView>,
    /// Its state and when it ended, epoch ms, as they may be shown.
    pub(crate) shown_end: (RunState, Option<i64>),
    pub(crate) live: LiveJob,
    /// What else the owner says of it, or of a task of it; none: nothing yet, or it is over.
    pub(crate) state: Option<Arc<WatchedState>>,
    trackers: SharedMap<Arc<str>, ShownTracker>,
}

impl WatchedJob {
    pub(super) fn new(
        views: &Views,
        volatile: &Volatile,
        job: JobId,
        state: Option<Arc<WatchedState>>,
    ) -> Option<Self> {
        let job = views.job(job)?.clone();
        let live = match &state {
            Some(state) => state.live.clone(),
            None => volatile.live_job(job.id(), job.state()),
        };
        Some(Self { shown_end: views.shown_end(&job), live, state, trackers: volatile.trackers.clone(), job })
    }

    /// A tracker that is registered.
    pub(crate) fn tracker(&self, name: &str) -> Option<&TrackerSnapshot> {
        self.trackers.get(name).map(|tracker| &*tracker.snapshot)
    }
}
