//! Victims of a round of preemption under the Fair scheduler (1.2.1 contrib `FairScheduler.preemptTasks`): the newest
//! attempts of pools above their fair shares, for pools that have starved longer than their timeouts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::LogLevel;
use crate::model::{AttemptId, Kind, Now};
use crate::scheduler::GroupId;
use crate::scheduler::fair::event_log::LogEvent;
use crate::scheduler::fair::starvation::{PoolClaim, PoolClaims};
use crate::scheduler::fair::victims::{FairPreemptionRound, PoolSlots, VictimCandidate};

use super::chosen_victims::ChosenVictims;

impl Engine {
    /// Chooses victims by the current state, without marking them; none where preemption is only logged.
    pub(super) fn choose_fair_victims(&mut self, now: Now) -> ChosenVictims {
        let only_logs = self.fair_config().is_none_or(|fair| fair.only_logs_preemption);
        let mut chosen = ChosenVictims::default();
        for kind in Kind::ALL {
            let claims = self.cluster.scheduler.pool_claims(kind, now);
            if claims.wanted == 0 {
                continue;
            }
            self.log_claims(&claims, kind);
            if only_logs {
                continue;
            }
            for claim in claims.pools.iter().filter(|claim| claim.wanted.slots() > 0) {
                *chosen.short.entry(claim.name.clone()).or_default() += claim.wanted.slots();
            }
            chosen.victims.extend(self.fair_victims(&claims, kind));
        }
        chosen
    }

    fn log_claims(&mut self, claims: &PoolClaims, kind: Kind) {
        for claim in claims.pools.iter().filter(|claim| claim.wanted.slots() > 0) {
            // The text of 1.2.1.
            let text = format!(
                "Should preempt {} {} tasks for pool {}: tasksDueToMinShare = {}, tasksDueToFairShare = {}",
                claim.wanted.slots(),
                match kind {
                    Kind::Map => "MAP",
                    Kind::Reduce => "REDUCE",
                },
                claim.name,
                claim.wanted.to_min,
                claim.wanted.to_share
            );
            self.outbox.event_lines.append(&LogEvent::Info(&text));
            self.outbox.log_line(LogLevel::Info, text);
        }
        self.outbox.event_lines.append(&LogEvent::ShouldPreempt { kind, count: claims.wanted });
    }

    fn fair_victims(&self, claims: &PoolClaims, kind: Kind) -> Vec<(AttemptId, Arc<str>)> {
        let scheduler = &self.cluster.scheduler;
        let index: BTreeMap<GroupId, usize> = claims.pools.iter().map(|claim| claim.group).zip(0..).collect();
        let pool = |claim: &PoolClaim| PoolSlots {
            retained: scheduler.retained(claim.group)[kind],
            share: claim.share,
            parent: claim.parent.and_then(|parent| index.get(&parent).copied()),
        };
        let mut attempts = Vec::new();
        for job in self.jobs.live.by_queue().values().flatten().filter_map(|id| self.jobs.get(*id)) {
            let Some(&pool) = scheduler.home_of(job.app).and_then(|home| index.get(&home)) else { continue };
            for (id, attempt) in job.preemptible_attempts(kind).filter(|(_, attempt)| attempt.reported) {
                let (start_wall_ms, slots) = (attempt.start_ms, attempt.slots);
                attempts.push(VictimCandidate { pool, start_wall_ms, slots, attempt: (id, pool) });
            }
        }
        let releasing = claims.pools.iter().filter(|claim| claim.parent.is_none()).map(|claim| {
            let (used, retained) = (scheduler.usage(claim.group)[kind], scheduler.retained(claim.group)[kind]);
            used.saturating_sub(retained)
        });
        let round = FairPreemptionRound {
            wanted: claims.wanted,
            releasing: releasing.fold(0, u32::saturating_add),
            pools: claims.pools.iter().map(pool).collect(),
            attempts,
        };
        let reasons: Vec<Arc<str>> = claims.pools.iter().map(|claim| reason(claim).into()).collect();
        let victims = round.select_victims().into_iter();
        victims.filter_map(|(attempt, pool)| Some((attempt, reasons.get(pool)?.clone()))).collect()
    }
}

/// Diagnostics of attempts that a pool loses.
fn reason(claim: &PoolClaim) -> String {
    format!(
        "Preempted: pool {} is over its fair share of {} slots, and others are below theirs",
        claim.name,
        claim.share.to_tenths()
    )
}
