//! Law 2: no slot that a waiting task may use stays free across a heartbeat; and the half of law 3 that a heartbeat
//! decides: free slots go to queues below their quota first.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, Fact, Inspection};
use crate::mapreduce::{AttemptRole, Job, JobFact};
use crate::model::{JobId, Kind, PerKind};
use crate::scheduler::{NodeId, SKIP_BUDGET};

/// What a heartbeat left behind.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Beat<'a> {
    pub(in crate::sim) tracker: &'a str,
    /// Slots that stay free although the tracker would have taken work.
    pub(in crate::sim) free: PerKind<u32>,
}

/// Judges what heartbeats leave free.
///
/// Exceptions, each on purpose: compatible first-in-first-out keeps the original's caps on a heartbeat, so nothing is
/// judged there. Otherwise first-in-first-out may hold a slot back for one heartbeat of a node, to spread a light load;
/// not for two. With more jobs than one heartbeat may ask in vain the next one continues where it stopped.
#[derive(Clone, Debug)]
pub(super) struct WorkJudge {
    is_compatible: bool,
    /// Nodes whose last heartbeat left a slot of a kind free that could have been used.
    held_back: BTreeSet<(NodeId, Kind)>,
}

// === impl WorkJudge ===

impl WorkJudge {
    pub(super) fn new(is_compatible: bool) -> Self {
        Self { is_compatible, held_back: BTreeSet::new() }
    }

    pub(super) fn is_compatible(&self) -> bool {
        self.is_compatible
    }

    /// A tracker that takes work has been answered.
    pub(super) fn after_beat(&mut self, beat: Beat<'_>, engine: &Engine) -> Result<(), String> {
        let inspection = engine.inspect();
        let has_market = engine.market().is_some();
        // A restarted process is another node.
        let Some(node) = inspection.node_of(beat.tracker) else { return Ok(()) };
        for kind in Kind::ALL {
            let wanted = self.usable(beat, node, kind, inspection);
            let is_set_aside = |wanted: &Wanted| wanted.is_aside || has_market;
            let is_second = match &wanted {
                None => {
                    self.held_back.remove(&(node, kind));
                    false
                }
                Some(wanted) => !self.held_back.insert((node, kind)) || is_set_aside(wanted),
            };
            if let Some(wanted) = wanted.filter(|_| is_second) {
                let (job, tracker, free) = (wanted.job, beat.tracker, beat.free[kind]);
                return Err(format!("{free} {kind:?} slots of {tracker} stay free while {job} could use one"));
            }
        }
        Ok(())
    }

    fn usable(&self, beat: Beat<'_>, node: NodeId, kind: Kind, inspection: Inspection<'_>) -> Option<Wanted> {
        if beat.free[kind] == 0 || self.is_compatible {
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
        let aside = first(&housekeeping.cleanup, &|job| job.can_clean_up_on(kind, node, nodes))
            .or_else(|| first(&housekeeping.task_cleanup[kind], &|job| !job.avoids(kind, node, nodes)))
            .or_else(|| first(&housekeeping.setup, &|job| job.can_set_up_on(kind, node, nodes)));
        if let Some(job) = aside {
            return Some(Wanted { job, is_aside: true });
        }
        if !waits || live_jobs(inspection) >= SKIP_BUDGET as usize {
            return None;
        }
        let mut live = inspection.live_jobs().values();
        live.find_map(|ids| first(ids, &|job| can_use(job, kind, node, inspection)))
            .map(|job| Wanted { job, is_aside: false })
    }
}

/// A job that could use a slot, for a task or for what stands beside its tasks.
struct Wanted {
    job: JobId,
    is_aside: bool,
}

fn live_jobs(inspection: Inspection<'_>) -> usize {
    inspection.live_jobs().values().map(BTreeSet::len).sum()
}

fn can_use(job: &Job, kind: Kind, node: NodeId, inspection: Inspection<'_>) -> bool {
    job.runnable(kind) > 0 && job.can_use(kind, node, inspection.nodes())
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
        let Some(node) = inspection.node_of(tracker) else { continue };
        if live_jobs(inspection) >= SKIP_BUDGET as usize {
            continue;
        }
        for (queue, jobs) in inspection.live_jobs() {
            if beyond(queue, kind).is_none_or(|slots| slots >= 0) {
                continue;
            }
            let mut jobs = jobs.iter().filter_map(|id| inspection.jobs().get(*id));
            if let Some(job) = jobs.find(|job| can_use(job, kind, node, inspection)) {
                return Err(format!(
                    "{favoured} gets a {kind:?} slot of {tracker} beyond its quota while {} of {queue}, below its, waits",
                    job.id
                ));
            }
        }
    }
    Ok(())
}
