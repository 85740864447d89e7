//! What job clients ask.

use std::rc::Rc;

use crate::engine::{Engine, Event, LongRead, Refusal, ReportKind, WantedJobs};
use crate::ipc::{Answer, RemoteError, Ticket};
use crate::model::{JobId, Kind};
use crate::server::submission::Asked;
use crate::store::{FinishedJobReader, StoreError};
use crate::wire::protocol::{JobSubmissionCall, Value};

use super::{Dispatcher, administration, finished_jobs, id_owner};

/// Events in one answer: so many take about a millisecond. Whoever wants more asks again from where it ends, as stock clients and trackers do.
const MAX_EVENTS: i32 = 5_000;

impl Dispatcher {
    pub(super) fn job_submission(self: &Rc<Self>, call: JobSubmissionCall, ticket: Ticket) {
        use JobSubmissionCall as Ask;
        let owner = &self.owner;
        match call {
            Ask::GetNewJobId => self.step(Event::NewJobId { owner: id_owner(&ticket) }, ticket),
            Ask::SubmitJob { job, directory, credentials } => {
                let (Some(id), Some(submit_dir)) = (job, directory) else {
                    let text = "submitJob needs a job id that getNewJobId gave, and a directory";
                    return self.refuse(ticket, RemoteError::io(text));
                };
                let credentials = credentials.unwrap_or_default();
                let submissions = self.submissions.clone();
                self.as_caller(None, ticket, move |_, caller, ticket| {
                    let asked = Asked { id, caller, submit_dir, credentials };
                    tokio::task::spawn_local(submissions.submit(asked, ticket));
                });
            }
            Ask::KillJob { job: None } | Ask::SetJobPriority { job: None, .. } => self.tell(ticket, Value::Void),
            Ask::KillJob { job: Some(id) } => {
                let is_first = ticket.is_first();
                self.as_caller(Some(id), ticket, move |this, caller, ticket| {
                    let event =
                        if is_first { Event::KillJobAsFirstCall { id, caller } } else { Event::KillJob { id, caller } };
                    this.step(event, ticket);
                });
            }
            Ask::SetJobPriority { job: Some(id), priority } => {
                let Some(priority) = priority else {
                    return self.refuse(ticket, RemoteError::io("setJobPriority needs the name of a priority"));
                };
                self.as_caller(Some(id), ticket, move |this, caller, ticket| {
                    this.step(Event::SetJobPriority { id, priority, caller }, ticket);
                });
            }
            Ask::KillTask { attempt: None, .. } => self.tell(ticket, Value::Boolean(false)),
            Ask::KillTask { attempt: Some(id), should_fail } => {
                self.as_caller(Some(id.task.job), ticket, move |this, caller, ticket| {
                    this.step(Event::KillTask { id, fail: should_fail, caller }, ticket);
                });
            }
            Ask::GetJobProfile { job } => match job {
                Some(id) => self.show(ticket, move |engine| engine.job_profile(id), Value::JobProfile),
                None => self.tell(ticket, Value::JobProfile(None)),
            },
            Ask::GetJobStatus { job } => match job {
                Some(id) => self.show(ticket, move |engine| engine.job_status(id), Value::JobStatus),
                None => self.tell(ticket, Value::JobStatus(None)),
            },
            Ask::GetJobCounters { job } => match job {
                Some(id) => self.as_caller(Some(id), ticket, move |this, caller, ticket| {
                    let ask = move |engine: &Engine| {
                        engine.check_view_counters(id, &caller)?;
                        Ok::<_, Refusal>(engine.job_counters(id))
                    };
                    this.show_answer(ticket, ask, |counters| match counters {
                        Ok(counters) => Answer::Value(Value::Counters(counters)),
                        Err(exceeded) => Answer::Error(RemoteError::io(exceeded)),
                    });
                }),
                None => self.tell(ticket, Value::Counters(None)),
            },
            Ask::GetMapTaskReports { job } => self.task_reports(job, ReportKind::Work(Kind::Map), ticket),
            Ask::GetReduceTaskReports { job } => self.task_reports(job, ReportKind::Work(Kind::Reduce), ticket),
            Ask::GetCleanupTaskReports { job } => self.task_reports(job, ReportKind::Cleanup, ticket),
            Ask::GetSetupTaskReports { job } => self.task_reports(job, ReportKind::Setup, ticket),
            Ask::GetTaskCompletionEvents { job, from, max } => self.completion_events(job, from, max, ticket),
            Ask::GetTaskDiagnostics { attempt } => match attempt {
                Some(id) => self.as_caller(Some(id.task.job), ticket, move |this, caller, ticket| {
                    let ask = move |engine: &Engine| {
                        engine.check_view_details(id.task.job, &caller)?;
                        Ok::<_, Refusal>(engine.task_diagnostics(id))
                    };
                    let may_see = this.owner.with_engine(|engine| ask(engine).is_ok());
                    let stored = move |store: &FinishedJobReader| finished_jobs::diagnostics(store, id);
                    let ticket = if may_see { this.read_in_store(id.task.job, ticket, stored) } else { Err(ticket) };
                    let Err(ticket) = ticket else { return };
                    this.show_if_allowed(ticket, ask, Value::Strings);
                }),
                None => self.tell(ticket, Value::Strings(Vec::new())),
            },
            Ask::GetClusterStatus { detailed: true } => self.show_long(ticket, LongRead::cluster()),
            Ask::GetClusterStatus { detailed: false } => {
                self.show(ticket, |engine| engine.cluster_status(false), Value::ClusterStatus);
            }
            Ask::JobsToComplete => self.show_long(ticket, LongRead::jobs(WantedJobs::ToComplete)),
            Ask::GetAllJobs => self.show_long(ticket, LongRead::jobs(WantedJobs::All)),
            Ask::GetQueues => self.show(ticket, |engine| engine.queues(), Value::Queues),
            Ask::GetQueueInfo { queue } => {
                let name = queue.unwrap_or_default();
                self.show(ticket, move |engine| engine.queue(&name), Value::QueueInfo);
            }
            Ask::GetJobsFromQueue { queue } => {
                let queue = queue.unwrap_or_default();
                self.show_long(ticket, LongRead::jobs(WantedJobs::OfQueue(queue)));
            }
            Ask::GetQueueAdmins { queue } => {
                let name = queue.unwrap_or_default();
                self.show_if_allowed(ticket, move |engine| engine.queue_admins(&name), Value::AccessControlList);
            }
            Ask::GetQueueAclsForCurrentUser => self.as_caller(None, ticket, |this, caller, ticket| {
                this.show(ticket, move |engine| engine.queue_acls(&caller), Value::QueueAcls);
            }),
            Ask::GetFilesystemName => self.tell(ticket, self.advertised.file_system()),
            Ask::GetSystemDir => self.system_dir(ticket),
            Ask::GetStagingAreaDir => {
                let allowed = owner.with_engine(Engine::check_safe_mode).map_err(RemoteError::from);
                match allowed.and_then(|()| self.advertised.staging_area(ticket.user())) {
                    Ok(value) => self.tell(ticket, value),
                    Err(error) => self.refuse(ticket, error),
                }
            }
            Ask::GetDelegationToken { .. } | Ask::RenewDelegationToken { .. } | Ask::CancelDelegationToken { .. } => {
                self.refuse(ticket, administration::not_supported("delegation tokens"));
            }
        }
    }

    fn task_reports(self: &Rc<Self>, job: Option<JobId>, kind: ReportKind, ticket: Ticket) {
        match job {
            Some(id) => self.as_caller(Some(id), ticket, move |this, caller, ticket| {
                if let Err(refusal) = this.owner.with_engine(|engine| engine.check_view_details(id, &caller)) {
                    return this.refuse(ticket, refusal.into());
                }
                let stored = move |store: &FinishedJobReader| finished_jobs::task_reports(store, id, kind);
                let Err(ticket) = this.read_in_store(id, ticket, stored) else { return };
                this.show_long(ticket, LongRead::task_reports(id, kind));
            }),
            None => self.tell(ticket, Value::TaskReports(Vec::new())),
        }
    }

    /// Has `read` answer about a job that was over before a restart; gives the ticket back for any other.
    fn read_in_store(
        &self,
        job: JobId,
        ticket: Ticket,
        read: impl FnOnce(&FinishedJobReader) -> Result<Value, StoreError> + Send + 'static,
    ) -> Result<(), Ticket> {
        match self.owner.with_engine(|engine| engine.is_in_store_alone(job)) {
            true => self.finished_jobs.answer(&self.owner, ticket, read),
            false => Err(ticket),
        }
    }

    /// Where trackers find job tokens; nowhere in safe mode: a tracker that starts then waits. Trackers and clients ask.
    pub(super) fn system_dir(&self, ticket: Ticket) {
        let value = match self.owner.with_engine(Engine::is_in_safe_mode) {
            true => Value::String(None),
            false => self.advertised.system_dir(),
        };
        self.tell(ticket, value);
    }

    /// A part of a job's list of events. Trackers and clients ask for it.
    pub(super) fn completion_events(self: &Rc<Self>, job: Option<JobId>, from: i32, max: i32, ticket: Ticket) {
        let range = usize::try_from(from).ok().zip(usize::try_from(max.min(MAX_EVENTS)).ok());
        match job.zip(range) {
            Some((id, (from, max))) => {
                let read = move |store: &FinishedJobReader| store.events(id, from, max).map(Value::CompletionEvents);
                let Err(ticket) = self.read_in_store(id, ticket, read) else { return };
                self.show(ticket, move |engine| engine.completion_events(id, from, max), Value::CompletionEvents);
            }
            None => self.tell(ticket, Value::CompletionEvents(Vec::new())),
        }
    }
}
