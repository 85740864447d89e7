//! Queries of clients. Each result carries the fact that must be durable before the reply is sent.

use crate::engine::core::{Engine, Read};
use crate::engine::state::{Caller, Refusal, Tracker, allows, written};
use crate::mapreduce::{CountersExceeded, Job};
use crate::model::{AttemptId, FactNumber, JobId, Kind, QueueConfig};
use crate::wire::{
    AccessControlList, ClusterStatus, Counters, JobProfile, JobQueueInfo, JobStatus, JobTrackerState, QueueAclsInfo,
    TaskCompletionEvent, TaskReport, Text, TrackersOfState,
};

/// Tasks of a job by role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskReportKind {
    /// Its maps or reduces.
    Work(Kind),
    /// Both variants of its setup.
    Setup,
    /// Both variants of its cleanup.
    Cleanup,
}

impl TaskReportKind {
    pub(crate) fn of(self, job: &Job) -> Vec<TaskReport> {
        match self {
            TaskReportKind::Work(kind) => job.task_reports(kind),
            TaskReportKind::Setup => job.setup_reports(),
            TaskReportKind::Cleanup => job.cleanup_reports(),
        }
    }
}

impl Engine {
    /// The status of a job; none for an unknown one.
    pub(crate) fn job_status(&self, id: JobId) -> Read<Option<JobStatus>> {
        self.read_job(id, |job| self.status_of(job))
    }

    /// The status of a job, with what the policy says about it.
    pub(super) fn status_of(&self, job: &Job) -> JobStatus {
        let mut status = job.status(self.config.acls_enabled);
        let is_compatible = self.config.policy.is_compatible();
        let cannot_run = || if is_compatible { None } else { self.cannot_run(job.app) };
        let may_not_begin = || if is_compatible { None } else { self.why_it_may_not_begin(job) };
        let report = self.cluster.scheduler.app_report(job.app);
        let paused = (!job.is_over_or_ending()).then(|| self.why_paused(job)).flatten().map(|why| why.to_string());
        let live = paused.or_else(cannot_run).or_else(may_not_begin).or(report).or_else(|| self.report_order(job));
        if let Some(report) = live.or_else(|| job.report_late_end()) {
            status.scheduling_info = Text(report);
        }
        status
    }

    /// The profile of a job; none for an unknown one.
    pub(crate) fn job_profile(&self, id: JobId) -> Read<Option<JobProfile>> {
        self.read_job(id, |job| self.profile_of(job))
    }

    /// The profile of a job that memory no longer has.
    pub(crate) fn profile_of(&self, job: &Job) -> JobProfile {
        job.profile(format!("{}{}", self.config.job_page_prefix, job.id))
    }

    /// The counters of a job that memory no longer has.
    ///
    /// # Errors
    /// It has too many.
    pub(crate) fn counters_of(&self, job: &Job) -> Result<Counters, CountersExceeded> {
        job.counters(&self.cluster.counter_limits)
    }

    /// The counters of a job, none for an unknown one; an error when it has too many. The caller must have passed
    /// [`Self::check_view_counters`].
    pub fn job_counters(&self, id: JobId) -> Read<Result<Option<Counters>, CountersExceeded>> {
        let read = self.read_job(id, |job| job.counters(&self.cluster.counter_limits));
        Read { value: read.value.transpose(), wait_for: read.wait_for }
    }

    /// All reports on the tasks of a job; none for an unknown one. Clients get them in slices, by
    /// [`LongRead::task_reports`](crate::engine::LongRead::task_reports).
    pub fn task_reports(&self, id: JobId, kind: TaskReportKind) -> Read<Vec<TaskReport>> {
        let reports = self.read_job(id, |job| kind.of(job));
        Read { value: reports.value.unwrap_or_default(), wait_for: reports.wait_for }
    }

    /// A part of a job's list of events; none for an unknown job.
    pub(crate) fn completion_events(&self, id: JobId, from: usize, max: usize) -> Read<Vec<TaskCompletionEvent>> {
        let events = self.read_job(id, |job| job.completion_events(from, max));
        Read { value: events.value.unwrap_or_default(), wait_for: events.wait_for }
    }

    /// Whether tasks and events of a job are in the store alone, as of jobs that completed before a restart.
    pub(crate) fn is_in_store_alone(&self, id: JobId) -> bool {
        self.jobs.get(id).is_some_and(Job::is_without_tasks)
    }

    /// The diagnostics of an attempt. The caller must have passed [`Self::check_view_details`].
    pub(crate) fn task_diagnostics(&self, id: AttemptId) -> Read<Vec<String>> {
        let texts = self.read_job(id.task.job, |job| {
            job.key_of(id.task).and_then(|key| job.diagnostics(key, id.number)).unwrap_or_default()
        });
        Read { value: texts.value.unwrap_or_default(), wait_for: texts.wait_for }
    }

    /// All jobs by id. Clients get them in slices, by [`LongRead::jobs`](crate::engine::LongRead::jobs).
    #[cfg(test)]
    pub(crate) fn all_jobs(&self) -> Read<Vec<JobStatus>> {
        self.read_jobs(|_| true)
    }

    pub fn jobs_to_complete(&self) -> Read<Vec<JobStatus>> {
        self.read_jobs(|job| job.is_to_complete())
    }

    fn read_job<T>(&self, id: JobId, view: impl FnOnce(&Job) -> T) -> Read<Option<T>> {
        match self.jobs.get(id) {
            Some(job) => Read { value: Some(view(job)), wait_for: job.last_fact },
            None => Read { value: None, wait_for: FactNumber::default() },
        }
    }

    fn read_jobs(&self, wanted: impl Fn(&Job) -> bool) -> Read<Vec<JobStatus>> {
        let jobs: Vec<_> = self.jobs.iter().filter(|job| wanted(job)).collect();
        let wait_for = jobs.iter().map(|job| job.last_fact).max().unwrap_or_default();
        Read { value: jobs.iter().map(|job| self.status_of(job)).collect(), wait_for }
    }

    /// All queues, by name.
    pub(crate) fn queues(&self) -> Read<Vec<JobQueueInfo>> {
        let value = match self.ruling_market() {
            Some(market) => market.queues().map(|queue| queue_info(queue.as_str(), true)).collect(),
            None => self.config.queues.iter().map(|queue| self.queue_info(queue)).collect(),
        };
        Read { value, wait_for: self.market_fact() }
    }

    /// A queue; none for an unknown one.
    pub(crate) fn queue(&self, name: &str) -> Read<Option<JobQueueInfo>> {
        let value = match self.ruling_market() {
            Some(market) => {
                market.queues().find(|queue| queue.as_str() == name).map(|queue| queue_info(queue.as_str(), true))
            }
            None => {
                let found = self.config.queues.iter().find(|queue| queue.name == name);
                found.map(|queue| self.queue_info(queue))
            }
        };
        Read { value, wait_for: self.market_fact() }
    }

    /// A configured queue, with what the policy says about it.
    fn queue_info(&self, queue: &QueueConfig) -> JobQueueInfo {
        let scheduler = &self.cluster.scheduler;
        let report = scheduler.group(&queue.name).and_then(|group| scheduler.group_report(group));
        let report = self.why_queue_is_paused(&queue.name).or(report);
        let info = queue_info(&queue.name, queue.running);
        JobQueueInfo { scheduling_info: report.map_or(info.scheduling_info, Text), ..info }
    }

    /// The operations that the caller may perform, for each queue that allows any.
    pub(crate) fn queue_acls(&self, caller: &Caller) -> Read<Vec<QueueAclsInfo>> {
        let user = &*caller.user;
        let of = |name: &str, submit: bool, administer: bool| {
            let submit = submit.then(|| "acl-submit-job".to_owned());
            let administer = administer.then(|| "acl-administer-jobs".to_owned());
            let operations: Vec<String> = submit.into_iter().chain(administer).collect();
            (!operations.is_empty()).then(|| QueueAclsInfo { queue: name.into(), operations })
        };
        let open = !self.config.acls_enabled;
        let value = match self.ruling_market() {
            // A queue of the market accepts jobs of its own user only; access lists add nothing.
            Some(market) => market
                .queues()
                .filter_map(|queue| of(queue.as_str(), queue.as_str() == user, open && queue.as_str() == user))
                .collect(),
            None => {
                let queues = self.config.queues.iter();
                let allowed = |list: &str| open || allows(list, caller);
                queues
                    .filter_map(|queue| of(&queue.name, allowed(&queue.submit_acl), allowed(&queue.administer_acl)))
                    .collect()
            }
        };
        Read { value, wait_for: self.market_fact() }
    }

    /// The administrators of a queue: all users while access lists are off, for unknown queues too as in 1.2.1.
    ///
    /// # Errors
    /// Access lists are on and there is no such queue.
    pub(crate) fn queue_admins(&self, name: &str) -> Result<Read<AccessControlList>, Refusal> {
        let configured = || self.config.queues.iter().find(|queue| queue.name == name);
        let list = if !self.config.acls_enabled {
            "*".to_owned()
        } else if let Some(queue) = configured() {
            written(&queue.administer_acl)
        } else if self.ruling_market().is_some() {
            // Queues of a market have no access lists, and their names are confidential.
            " ".to_owned()
        } else {
            return Err(Refusal::IllegalArgument(format!("There is no queue named {name}")));
        };
        Ok(Read { value: AccessControlList(list.into()), wait_for: FactNumber::default() })
    }

    /// The cluster; the detailed form lists tracker names, at a cost that grows with the number of trackers.
    pub(crate) fn cluster_status(&self, detailed: bool) -> Read<ClusterStatus> {
        let of = |trackers: usize, is_so: &dyn Fn(&Tracker) -> bool| {
            let named = self.trackers.iter().filter(|tracker| detailed && is_so(tracker));
            let names = named.map(|tracker| Text::from(&*tracker.name)).collect();
            TrackersOfState { count: count(trackers), names }
        };
        let totals = self.cluster.scheduler.totals();
        let busy = self.trackers.busy_slots();
        let in_service = self.cluster.nodes.in_service();
        let value = ClusterStatus {
            active: of(in_service, &|tracker| tracker.healthy),
            blacklisted: of(self.cluster.nodes.len() - in_service, &|tracker| !tracker.healthy),
            graylisted: of(self.graylisted_trackers(), &|tracker| self.host_faults.is_graylisted(&tracker.host)),
            excluded_nodes: count(self.config.hosts.excluded.len()),
            tracker_expiry_interval_ms: self.config.tracker_expiry_ms as i64,
            running_maps: count_64(busy.map),
            running_reduces: count_64(busy.reduce),
            max_map_slots: count(totals.slots.map as usize),
            max_reduce_slots: count(totals.slots.reduce as usize),
            used_memory_bytes: 0,
            max_memory_bytes: 0,
            state: JobTrackerState::Running,
        };
        Read { value, wait_for: FactNumber::default() }
    }

    /// The fact that answers about queues wait for: queues of a market change by facts.
    fn market_fact(&self) -> FactNumber {
        match self.ruling_market() {
            Some(_) => self.outbox.last_fact(),
            None => FactNumber::default(),
        }
    }
}

fn queue_info(name: &str, running: bool) -> JobQueueInfo {
    let state = if running { "running" } else { "stopped" };
    JobQueueInfo { name: name.into(), state: state.into(), scheduling_info: "N/A".into() }
}

fn count_64(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
