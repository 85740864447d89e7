//! What no fact says of jobs and tasks that somebody looks at: how far their attempts are, and what they count.

use crate::engine::core::Engine;
use crate::mapreduce::{Attempt, CounterValues, Job, RunningPlace, TaskKey};
use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, TaskId};
use crate::wire::Counters;

use super::snapshot::LiveJob;

/// Attempts in a slice.
const ATTEMPTS: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watched {
    /// A job, with its attempts that run.
    Job(JobId),
    /// A task, with all its attempts.
    Task(TaskId),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WatchedState {
    /// Whether its job has begun: before, that has no tasks to show.
    pub(crate) has_begun: bool,
    pub(crate) live: LiveJob,
    /// Of a job: its counters, and the sums over its maps and reduces.
    pub(crate) counters: Counters,
    pub(crate) counters_of_kind: PerKind<Counters>,
    /// Of a job: the hosts that it avoids, with the failures of its attempts there.
    pub(crate) flaky_hosts: Vec<(String, u32)>,
    pub(crate) attempts: Vec<ReportedAttempt>,
}

/// An attempt as its tracker reported it last.
#[derive(Clone, Debug)]
pub(crate) struct ReportedAttempt {
    pub(crate) id: AttemptId,
    pub(crate) state: AttemptState,
    /// 0 to 1.
    pub(crate) progress: f32,
    /// Progress of its task, 0 to 1.
    pub(crate) task_progress: f32,
    /// Times, epoch ms; 0: not yet.
    pub(crate) start_ms: i64,
    pub(crate) shuffle_finish_ms: i64,
    pub(crate) sort_finish_ms: i64,
    pub(crate) status: String,
    /// As facts have them, but each on its own.
    pub(crate) diagnostics: Vec<String>,
    pub(crate) counters: Option<CounterValues>,
}

/// A walk over what is watched.
#[derive(Debug, Default)]
pub(super) struct WatchWalk {
    pub(super) to_say: Vec<Watched>,
    /// Of the job that was said last: where its attempts continue.
    rest: Option<(Kind, Option<RunningPlace>)>,
}

impl Watched {
    fn job(self) -> JobId {
        match self {
            Self::Job(job) => job,
            Self::Task(task) => task.job,
        }
    }
}

impl ReportedAttempt {
    fn new(job: &Job, key: TaskKey, attempt: &Attempt) -> Self {
        Self {
            id: job.task_id(key).attempt(attempt.number),
            state: attempt.state,
            progress: attempt.progress,
            task_progress: job.task(key).progress,
            start_ms: attempt.start_ms,
            shuffle_finish_ms: attempt.shuffle_finish_ms,
            sort_finish_ms: attempt.sort_finish_ms,
            status: attempt.state_text.clone(),
            diagnostics: attempt.diagnostics.texts().map(str::to_owned).collect(),
            counters: attempt.counters.clone(),
        }
    }
}

impl Engine {
    /// Says the next thing that is watched, or some more attempts of a job; returns whether there was any.
    pub(super) fn walk_watched(&self, walk: &mut WatchWalk, said: &mut Vec<(Watched, Option<WatchedState>)>) -> bool {
        if let (Some((kind, after)), Some((watched, Some(state)))) = (walk.rest.take(), said.last_mut()) {
            let job = self.jobs.get(watched.job());
            walk.rest = job.and_then(|job| add_running(job, kind, after, &mut state.attempts));
            return true;
        }
        let Some(watched) = walk.to_say.pop() else { return false };
        let job = self.jobs.get(watched.job()).filter(|job| !job.is_without_tasks());
        said.push((watched, job.map(|job| self.watched_state(job, watched))));
        walk.rest = job.filter(|_| matches!(watched, Watched::Job(_))).map(|_| (Kind::Map, None));
        true
    }

    fn watched_state(&self, job: &Job, watched: Watched) -> WatchedState {
        let rows =
            |key: TaskKey| job.task(key).attempts.iter().map(move |attempt| ReportedAttempt::new(job, key, attempt));
        let mut state =
            WatchedState { has_begun: job.has_begun(), live: self.live_job(job), ..WatchedState::default() };
        match watched {
            Watched::Task(task) => {
                state.attempts = job.key_of(task).filter(|_| job.has_begun()).into_iter().flat_map(rows).collect();
            }
            Watched::Job(_) => {
                let of_kind = |kind| job.counters_of_kind(kind);
                state.counters = job.counters(&self.cluster.counter_limits).unwrap_or_default();
                state.counters_of_kind = PerKind::new(of_kind(Kind::Map), of_kind(Kind::Reduce));
                let topology = self.cluster.scheduler.topology();
                let named = |(host, failures)| (topology.host_name(host).to_owned(), failures);
                state.flaky_hosts = job.flaky_host_failures().map(named).collect();
                let keys = Kind::ALL.into_iter().flat_map(|kind| [TaskKey::Setup(kind), TaskKey::Cleanup(kind)]);
                state.attempts = keys.flat_map(rows).collect();
            }
        }
        state
    }
}

/// Adds the next attempts of a job that run; where they continue.
fn add_running(
    job: &Job,
    kind: Kind,
    after: Option<RunningPlace>,
    rows: &mut Vec<ReportedAttempt>,
) -> Option<(Kind, Option<RunningPlace>)> {
    let before = rows.len();
    let mut last = None;
    for (place, key, attempt) in job.running_after(kind, after).take(ATTEMPTS) {
        rows.push(ReportedAttempt::new(job, key, attempt));
        last = Some(place);
    }
    match kind {
        _ if rows.len() - before == ATTEMPTS => Some((kind, last)),
        Kind::Map => Some((Kind::Reduce, None)),
        Kind::Reduce => None,
    }
}
