//! The ruling policy takes over settings that were read again: usage, parking and reservations stay.

use std::sync::Arc;

use super::{PolicyOptions, Scheduler};

impl Scheduler {
    /// Puts new settings of the ruling policy in force, in O(groups) and what the new limits let run again. Options of
    /// another policy have no effect: that is [`Self::replace_policy`].
    pub(crate) fn reload_policy(&mut self, options: PolicyOptions) {
        if let PolicyOptions::Capacity { config, .. } = options {
            let config = Arc::unwrap_or_clone(config);
            self.change_policy(|policy, view, reaction| policy.set_capacities(config, view, reaction));
        }
    }
}
