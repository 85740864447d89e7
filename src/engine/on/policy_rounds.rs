//! The rounds of the ruling policy, which says how often they are due.

use crate::engine::core::Engine;
use crate::model::Now;

impl Engine {
    /// Renews what the policy decides by, when that is due.
    pub(super) fn update_policy_when_due(&mut self, now: Now) {
        let is_due = match self.config.policy.is_market() {
            // What lies beyond an interval is not charged: each is as long as the others.
            true => self.rounds.update.begin_spaced_when_due(now),
            false => self.rounds.update.begin_when_due(now),
        };
        if is_due {
            self.rounds.resumed_end_mono_ms = None;
            self.tick_policy(now);
            self.kill_missed_jobs(now);
            self.tick_market(now);
            self.grant_wish(now);
            self.log_update(now);
        }
    }

    /// Runs a round of preemption, when one is due.
    pub(super) fn preempt_when_due(&mut self, now: Now) {
        let is_due = self.rounds.begin_preemption_when_due(self.config.policy.is_market(), now);
        // Nothing is killed in safe mode.
        if is_due && !self.is_in_safe_mode() {
            self.preempt(now);
        }
    }
}
