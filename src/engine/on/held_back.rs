//! What the policy holds a job back by, as a reason for people and programs.

use crate::api::{LimitCount, LimitHolder, NearLevel, PendingReason, may_not_begin};
use crate::engine::core::Engine;
use crate::engine::state::Tracker;
use crate::mapreduce::Job;
use crate::model::{Kind, Now, TrackerId};
use crate::scheduler::{Hold, Level, LimitOwner, LimitUnit, LocalityEnd};

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
                LimitUnit::Apps => LimitCount::Jobs,
                LimitUnit::Tasks => LimitCount::Tasks,
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
