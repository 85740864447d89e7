//! Calls of job clients.

use std::rc::Rc;

use rustix::process::geteuid;

use crate::clock::wall_ms;
use crate::engine::{
    Caller, DELEGATION_KEY_BYTES, DelegationCall, DelegationRequest, Engine, Event, LongRead, ReadProgress, Refusal,
    Slice, TaskReportKind, WantedJobs,
};
use crate::ipc::{CallAnswer, PartedAnswer, PendingCall, RemoteError};
use crate::mapreduce::Job;
use crate::model::{AttemptId, JobId, Kind};
use crate::scheduler::AppId;
use crate::server::submission::{SubmissionRequest, id_owner};
use crate::socket_owner::uid_of_socket;
use crate::store::{FinishedJobReader, StoreError};
use crate::wire::Credentials;
use crate::wire::protocol::{JobSubmissionCall, Value};

use super::super::durability_queue::MemoryReservation;
use super::dispatcher::{Dispatcher, caller_of};
use super::finished_jobs;

/// The name that is held to processes of root's.
const ROOT: &str = "root";
/// Maximum events per answer, about a millisecond of work. Stock clients and trackers continue from where the answer
/// ends.
const MAX_EVENTS: i32 = 5_000;

impl Dispatcher {
    /// Holds the name root to processes of root's, as the kernel knows whose they are: a worker of root's on this machine runs as root
    /// what comes under that name. Without a conf folder none comes from elsewhere.
    fn check_root(&self, pending: &PendingCall) -> Result<(), RemoteError> {
        if **pending.user() != *ROOT {
            return Ok(());
        }
        let is_believed = match pending.ends() {
            Some((local, peer)) if peer.ip().to_canonical().is_loopback() => {
                // One that is half closed has no owner any more, and is not believed.
                uid_of_socket(peer, local).is_some_and(|uid| uid == 0 || uid == geteuid().as_raw())
            }
            _ => self.sources.conf_dir.is_some(),
        };
        if is_believed {
            return Ok(());
        }
        let text = "the name root is believed of processes of root's on the JobTracker's machine alone";
        Err(Refusal::AccessDenied(text.to_owned()).into())
    }

    pub(super) fn job_submission(self: &Rc<Self>, call: JobSubmissionCall, pending: PendingCall) {
        use JobSubmissionCall as Ask;
        match call {
            Ask::GetNewJobId => self.step(Event::NewJobId { owner: id_owner(&pending) }, pending),
            Ask::SubmitJob { job: Some(id), directory: Some(submit_dir), credentials } => {
                self.submit_job(id, submit_dir, credentials.unwrap_or_default(), pending);
            }
            Ask::SubmitJob { .. } => {
                let text = "submitJob needs a job id that getNewJobId gave, and a directory";
                self.refuse(pending, RemoteError::io(text));
            }
            Ask::KillJob { job: None } | Ask::SetJobPriority { job: None, .. } => {
                self.answer_value(pending, Value::Void)
            }
            Ask::KillJob { job: Some(id) } => self.kill_job(id, pending),
            Ask::SetJobPriority { job: Some(id), priority: Some(priority) } => {
                self.as_changer("priority", id, pending, move |this, caller, pending| {
                    this.step(Event::SetJobPriority { id, priority, caller }, pending);
                });
            }
            Ask::SetJobPriority { job: Some(_), priority: None } => {
                self.refuse(pending, RemoteError::io("setJobPriority needs the name of a priority"));
            }
            Ask::KillTask { attempt: None, .. } => self.answer_value(pending, Value::Boolean(false)),
            Ask::KillTask { attempt: Some(id), should_fail } => self.kill_task(id, should_fail, pending),
            Ask::GetJobProfile { job } => match job {
                Some(id) => self.job_profile(id, pending),
                None => self.answer_value(pending, Value::JobProfile(None)),
            },
            Ask::GetJobStatus { job } => match job {
                Some(id) => self.job_status(id, pending),
                None => self.answer_value(pending, Value::JobStatus(None)),
            },
            Ask::GetJobCounters { job } => match job {
                Some(id) => self.forgotten_counters(id, pending, move |this, pending| this.job_counters(id, pending)),
                None => self.answer_value(pending, Value::Counters(None)),
            },
            Ask::GetMapTaskReports { job } => self.task_reports(job, TaskReportKind::Work(Kind::Map), pending),
            Ask::GetReduceTaskReports { job } => self.task_reports(job, TaskReportKind::Work(Kind::Reduce), pending),
            Ask::GetCleanupTaskReports { job } => self.task_reports(job, TaskReportKind::Cleanup, pending),
            Ask::GetSetupTaskReports { job } => self.task_reports(job, TaskReportKind::Setup, pending),
            Ask::GetTaskCompletionEvents { job, from, max } => self.events_for_client(job, from, max, pending),
            Ask::GetTaskDiagnostics { attempt } => match attempt {
                Some(id) => self.task_diagnostics(id, pending),
                None => self.answer_value(pending, Value::Strings(Vec::new())),
            },
            Ask::GetClusterStatus { detailed: true } => self.show_long(pending, LongRead::cluster()),
            Ask::GetClusterStatus { detailed: false } => {
                self.show(pending, |engine| engine.cluster_status(false), Value::ClusterStatus);
            }
            Ask::JobsToComplete => self.show_long(pending, LongRead::jobs(WantedJobs::ToComplete)),
            Ask::GetAllJobs => self.show_long(pending, LongRead::jobs(WantedJobs::All)),
            Ask::GetQueues => self.show(pending, |engine| engine.queues(), Value::Queues),
            Ask::GetQueueInfo { queue } => {
                let name = queue.unwrap_or_default();
                self.show(pending, move |engine| engine.queue(&name), Value::QueueInfo);
            }
            Ask::GetJobsFromQueue { queue } => {
                self.show_long(pending, LongRead::jobs(WantedJobs::OfQueue(queue.unwrap_or_default())));
            }
            Ask::GetQueueAdmins { queue } => {
                let name = queue.unwrap_or_default();
                self.show_if_allowed(pending, move |engine| engine.queue_admins(&name), Value::AccessControlList);
            }
            Ask::GetQueueAclsForCurrentUser => self.as_caller(None, pending, |this, caller, pending| {
                this.show(pending, move |engine| engine.queue_acls(&caller), Value::QueueAcls);
            }),
            Ask::GetFilesystemName => self.answer_value(pending, self.advertised.file_system()),
            Ask::GetSystemDir => self.system_dir(pending),
            Ask::GetStagingAreaDir => self.staging_area_dir(pending),
            Ask::GetDelegationToken { renewer } => {
                self.new_token(renewer.map(|renewer| renewer.to_string()).unwrap_or_default(), pending);
            }
            Ask::RenewDelegationToken { token: Some(token) } => self.about_token(DelegationCall::Renew(token), pending),
            Ask::CancelDelegationToken { token: Some(token) } => {
                self.about_token(DelegationCall::Cancel(token), pending)
            }
            Ask::RenewDelegationToken { token: None } | Ask::CancelDelegationToken { token: None } => {
                self.refuse(pending, RemoteError::io("java.lang.NullPointerException: the call names no token"));
            }
        }
    }

    fn submit_job(self: &Rc<Self>, id: JobId, submit_dir: String, credentials: Credentials, pending: PendingCall) {
        if let Err(refusal) = self.check_root(&pending) {
            return self.refuse(pending, refusal);
        }
        let submissions = self.submissions.clone();
        self.as_caller(None, pending, move |_, caller, pending| {
            let request = SubmissionRequest { id, caller, submit_dir, credentials };
            tokio::task::spawn_local(submissions.submit(request, pending));
        });
    }

    fn kill_job(self: &Rc<Self>, id: JobId, pending: PendingCall) {
        let is_first = pending.is_first();
        self.as_changer("kill", id, pending, move |this, caller, pending| {
            let event = if is_first { Event::KillJobAsFirstCall { id, caller } } else { Event::KillJob { id, caller } };
            this.step(event, pending);
        });
    }

    fn kill_task(self: &Rc<Self>, id: AttemptId, should_fail: bool, pending: PendingCall) {
        let verb = if should_fail { "fail-task" } else { "kill-task" };
        self.as_changer(verb, id.task.job, pending, move |this, caller, pending| {
            this.step(Event::KillTask { id, fail: should_fail, caller }, pending);
        });
    }

    fn task_diagnostics(self: &Rc<Self>, id: AttemptId, pending: PendingCall) {
        self.as_caller(Some(id.task.job), pending, move |this, caller, pending| {
            let ask = move |engine: &Engine| {
                engine.check_view_details(id.task.job, &caller)?;
                Ok::<_, Refusal>(engine.task_diagnostics(id))
            };
            let can_see = this.owner.with_engine(|engine| ask(engine).is_ok());
            this.audit_view("VIEW_JOB_DETAILS", id.task.job, &pending, !can_see);
            let stored = move |store: &FinishedJobReader| finished_jobs::diagnostics(store, id);
            let pending = if can_see { this.read_in_store(id.task.job, pending, stored) } else { Err(pending) };
            let Err(pending) = pending else { return };
            this.show_if_allowed(pending, ask, Value::Strings);
        });
    }

    fn staging_area_dir(&self, pending: PendingCall) {
        let allowed = self.owner.with_engine(Engine::check_safe_mode).map_err(RemoteError::from);
        match allowed.and_then(|()| self.advertised.staging_area(pending.user())) {
            Ok(value) => self.answer_value(pending, value),
            Err(error) => self.refuse(pending, error),
        }
    }

    fn new_token(&self, renewer: String, pending: PendingCall) {
        let mut secret = [0; DELEGATION_KEY_BYTES];
        if getrandom::fill(&mut secret).is_err() {
            return self.refuse(pending, RemoteError::io("the system gives no random bytes for a token"));
        }
        self.about_token(DelegationCall::Get { renewer, secret }, pending);
    }

    fn job_counters(self: &Rc<Self>, id: JobId, pending: PendingCall) {
        self.as_caller(Some(id), pending, move |this, caller, pending| {
            let ask = move |engine: &Engine| {
                engine.check_view_counters(id, &caller)?;
                Ok::<_, Refusal>(engine.job_counters(id))
            };
            let is_refused = this.owner.with_engine(|engine| ask(engine).is_err());
            this.audit_view("VIEW_JOB_COUNTERS", id, &pending, is_refused);
            this.show_answer(pending, ask, |counters| match counters {
                Ok(counters) => CallAnswer::Value(Value::Counters(counters)),
                Err(exceeded) => CallAnswer::Error(RemoteError::io(exceeded)),
            });
        });
    }

    fn about_token(&self, call: DelegationCall, pending: PendingCall) {
        let (user, real_user, origin) = (pending.user().clone(), pending.real_user().cloned(), pending.origin());
        let request = DelegationRequest { call, user, real_user, origin };
        self.step(Event::Delegation(Box::new(request)), pending);
    }

    fn task_reports(self: &Rc<Self>, job: Option<JobId>, kind: TaskReportKind, pending: PendingCall) {
        match job {
            Some(id) => self.forgotten_reports(id, kind, pending, move |this, pending| {
                this.reports_of(id, kind, pending);
            }),
            None => self.answer_value(pending, Value::TaskReports(Vec::new())),
        }
    }

    fn reports_of(self: &Rc<Self>, id: JobId, kind: TaskReportKind, pending: PendingCall) {
        self.as_caller(Some(id), pending, move |this, caller, pending| {
            let checked = this.owner.with_engine(|engine| engine.check_view_details(id, &caller));
            this.audit_view("VIEW_JOB_DETAILS", id, &pending, checked.is_err());
            if let Err(refusal) = checked {
                return this.refuse(pending, refusal.into());
            }
            let stored = move |store: &FinishedJobReader| finished_jobs::task_reports(store, id, kind);
            let Err(pending) = this.read_in_store(id, pending, stored) else { return };
            this.show_long(pending, LongRead::task_reports(id, kind));
        });
    }

    /// Answers with `read` if the job finished before a restart; returns the call otherwise.
    fn read_in_store(
        &self,
        job: JobId,
        pending: PendingCall,
        read: impl FnOnce(&FinishedJobReader) -> Result<Value, StoreError> + Send + 'static,
    ) -> Result<(), PendingCall> {
        match self.owner.with_engine(|engine| engine.is_in_store_alone(job)) {
            true => finished_jobs::answer(&self.finished_jobs, &self.owner, pending, read),
            false => Err(pending),
        }
    }

    /// Where trackers find job tokens; `null` in safe mode, so that a tracker that starts waits. Trackers and clients
    /// call it.
    pub(super) fn system_dir(&self, pending: PendingCall) {
        let value = match self.owner.with_engine(Engine::is_in_safe_mode) {
            true => Value::String(None),
            false => self.advertised.system_dir(),
        };
        self.answer_value(pending, value);
    }

    /// A range of a job's completion events, which name its attempts and where they ran: who may not see its tasks is refused.
    /// 1.2.1 shows them to everybody.
    fn events_for_client(self: &Rc<Self>, job: Option<JobId>, from: i32, max: i32, pending: PendingCall) {
        let Some(id) = job.filter(|_| self.acls_enabled) else {
            return self.completion_events(job, from, max, pending);
        };
        self.with_forgotten(id, pending, move |this, forgotten, pending| {
            let spec = forgotten.as_ref().map(|job| job.spec.clone());
            let answer = move |this: &Rc<Self>, caller: Caller, pending: PendingCall| {
                let checked = this.owner.with_engine(|engine| match &forgotten {
                    Some(job) => engine.check_view_details_of(job, &caller),
                    None => engine.check_view_details(id, &caller),
                });
                match checked {
                    Ok(()) => this.completion_events(Some(id), from, max, pending),
                    Err(refusal) => {
                        // Clients that follow their jobs ask every second: only refusals are worth a line.
                        this.audit_view("VIEW_JOB_DETAILS", id, &pending, true);
                        this.refuse(pending, refusal.into());
                    }
                }
            };
            match spec {
                Some(spec) => this.as_caller_of(&spec, pending, answer),
                None => this.as_caller(Some(id), pending, answer),
            }
        });
    }

    /// A range of a job's completion events, for trackers and for clients that may see them.
    pub(super) fn completion_events(self: &Rc<Self>, job: Option<JobId>, from: i32, max: i32, pending: PendingCall) {
        let range = usize::try_from(from).ok().zip(usize::try_from(max.min(MAX_EVENTS)).ok());
        match job.zip(range) {
            Some((id, (from, max))) => {
                let read = move |store: &FinishedJobReader| store.events(id, from, max).map(Value::CompletionEvents);
                self.with_forgotten(id, pending, move |this, forgotten, pending| {
                    let pending = match forgotten {
                        Some(_) => finished_jobs::answer(&this.finished_jobs, &this.owner, pending, read),
                        None => this.read_in_store(id, pending, read),
                    };
                    let Err(pending) = pending else { return };
                    this.show(pending, move |engine| engine.completion_events(id, from, max), Value::CompletionEvents);
                });
            }
            None => self.answer_value(pending, Value::CompletionEvents(Vec::new())),
        }
    }

    /// Calls `then` with the job, without its tasks, if memory no longer has it and it is still answered; else with none.
    pub(super) fn with_forgotten(
        self: &Rc<Self>,
        id: JobId,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Option<Job>, PendingCall) + 'static,
    ) {
        let reader = self.finished_jobs.reader().filter(|_| self.owner.with_engine(|engine| !engine.has_job(id)));
        let Some((reader, answered_for_ms)) = reader.zip(self.answered_for_ms) else {
            return then(self, None, pending);
        };
        let this = self.clone();
        tokio::task::spawn_local(async move {
            let permit = this.finished_jobs.permit().await;
            let found = tokio::task::spawn_blocking(move || reader.finished(id)).await;
            drop(permit);
            let found = match found {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => return this.refuse(pending, RemoteError::io(error)),
                Err(error) => {
                    return this
                        .refuse(pending, RemoteError::io(format_args!("the JobTracker failed internally: {error}")));
                }
            };
            let since_ms = wall_ms().saturating_sub(answered_for_ms);
            let job = found.filter(|job| job.finish_ms >= since_ms);
            // No scheduler knows it.
            then(&this, job.map(|job| Job::from_finished(job, AppId::new(0))), pending);
        });
    }

    pub(super) fn job_profile(self: &Rc<Self>, id: JobId, pending: PendingCall) {
        self.with_forgotten(id, pending, move |this, job, pending| match job {
            Some(job) => {
                let profile = this.owner.with_engine(|engine| engine.profile_of(&job));
                this.answer_value(pending, Value::JobProfile(Some(profile)));
            }
            None => this.show(pending, move |engine| engine.job_profile(id), Value::JobProfile),
        });
    }

    pub(super) fn job_status(self: &Rc<Self>, id: JobId, pending: PendingCall) {
        self.with_forgotten(id, pending, move |this, job, pending| match job {
            Some(job) => this.answer_value(pending, Value::JobStatus(Some(job.status(this.acls_enabled)))),
            None => this.show(pending, move |engine| engine.job_status(id), Value::JobStatus),
        });
    }

    /// The counters of a job that memory no longer has (1.2.1 `CompletedJobStatusStore`); gives the call back if that is none.
    pub(super) fn forgotten_counters(
        self: &Rc<Self>,
        id: JobId,
        pending: PendingCall,
        others: impl FnOnce(&Rc<Self>, PendingCall) + 'static,
    ) {
        self.with_forgotten(id, pending, move |this, job, pending| {
            let Some(job) = job else { return others(this, pending) };
            // Its access lists may name groups.
            this.as_caller_of(&job.spec.clone(), pending, move |this, caller, pending| {
                let answer = this.owner.with_engine(|engine| match engine.check_view_counters_of(&job, &caller) {
                    Ok(()) => match engine.counters_of(&job) {
                        Ok(counters) => CallAnswer::Value(Value::Counters(Some(counters))),
                        Err(exceeded) => CallAnswer::Error(RemoteError::io(exceeded)),
                    },
                    Err(refusal) => CallAnswer::Error(refusal.into()),
                });
                this.owner.answer(pending, answer, Default::default());
            });
        });
    }

    /// The same of reports on its tasks, which the Java JobTracker has forgotten by then.
    pub(super) fn forgotten_reports(
        self: &Rc<Self>,
        id: JobId,
        kind: TaskReportKind,
        pending: PendingCall,
        others: impl FnOnce(&Rc<Self>, PendingCall) + 'static,
    ) {
        self.with_forgotten(id, pending, move |this, job, pending| {
            let Some(job) = job else { return others(this, pending) };
            this.as_caller_of(&job.spec.clone(), pending, move |this, caller, pending| {
                if let Err(refusal) = this.owner.with_engine(|engine| engine.check_view_details_of(&job, &caller)) {
                    return this.refuse(pending, refusal.into());
                }
                let read = move |store: &FinishedJobReader| finished_jobs::task_reports(store, id, kind);
                if let Err(pending) = finished_jobs::answer(&this.finished_jobs, &this.owner, pending, read) {
                    this.answer_value(pending, Value::TaskReports(Vec::new()));
                }
            });
        });
    }

    /// Answers with the slices of `read`, built between heartbeats and sent part by part as their facts become durable and the client
    /// reads: a large answer occupies neither the thread nor the memory.
    pub(super) fn show_long(self: &Rc<Self>, pending: PendingCall, read: LongRead) {
        tokio::task::spawn_local(self.clone().make(pending, read));
    }

    async fn make(self: Rc<Self>, pending: PendingCall, mut read: LongRead) {
        let mut answer = pending.in_parts().await;
        let part_bytes = match &read {
            LongRead::Reports(_) => PART_BYTES,
            LongRead::Jobs(_) | LongRead::Cluster(_) => LIST_BYTES,
        };
        let mut part = Vec::new();
        answer.start(&mut part);
        while let Some(reservation) = self.reserve_part(part_bytes, &answer).await {
            let slice = self.make_part(&mut read, &mut part).await;
            if slice.progress == ReadProgress::JobForgotten {
                return answer.refuse(&RemoteError::io("the job was retired while its task reports were sent"));
            }
            if self.owner.wait_durable(slice.wait_for).await.is_err() {
                return;
            }
            if slice.progress == ReadProgress::Done {
                return answer.finish(part);
            }
            answer.send(&std::mem::take(&mut part));
            drop(reservation);
        }
    }

    /// Waits until the client has read all parts sent and memory is free; `None` when the client disconnected.
    async fn reserve_part(&self, part_bytes: usize, answer: &PartedAnswer) -> Option<MemoryReservation> {
        loop {
            while answer.is_behind() && !answer.is_gone() {
                answer.caught_up().await;
            }
            if answer.is_gone() {
                return None;
            }
            let reservation = self.owner.answer_memory().reserve(part_bytes).await;
            // Other answers may have become unread meanwhile.
            if !answer.is_behind() && !answer.is_gone() {
                return Some(reservation);
            }
        }
    }

    /// Builds slices up to the size of a part, and yields after each.
    async fn make_part(&self, read: &mut LongRead, part: &mut Vec<u8>) -> Slice {
        loop {
            let _permit = self.slices.acquire().await;
            let slice = self.owner.with_engine(|engine| read.next(engine, part));
            tokio::task::yield_now().await;
            match slice.progress {
                ReadProgress::More if part.len() < PART_BYTES => {}
                ReadProgress::MoreInPlace => {}
                ReadProgress::More | ReadProgress::Done | ReadProgress::JobForgotten => return slice,
            }
        }
    }

    /// Calls `then` with the caller of a change of a job, or refuses it where changes must be signed and the host is not believed, as RPC
    /// has no signatures; `verb`: the subcommand of `job` that signs it.
    pub(super) fn as_changer(
        self: &Rc<Self>,
        verb: &'static str,
        job: JobId,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        let is_believed =
            !self.owner.with_engine(Engine::needs_signatures) || self.believed_hosts.contains(pending.address());
        if is_believed {
            return self.as_caller(Some(job), pending, then);
        }
        let caller = caller_of(&pending);
        self.step(Event::UnsignedChange { verb, job, caller }, pending);
    }
}

/// Size of a part: smaller ones would wait for the store more often.
const PART_BYTES: usize = 1 << 20;
/// Memory for an answer whose beginning changes until it is complete, a list of jobs or trackers: about ten thousand.
const LIST_BYTES: usize = 8 << 20;
