//! Assignment of tasks to a tracker: cleanups and setups first, then the scheduler's grants (1.2.1
//! `JobTracker.getSetupAndCleanupTasks`, `TaskScheduler.assignTasks`), and what holds a job back.

use std::collections::BTreeSet;

use crate::api::{LimitCount, LimitHolder, NearLevel, PendingReason, may_not_begin};
use crate::engine::core::Engine;
use crate::engine::state::{EventLines, Outbox, Tracker};
use crate::mapreduce::{Job, JobGrants, Launch};
use crate::model::{JobId, Kind, Now, TrackerId};
use crate::scheduler::fair::event_log::LogEvent;
use crate::scheduler::{
    AppId, BeginLimitUnit, Distance, GrantResult, GrantSource, Hold, LaunchRules, Level, LimitOwner, LocalityEnd,
    NodeOffer,
};
use crate::wire::Task;

/// Most jobs that are checked for a setup or cleanup on one tracker.
const MAX_CANDIDATES: usize = 100;

#[derive(Default)]
pub(super) struct Assignment {
    pub(super) launches: Vec<(AppId, Launch)>,
    /// The launches in the wire type.
    pub(super) tasks: Vec<Task>,
}

impl Engine {
    pub(super) fn assign_tasks(&mut self, id: TrackerId, now: Now) -> Assignment {
        let Some(tracker) = self.trackers.get(id) else { return Assignment::default() };
        let (mut free, name) = (tracker.offered(), tracker.name.clone());
        let LaunchRules { is_housekeeping_alone, offers_full_nodes, .. } = self.cluster.scheduler.launch_rules();
        let mut launches = Vec::new();
        'kinds: for kind in Kind::ALL {
            // Containers may have taken the room of its slots.
            while free[kind] > 0 && self.cluster.scheduler.slot_room(id).is_none_or(|room| room > 0) {
                let Some(launch) = self.assign_housekeeping(kind, id, now) else { break };
                launches.push(launch);
                free[kind] -= 1;
                if is_housekeeping_alone {
                    break 'kinds;
                }
            }
        }
        if (!is_housekeeping_alone || launches.is_empty()) && (free.map > 0 || free.reduce > 0 || offers_full_nodes) {
            self.log_heartbeat(&name);
            let Outbox { violations, event_lines: lines, .. } = &mut self.outbox;
            let grants = self.jobs.grant_source(&self.cluster.nodes, now, violations);
            let mut granting = LoggedGrants { grants, lines, tracker: &name };
            let report = self.cluster.scheduler.assign_slots(NodeOffer { node: id, free, now }, &mut granting);
            launches.append(&mut granting.grants.launches);
            if let Some(market) = self.market.as_mut().filter(|_| report.leaves_maps_free) {
                market.accounts.note_free_maps();
            }
        }
        self.tallies.launched += launches.len() as u64;
        let mut tasks = Vec::with_capacity(launches.len());
        for (app, launch) in &launches {
            let Some(job) = self.jobs.by_app(*app) else { continue };
            self.cluster.scheduler.set_pending(*app, job.hadoop_pending());
            tasks.push(job.wire_task(launch));
        }
        Assignment { launches, tasks }
    }

    /// Looks for stragglers in jobs whose check is due.
    pub(super) fn check_stragglers_when_due(&mut self, now: Now) {
        while let Some(check) =
            self.cluster.housekeeping.straggler_checks.first().copied().filter(|(due, _)| *due <= now.mono_ms)
        {
            self.cluster.housekeeping.straggler_checks.remove(&check);
            if let Some(job) = self.jobs.get_mut(check.1) {
                job.check_stragglers(&mut self.cluster.job_context(&mut self.outbox, now));
            }
        }
    }

    /// Launches a task outside of the scheduler's grants: a job's cleanup, a task-cleanup or a job's setup; jobs by id.
    fn assign_housekeeping(&mut self, kind: Kind, tracker: TrackerId, now: Now) -> Option<(AppId, Launch)> {
        if let Some(id) = self.first_suitable(&self.cluster.housekeeping.cleanup, |job| {
            job.can_clean_up_on(kind, tracker, &self.cluster.nodes)
        }) {
            let job = self.jobs.get_mut(id)?;
            return Some((
                job.app,
                job.launch_cleanup(kind, tracker, &mut self.cluster.job_context(&mut self.outbox, now)),
            ));
        }
        if let Some(id) = self.first_suitable(&self.cluster.housekeeping.task_cleanup[kind], |job| {
            !job.avoids(kind, tracker, &self.cluster.nodes)
        }) {
            let job = self.jobs.get_mut(id)?;
            return Some((
                job.app,
                job.launch_task_cleanup(kind, tracker, &mut self.cluster.job_context(&mut self.outbox, now))?,
            ));
        }
        let id = self.first_suitable(&self.cluster.housekeeping.setup, |job| {
            job.can_set_up_on(kind, tracker, &self.cluster.nodes)
        })?;
        let job = self.jobs.get_mut(id)?;
        Some((job.app, job.launch_setup(kind, tracker, &mut self.cluster.job_context(&mut self.outbox, now))))
    }

    /// The first suitable job of the first `MAX_CANDIDATES`; jobs behind them are left to other trackers.
    fn first_suitable(&self, candidates: &BTreeSet<JobId>, is_suitable: impl Fn(&Job) -> bool) -> Option<JobId> {
        let mut candidates = candidates.iter().take(MAX_CANDIDATES).copied();
        candidates.find(|id| self.jobs.get(*id).is_some_and(&is_suitable))
    }
}

/// Grants to one tracker, with the lines of the event log that they cause.
pub(super) struct LoggedGrants<'a> {
    pub(super) grants: JobGrants<'a>,
    pub(super) lines: &'a mut EventLines,
    pub(super) tracker: &'a str,
}

impl GrantSource for LoggedGrants<'_> {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult {
        let job = self.grants.job(app).filter(|_| self.lines.are_kept());
        let result = self.grants.take_task(app, kind, node, distance);
        let Some(job) = job else { return result };
        if kind == Kind::Map {
            self.lines.append(&LogEvent::AllowedLocality(job, distance.farthest));
        }
        let (GrantResult::Task { level, .. }, Some((_, launch))) = (&result, self.grants.launches.last()) else {
            return result;
        };
        self.lines.append(&LogEvent::Assign { tracker: self.tracker, kind, job, attempt: launch.attempt });
        if kind == Kind::Map {
            self.lines.append(&LogEvent::AssignedLocality(job, *level));
        }
        result
    }
}

impl Engine {
    /// The limits and waits of the ruling policy that hold a job back, the most important first. Its distance from free
    /// slots holds it back only where it would be given one of them otherwise.
    pub(super) fn held_back_by(&self, job: &Job, free: &FreeSlots, now: Now) -> Vec<PendingReason> {
        let group = if self.config.policy.has_pools() { LimitHolder::Pool } else { LimitHolder::Queue };
        let holds = self.cluster.scheduler.holds(job.app, now).into_iter();
        let holds = holds.filter(|hold| match hold {
            Hold::Locality { farthest, .. } => self.is_only_far(job, *farthest, free),
            _ => true,
        });
        holds.map(|hold| reason(hold, group, now)).collect()
    }

    /// The limit by which the ruling policy keeps a job from beginning, as a sentence. Costs the same however many jobs there are.
    pub(super) fn why_it_may_not_begin(&self, job: &Job) -> Option<String> {
        if job.is_over_or_ending() || self.cluster.scheduler.holds_anything(job.app) {
            return None;
        }
        let group = if self.config.policy.has_pools() { LimitHolder::Pool } else { LimitHolder::Queue };
        match self.cluster.scheduler.begin_hold(job.app)? {
            hold @ Hold::BeginLimit { .. } => Some(may_not_begin(&reason(hold, group, Now::default()))),
            _ => None,
        }
    }

    /// Trackers with a free map slot now.
    pub(super) fn free_slots(&self, now: Now) -> FreeSlots {
        let scheduler = &self.cluster.scheduler;
        let has_free = |tracker: &&Tracker| {
            // Containers may hold what a free slot needs.
            let has_room = scheduler.slot_room(tracker.id).is_none_or(|room| room > 0);
            has_room && scheduler.free_slots_on(tracker.id, Kind::Map) > 0 && self.can_take_work(tracker, now)
        };
        let with_map = self.trackers.iter().filter(has_free).map(|tracker| tracker.id);
        FreeSlots { with_map: with_map.take(MOST_TRACKERS).collect() }
    }

    /// Whether a job could use free map slots that are all farther from its data than they may be.
    fn is_only_far(&self, job: &Job, farthest: Level, free: &FreeSlots) -> bool {
        let scheduler = &self.cluster.scheduler;
        let useful = free.with_map.iter().filter(|id| job.can_use(Kind::Map, **id, &self.cluster.nodes));
        let mut levels = useful.filter_map(|id| scheduler.nearest_level(job.app, Kind::Map, *id)).peekable();
        levels.peek().is_some() && levels.all(|level| level > farthest)
    }
}

/// Trackers with free slots that are looked at for a reason.
const MOST_TRACKERS: usize = 256;

/// Where slots are free at one moment.
#[derive(Debug, Default)]
pub(super) struct FreeSlots {
    with_map: Vec<TrackerId>,
}

/// Whether it is a limit or a reservation of slots of a kind.
pub(super) fn is_hold_on(reason: &PendingReason, of: Kind) -> bool {
    is_limit_on(reason, of) || matches!(reason, PendingReason::Reservation { kind, .. } if *kind == of)
}

/// Whether a limit keeps a job from any more slots of a kind, wherever they are free.
pub(super) fn is_limit_on(reason: &PendingReason, of: Kind) -> bool {
    match reason {
        PendingReason::GroupMaximum { kind, .. }
        | PendingReason::UserLimit { kind, .. }
        | PendingReason::DeadlineLimit { kind, .. }
        | PendingReason::PlannedStart { kind, .. }
        | PendingReason::PromisedToDeadlines { kind } => *kind == of,
        PendingReason::AfterMaps { .. } => of == Kind::Reduce,
        _ => false,
    }
}

fn reason(hold: Hold, group: LimitHolder, now: Now) -> PendingReason {
    match hold {
        Hold::BeginLimit { of, counts, limit, used } => {
            let (of, name) = match of {
                LimitOwner::Group(name) => (group, Some(name)),
                LimitOwner::User => (LimitHolder::User, None),
            };
            let counts = match counts {
                BeginLimitUnit::Apps => LimitCount::Jobs,
                BeginLimitUnit::Tasks => LimitCount::Tasks,
            };
            PendingReason::BeginLimit { of, name, counts, limit, used }
        }
        Hold::BeginsLater => PendingReason::BeginsLater,
        Hold::GroupMaximum { kind, group: name, maximum, held } => {
            PendingReason::GroupMaximum { kind, of: group, name, maximum, held }
        }
        Hold::UserLimit { kind, limit, held } => PendingReason::UserLimit { kind, limit, held },
        Hold::Reservation { kind, nodes, slots_per_task } => {
            PendingReason::Reservation { kind, trackers: nodes, slots_per_task }
        }
        Hold::AfterMaps { has_maps } => PendingReason::AfterMaps { has_maps },
        Hold::DeadlineLimit { kind, limit, held } => PendingReason::DeadlineLimit { kind, limit, held },
        Hold::PlannedStart { kind, start_ms } => {
            let for_ms = u64::try_from(start_ms.saturating_sub(now.wall_ms)).unwrap_or(0);
            PendingReason::PlannedStart { kind, from_ms: start_ms, for_ms }
        }
        Hold::PromisedToDeadlines { kind } => PendingReason::PromisedToDeadlines { kind },
        Hold::Locality { farthest, until } => {
            let within = if farthest == Level::Node { NearLevel::Host } else { NearLevel::Rack };
            let (for_ms, after_heartbeats) = match until {
                LocalityEnd::AfterMs(ms) => (Some(ms), None),
                LocalityEnd::AfterOffers(offers) => (None, Some(offers)),
            };
            let until_ms = for_ms.map(|ms| now.wall_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)));
            PendingReason::Locality { within, until_ms, for_ms, after_heartbeats }
        }
    }
}
