//! Settings of the ruling policy that were read again while it rules: by an operator's switch to what rules, by
//! `refreshQueues`, at SIGHUP, and after an edit of the allocation file.

use crate::engine::core::{Engine, FairConfig, PolicyChange, PolicyConfig};
use crate::engine::state::{Refusal, Round};
use crate::model::{Now, PerKind, TrackerId};

use super::pools::PoolReload;
use super::switch_plan::undeclared_pools;

impl Engine {
    /// The ruling policy with its settings.
    pub(crate) fn policy(&self) -> &PolicyConfig {
        &self.config.policy
    }

    /// What is in force after [`Self::reload_policy`]; changes nothing.
    ///
    /// # Errors
    /// The ruling policy refuses the settings.
    pub(super) fn check_reload(&self, read: PolicyConfig) -> Result<PolicyConfig, Refusal> {
        let reads_pools = read.has_pools();
        let reread = self.config.policy.reread(read);
        let policy = reread.map_err(|error| Refusal::IllegalArgument(error.to_string()))?;
        if let Some(fair) = policy.fair().filter(|_| reads_pools) {
            self.check_pools_of_jobs(fair)?;
        }
        Ok(policy)
    }

    /// Puts settings of the ruling policy in force. Running attempts, sold intervals and what the policy counts stay;
    /// under the Fair scheduler clocks begin again where the settings order jobs otherwise.
    pub(super) fn reload_policy(&mut self, policy: PolicyConfig, now: Now) {
        self.restart_changed_rounds(&policy, now);
        let before = std::mem::replace(&mut self.config.policy, policy);
        let options = self.config.policy.options();
        match self.config.policy.change_from(before) {
            PolicyChange::Nothing => return,
            PolicyChange::Reload => self.cluster.scheduler.reload_policy(options),
            PolicyChange::Pools { before, orders_alike } => {
                let reload = if orders_alike { PoolReload::KeepClocks } else { PoolReload::Replace };
                self.reload_pools(&before, reload);
            }
            PolicyChange::Replace => self.cluster.scheduler.replace_policy(options),
        }
        self.count_hosts();
        self.tick_policy(now);
        self.follow_event_log(now);
    }

    /// Counts hosts for failed tasks as the policy demands.
    pub(super) fn count_hosts(&mut self) {
        let counts_all_hosts = self.cluster.scheduler.launch_rules().counts_all_hosts;
        let slots: Vec<(TrackerId, PerKind<u32>)> =
            self.trackers.iter().map(|tracker| (tracker.id, tracker.slots)).collect();
        self.cluster.nodes.set_counting_all_hosts(counts_all_hosts, slots);
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

    fn restart_changed_rounds(&mut self, policy: &PolicyConfig, now: Now) {
        let intervals = |policy: &PolicyConfig| (policy.update_interval_ms(), policy.preemption_interval_ms());
        let (before, after) = (intervals(&self.config.policy), intervals(policy));
        if before.0 != after.0 {
            self.rounds.update = Round::every(after.0, now);
        }
        if before.1 != after.1 {
            self.rounds.preemption = Round::every(after.1, now);
        }
    }

    /// Refuses settings that would leave jobs in pools that are not allowed.
    fn check_pools_of_jobs(&self, fair: &FairConfig) -> Result<(), Refusal> {
        let jobs = self.jobs.iter().filter(|job| !job.is_over());
        let pools = jobs.map(|job| (job.spec.pool(job.pool.as_deref(), &fair.pool_name_property), job.id));
        match undeclared_pools(fair, pools).next() {
            Some(refusal) => Err(Refusal::IllegalArgument(refusal.to_string())),
            None => Ok(()),
        }
    }
}
