//! What all calls share: the engine's owner, queues and caches, and how a call is answered.

use std::rc::Rc;

use tokio::sync::Semaphore;

use crate::config::Settings;
use crate::config::service_policy::ServicePolicy;
use crate::config::settings::{LoadOptions, ProxyUsers};
use crate::engine::{Engine, Event, Read, Refusal, Reply};
use crate::ipc::{Answer, LocalCalls, PendingCall, RemoteError};
use crate::model::FactNumber;
use crate::server::admission::Admission;
use crate::server::advertised::Advertised;
use crate::server::answer::answer_of;
use crate::server::believed_hosts::BelievedHosts;
use crate::server::connection_policy::ConnectionPolicy;
use crate::server::groups::Groups;
use crate::server::hadoop_audit::HadoopAudit;
use crate::server::owner::Owner;
use crate::server::submission::Submissions;
use crate::store::FinishedJobReader;
use crate::wire::protocol::Value;

use super::client_queue::{ClientQueue, QueuedCall};
use super::finished_jobs::FinishedJobs;
use super::held_beats::HeldBeats;
use super::held_heartbeats::HeldHeartbeats;
use super::rate_limited::Refreshes;
use super::tracker_claims::TrackerClaims;

/// Answers calls with the engine's replies.
pub(crate) struct Dispatcher {
    pub(super) owner: Rc<Owner>,
    pub(super) advertised: Advertised,
    pub(super) submissions: Rc<Submissions>,
    pub(super) groups: Rc<Groups>,
    pub(super) policy: Rc<ConnectionPolicy>,
    pub(super) acls_enabled: bool,
    /// Where changes must be signed: hosts whose callers need not sign.
    pub(super) believed_hosts: Rc<BelievedHosts>,
    /// What the refreshes read again.
    pub(super) sources: LoadOptions,
    pub(super) refreshes: Refreshes,
    pub(super) clients: ClientQueue,
    pub(super) finished_jobs: FinishedJobs,
    pub(super) tracker_claims: TrackerClaims,
    pub(super) held_heartbeats: Rc<HeldHeartbeats>,
    pub(super) held_beats: HeldBeats<PendingCall>,
    pub(super) admission: Rc<Admission>,
    pub(super) slices: Semaphore,
    /// How long after its end a job is answered that memory no longer has, ms.
    pub(super) answered_for_ms: Option<i64>,
    pub(super) audit: HadoopAudit,
    local_calls: LocalCalls,
}

/// The error while too many facts wait for the store.
pub(super) const STORE_OVERLOADED: &str =
    "the call was rejected because too many changes wait for the state store: try again soon";

impl Dispatcher {
    /// A dispatcher that queues at most about `waiting_calls` calls of clients.
    pub(crate) fn new(
        owner: Rc<Owner>,
        settings: &Settings,
        submissions: Rc<Submissions>,
        waiting_calls: usize,
    ) -> Rc<Self> {
        let local_clock = owner.clock();
        let audit = HadoopAudit::new(owner.clock(), settings.queues.acls_enabled);
        let admission = Rc::new(Admission::new(settings.trackers.admitted, owner.clock()));
        let groups = Rc::new(Groups::new(settings.queues.groups_cache_s));
        let (proxy_users, service) = (settings.proxy_users.clone(), settings.service_policy.clone());
        let policy = ConnectionPolicy::new(proxy_users, service, groups.clone(), owner.clock());
        let dispatcher = Rc::new(Self {
            owner,
            advertised: Advertised::new(settings),
            submissions,
            groups,
            policy,
            acls_enabled: settings.queues.acls_enabled,
            believed_hosts: Rc::new(BelievedHosts::new(&settings.job_changes.hosts)),
            sources: settings.sources.clone(),
            refreshes: Refreshes::default(),
            clients: ClientQueue::new(waiting_calls),
            finished_jobs: FinishedJobs::new(),
            slices: Semaphore::new(1),
            answered_for_ms: settings.history.answered_for_ms,
            audit,
            tracker_claims: TrackerClaims::default(),
            local_calls: LocalCalls::new(local_clock),
            held_heartbeats: Rc::default(),
            held_beats: HeldBeats::default(),
            admission,
        });
        dispatcher.apply_host_list();
        dispatcher
    }

    /// Calls in the names of users that the web server has verified.
    pub(in crate::server) fn local_calls(&self) -> &LocalCalls {
        &self.local_calls
    }

    /// Sets the reader of jobs that finished before the restart.
    pub(crate) fn read_finished_jobs_by(&self, reader: FinishedJobReader) {
        self.finished_jobs.read_by(reader);
    }

    /// Applies the engine's list of hosts to admission.
    pub(crate) fn apply_host_list(&self) {
        self.owner.with_engine(|engine| self.admission.set_list(engine.included_hosts()));
    }

    /// Resolves host names as they come due. Never completes.
    pub(crate) async fn resolve_hosts(self: Rc<Self>) {
        tokio::join!(self.admission.clone().resolve(), self.believed_hosts.clone().resolve());
    }

    /// The hosts whose callers may change jobs without a signature.
    pub(crate) fn believed_hosts(&self) -> &Rc<BelievedHosts> {
        &self.believed_hosts
    }

    /// Applies the rules for connections that open from now on. Service-level authorization is switched on and off by a
    /// restart only.
    pub(crate) fn set_connection_policy(&self, proxy_users: ProxyUsers, service: Option<ServicePolicy>) {
        self.policy.set_proxy_users(proxy_users);
        if self.policy.is_authorizing() && service.is_some() {
            self.policy.set_service(service);
        }
    }

    /// Discards the cached groups.
    pub(crate) fn forget_groups(&self) {
        self.groups.forget();
    }

    /// Passes an event to the engine and answers with its reply once its facts are durable.
    pub(super) fn step(&self, event: Event, pending: PendingCall) {
        if self.owner.is_overloaded() {
            return self.refuse(pending, RemoteError::io(STORE_OVERLOADED));
        }
        let audited = self.owner.with_engine(|engine| self.audit.of_event(engine, &event, pending.address()));
        let (reply, wait_for) = self.owner.step_from(pending.address(), event);
        if let Some(call) = audited {
            match &reply {
                Reply::Refused(Refusal::AccessDenied(_)) => self.audit.refused(&call, HadoopAudit::UNAUTHORIZED),
                _ => self.audit.allowed(&call),
            }
        }
        self.owner.answer(pending, answer_of(reply), wait_for);
    }

    /// Answers with what `ask` reads from the engine, once its facts are durable. The read is repeated if there is no
    /// memory to keep the answer until then.
    pub(super) fn show<T>(
        self: &Rc<Self>,
        pending: PendingCall,
        ask: impl Fn(&Engine) -> Read<T> + 'static,
        value: impl Fn(T) -> Value + 'static,
    ) {
        self.show_if_allowed(pending, move |engine| Ok::<_, Refusal>(ask(engine)), value);
    }

    /// As [`Self::show`], where `ask` may refuse.
    pub(super) fn show_if_allowed<T, E: Into<RemoteError>>(
        self: &Rc<Self>,
        pending: PendingCall,
        ask: impl Fn(&Engine) -> Result<Read<T>, E> + 'static,
        value: impl Fn(T) -> Value + 'static,
    ) {
        self.show_answer(pending, ask, move |read| Answer::Value(value(read)));
    }

    /// As [`Self::show_if_allowed`], where the value may be an error too.
    pub(super) fn show_answer<T, E: Into<RemoteError>>(
        self: &Rc<Self>,
        pending: PendingCall,
        ask: impl Fn(&Engine) -> Result<Read<T>, E> + 'static,
        answer_of: impl Fn(T) -> Answer + 'static,
    ) {
        let (answer, wait_for) = match self.owner.with_engine(&ask) {
            Ok(read) => (answer_of(read.value), read.wait_for),
            Err(error) => (Answer::Error(error.into()), FactNumber::default()),
        };
        // Weak: the owner keeps this closure, and the dispatcher keeps the owner.
        let this = Rc::downgrade(self);
        let ask_again = move |pending| {
            let Some(dispatcher) = this.upgrade() else { return };
            let again = move || {
                if let Some(this) = this.upgrade() {
                    this.show_answer(pending, ask, answer_of);
                }
            };
            dispatcher.clients.push(QueuedCall::Retry(Box::new(again)));
        };
        self.owner.show(pending, &answer, wait_for, ask_again);
    }

    /// Answers with a value that needs no engine.
    pub(super) fn answer_value(&self, pending: PendingCall, value: Value) {
        self.owner.answer(pending, Answer::Value(value), FactNumber::default());
    }

    pub(super) fn refuse(&self, pending: PendingCall, error: RemoteError) {
        self.owner.answer(pending, Answer::Error(error), FactNumber::default());
    }

    /// Refuses a call about something that is not supported.
    pub(super) fn refuse_unsupported(&self, pending: PendingCall, what: &str) {
        self.refuse(pending, RemoteError::io(format_args!("this JobTracker does not support {what} yet")));
    }
}
