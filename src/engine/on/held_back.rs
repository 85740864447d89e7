//! What the policy holds a job back by, as a reason for people and programs.

use crate::api::{LimitCount, LimitHolder, NearLevel, PendingReason};
use crate::engine::core::Engine;
use crate::mapreduce::Job;
use crate::model::{Kind, Now};
use crate::scheduler::{Hold, Level, LimitOwner, LimitUnit, LocalityEnd};

// === impl Engine: what holds jobs back ===

impl Engine {
    /// The limits and waits of the ruling policy that hold a job back, the most important first.
    pub(super) fn held_back_by(&self, job: &Job, now: Now) -> Vec<PendingReason> {
        let group = if self.config.policy.has_pools() { LimitHolder::Pool } else { LimitHolder::Queue };
        self.cluster.scheduler.holds(job.app, now).into_iter().map(|hold| reason(hold, group, now)).collect()
    }
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
