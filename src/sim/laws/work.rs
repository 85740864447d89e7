//! Law 2: no slot that a waiting task may use stays free across a heartbeat; and the half of law 3 that a heartbeat
//! decides: free slots go to queues below their quota first.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, Fact, Inspection};
use crate::mapreduce::{AttemptRole, Job, JobFact};
use crate::model::{JobId, Kind, PerKind, TrackerId};
use crate::scheduler::SKIP_BUDGET;

/// The result of a heartbeat.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct HeartbeatOutcome<'a> {
    pub(in crate::sim) tracker: &'a str,
    /// Slots that stay free although the tracker would have taken work.
    pub(in crate::sim) free: PerKind<u32>,
}

/// Checks the slots that heartbeats leave free.
///
/// Exceptions, each on purpose: compatible first-in-first-out keeps the original's caps on a heartbeat, so nothing is
/// checked there. Otherwise first-in-first-out may hold a slot back for one heartbeat of a tracker, to spread a light
/// load; not for two. With more jobs than one heartbeat may skip the next one continues where it stopped.
#[derive(Clone, Debug)]
pub(super) struct WorkChecker {
    is_compatible: bool,
    /// Trackers whose last heartbeat left a slot of a kind free that could have been used.
    held_back: BTreeSet<(TrackerId, Kind)>,
}

// === impl WorkChecker ===

impl WorkChecker {
    pub(super) fn new(is_compatible: bool) -> Self {
        Self { is_compatible, held_back: BTreeSet::new() }
    }

    pub(super) fn is_compatible(&self) -> bool {
        self.is_compatible
    }

    /// Checks the answer to a tracker that accepts tasks.
    pub(super) fn after_heartbeat(&mut self, outcome: HeartbeatOutcome<'_>, engine: &Engine) -> Result<(), String> {
        let inspection = engine.inspect();
        let has_market = engine.market().is_some();
        // A restarted process has another id.
        let Some(tracker_id) = inspection.tracker_id_of(outcome.tracker) else { return Ok(()) };
        for kind in Kind::ALL {
            let wanted = self.usable_work(outcome, tracker_id, kind, inspection);
            let is_urgent = |wanted: &WaitingWork| wanted.is_housekeeping || has_market;
            let is_second = match &wanted {
                None => {
                    self.held_back.remove(&(tracker_id, kind));
                    false
                }
                Some(wanted) => !self.held_back.insert((tracker_id, kind)) || is_urgent(wanted),
            };
            if let Some(wanted) = wanted.filter(|_| is_second) {
                let (job, tracker, free) = (wanted.job, outcome.tracker, outcome.free[kind]);
                return Err(format!("{free} {kind:?} slots of {tracker} stay free while {job} could use one"));
            }
        }
        Ok(())
    }

    fn usable_work(
        &self,
        outcome: HeartbeatOutcome<'_>,
        tracker: TrackerId,
        kind: Kind,
        inspection: Inspection<'_>,
    ) -> Option<WaitingWork> {
        if outcome.free[kind] == 0 || self.is_compatible {
            return None;
        }
        let housekeeping = inspection.housekeeping();
        let waits = inspection.scheduler().totals().waiting[kind] > 0;
        let is_idle = housekeeping.setup.is_empty()
            && housekeeping.cleanup.is_empty()
            && housekeeping.task_cleanup[kind].is_empty();
        if is_idle && !waits {
            return None;
        }
        let (jobs, nodes) = (inspection.jobs(), inspection.nodes());
        let first = |ids: &BTreeSet<JobId>, suits: &dyn Fn(&Job) -> bool| {
            ids.iter().find(|id| jobs.get(**id).is_some_and(suits)).copied()
        };
        let housekeeping_job = first(&housekeeping.cleanup, &|job| job.can_clean_up_on(kind, tracker, nodes))
            .or_else(|| first(&housekeeping.task_cleanup[kind], &|job| !job.avoids(kind, tracker, nodes)))
            .or_else(|| first(&housekeeping.setup, &|job| job.can_set_up_on(kind, tracker, nodes)));
        if let Some(job) = housekeeping_job {
            return Some(WaitingWork { job, is_housekeeping: true });
        }
        if !waits || live_jobs(inspection) >= SKIP_BUDGET as usize {
            return None;
        }
        let mut live = inspection.live_jobs().values();
        live.find_map(|ids| first(ids, &|job| can_use(job, kind, tracker, inspection)))
            .map(|job| WaitingWork { job, is_housekeeping: false })
    }
}

/// A job that could use a slot, for a task or for housekeeping.
struct WaitingWork {
    job: JobId,
    is_housekeeping: bool,
}

fn live_jobs(inspection: Inspection<'_>) -> usize {
    inspection.live_jobs().values().map(BTreeSet::len).sum()
}

fn can_use(job: &Job, kind: Kind, tracker: TrackerId, inspection: Inspection<'_>) -> bool {
    job.runnable(kind) > 0 && job.can_use(kind, tracker, inspection.nodes())
}

/// Under the market: no queue got a slot beyond its quota from a heartbeat that left a task of a queue below its quota
/// waiting, although it may run there.
pub(super) fn short_queues_first(tracker: &str, facts: &[Fact], engine: &Engine) -> Result<(), String> {
    let mut launched: PerKind<BTreeMap<JobId, u32>> = PerKind::default();
    for fact in facts {
        if let Fact::Job(JobFact::AttemptLaunched { attempt, role: AttemptRole::Work, .. }) = fact {
            *launched[attempt.task.kind].entry(attempt.task.job).or_default() += 1;
        }
    }
    let inspection = engine.inspect();
    let scheduler = inspection.scheduler();
    // Slots of a queue beyond its quota (below: negative), if it has bought any.
    let beyond = |queue: &str, kind: Kind| {
        let group = scheduler.group(queue)?;
        let allocation = scheduler.allocation(group);
        let quota = if allocation.rate_units > 0 { allocation.quota[kind] } else { 0 };
        Some(i64::from(scheduler.usage(group)[kind]) - i64::from(quota))
    };
    for kind in Kind::ALL {
        let of_queue = |(id, _): (&JobId, &u32)| inspection.jobs().get(*id).map(|job| job.spec.queue.as_str());
        let queues: BTreeSet<&str> = launched[kind].iter().filter_map(of_queue).collect();
        let favoured = queues.into_iter().find(|queue| beyond(queue, kind).is_some_and(|slots| slots > 0));
        let Some(favoured) = favoured else { continue };
        let Some(tracker_id) = inspection.tracker_id_of(tracker) else { continue };
        if live_jobs(inspection) >= SKIP_BUDGET as usize {
            continue;
        }
        for (queue, jobs) in inspection.live_jobs() {
            if beyond(queue, kind).is_none_or(|slots| slots >= 0) {
                continue;
            }
            let mut jobs = jobs.iter().filter_map(|id| inspection.jobs().get(*id));
            if let Some(job) = jobs.find(|job| can_use(job, kind, tracker_id, inspection)) {
                return Err(format!(
                    "{favoured} gets a {kind:?} slot of {tracker} beyond its quota while {} of {queue}, below its, waits",
                    job.id
                ));
            }
        }
    }
    Ok(())
}
