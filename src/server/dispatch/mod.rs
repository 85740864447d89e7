//! Maps calls to events and reads. A tracker's calls are handled at once; clients' calls wait in one queue, of which
//! one is handled per turn of the loop, so that heartbeats always go first.

mod administration;
mod callers;
mod client_queue;
mod finished_jobs;
mod held_heartbeats;
mod inter_tracker;
mod job_submission;
mod long_answer;
mod rate_limited;
mod remote_error;
mod tracker_claims;

use std::rc::Rc;

use tokio::sync::Semaphore;

use administration::Administration;
use callers::Callers;

use crate::config::Settings;
use crate::engine::{Engine, Event, Read, Refusal, Reply};
use crate::ipc::{Answer, PendingCall, RemoteError, Service, served_protocol};
use crate::model::FactNumber;
use crate::store::FinishedJobReader;
use crate::wire::protocol::{Call, Value};

use super::admission::Admission;
use super::advertised::Advertised;
use super::owner::Owner;
use super::submission::Submissions;
pub(super) use callers::id_owner;
use client_queue::{ClientQueue, QueuedCall};
use finished_jobs::FinishedJobs;
use held_heartbeats::HeldHeartbeats;
use tracker_claims::TrackerClaims;

/// Answers calls with the engine's replies.
pub struct Dispatcher {
    owner: Rc<Owner>,
    advertised: Advertised,
    submissions: Rc<Submissions>,
    callers: Callers,
    administration: Administration,
    clients: ClientQueue,
    finished_jobs: FinishedJobs,
    tracker_claims: TrackerClaims,
    held_heartbeats: Rc<HeldHeartbeats>,
    admission: Rc<Admission>,
    slices: Semaphore,
}

/// The error while too many facts wait for the store.
const STORE_OVERLOADED: &str =
    "the call was rejected because too many changes wait for the state store: try again soon";

// === impl Dispatcher ===

impl Dispatcher {
    /// A dispatcher that queues at most about `waiting_calls` calls of clients.
    pub fn new(owner: Rc<Owner>, settings: &Settings, submissions: Rc<Submissions>, waiting_calls: usize) -> Rc<Self> {
        let admission = Rc::new(Admission::new(settings.trackers.admitted, owner.clock()));
        let dispatcher = Rc::new(Self {
            owner,
            advertised: Advertised::new(settings),
            submissions,
            callers: Callers::new(&settings.queues),
            administration: Administration::new(settings.sources.clone()),
            clients: ClientQueue::new(waiting_calls),
            finished_jobs: FinishedJobs::new(),
            slices: Semaphore::new(1),
            tracker_claims: TrackerClaims::default(),
            held_heartbeats: Rc::default(),
            admission,
        });
        dispatcher.apply_host_list();
        dispatcher
    }

    /// Sets the reader of jobs that finished before the restart.
    pub fn read_finished_jobs_by(&self, reader: FinishedJobReader) {
        self.finished_jobs.read_by(reader);
    }

    /// Applies the engine's list of hosts to admission.
    pub fn apply_host_list(&self) {
        self.owner.with_engine(|engine| self.admission.set_list(engine.included_hosts()));
    }

    /// Resolves host names as they come due. Never completes.
    pub async fn resolve_hosts(self: Rc<Self>) {
        self.admission.clone().resolve().await;
    }

    /// Discards the cached groups.
    pub fn forget_groups(&self) {
        self.callers.forget_groups();
    }

    /// Handles clients' calls, one per turn. Never completes.
    pub async fn serve_clients(self: Rc<Self>) {
        loop {
            let (call, pending) = match self.clients.next().await {
                QueuedCall::Call(call, pending) => (call, pending),
                QueuedCall::Retry(ask) => {
                    ask(&self);
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
            Call::TaskUmbilical(_) => self.refuse(pending, administration::not_supported(call.method().name)),
            // Answered earlier.
            Call::InterTracker(_) | Call::ProtocolVersion { .. } => {}
        }
    }

    /// Passes an event to the engine and answers with its reply once its facts are durable.
    fn step(&self, event: Event, pending: PendingCall) {
        if self.owner.is_overloaded() {
            return self.refuse(pending, RemoteError::io(STORE_OVERLOADED));
        }
        let (reply, wait_for) = self.owner.step_from(pending.address(), event);
        self.owner.answer(pending, answer_of(reply), wait_for);
    }

    /// Answers with what `ask` reads from the engine, once its facts are durable. The read is repeated if there is no
    /// memory to keep the answer until then.
    fn show<T>(
        self: &Rc<Self>,
        pending: PendingCall,
        ask: impl Fn(&Engine) -> Read<T> + 'static,
        value: impl Fn(T) -> Value + 'static,
    ) {
        self.show_if_allowed(pending, move |engine| Ok::<_, Refusal>(ask(engine)), value);
    }

    /// As [`Self::show`], where `ask` may refuse.
    fn show_if_allowed<T, E: Into<RemoteError>>(
        self: &Rc<Self>,
        pending: PendingCall,
        ask: impl Fn(&Engine) -> Result<Read<T>, E> + 'static,
        value: impl Fn(T) -> Value + 'static,
    ) {
        self.show_answer(pending, ask, move |read| Answer::Value(value(read)));
    }

    /// As [`Self::show_if_allowed`], where the value may be an error too.
    fn show_answer<T, E: Into<RemoteError>>(
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
            let Some(this) = this.upgrade() else { return };
            let again = move |this: &Rc<Self>| this.show_answer(pending, ask, answer_of);
            this.clients.push(QueuedCall::Retry(Box::new(again)));
        };
        self.owner.show(pending, &answer, wait_for, ask_again);
    }

    /// Answers with a value that needs no engine.
    fn answer_value(&self, pending: PendingCall, value: Value) {
        self.owner.answer(pending, Answer::Value(value), FactNumber::default());
    }

    fn refuse(&self, pending: PendingCall, error: RemoteError) {
        self.owner.answer(pending, Answer::Error(error), FactNumber::default());
    }
}

impl Service for Dispatcher {
    fn handle_call(self: &Rc<Self>, call: Call, pending: PendingCall) {
        match call {
            Call::InterTracker(call) => self.inter_tracker(call, pending),
            Call::ProtocolVersion { protocol, .. } => match served_protocol(&protocol) {
                Some(protocol) => self.answer_value(pending, Value::Long(protocol.version())),
                None => {
                    self.refuse(pending, RemoteError::io(format_args!("Unknown protocol to job tracker: {protocol}")))
                }
            },
            call => self.clients.push(QueuedCall::Call(call, pending)),
        }
    }

    fn keep_frame(&self, frame: &[u8]) {
        self.owner.keep_frame(frame);
    }

    fn on_tracker_disconnected(&self, connection: u64) {
        self.owner.step(Event::ConnectionClosed { connection });
        self.tracker_claims.changed(connection);
    }

    fn abandon_held_calls(&self) {
        self.held_heartbeats.drop_all();
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
    use crate::wire::protocol::JobSubmissionCall as Ask;
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

/// The answer to a call for an engine's reply.
pub(super) fn answer_of(reply: Reply) -> Answer {
    use crate::engine::{HeartbeatAnswer, SubmissionReply};
    Answer::Value(match reply {
        Reply::Done => Value::Void,
        Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => Value::Heartbeat(response),
        Reply::Heartbeat(HeartbeatAnswer::Encoded(body)) => Value::EncodedHeartbeat(body),
        Reply::JobId(id) => Value::JobId(id),
        Reply::Boolean(truth) => Value::Boolean(truth),
        Reply::Submission(SubmissionReply::Accepted(status)) => Value::JobStatus(Some(status)),
        Reply::Refused(refusal) => return Answer::Error(refusal.into()),
        // Never the reply to a call: replies within a submission, and the market's.
        Reply::Submission(SubmissionReply::ReadFiles | SubmissionReply::WriteSystemDir { .. }) | Reply::Market(_) => {
            return Answer::Error(RemoteError::io("the JobTracker produced a reply of the wrong kind"));
        }
    })
}
