//! Law 2: no slot that a waiting task may use stays free across a heartbeat; and the half of law 3 that a heartbeat
//! decides: free slots go to queues below their quota first.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, Fact, Inspection, PolicyConfig};
use crate::mapreduce::{AttemptRole, Job, JobFact};
use crate::model::{JobId, Kind, Now, PerKind, TrackerId};
use crate::scheduler::SKIP_BUDGET;
use crate::wire::worker_name;

use super::limits::LimitedJobs;
use super::nodes::HeartbeatOutcome;

/// Checks the slots that heartbeats leave free.
///
/// Exceptions, each on purpose: a compatible scheduler keeps the original's caps on a heartbeat, so nothing is checked there. Otherwise
/// first-in-first-out may hold a slot back for one heartbeat of a tracker, to spread a light load; not for two. Under the Capacity and Fair
/// schedulers limits and delays refuse tasks, and after a heartbeat that gave some they may be others than it saw; the Fair scheduler
/// decides by its last update. With more jobs than one heartbeat may skip the next one continues where it stopped.
#[derive(Clone, Debug)]
pub(super) struct WorkChecker {
    policy: PolicyConfig,
    /// Trackers whose last heartbeats left a slot of a kind free that this job could have used, with the time of the first, ms.
    held_back: BTreeMap<(TrackerId, Kind), (JobId, u64)>,
    /// Whether there are applications beside the jobs.
    has_applications: bool,
}

/// How much later than due an update may be, ms.
const LATEST_UPDATE_MS: u64 = 4_000;

impl WorkChecker {
    pub(super) fn new(policy: PolicyConfig) -> Self {
        Self { policy, held_back: BTreeMap::new(), has_applications: false }
    }

    pub(super) fn policy(&self) -> &PolicyConfig {
        &self.policy
    }

    /// Says whether there are applications beside the jobs.
    pub(super) fn set_applications(&mut self, are_there: bool) {
        self.has_applications = are_there;
    }

    /// No queue or pool that a heartbeat gave a task holds more than its maximum.
    pub(super) fn limits_hold(&self, facts: &[Fact], engine: &Engine) -> Result<(), String> {
        let jobs = engine.inspect().jobs();
        for (kind, job) in launched(facts) {
            let limits = LimitedJobs::new(engine, &self.policy, kind, self.has_applications);
            if let Some(text) = jobs.get(job).and_then(|job| limits.exceeded(job)) {
                return Err(format!("{job} gets a {kind:?} slot: {text}"));
            }
        }
        Ok(())
    }

    pub(super) fn after_heartbeat(
        &mut self,
        outcome: HeartbeatOutcome<'_>,
        facts: &[Fact],
        engine: &Engine,
        now: Now,
    ) -> Result<(), String> {
        // A restarted process has another id.
        let Some(tracker_id) = engine.inspect().tracker_id_of(outcome.tracker) else { return Ok(()) };
        if engine.drained_workers().any(|worker| &**worker == worker_name(outcome.tracker)) {
            self.held_back.retain(|(id, _), _| *id != tracker_id);
            return match launched(facts).next() {
                Some((kind, job)) => Err(format!("{} is drained and gets a {kind:?} task of {job}", outcome.tracker)),
                None => Ok(()),
            };
        }
        for kind in Kind::ALL {
            let key = (tracker_id, kind);
            let Some(wanted) = self.usable_work(outcome, tracker_id, kind, facts, engine) else {
                self.held_back.remove(&key);
                continue;
            };
            let is_any_job = self.decides_at_once();
            let before = self.held_back.get(&key).filter(|(job, _)| is_any_job || *job == wanted.job);
            let since_ms = before.map(|(_, since_ms)| *since_ms);
            self.held_back.insert(key, (wanted.job, since_ms.unwrap_or(now.mono_ms)));
            let grace_ms = if wanted.is_housekeeping { 0 } else { self.grace_ms() };
            let is_late = since_ms.is_some_and(|since_ms| now.mono_ms.saturating_sub(since_ms) >= grace_ms);
            // A job may have begun at the end of this heartbeat.
            let is_urgent = self.policy.is_market() || self.decides_at_once() && wanted.is_housekeeping;
            if is_late || is_urgent {
                let (job, tracker, free) = (wanted.job, outcome.tracker, outcome.free[kind]);
                let what = if wanted.is_housekeeping { "for its setup or cleanup" } else { "for a task" };
                return Err(format!("{free} {kind:?} slots of {tracker} stay free while {job} could use one {what}"));
            }
        }
        Ok(())
    }

    /// How long a slot may stay free while the scheduler decides by what it found before.
    fn grace_ms(&self) -> u64 {
        match &self.policy {
            PolicyConfig::Fifo(_) | PolicyConfig::Dynamic { .. } => 0,
            PolicyConfig::Capacity { .. } | PolicyConfig::Constraint(_) => 1,
            PolicyConfig::Fair(fair) => 2 * fair.options.update_interval_ms + LATEST_UPDATE_MS,
        }
    }

    fn decides_at_once(&self) -> bool {
        self.grace_ms() == 0
    }

    fn usable_work(
        &self,
        outcome: HeartbeatOutcome<'_>,
        tracker: TrackerId,
        kind: Kind,
        facts: &[Fact],
        engine: &Engine,
    ) -> Option<UnservedJob> {
        let inspection = engine.inspect();
        if outcome.free[kind] == 0 || self.policy.is_compatible() {
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
            return Some(UnservedJob { job, is_housekeeping: true });
        }
        if !waits || live_jobs(inspection) >= SKIP_BUDGET as usize {
            return None;
        }
        let mut live = inspection.live_jobs().values();
        // Some caps are on tasks of both kinds.
        if !self.decides_at_once() && launched(facts).next().is_some() {
            return None;
        }
        let fits = |job: &Job| job.slots_per_task(kind) <= outcome.free[kind];
        let limits = LimitedJobs::new(engine, &self.policy, kind, self.has_applications);
        let could_use =
            |job: &Job| fits(job) && can_use(job, kind, tracker, inspection) && limits.permit(job, &outcome);
        live.find_map(|ids| first(ids, &could_use)).map(|job| UnservedJob { job, is_housekeeping: false })
    }
}

struct UnservedJob {
    job: JobId,
    is_housekeeping: bool,
}

/// Kinds and jobs of the tasks that a heartbeat gave.
pub(super) fn launched(facts: &[Fact]) -> impl Iterator<Item = (Kind, JobId)> {
    facts.iter().filter_map(|fact| match fact {
        Fact::Job(JobFact::AttemptLaunched { attempt, role: AttemptRole::Work, .. }) => {
            Some((attempt.task.kind, attempt.task.job))
        }
        _ => None,
    })
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
    let mut given: PerKind<BTreeSet<JobId>> = PerKind::default();
    for (kind, job) in launched(facts) {
        given[kind].insert(job);
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
        let of_queue = |id: &JobId| inspection.jobs().get(*id).map(|job| job.spec.queue.as_str());
        let queues: BTreeSet<&str> = given[kind].iter().filter_map(of_queue).collect();
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
            // No account pays for some.
            let is_in_group = |job: &&Job| scheduler.group_of(job.app) == scheduler.group(queue);
            let mut jobs = jobs.iter().filter_map(|id| inspection.jobs().get(*id)).filter(is_in_group);
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
