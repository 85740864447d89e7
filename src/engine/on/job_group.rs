//! The group in which a job is ordered: its queue, under the Fair scheduler its pool, under the market its account.

use std::sync::Arc;

use crate::engine::core::{Engine, Grouping, PolicyConfig};
use crate::engine::state::Refusal;
use crate::mapreduce::{AcceptedJob, Job, JobSpec};
use crate::market::Market;
use crate::model::Priority;
use crate::scheduler::constraint::{AppDeadline, JobEstimate};
use crate::scheduler::{AddAppError, AppId, AppSpec, GroupId};

/// The group of jobs that no account pays for while the market rules: it buys nothing, so it gets what is left. No
/// account can have this name.
pub(super) const WITHOUT_ACCOUNT: &str = "(no account)";

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

impl Engine {
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
}

impl Engine {
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
