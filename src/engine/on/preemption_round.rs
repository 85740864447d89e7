//! When a policy that begins has its rounds of preemption.

use crate::engine::core::PolicyConfig;
use crate::engine::state::Round;
use crate::model::Now;

/// The rounds of preemption under a policy that begins now. The Fair scheduler has its first one with its first update.
pub(super) fn preemption_round(policy: &PolicyConfig, now: Now) -> Round {
    let round = Round::every(policy.preemption_interval_ms(), now);
    match policy {
        PolicyConfig::Fair(fair) if fair.preemption_interval_ms.is_some() => {
            round.first_with(Round::every(policy.update_interval_ms(), now))
        }
        _ => round,
    }
}
