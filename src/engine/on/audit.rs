//! What the audit log says of an event: who changed what, and what was refused. Submissions and the ends of jobs, which more than
//! one event brings about, are entered where they happen.

use std::sync::Arc;

use crate::engine::core::{
    ApplicationCaller, ApplicationQuestion, ApplicationRequest, DelegationCall, DelegationRequest, Engine, Event, Reply,
};
use crate::engine::state::{ApplicationRefusal, AuditEntry, Caller, Decision, PauseTarget, Refusal, UNKNOWN_USER};
use crate::mapreduce::Job;
use crate::market::{JobRequest, MarketError, Operation, OperationKind, Role, ServletRequest};
use crate::model::{ApplicationId, Credits, JobId, Now};
use crate::wire::DelegationIdentifier;
use crate::wire::limits::excerpt;

/// What an event asks for, noted before it is handled.
pub(super) struct Audited {
    entry: AuditEntry,
    /// What must be true of the reply or the state for the event to have changed something.
    done: Done,
}

/// When a request that was not refused has changed something.
enum Done {
    Always,
    /// When this job has begun to end.
    JobEnds(JobId),
    /// When the reply is true.
    IfTrue,
    /// Never: it only reads, or another event completes it.
    Never,
}

impl Engine {
    /// What the event asks for; none for those that need no author.
    pub(super) fn audited(&self, event: &Event) -> Option<Audited> {
        let of_job = |verb, id: JobId, caller: &Caller| {
            let owner = self.jobs.get(id).map(|job| &job.spec.user).filter(|owner| ***owner != *caller.user);
            AuditEntry::new(verb, &*caller.user).with("job", id).with_some("owner", owner)
        };
        let (entry, done) = match event {
            Event::SubmissionRequested { id, caller } => (of_job("submit", *id, caller), Done::Never),
            Event::SubmissionRead(read) => {
                (of_job("submit", read.id, &read.caller).with("queue", &read.spec.queue), Done::Never)
            }
            Event::KillJob { id, caller } | Event::KillJobAsFirstCall { id, caller } => {
                let job = self.jobs.get(*id)?;
                let done = if job.is_over_or_ending() { Done::Never } else { Done::JobEnds(*id) };
                (of_job("kill", *id, caller), done)
            }
            Event::KillTask { id, fail, caller } => {
                let verb = if *fail { "fail-task" } else { "kill-task" };
                (of_job(verb, id.task.job, caller).with("attempt", id), Done::IfTrue)
            }
            Event::SetJobPriority { id, priority, caller } => {
                self.jobs.get(*id)?;
                (of_job("priority", *id, caller).with("priority", priority), Done::Always)
            }
            Event::SetDeadline { id, caller, .. } => (of_job("deadline", *id, caller), Done::Always),
            Event::UnsignedChange { verb, job, caller } => {
                (of_job(verb, *job, caller).with("why", "no signature"), Done::Never)
            }
            Event::SetPool { id, pool, caller } => {
                self.jobs.get(*id)?;
                (of_job("pool", *id, caller).with("pool", pool), Done::Always)
            }
            Event::Delegation(request) => (of_delegation(request), Done::Always),
            Event::SetSafeMode { on, caller } => {
                (AuditEntry::new("safe-mode", &*caller.user).with("on", on), Done::Always)
            }
            Event::DrainWorker { worker, is_on, caller } => {
                let verb = if *is_on { "drain" } else { "resume" };
                (AuditEntry::new(verb, &*caller.user).with("worker", worker), Done::Always)
            }
            Event::Pause { target, is_on, caller } => match target {
                PauseTarget::Job(id) => {
                    self.jobs.get(*id)?;
                    (of_job(if *is_on { "hold" } else { "release" }, *id, caller), Done::Always)
                }
                PauseTarget::Queue(queue) => {
                    let verb = if *is_on { "pause-queue" } else { "resume-queue" };
                    (AuditEntry::new(verb, &*caller.user).with("queue", excerpt(queue)), Done::Always)
                }
            },
            Event::HostsRead { caller, .. } => (AuditEntry::new("refresh-nodes", &*caller.user), Done::Always),
            Event::QueuesRead { caller, .. } => (AuditEntry::new("refresh-queues", &*caller.user), Done::Always),
            Event::Application(request) => {
                let (entry, is_change) = self.audited_application(request)?;
                (entry, if is_change { Done::Always } else { Done::Never })
            }
            Event::Market(request) => {
                let (entry, done) = of_market(request);
                (entry.with_some("amount", self.taken_with_queue(request)), done)
            }
            Event::JobRequest { request, .. } => self.of_job_request(request, of_job)?,
            // Who sent a signal, or edited the file, is unknown.
            Event::ConfigurationRead { queues, hosts, by, .. } => {
                let entry =
                    AuditEntry::new("reload", by.as_deref().unwrap_or(UNKNOWN_USER)).with("queues", queues.len());
                let (included, excluded) = (hosts.included.len(), hosts.excluded.len());
                (entry.with("included", included).with("excluded", excluded), Done::Always)
            }
            Event::AllocationsRead { .. } if self.config.policy.has_pools() => {
                (AuditEntry::new("reload-allocations", UNKNOWN_USER), Done::Always)
            }
            // The switch itself is entered where it happens: it may wait for the market's next tick.
            Event::SchedulerWished(_)
            | Event::WishWithdrawn
            | Event::TopUpsFound { .. }
            | Event::AllocationsRead { .. } => return None,
            // What machines report, and what follows from what was entered before.
            Event::Heartbeat { .. }
            | Event::ConnectionClosed { .. }
            | Event::ConnectionsInherited { .. }
            | Event::TrackerError { .. }
            | Event::RunEnds
            | Event::RackResolved { .. }
            | Event::NewJobId { .. }
            | Event::UnusedIdFound { .. }
            | Event::JobIdsInherited { .. }
            | Event::SystemDirWritten { .. }
            | Event::SubmissionAbandoned { .. }
            | Event::ForeignJobFound(_)
            | Event::ForeignJobNotFound { .. }
            | Event::HistoryWritten { .. }
            | Event::UserCopySettled { .. }
            | Event::EndNotified { .. }
            | Event::FileSystemWatched { .. }
            | Event::WorkerBeat(_)
            | Event::Timer { .. } => return None,
        };
        let entry = entry.with_some("real-user", real_user_of(event));
        Some(Audited { entry, done })
    }

    /// The same entries as for calls by RPC.
    fn of_job_request(
        &self,
        request: &ServletRequest,
        of_job: impl Fn(&'static str, JobId, &Caller) -> AuditEntry,
    ) -> Option<(AuditEntry, Done)> {
        let ServletRequest { verified, query } = request;
        let user = verified.as_ref().map(|signer| signer.user.as_str()).or(query.user.as_deref()).unwrap_or_default();
        let caller = Caller::named(user);
        let id = query.job_asked_about()?;
        let Operation::OfJob(asked) = query.operation().ok()? else { return None };
        Some(match asked {
            JobRequest::Kill(_) => {
                let has_begun = self.jobs.get(id).is_some_and(Job::is_over_or_ending);
                (of_job("kill", id, &caller), if has_begun { Done::Never } else { Done::JobEnds(id) })
            }
            JobRequest::KillTask { attempt, should_fail } => {
                let verb = if should_fail { "fail-task" } else { "kill-task" };
                (of_job(verb, id, &caller).with("attempt", attempt), Done::Always)
            }
            JobRequest::SetPriority { priority, .. } => {
                (of_job("priority", id, &caller).with("priority", priority), Done::Always)
            }
            JobRequest::Hold { is_on, .. } => {
                (of_job(if is_on { "hold" } else { "release" }, id, &caller), Done::Always)
            }
            JobRequest::SetDeadline { .. } => (of_job("deadline", id, &caller), Done::Always),
            JobRequest::LogTicket(attempt) => (of_job("logs", id, &caller).with("attempt", attempt), Done::Never),
        })
    }

    /// The money that leaves the market with a queue that an administrator removes.
    fn taken_with_queue(&self, request: &ServletRequest) -> Option<Credits> {
        let is_by_admin = request.verified.as_ref().is_some_and(|signer| signer.role == Role::Admin);
        let is_removal = is_by_admin && request.query.kind == OperationKind::RemoveQueue;
        let account = self.market()?.account(request.query.target().filter(|_| is_removal)?)?;
        Some(account.balance())
    }

    pub(super) fn audit_end(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let entry = AuditEntry::new("end", &*job.spec.user).with("job", id).with("queue", &job.spec.queue);
        self.outbox.audit(entry.with("state", job.state().run_state().name()));
    }

    /// Enters what the event has changed, or that it was refused. The decision in it, if there is one.
    pub(super) fn audit(&mut self, audited: Audited, reply: &Reply, now: Now) -> Option<Decision> {
        let Audited { entry, done } = audited;
        let entry = match reply {
            Reply::Refused(Refusal::AccessDenied(_)) => entry.denied(),
            Reply::Market(Err(MarketError::Denied { reason, .. })) => {
                let why = reason.as_ref().map(|(denial, _)| denial.to_string());
                entry.with("why", why.as_deref().unwrap_or("no valid signature")).denied()
            }
            Reply::Application(Err(ApplicationRefusal::Forbidden(_))) => entry.denied(),
            Reply::Refused(_) | Reply::Market(Err(_)) | Reply::Application(Err(_)) => return None,
            reply => {
                let is_done = match done {
                    Done::Always => true,
                    Done::Never => false,
                    Done::IfTrue => matches!(reply, Reply::Boolean(true)),
                    Done::JobEnds(id) => self.jobs.get(id).is_none_or(|job| job.is_over_or_ending()),
                };
                if !is_done {
                    return None;
                }
                entry
            }
        };
        let decision = Decision::in_change(&entry, now.wall_ms);
        self.outbox.audit(entry);
        decision
    }
}

/// The user that acts for the user of an event.
fn real_user_of(event: &Event) -> Option<&Arc<str>> {
    let caller = match event {
        Event::Delegation(request) => return request.real_user.as_ref(),
        Event::SubmissionRead(read) => &read.caller,
        Event::SubmissionRequested { caller, .. }
        | Event::KillJob { caller, .. }
        | Event::KillJobAsFirstCall { caller, .. }
        | Event::KillTask { caller, .. }
        | Event::SetJobPriority { caller, .. }
        | Event::SetDeadline { caller, .. }
        | Event::UnsignedChange { caller, .. }
        | Event::SetPool { caller, .. }
        | Event::SetSafeMode { caller, .. }
        | Event::DrainWorker { caller, .. }
        | Event::Pause { caller, .. }
        | Event::HostsRead { caller, .. }
        | Event::QueuesRead { caller, .. } => caller,
        _ => return None,
    };
    caller.real_user.as_ref()
}

fn of_delegation(request: &DelegationRequest) -> AuditEntry {
    let (verb, token) = match &request.call {
        DelegationCall::Get { renewer, .. } => {
            return AuditEntry::new("get-token", &*request.user).with("renewer", excerpt(renewer));
        }
        DelegationCall::Renew(token) => ("renew-token", token),
        DelegationCall::Cancel(token) => ("cancel-token", token),
    };
    let identifier = DelegationIdentifier::from_bytes(&token.identifier).ok();
    let owner = identifier.as_ref().map(|identifier| excerpt(&identifier.owner));
    let entry = AuditEntry::new(verb, &*request.user).with_some("owner", owner);
    entry.with_some("number", identifier.map(|identifier| identifier.sequence))
}

fn of_market(request: &ServletRequest) -> (AuditEntry, Done) {
    let ServletRequest { verified, query } = request;
    let verb = match query.kind {
        OperationKind::SetSpending => "set-spending",
        OperationKind::AddBudget => "add-budget",
        OperationKind::AddQueue => "add-queue",
        OperationKind::RemoveQueue => "remove-queue",
        OperationKind::PauseQueue => "pause-queue",
        OperationKind::ResumeQueue => "resume-queue",
        OperationKind::Explain => "explain",
        OperationKind::Upload => "upload",
        kind => kind.parameter(),
    };
    let user = verified.as_ref().map(|signer| signer.user.as_str()).or(query.user.as_deref()).unwrap_or_default();
    let value = Some(query.value.as_str()).filter(|value| !value.is_empty());
    let name_of_value = match query.kind {
        OperationKind::SetSpending | OperationKind::Quote | OperationKind::OrderQuote => "rate",
        OperationKind::AddBudget | OperationKind::Transfer | OperationKind::Allowance => "amount",
        OperationKind::Upload => "sha256",
        OperationKind::Bid | OperationKind::Unbid | OperationKind::Explain | OperationKind::Tasks => "job",
        OperationKind::Drain | OperationKind::Resume => "worker",
        OperationKind::Session => "page",
        _ => "queue",
    };
    let mut entry = AuditEntry::new(verb, user).with_some("queue", query.queue.as_deref());
    entry = entry.with_some(name_of_value, value);
    for (name, value) in query.audited_parameters() {
        entry = entry.with(name, value);
    }
    (entry, if query.kind.is_change() { Done::Always } else { Done::Never })
}

impl Engine {
    /// The entry of a request, if it changes something that is entered; and whether there is anything left to change.
    pub(super) fn audited_application(&self, request: &ApplicationRequest) -> Option<(AuditEntry, bool)> {
        let ApplicationRequest::Asked { caller, question } = request else { return None };
        let user = match caller {
            ApplicationCaller::User { caller, .. } => caller.user.to_string(),
            ApplicationCaller::Application { application, .. } => application.to_string(),
        };
        let entry = |verb, application: ApplicationId| {
            let owner = self.applications.get(application).map(|application| &application.submitted.user);
            let owner = owner.filter(|owner| ***owner != *user);
            AuditEntry::new(verb, user.clone()).with("application", application).with_some("owner", owner)
        };
        match &**question {
            ApplicationQuestion::Submit { submission, .. } => {
                let id = submission.application_id;
                Some((entry("submit", id).with("name", &submission.name), self.applications.get(id).is_none()))
            }
            ApplicationQuestion::Kill(id) => {
                let is_over = self.applications.get(*id).is_none_or(|application| application.is_over());
                Some((entry("kill", *id), !is_over))
            }
            ApplicationQuestion::Signal { container, .. } => {
                let is_live = self.applications.container(*container).is_some_and(|container| container.is_live());
                Some((entry("kill-container", container.application).with("container", container), is_live))
            }
            _ => None,
        }
    }
}
