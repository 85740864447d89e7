//! The group in which a job is ordered: its queue, under the market its account, under the Fair scheduler its pool (1.2.1
//! contrib `PoolManager`), which the allocation file opens, or its first job.

use std::sync::Arc;

use crate::engine::core::{Engine, FairConfig, Grouping, Handled, JobOperation, PolicyConfig, Reply, Wait};
use crate::engine::state::{Caller, Refusal};
use crate::mapreduce::{AcceptedJob, Job, JobFact, JobSpec};
use crate::market::Market;
use crate::model::{JobId, Now, Priority};
use crate::scheduler::constraint::{AppDeadline, JobEstimate};
use crate::scheduler::fair::allocations::{Allocations, DEFAULT_POOL};
use crate::scheduler::fair::pool_name::require_declared;
use crate::scheduler::{AddAppError, AppId, AppSpec, GroupId};
use crate::wire::limits;

/// The group of jobs that no account pays for while the market rules: it buys nothing, so it gets what is left. No
/// account can have this name.
pub(super) const WITHOUT_ACCOUNT: &str = "(no account)";

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
    pub(super) fn set_pool(&mut self, id: JobId, pool: &str, caller: &Caller, now: Now) -> Handled {
        let pool = pool.trim();
        let Some(fair) = self.fair_config() else {
            return Err(Refusal::Invalid("jobs have pools under the Fair scheduler only".to_owned()));
        };
        let Some(job) = self.jobs.get(id).filter(|job| !job.is_over()) else {
            return Ok((Reply::Done, Wait::Nothing));
        };
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
        Ok((Reply::Done, Wait::All))
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

    /// The name under which clients list a job: its queue, under the Fair scheduler its pool.
    pub(super) fn list_of<'a>(&'a self, job: &'a Job) -> &'a str {
        match self.config.policy.fair() {
            Some(fair) => job.spec.pool(job.pool.as_deref(), &fair.pool_name_property),
            None => &job.spec.queue,
        }
    }

    /// The open group of a job that is submitted; a pool opens with its first job.
    pub(super) fn group_of_submission(&mut self, spec: &JobSpec) -> Result<GroupId, Refusal> {
        match self.config.policy.grouping() {
            _ if self.config.accepts_recorded => Ok(self.open_job_group(spec, None)),
            Grouping::Pools(_) => Ok(self.open_job_group(spec, None)),
            // It was accepted before the market began to rule.
            Grouping::Accounts if spec.payer().is_none() => Ok(self.open_job_group(spec, None)),
            // The queue may have been removed since the job was checked.
            _ => self.cluster.scheduler.group(&spec.queue).ok_or_else(|| Refusal::unknown_queue(&spec.queue)),
        }
    }

    /// The group of a job that was accepted before, and then perhaps moved to another pool; it opens if need be: a queue
    /// that was removed from the configuration accepts no jobs, but completes those it has.
    pub(super) fn open_job_group(&mut self, spec: &JobSpec, moved_to: Option<&str>) -> GroupId {
        let market = self.market.as_ref().map(|market| &market.accounts);
        let name = group_name(&self.config.policy, market, spec, moved_to).to_owned();
        self.open_pool(&name)
    }

    pub(super) fn open_application_group(&mut self, queue: &str) -> GroupId {
        let name = group_of_application(&self.config.policy, self.ruling_market(), queue);
        self.open_pool(name)
    }

    /// The open group of an app under the policy that rules.
    pub(super) fn group_of_app(&mut self, app: AppId) -> GroupId {
        let application = self.applications.of_app(app).and_then(|id| self.applications.get(id));
        if let Some(queue) = application.map(|application| Arc::clone(&application.submitted.queue)) {
            return self.open_application_group(&queue);
        }
        match self.jobs.by_app(app).map(|job| (job.spec.clone(), job.pool.clone())) {
            Some((spec, pool)) => self.open_job_group(&spec, pool.as_deref()),
            // Its job was forgotten, and attempts still hold slots.
            None => self.cluster.scheduler.open_group(WITHOUT_ACCOUNT),
        }
    }

    /// Adds a job to the scheduler as it was when it was accepted. Of an earlier run, all its tasks count until its rows
    /// are loaded: limits on jobs that begin count them.
    pub(super) fn schedule_job(
        &mut self,
        accepted: &AcceptedJob,
        group: GroupId,
        priority: Priority,
    ) -> Result<Job, AddAppError> {
        let app = self.jobs.next_app_id();
        let spec = AppSpec {
            id: app,
            group,
            user: accepted.spec.user.as_str().into(),
            priority: priority as u8,
            start_ms: accepted.submit_ms,
            order: accepted.order,
            slots_per_task: self.config.policy.slots_per_task(&accepted.spec),
        };
        // Promised is what was believed then, not what its own maps have shown before a restart: others count on that.
        let estimate = match accepted.plan {
            Some(_) => JobEstimate { history: accepted.estimate.history, ..JobEstimate::default() },
            None => accepted.estimate,
        };
        let deadline = self.deadline_of(&accepted.spec, &accepted.splits, accepted.submit_ms, &estimate);
        let deadline = deadline.map(|deadline| AppDeadline { plan: accepted.plan, ..deadline });
        let scheduler = &mut self.cluster.scheduler;
        scheduler.add_app(spec.clone())?;
        scheduler.set_locality_wait(app, accepted.spec.locality_wait_millionths);
        scheduler.set_max_running(app, accepted.spec.max_running);
        scheduler.set_deadline(app, deadline);
        let mut job = Job::new(accepted, &spec);
        let is_paused = self.administration.pauses.of(Some(accepted.id), &accepted.spec.queue).is_some();
        job.set_paused(is_paused, scheduler, &mut self.cluster.housekeeping);
        scheduler.set_pending(app, job.hadoop_pending());
        scheduler.set_task_needs(app, job.task_needs(&self.cluster.nodes));
        Ok(job)
    }
}

fn check_declared(fair: &FairConfig, pool: &str) -> Result<(), Refusal> {
    match fair.allows_undeclared_pools {
        true => Ok(()),
        false => require_declared(pool, &fair.allocations).map_err(|error| Refusal::UndeclaredPool(error.to_string())),
    }
}

/// The name of a job's group under a policy; `moved_to`: the pool that it was moved to.
pub(super) fn group_name<'a>(
    policy: &PolicyConfig,
    market: Option<&Market>,
    spec: &'a JobSpec,
    moved_to: Option<&'a str>,
) -> &'a str {
    match policy.grouping() {
        Grouping::Pools(fair) => spec.pool(moved_to, &fair.pool_name_property),
        Grouping::Accounts => {
            let has_account = |payer: &&str| market.is_some_and(|market| market.account(payer).is_some());
            spec.payer().filter(has_account).unwrap_or(WITHOUT_ACCOUNT)
        }
        Grouping::Queues => &spec.queue,
    }
}

/// The name of the group of an application in a queue under a policy: under the market its account, if there is one.
pub(super) fn group_of_application<'a>(policy: &PolicyConfig, market: Option<&Market>, queue: &'a str) -> &'a str {
    let has_account = !policy.is_market() || market.is_none_or(|market| market.account(queue).is_some());
    if has_account { queue } else { WITHOUT_ACCOUNT }
}
