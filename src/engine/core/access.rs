//! Access control: lists of queues, jobs and the cluster (1.2.1 `AccessControlList`, `ACLsManager`).

use crate::engine::state::{Caller, Refusal, allows, names_groups};
use crate::mapreduce::{Job, JobSpec};
use crate::model::JobId;

use super::Engine;

/// An operation on a job (1.2.1 `Operation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobOperation {
    KillJob,
    KillTask,
    FailTask,
    SetJobPriority,
    SetPool,
    SetDeadline,
    ViewJobCounters,
    ViewJobDetails,
}

/// What decides who may see or change a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobAccess<'a> {
    pub(crate) queue: &'a str,
    /// Its own list of who may see it.
    pub(crate) view_acl: &'a str,
    /// Its own list of who may change it.
    pub(crate) modify_acl: &'a str,
}

impl JobOperation {
    /// The name in refusals.
    fn name(self) -> &'static str {
        match self {
            Self::KillJob => "KILL_JOB",
            Self::KillTask => "KILL_TASK",
            Self::FailTask => "FAIL_TASK",
            Self::SetJobPriority => "SET_JOB_PRIORITY",
            Self::SetPool => "SET_POOL",
            Self::SetDeadline => "SET_DEADLINE",
            Self::ViewJobCounters => "VIEW_JOB_COUNTERS",
            Self::ViewJobDetails => "VIEW_JOB_DETAILS",
        }
    }

    /// The job's own access list for the operation.
    fn job_acl(self, job: &Job) -> &str {
        let list = match self {
            Self::ViewJobCounters | Self::ViewJobDetails => &job.spec.view_acl,
            Self::KillJob
            | Self::KillTask
            | Self::FailTask
            | Self::SetJobPriority
            | Self::SetPool
            | Self::SetDeadline => &job.spec.modify_acl,
        };
        list.as_deref().unwrap_or_default()
    }
}

impl Engine {
    /// Whether the caller may do everything: the role `admin` by signature, the user of the daemon, and
    /// `mapreduce.cluster.administrators`. Applies even while access lists are off.
    pub(crate) fn is_administrator(&self, caller: &Caller) -> bool {
        caller.has_admin_role
            || *caller.user == *self.config.daemon_user
            || allows(&self.config.administrators_acl, caller)
    }

    /// Whether access of the user to the job depends on groups; without a job, whether access to queues does.
    pub(crate) fn needs_groups(&self, job: Option<JobId>, user: &str) -> bool {
        self.needs_groups_for(job.and_then(|id| self.jobs.get(id)).map(|job| &*job.spec), user)
    }

    /// The same of a job with this specification.
    pub(crate) fn needs_groups_for(&self, job: Option<&JobSpec>, user: &str) -> bool {
        if *user == *self.config.daemon_user || job.is_some_and(|spec| spec.user == user) {
            return false;
        }
        let queues = self.config.queues.iter().flat_map(|queue| [&*queue.submit_acl, &*queue.administer_acl]);
        let of_job = job.into_iter().flat_map(|spec| [&spec.view_acl, &spec.modify_acl]).flatten().map(|list| &**list);
        std::iter::once(&*self.config.administrators_acl).chain(queues).chain(of_job).any(names_groups)
    }

    /// Whether it depends on groups that the user is an administrator.
    pub(crate) fn administrators_need_groups(&self, user: &str) -> bool {
        *user != *self.config.daemon_user && names_groups(&self.config.administrators_acl)
    }

    /// Refuses a caller that may not see the counters of the job. An unknown job is never refused.
    pub(crate) fn check_view_counters(&self, id: JobId, caller: &Caller) -> Result<(), Refusal> {
        self.check_view(id, caller, JobOperation::ViewJobCounters)
    }

    /// Refuses a caller that may not see the tasks of the job and their diagnostics.
    pub(crate) fn check_view_details(&self, id: JobId, caller: &Caller) -> Result<(), Refusal> {
        self.check_view(id, caller, JobOperation::ViewJobDetails)
    }

    fn check_view(&self, id: JobId, caller: &Caller, operation: JobOperation) -> Result<(), Refusal> {
        self.jobs.get(id).map_or(Ok(()), |job| self.check_job_access(job, caller, operation))
    }

    /// As [`Self::check_view_counters`], of a job that memory no longer has.
    pub(crate) fn check_view_counters_of(&self, job: &Job, caller: &Caller) -> Result<(), Refusal> {
        self.check_job_access(job, caller, JobOperation::ViewJobCounters)
    }

    /// As [`Self::check_view_details`], of a job that memory no longer has.
    pub(crate) fn check_view_details_of(&self, job: &Job, caller: &Caller) -> Result<(), Refusal> {
        self.check_job_access(job, caller, JobOperation::ViewJobDetails)
    }

    /// What decides who may see or change a job; none of an unknown one.
    pub(crate) fn job_access(&self, id: JobId) -> Option<JobAccess<'_>> {
        let spec = &self.jobs.get(id)?.spec;
        let view_acl = spec.view_acl.as_deref().unwrap_or(" ");
        Some(JobAccess { queue: &spec.queue, view_acl, modify_acl: spec.modify_acl.as_deref().unwrap_or(" ") })
    }

    /// Who may submit to a queue; none of an unknown one.
    pub(crate) fn submit_acl(&self, queue: &str) -> Option<&str> {
        self.config.queues.iter().find(|known| known.name == queue).map(|queue| &*queue.submit_acl)
    }

    /// The cluster's administrators beside the user of the daemon.
    pub(crate) fn administrators_acl(&self) -> &str {
        &self.config.administrators_acl
    }

    /// Allows the owner, the administrators of cluster and queue, and the users and groups that the job names; every
    /// caller while access lists are off.
    pub(in crate::engine) fn check_job_access(
        &self,
        job: &Job,
        caller: &Caller,
        operation: JobOperation,
    ) -> Result<(), Refusal> {
        let spec = &job.spec;
        if !self.config.acls_enabled || *caller.user == *spec.user || self.is_administrator(caller) {
            return Ok(());
        }
        let queue = self.config.queues.iter().find(|queue| queue.name == spec.queue);
        if queue.is_some_and(|queue| allows(&queue.administer_acl, caller)) || allows(operation.job_acl(job), caller) {
            return Ok(());
        }
        Err(Refusal::AccessDenied(format!(
            "User {} cannot perform operation {} on {} that is in the queue {}",
            caller.user,
            operation.name(),
            job.id,
            spec.queue
        )))
    }

    /// Refuses a caller that may not submit to the queue, which has that access list.
    pub(in crate::engine) fn check_submission(
        &self,
        queue: &str,
        submit_acl: &str,
        caller: &Caller,
    ) -> Result<(), Refusal> {
        if !self.config.acls_enabled || allows(submit_acl, caller) || self.is_administrator(caller) {
            return Ok(());
        }
        // The line break is 1.2.1's; clients print it.
        Err(Refusal::AccessDenied(format!(
            "User {} cannot perform operation SUBMIT_JOB on queue {queue}.\n Please run \"hadoop queue -showacls\" command \
             to find the queues you have access to .",
            caller.user
        )))
    }
}
