//! Limits of queues, users and pools, from a count of all live jobs: whether they let a job have a slot, and law 12, that
//! no grant exceeds a maximum.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, FairConfig, Inspection, PolicyConfig};
use crate::mapreduce::{Job, JobState, TaskKey};
use crate::model::{JobId, Kind};
use crate::scheduler::Level;
use crate::scheduler::capacity::{CapacityConfig, CapacityQueue, SlotVerdict, UserLimit};
use crate::scheduler::fair::heartbeat_plan::HeartbeatLoad;

use super::nodes::HeartbeatOutcome;

/// The live jobs under a policy, for one kind of slot.
pub(super) struct LimitedJobs<'a> {
    inspection: Inspection<'a>,
    policy: &'a PolicyConfig,
    kind: Kind,
    cluster_slots: u64,
    admitted: BTreeSet<JobId>,
}

impl<'a> LimitedJobs<'a> {
    pub(super) fn new(engine: &'a Engine, policy: &'a PolicyConfig, kind: Kind, has_applications: bool) -> Self {
        let inspection = engine.inspect();
        let cluster_slots = inspection.scheduler().totals().slots[kind];
        let admitted = policy.fair().map(|fair| admitted(inspection, fair, has_applications)).unwrap_or_default();
        Self { inspection, policy, kind, cluster_slots, admitted }
    }

    /// Whether a heartbeat may give a job one more task near its input, for certain.
    pub(super) fn permit(&self, job: &Job, outcome: &HeartbeatOutcome<'_>) -> bool {
        match self.policy {
            PolicyConfig::Fifo(_) | PolicyConfig::Dynamic { .. } => true,
            // It has checks of its own.
            PolicyConfig::Constraint(_) => false,
            PolicyConfig::Capacity { config, .. } => self.is_near(job, outcome) && self.has_room_in_queue(job, config),
            PolicyConfig::Fair(fair) => {
                self.is_near(job, outcome)
                    && self.admitted.contains(&job.id)
                    && self.is_below_load_cap(fair, outcome)
                    && self.has_room_in_pools(job, fair)
            }
        }
    }

    pub(super) fn exceeded(&self, job: &Job) -> Option<String> {
        let (scheduler, kind) = (self.inspection.scheduler(), self.kind);
        if let Some(config) = self.policy.capacity() {
            let queue = config.queue(&job.spec.queue)?;
            let occupied = self.slots_of(|other| other.spec.queue == job.spec.queue);
            let is_within = queue.slot_share(self.cluster_slots).has_room(occupied, 0);
            return (!is_within).then(|| format!("queue {} occupies {occupied} {kind:?} slots", queue.name()));
        }
        let fair = self.policy.fair()?;
        pools_of(self.inspection, fair, job).into_iter().find_map(|pool| {
            let running = match fair.options.is_compatible {
                // The original counts no attempt of a job that is over.
                true => live(self.inspection)
                    .filter(|other| pools_of(self.inspection, fair, other).contains(&pool))
                    .map(|other| scheduler.app_usage(other.app)[kind])
                    .sum(),
                false => scheduler.usage(scheduler.group(&pool)?)[kind],
            };
            let max = fair.allocations.settings(&pool).max[kind]?;
            (running > max).then(|| format!("pool {pool} runs {running} {kind:?} tasks, its maximum is {max}"))
        })
    }

    /// Whether its nearest task needs no permission to run far from its input.
    fn is_near(&self, job: &Job, outcome: &HeartbeatOutcome<'_>) -> bool {
        let scheduler = self.inspection.scheduler();
        let Some(tracker) = self.inspection.tracker_id_of(outcome.tracker) else { return false };
        if self.kind == Kind::Reduce {
            return true;
        }
        // One that runs already needs it, and one that has failed here may be the only one that is near.
        let has_failed = |number: u32| !job.task(TaskKey::Work(Kind::Map, number)).failed_hosts.is_empty();
        scheduler.nearest_level(job.app, Kind::Map, tracker) == Some(Level::Node)
            && !job.spec.speculative.map
            && !job.is_constrained(Kind::Map)
            && !(0..job.spec.maps).any(has_failed)
    }

    fn slots_of(&self, keep: impl Fn(&Job) -> bool) -> u32 {
        let (scheduler, kind) = (self.inspection.scheduler(), self.kind);
        let slots = |job: &Job| {
            let reserved = scheduler.reserved_nodes(job.app)[kind].saturating_mul(job.slots_per_task(kind));
            scheduler.app_usage(job.app)[kind].saturating_add(reserved)
        };
        live(self.inspection).filter(|job| keep(job)).map(slots).sum()
    }

    fn has_room_in_queue(&self, job: &Job, config: &CapacityConfig) -> bool {
        let Some(queue) = config.queue(&job.spec.queue) else { return false };
        self.verdict(job, queue) == SlotVerdict::Allowed
    }

    fn verdict(&self, job: &Job, queue: &CapacityQueue) -> SlotVerdict {
        let (scheduler, kind) = (self.inspection.scheduler(), self.kind);
        let is_active = |other: &&Job| other.spec.queue == job.spec.queue && scheduler.app_waiting(other.app)[kind] > 0;
        let active: BTreeSet<&str> =
            live(self.inspection).filter(is_active).map(|other| other.spec.user.as_str()).collect();
        let limit = UserLimit {
            share: queue.slot_share(self.cluster_slots),
            occupied: self.slots_of(|other| other.spec.queue == job.spec.queue),
            active_users: u32::try_from(active.len()).unwrap_or(u32::MAX),
            minimum_percent: queue.minimum_user_limit_percent(),
            factor: queue.user_limit_factor(),
        };
        let is_of_user = |other: &Job| other.spec.queue == job.spec.queue && other.spec.user == job.spec.user;
        limit.verdict(self.slots_of(is_of_user), job.slots_per_task(kind))
    }

    fn has_room_in_pools(&self, job: &Job, fair: &FairConfig) -> bool {
        let scheduler = self.inspection.scheduler();
        pools_of(self.inspection, fair, job).iter().all(|pool| {
            let running = scheduler.group(pool).map_or(0, |group| scheduler.usage(group)[self.kind]);
            fair.allocations.settings(pool).max[self.kind].is_none_or(|max| running < max)
        })
    }

    fn is_below_load_cap(&self, fair: &FairConfig, outcome: &HeartbeatOutcome<'_>) -> bool {
        let (scheduler, kind) = (self.inspection.scheduler(), self.kind);
        let mut demands: BTreeMap<String, u32> = BTreeMap::new();
        for job in live(self.inspection).filter(|job| self.admitted.contains(&job.id)) {
            let demand = scheduler.app_running(job.app)[kind] + scheduler.app_waiting(job.app)[kind];
            let top = pools_of(self.inspection, fair, job).pop().unwrap_or_default();
            *demands.entry(top).or_default() += demand;
        }
        let limited = |(pool, demand): (&String, &u32)| {
            u64::from((*demand).min(fair.allocations.settings(pool).max[kind].unwrap_or(u32::MAX)))
        };
        let load = HeartbeatLoad {
            free: outcome.free[kind],
            slots: outcome.slots[kind],
            running_here: outcome.slots[kind].saturating_sub(outcome.free[kind]),
            total_slots: self.cluster_slots,
            runnable: demands.iter().map(limited).sum(),
            running: scheduler.totals().running[kind],
        };
        fair.options.heartbeat_caps.limit(kind, &fair.options.load_cap, &load) > 0
    }
}

fn live(inspection: Inspection<'_>) -> impl Iterator<Item = &Job> {
    let ids = inspection.live_jobs().values().flatten();
    let jobs = ids.filter_map(move |id| inspection.jobs().get(*id));
    jobs.filter(|job| job.state() == JobState::Running && !job.is_over_or_ending())
}

/// The pool of a job, the one that contains it, and so on.
fn pools_of(inspection: Inspection<'_>, fair: &FairConfig, job: &Job) -> Vec<String> {
    let scheduler = inspection.scheduler();
    let pool = scheduler.group_of(job.app).and_then(|group| scheduler.group_name(group)).map(str::to_owned);
    let parent = |pool: &String| fair.allocations.pools.get(pool)?.parent.clone();
    std::iter::successors(pool, parent).collect()
}

/// Jobs that may run, for certain. Applications stand in the same line: with some of them, only what no number limits may.
fn admitted(inspection: Inspection<'_>, fair: &FairConfig, has_applications: bool) -> BTreeSet<JobId> {
    let ids = inspection.live_jobs().values().flatten();
    let mut line: Vec<&Job> = ids.filter_map(|id| inspection.jobs().get(*id)).collect();
    line.retain(|job| !job.is_over_or_ending());
    line.sort_by_key(|job| (job.priority, job.submit_ms, job.app));
    let mut counts: BTreeMap<(bool, String), u32> = BTreeMap::new();
    let mut admitted = BTreeSet::new();
    for job in line {
        let mut limits =
            vec![((false, job.spec.user.clone()), fair.allocations.max_running_jobs_of_user(&job.spec.user))];
        for pool in pools_of(inspection, fair, job) {
            let max = fair.allocations.settings(&pool).max_running_jobs;
            limits.push(((true, pool), max));
        }
        let has_room = |(name, max): &((bool, String), Option<u32>)| {
            max.is_none_or(|max| !has_applications && counts.get(name).copied().unwrap_or(0) < max)
        };
        if limits.iter().all(has_room) {
            limits.into_iter().for_each(|(name, _)| *counts.entry(name).or_default() += 1);
            admitted.insert(job.id);
        }
    }
    admitted
}
