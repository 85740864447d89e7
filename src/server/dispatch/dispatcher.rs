//! What all calls share: the engine's owner, queues and caches, how a call is passed on and how it is answered.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{Notify, Semaphore};

use crate::config::Settings;
use crate::config::service_policy::ServicePolicy;
use crate::config::settings::{LoadOptions, ProxyUsers};
use crate::engine::{Caller, Engine, Event, Read, Refusal, Reply};
use crate::ipc::{
    CallAnswer, ConnectionCheck, Introduced, LocalCalls, PendingCall, RemoteError, Service, served_protocol,
};
use crate::mapreduce::JobSpec;
use crate::model::{FactNumber, JobId};
use crate::server::admission::TrackerAdmission;
use crate::server::advertised::Advertised;
use crate::server::answer::answer_of;
use crate::server::believed_hosts::BelievedHosts;
use crate::server::connection_policy::ConnectionPolicy;
use crate::server::groups::UserGroups;
use crate::server::hadoop_audit::HadoopAudit;
use crate::server::owner::Owner;
use crate::server::shown_jobs::JobSources;
use crate::server::submission::Submissions;
use crate::store::FinishedJobReader;
use crate::wire::protocol::{Call, JobSubmissionCall, Protocol, Value};

use super::held_beats::HeldBeats;
use super::held_heartbeats::HeldHeartbeats;
use super::rate_limited::Refreshes;
use super::tracker_claims::TrackerClaims;

/// Answers calls with the engine's replies.
pub(crate) struct Dispatcher {
    pub(super) owner: Rc<Owner>,
    pub(super) advertised: Advertised,
    pub(super) submissions: Rc<Submissions>,
    pub(super) groups: Rc<UserGroups>,
    pub(super) policy: Rc<ConnectionPolicy>,
    pub(super) acls_enabled: bool,
    /// Where changes must be signed: hosts whose callers need not sign.
    pub(super) believed_hosts: Rc<BelievedHosts>,
    /// What the refreshes read again.
    pub(super) sources: LoadOptions,
    pub(super) refreshes: Refreshes,
    pub(super) clients: ClientQueue,
    /// Those of before the restart.
    pub(super) finished_jobs: JobSources,
    pub(super) tracker_claims: TrackerClaims,
    pub(super) held_heartbeats: Rc<HeldHeartbeats>,
    pub(super) held_beats: HeldBeats<PendingCall>,
    pub(super) admission: Rc<TrackerAdmission>,
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
        finished_jobs: Option<FinishedJobReader>,
    ) -> Rc<Self> {
        let local_clock = owner.clock();
        let audit = HadoopAudit::new(owner.clock(), settings.queues.acls_enabled);
        let admission = Rc::new(TrackerAdmission::new(settings.trackers.admitted, owner.clock()));
        let groups = Rc::new(UserGroups::new(settings.queues.groups_cache_s));
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
            finished_jobs: JobSources::new(finished_jobs),
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
        self.show_answer(pending, ask, move |read| CallAnswer::Value(value(read)));
    }

    /// As [`Self::show_if_allowed`], where the value may be an error too.
    pub(super) fn show_answer<T, E: Into<RemoteError>>(
        self: &Rc<Self>,
        pending: PendingCall,
        ask: impl Fn(&Engine) -> Result<Read<T>, E> + 'static,
        answer_of: impl Fn(T) -> CallAnswer + 'static,
    ) {
        let (answer, wait_for) = match self.owner.with_engine(&ask) {
            Ok(read) => (answer_of(read.value), read.wait_for),
            Err(error) => (CallAnswer::Error(error.into()), FactNumber::default()),
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
        self.owner.answer(pending, CallAnswer::Value(value), FactNumber::default());
    }

    pub(super) fn refuse(&self, pending: PendingCall, error: RemoteError) {
        self.owner.answer(pending, CallAnswer::Error(error), FactNumber::default());
    }

    /// Refuses a call about something that is not supported.
    pub(super) fn refuse_unsupported(&self, pending: PendingCall, what: &str) {
        self.refuse(pending, RemoteError::io(format_args!("this JobTracker does not support {what} yet")));
    }

    /// Calls `then` with the caller of an operation on a job, or on a queue if `job` is `None`. Groups are looked up
    /// only if an access list needs them.
    pub(super) fn as_caller(
        self: &Rc<Self>,
        job: Option<JobId>,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        let needs_groups =
            self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(job, pending.user()));
        self.with_caller(needs_groups, pending, then);
    }

    /// The same of an operation on a job that memory no longer has.
    pub(super) fn as_caller_of(
        self: &Rc<Self>,
        spec: &JobSpec,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        let needs_groups =
            self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups_for(Some(spec), pending.user()));
        self.with_caller(needs_groups, pending, then);
    }

    /// Writes into the audit log that a caller asks to see something of a job, and whether that is refused.
    pub(super) fn audit_view(&self, operation: &'static str, job: JobId, pending: &PendingCall, is_refused: bool) {
        let (user, address) = (pending.user(), pending.address());
        let call = self.owner.with_engine(|engine| self.audit.of_job(engine, operation, job, user, address));
        match call {
            Some(call) if is_refused => self.audit.refused(&call, HadoopAudit::UNAUTHORIZED),
            Some(call) => self.audit.allowed(&call),
            None => {}
        }
    }

    /// Groups of a user of the web for an operation on a job, or on a queue if `job` is `None`; none where no access list needs them, or where too many
    /// new names are looked up.
    pub(in crate::server) async fn groups_of(&self, job: Option<JobId>, user: &Arc<str>) -> Arc<[String]> {
        let needs_groups = self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(job, user));
        self.groups_of_web(needs_groups, user).await
    }

    /// Groups of a user of the web, where the list of administrators names groups.
    pub(in crate::server) async fn groups_of_administrator(&self, user: &Arc<str>) -> Arc<[String]> {
        let needs_groups = self.owner.with_engine(|engine| engine.administrators_need_groups(user));
        self.groups_of_web(needs_groups, user).await
    }

    async fn groups_of_web(&self, needs_groups: bool, user: &Arc<str>) -> Arc<[String]> {
        let groups = match needs_groups {
            true => self.groups.of(user, WEB_ORIGIN).await.ok(),
            false => None,
        };
        groups.unwrap_or_else(|| Arc::new([]))
    }

    /// Whether an access list needs the groups of a user who submits to a queue.
    pub(in crate::server) fn needs_groups_to_submit(&self, user: &Arc<str>) -> bool {
        self.acls_enabled && self.owner.with_engine(|engine| engine.needs_groups(None, user))
    }

    /// Calls `then` with the caller of an administrator's operation.
    pub(super) fn as_member(
        self: &Rc<Self>,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        let needs_groups = self.owner.with_engine(|engine| engine.administrators_need_groups(pending.user()));
        self.with_caller(needs_groups, pending, then);
    }

    /// Calls `then` with the caller, and the groups where they are needed: at once if they are cached, else once they are looked up.
    fn with_caller(
        self: &Rc<Self>,
        needs_groups: bool,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Caller, PendingCall) + 'static,
    ) {
        let caller = caller_of(&pending);
        if !needs_groups {
            return then(self, caller, pending);
        }
        if let Some(groups) = self.groups.known(&caller.user) {
            return then(self, Caller { groups, ..caller }, pending);
        }
        // A task of its own: the next client's call must not wait for this one's groups.
        let this = self.clone();
        tokio::task::spawn_local(async move {
            match this.groups.of(&caller.user, pending.origin()).await {
                Ok(groups) => then(&this, Caller { groups, ..caller }, pending),
                Err(refused) => this.refuse(pending, RemoteError::io(refused)),
            }
        });
    }

    /// Handles clients' calls, one per turn. Never completes.
    pub(crate) async fn serve_clients(self: Rc<Self>) {
        loop {
            let (call, pending) = match self.clients.next().await {
                QueuedCall::Call(call, pending) => (call, pending),
                QueuedCall::Retry(ask) => {
                    ask();
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            let long = can_be_long(&call);
            if pending.is_behind(long) && !pending.is_gone() {
                let dispatcher = self.clone();
                tokio::task::spawn_local(async move {
                    pending.caught_up(long).await;
                    dispatcher.clients.push(QueuedCall::Call(call, pending));
                });
            } else if !pending.is_gone() {
                self.client_call(call, pending);
            }
            tokio::task::yield_now().await;
        }
    }

    fn client_call(self: &Rc<Self>, call: Call, pending: PendingCall) {
        match call {
            Call::JobSubmission(call) => self.job_submission(call, pending),
            Call::AdminOperations(call) => self.admin_operations(call, pending),
            Call::RefreshUserMappings(call) => self.refresh_user_mappings(call, pending),
            Call::RefreshAuthorizationPolicy(call) => self.refresh_authorization_policy(call, pending),
            Call::TaskUmbilical(_) => self.refuse_unsupported(pending, call.method().name),
            // Answered earlier.
            Call::InterTracker(_) | Call::ContainerBeats(_) | Call::ProtocolVersion { .. } => {}
        }
    }
}

pub(super) enum QueuedCall {
    Call(Call, PendingCall),
    /// A read that was delayed until its facts are durable.
    Retry(Box<dyn FnOnce()>),
}

/// Clients' calls in order of arrival.
pub(super) struct ClientQueue {
    calls: RefCell<VecDeque<QueuedCall>>,
    bound: usize,
    arrived: Notify,
    room: Notify,
}

impl ClientQueue {
    pub(super) fn new(bound: usize) -> Self {
        Self { calls: RefCell::default(), bound, arrived: Notify::new(), room: Notify::new() }
    }

    /// Adds a call. Callers look at [`Self::has_room`] before they read one.
    pub(super) fn push(&self, queued: QueuedCall) {
        self.calls.borrow_mut().push_back(queued);
        self.arrived.notify_one();
    }

    /// Removes the next call, waiting for one if necessary.
    pub(super) async fn next(&self) -> QueuedCall {
        loop {
            let next = self.calls.borrow_mut().pop_front();
            if let Some(next) = next {
                // Not at each call: waiters resume in batches.
                if self.calls.borrow().len() == self.bound / 2 {
                    self.room.notify_waiters();
                }
                return next;
            }
            self.arrived.notified().await;
        }
    }

    /// Whether to read further calls.
    pub(super) fn has_room(&self) -> bool {
        self.calls.borrow().len() < self.bound
    }

    /// Completes when there may be room again.
    pub(super) async fn room(&self) {
        if !self.has_room() {
            self.room.notified().await;
        }
    }
}

/// Requests of the web count as those of one host when new names are counted.
const WEB_ORIGIN: u128 = 0;

pub(super) fn caller_of(pending: &PendingCall) -> Caller {
    let (real_user, has_admin_role) = (pending.real_user().cloned(), pending.has_admin_role());
    Caller { real_user, has_admin_role, ..Caller::named(pending.user().clone()) }
}

/// A TaskTracker whose protocol is another one stops at the answer; its own log is on its machine.
fn warn_of_tracker_line(pending: &PendingCall, version: i64) {
    let line = match version {
        28 => "Hadoop 0.20.203 and 0.20.204",
        29 => "Hadoop 0.20.205 to 1.0.4",
        30 => "Hadoop 0.21 and 0.22",
        _ => "an unknown version",
    };
    let ours = Protocol::InterTracker.version();
    tracing::warn!(
        "a TaskTracker at {} speaks InterTrackerProtocol {version} ({line}) and stops: this JobTracker speaks {ours} \
         (Hadoop 1.1.0 to 1.2.1), and no key admits another",
        pending.address()
    );
}

impl Service for Dispatcher {
    fn handle_call(self: &Rc<Self>, call: Call, pending: PendingCall) {
        match call {
            Call::InterTracker(call) => self.inter_tracker(call, pending),
            Call::ContainerBeats(call) => self.container_beats(&call, pending),
            Call::ProtocolVersion { protocol, client_version } => match served_protocol(&protocol) {
                Some(protocol) => {
                    if protocol == Protocol::InterTracker && client_version != protocol.version() {
                        warn_of_tracker_line(&pending, client_version);
                    }
                    self.answer_value(pending, Value::Long(protocol.version()));
                }
                None => {
                    self.refuse(pending, RemoteError::io(format_args!("Unknown protocol to job tracker: {protocol}")))
                }
            },
            call => self.clients.push(QueuedCall::Call(call, pending)),
        }
    }

    fn check_connection(self: &Rc<Self>, introduced: &Introduced) -> ConnectionCheck {
        match self.policy.is_open_to(introduced) {
            true => ConnectionCheck::Passed,
            false => ConnectionCheck::Pending(Box::pin(self.policy.clone().check(introduced.clone()))),
        }
    }

    fn keep_frame(&self, frame: &[u8]) {
        self.owner.keep_frame(frame);
    }

    fn on_tracker_disconnected(&self, connection: u64) {
        self.owner.step(Event::ConnectionClosed { connection });
        self.tracker_claims.notify_claimants(connection);
    }

    fn abandon_held_calls(&self) {
        self.held_heartbeats.drop_all();
        self.answer_held_beats();
    }

    fn has_room(&self) -> bool {
        self.clients.has_room()
    }

    async fn room(&self) {
        self.clients.room().await;
    }
}

/// Whether the answer to a call grows with the cluster or with a job.
fn can_be_long(call: &Call) -> bool {
    use JobSubmissionCall as Ask;
    matches!(
        call,
        Call::JobSubmission(
            Ask::GetMapTaskReports { .. }
                | Ask::GetReduceTaskReports { .. }
                | Ask::GetTaskCompletionEvents { .. }
                | Ask::GetClusterStatus { .. }
                | Ask::GetAllJobs
                | Ask::JobsToComplete
                | Ask::GetJobsFromQueue { .. }
        )
    )
}
