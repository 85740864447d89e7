//! Settings of the ruling policy that were read again while it rules.

use std::sync::Arc;

use crate::engine::core::{Engine, PolicyConfig};
use crate::engine::state::Refusal;

// === impl Engine: reload ===

impl Engine {
    /// The ruling policy with its settings.
    pub fn policy(&self) -> &PolicyConfig {
        &self.config.policy
    }

    /// What is in force after [`Self::reload_policy`]; changes nothing.
    ///
    /// # Errors
    /// The ruling policy refuses the settings.
    pub(super) fn check_reload(&self, read: PolicyConfig) -> Result<PolicyConfig, Refusal> {
        match (&self.config.policy, read) {
            (PolicyConfig::Capacity { config: running, is_compatible }, PolicyConfig::Capacity { config, .. }) => {
                let reloaded = running.reload(Arc::unwrap_or_clone(config));
                let config = reloaded.map_err(|error| Refusal::IllegalArgument(error.to_string()))?;
                Ok(PolicyConfig::Capacity { config: Arc::new(config), is_compatible: *is_compatible })
            }
            // The others have nothing that changes while they rule.
            (running, _) => Ok(running.clone()),
        }
    }

    /// Sizes the tasks of all jobs as the policy does that takes over. Attempts that run keep their slots.
    pub(super) fn size_tasks(&mut self) {
        for app in self.cluster.scheduler.apps_by_submission() {
            if let Some(job) = self.jobs.by_app_mut(app) {
                let slots = self.config.policy.slots_per_task(&job.spec);
                job.set_slots_per_task(slots, &mut self.cluster.scheduler);
            }
        }
    }

    /// Puts settings in force that [`Self::check_reload`] has returned.
    pub(super) fn reload_policy(&mut self, policy: PolicyConfig) {
        self.cluster.scheduler.reload_policy(policy.options());
        self.config.policy = policy;
    }
}
