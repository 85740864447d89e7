//! The group in which a job is ordered: its queue, under the Fair scheduler its pool, under the market its account.

use crate::engine::core::{Engine, PolicyConfig};
use crate::engine::state::Refusal;
use crate::mapreduce::JobSpec;
use crate::market::Market;
use crate::scheduler::GroupId;
use crate::wire::limits;

/// The group of jobs that no account pays for while the market rules: it buys nothing, so it gets what is left. No
/// account can have this name.
pub(super) const WITHOUT_ACCOUNT: &str = "(no account)";

/// The name of a job's group under a policy.
pub(super) fn group_name<'a>(policy: &PolicyConfig, market: Option<&Market>, spec: &'a JobSpec) -> &'a str {
    match policy {
        PolicyConfig::Fair(_) => &spec.user,
        PolicyConfig::Dynamic { .. } => {
            let has_account = |payer: &&str| market.is_some_and(|market| market.account(payer).is_some());
            spec.payer().filter(has_account).unwrap_or(WITHOUT_ACCOUNT)
        }
        PolicyConfig::Fifo(_) | PolicyConfig::Capacity { .. } => &spec.queue,
    }
}

// === impl Engine: groups of jobs ===

impl Engine {
    /// The open group of a job that is submitted; a pool opens with its first job.
    pub(super) fn group_of_submission(&mut self, spec: &JobSpec) -> Result<GroupId, Refusal> {
        match &self.config.policy {
            PolicyConfig::Fair(_) => Ok(self.open_job_group(spec)),
            // It was accepted before the market began to rule.
            PolicyConfig::Dynamic { .. } if spec.payer().is_none() => Ok(self.open_job_group(spec)),
            // The queue may have been removed since the job was checked.
            _ => self.cluster.scheduler.group(&spec.queue).ok_or_else(|| unknown_queue(&spec.queue)),
        }
    }

    /// The group of a job that was accepted before; it opens if need be: a queue that was removed from the configuration
    /// accepts no jobs, but completes those it has.
    pub(super) fn open_job_group(&mut self, spec: &JobSpec) -> GroupId {
        let market = self.market.as_ref().map(|market| &market.accounts);
        let name = group_name(&self.config.policy, market, spec);
        self.cluster.scheduler.open_group(name)
    }
}

/// The refusal of an unknown queue, with the text of 1.2.1.
pub(super) fn unknown_queue(name: &str) -> Refusal {
    Refusal::InvalidJob(format!("Queue \"{}\" does not exist", limits::excerpt(name)))
}
