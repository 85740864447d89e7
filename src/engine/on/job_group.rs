//! The group in which a job is ordered: its queue, or under the Fair scheduler its pool.

use crate::engine::core::{Engine, PolicyConfig};
use crate::engine::state::Refusal;
use crate::mapreduce::JobSpec;
use crate::scheduler::GroupId;
use crate::wire::limits;

// === impl Engine: groups of jobs ===

impl Engine {
    /// The open group of a job that is submitted; a pool opens with its first job.
    pub(super) fn group_of_submission(&mut self, spec: &JobSpec) -> Result<GroupId, Refusal> {
        match &self.config.policy {
            PolicyConfig::Fair(_) => Ok(self.open_job_group(spec, None)),
            // The queue may have been removed since the job was checked.
            _ => self.cluster.scheduler.group(&spec.queue).ok_or_else(|| unknown_queue(&spec.queue)),
        }
    }

    /// The group of a job that was accepted before, and then perhaps moved to another pool; it opens if need be: a queue
    /// that was removed from the configuration accepts no jobs, but completes those it has.
    pub(super) fn open_job_group(&mut self, spec: &JobSpec, moved_to: Option<&str>) -> GroupId {
        match &self.config.policy {
            PolicyConfig::Fair(fair) => {
                let pool = spec.pool(moved_to, &fair.pool_name_property).to_owned();
                self.open_pool(&pool)
            }
            _ => self.cluster.scheduler.open_group(&spec.queue),
        }
    }
}

/// The refusal of an unknown queue, with the text of 1.2.1.
pub(super) fn unknown_queue(name: &str) -> Refusal {
    Refusal::InvalidJob(format!("Queue \"{}\" does not exist", limits::excerpt(name)))
}
