//! Pools of the Fair scheduler (1.2.1 contrib `PoolManager`): opened by the allocation file or with their first job.

use std::sync::Arc;

use crate::engine::core::{Engine, FairConfig, JobOperation, Reply, Wait};
use crate::engine::state::{Caller, Refusal};
use crate::mapreduce::{JobFact, JobSpec};
use crate::model::{JobId, Now};
use crate::scheduler::GroupId;
use crate::scheduler::fair::allocations::{Allocations, DEFAULT_POOL};
use crate::scheduler::fair::pool_name::require_declared;
use crate::wire::limits;

/// How a changed allocation file is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolReload {
    /// Clocks and waits stay, unless the tree of pools has changed.
    KeepClocks,
    /// Clocks and waits begin again.
    Replace,
}

impl Engine {
    /// The settings of the Fair scheduler, while it rules.
    pub(super) fn fair_config(&self) -> Option<&FairConfig> {
        self.config.policy.fair()
    }

    /// The property of a job that names its pool, while the Fair scheduler rules.
    pub(crate) fn pool_name_property(&self) -> Option<&str> {
        self.fair_config().map(|fair| fair.pool_name_property.as_str())
    }

    /// Opens the pools of the allocation file and the default one. No effect under another policy.
    pub(super) fn open_declared_pools(&mut self) {
        let Some(fair) = self.fair_config() else { return };
        let allocations = Arc::clone(&fair.allocations);
        for pool in allocations.pools.keys().map(String::as_str).chain([DEFAULT_POOL]) {
            self.open_pool(pool);
        }
    }

    /// The open group of a pool. One that is not declared closes with its last job, but 1.2.1 keeps it.
    pub(super) fn open_pool(&mut self, name: &str) -> GroupId {
        let scheduler = &mut self.cluster.scheduler;
        if let Some(group) = scheduler.group(name) {
            return group;
        }
        let Some(fair) = self.config.policy.fair() else { return scheduler.open_group(name) };
        let Some(declared) = fair.allocations.pools.get(name) else {
            return match fair.options.is_compatible || name == DEFAULT_POOL {
                true => scheduler.open_group(name),
                false => scheduler.open_temporary_group(name),
            };
        };
        let Some(parent) = declared.parent.clone() else { return scheduler.open_group(name) };
        let parent = self.open_pool(&parent);
        let scheduler = &mut self.cluster.scheduler;
        scheduler.open_group_under(parent, name).unwrap_or_else(|| scheduler.open_group(name))
    }

    /// Refuses a job whose pool is not declared, where only declared ones are allowed (1.2.1 contrib
    /// `FairScheduler.checkJobSubmission`).
    pub(super) fn check_pool(&self, spec: &JobSpec) -> Result<(), Refusal> {
        let Some(fair) = self.fair_config() else { return Ok(()) };
        check_declared(fair, spec.pool(None, &fair.pool_name_property))
    }

    /// Moves a job to another pool; an unknown job is ignored, as in 1.2.1.
    pub(super) fn set_pool(&mut self, id: JobId, pool: &str, caller: &Caller, now: Now) -> (Reply, Wait) {
        match self.move_to_pool(id, pool.trim(), caller, now) {
            Ok(wait) => (Reply::Done, wait),
            Err(refusal) => (Reply::Refused(refusal), Wait::Nothing),
        }
    }

    fn move_to_pool(&mut self, id: JobId, pool: &str, caller: &Caller, now: Now) -> Result<Wait, Refusal> {
        let Some(fair) = self.fair_config() else {
            return Err(Refusal::Invalid("jobs have pools under the Fair scheduler only".to_owned()));
        };
        let Some(job) = self.jobs.get(id).filter(|job| !job.is_over()) else { return Ok(Wait::Nothing) };
        self.check_job_access(job, caller, JobOperation::SetPool)?;
        if pool.is_empty() || pool.len() > limits::QUEUE_NAME_BYTES {
            let (most, found) = (limits::QUEUE_NAME_BYTES, limits::excerpt(pool));
            return Err(Refusal::IllegalArgument(format!("a pool's name has 1 to {most} bytes, not: {found}")));
        }
        check_declared(fair, pool)?;
        let app = job.app;
        let group = self.open_pool(pool);
        let moved = self.cluster.scheduler.move_app(app, group);
        moved.map_err(|error| Refusal::Invalid(error.to_string()))?;
        let pool: Arc<str> = pool.into();
        if let Some(job) = self.jobs.get_mut(id) {
            job.pool = Some(Arc::clone(&pool));
        }
        self.outbox.job_facts.push(JobFact::PoolSet { job: id, pool });
        self.record_job_facts();
        self.tick_policy(now);
        Ok(Wait::All)
    }

    /// Takes over an allocation file that was edited while the Fair scheduler rules.
    pub(super) fn on_allocations_read(&mut self, allocations: Arc<Allocations>, now: Now) -> (Reply, Wait) {
        let Some(fair) = self.config.policy.fair_mut() else { return (Reply::Done, Wait::Nothing) };
        let before = std::mem::replace(&mut fair.allocations, allocations);
        self.reload_pools(&before, PoolReload::KeepClocks);
        self.tick_policy(now);
        (Reply::Done, Wait::Nothing)
    }

    /// Takes over the allocations that are configured now, in the place of those `before`.
    pub(super) fn reload_pools(&mut self, before: &Allocations, reload: PoolReload) {
        let Some(fair) = self.fair_config() else { return };
        let (allocations, keeps_undeclared) = (Arc::clone(&fair.allocations), fair.options.is_compatible);
        match reload == PoolReload::KeepClocks && before.has_same_tree(&allocations) {
            true => self.cluster.scheduler.set_pools(&allocations),
            false => self.rearrange_pools(),
        }
        self.open_declared_pools();
        for pool in before.pools.keys().filter(|pool| *pool != DEFAULT_POOL && !keeps_undeclared) {
            if let (false, Some(group)) = (allocations.pools.contains_key(pool), self.cluster.scheduler.group(pool)) {
                self.cluster.scheduler.make_temporary(group);
            }
        }
    }

    /// Brings all pools to their places in a tree that has changed, and orders by the options that are configured now.
    /// Waits and clocks begin again.
    fn rearrange_pools(&mut self) {
        let Some(fair) = self.fair_config() else { return };
        let (options, allocations) = (self.config.policy.options(), Arc::clone(&fair.allocations));
        // Parents come first by name.
        for (pool, declared) in allocations.pools.iter().filter(|(_, declared)| declared.parent.is_some()) {
            if self.cluster.scheduler.group(pool).is_none() {
                self.cluster.scheduler.open_group(pool);
            }
            if let Some(parent) = &declared.parent {
                self.open_pool(parent);
            }
        }
        let parent_of = |pool: &str| allocations.pools.get(pool).and_then(|declared| declared.parent.as_deref());
        self.cluster.scheduler.rearrange(options, parent_of);
    }
}

fn check_declared(fair: &FairConfig, pool: &str) -> Result<(), Refusal> {
    match fair.allows_undeclared_pools {
        true => Ok(()),
        false => require_declared(pool, &fair.allocations).map_err(|error| Refusal::UndeclaredPool(error.to_string())),
    }
}
