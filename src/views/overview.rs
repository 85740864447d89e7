//! The snapshot that pages and metrics print, from facts and from what the owner said last.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{SchedulerReport, no_worker_can_run};
#[cfg(test)]
use crate::engine::VolatileDelta;
use crate::engine::{ClusterSnapshot, JOBS_SHOWN, JobSnapshot, MoneySnapshot, TrackerSnapshot};
use crate::model::{Credits, JobId, PerKind, RunState};

use super::job_view::JobView;
use super::read_model::Views;
use super::volatile::{SharedList, ShownTracker, Volatile};

/// What costs of jobs depend on.
#[derive(Clone, Copy)]
pub(super) struct Market {
    pub(super) is_there: bool,
    pub(super) is_ruling: bool,
}

/// The cluster at the moment of the last delta; its jobs as the last facts have them.
pub(super) fn overview(views: &Views, volatile: &Volatile) -> ClusterSnapshot {
    let head = (*volatile.head).clone();
    let market = Market { is_there: head.money.is_some(), is_ruling: head.price.is_some() };
    let stuck = stuck_jobs(volatile);
    let jobs = views.jobs().rev().take(JOBS_SHOWN);
    let is_running = |job: &&Arc<JobView>| views.shown_end(job).0 == RunState::Running;
    let older_jobs = views.jobs().rev().skip(JOBS_SHOWN).filter(is_running);
    let shown = |job: &Arc<JobView>| job_snapshot(views, job, market, volatile, stuck.get(&job.id()));
    let trackers: Vec<_> = volatile.trackers.values().map(|tracker| tracker_snapshot(tracker, volatile)).collect();
    ClusterSnapshot {
        money: head.money.map(|money| MoneySnapshot { balances: values(&volatile.balances), ..money }),
        queues: values(&volatile.queues),
        report: SchedulerReport {
            groups: values(&volatile.groups),
            jobs_left_out: head.report.jobs_left_out.saturating_sub(volatile.jobs.len() as u64),
            jobs: (*volatile.jobs).clone(),
            ..head.report
        },
        jobs: jobs.map(shown).collect(),
        older_jobs: older_jobs.map(shown).collect(),
        attempts: ClusterSnapshot::attempts_on(&trackers),
        trackers,
        ..head
    }
}

/// The newest jobs that are wanted, at most so many, and how many more there are.
pub(super) fn jobs(
    views: &Views,
    volatile: &Volatile,
    is_wanted: impl Fn(&JobSnapshot) -> bool,
    most: usize,
) -> (Vec<JobSnapshot>, u64) {
    let market = Market { is_there: volatile.head.money.is_some(), is_ruling: volatile.head.price.is_some() };
    let stuck = stuck_jobs(volatile);
    let shown = |job: &Arc<JobView>| job_snapshot(views, job, market, volatile, stuck.get(&job.id()));
    let mut wanted = views.jobs().rev().map(shown).filter(is_wanted);
    let found = wanted.by_ref().take(most).collect();
    (found, wanted.count() as u64)
}

/// Why no worker can run jobs, as a sentence.
fn stuck_jobs(volatile: &Volatile) -> BTreeMap<JobId, String> {
    let workers = u32::try_from(volatile.trackers.len()).unwrap_or(u32::MAX);
    let sentence = |because: &str| no_worker_can_run(workers, because);
    volatile.head.stuck.iter().filter_map(|stuck| Some((stuck.holder.job()?, sentence(&stuck.because)))).collect()
}

fn values<T: Clone>(list: &SharedList<T>) -> Vec<T> {
    list.iter().map(|value| (**value).clone()).collect()
}

fn tracker_snapshot(tracker: &ShownTracker, volatile: &Volatile) -> TrackerSnapshot {
    let silent_ms = volatile.at.mono_ms.saturating_sub(tracker.seen_mono_ms);
    TrackerSnapshot { silent_ms, ..(*tracker.snapshot).clone() }
}

fn job_snapshot(
    views: &Views,
    job: &JobView,
    market: Market,
    volatile: &Volatile,
    stuck: Option<&String>,
) -> JobSnapshot {
    let (spec, counts) = (job.spec(), job.counts());
    let (state, finish_ms) = views.shown_end(job);
    let is_ending = job.ending().is_some() || job.finish_ms().is_some();
    let pause = views.pause_of(Some(job.id()), &spec.queue).filter(|_| !is_ending);
    JobSnapshot {
        live: volatile.live_job(job.id(), job.state()),
        id: job.id(),
        name: spec.name.clone(),
        user: spec.user.clone(),
        queue: spec.queue.clone(),
        priority: job.priority(),
        state,
        submit_ms: job.submit_ms(),
        finish_ms,
        tasks: job.total(),
        finished: PerKind::new(counts.map.finished, counts.reduce.finished),
        running: PerKind::new(counts.map.live_attempts, counts.reduce.live_attempts),
        cost: cost_of(job, market).map(|cost| cost.to_string()),
        failure_info: match (pause, stuck.filter(|_| !is_ending)) {
            (Some(pause), _) => pause.reason().to_string(),
            (None, Some(stuck)) => stuck.clone(),
            (None, None) => job.failure_info().to_owned(),
        },
    }
}

/// What a job has cost; none unless it has cost anything, or a market rules and an account pays for it.
pub(super) fn cost_of(job: &JobView, market: Market) -> Option<Credits> {
    let paid = market.is_ruling && job.spec().payer().is_some();
    let cost = job.cost().map(|cost| cost.cost).or(paid.then_some(Credits::ZERO));
    cost.filter(|cost| market.is_there && (market.is_ruling || *cost > Credits::ZERO))
}

/// What pages would show after these deltas.
#[cfg(test)]
pub(crate) fn overview_after(views: &Views, deltas: impl IntoIterator<Item = VolatileDelta>) -> ClusterSnapshot {
    let mut volatile = Volatile::default();
    deltas.into_iter().for_each(|delta| volatile.apply(delta));
    overview(views, &volatile)
}
