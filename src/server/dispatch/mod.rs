//! Which call becomes which event or read. A tracker's calls are taken at once; clients' calls wait in one queue of which
//! one is taken each turn of the loop, so that heartbeats that are ready always go first.

mod administration;
mod callers;
mod client_queue;
mod finished_jobs;
mod holds;
mod inter_tracker;
mod job_submission;
mod long_answer;
mod newcomers;
mod paced;
mod remote_error;

use std::rc::Rc;

use tokio::sync::Semaphore;

use administration::Administration;
use callers::Callers;

use crate::config::Settings;
use crate::engine::{Engine, Event, Read, Refusal, Reply};
use crate::ipc::{Answer, RemoteError, Service, Ticket, served_protocol};
use crate::model::FactNumber;
use crate::store::FinishedJobReader;
use crate::wire::protocol::{Call, Value};

use super::admission::Admission;
use super::advertised::Advertised;
use super::owner::Owner;
use super::submission::Submissions;
pub(super) use callers::id_owner;
use client_queue::{Asked, ClientQueue};
use finished_jobs::FinishedJobs;
use holds::Holds;
use newcomers::Newcomers;

/// Answers calls by asking the engine.
pub struct Dispatcher {
    owner: Rc<Owner>,
    advertised: Advertised,
    submissions: Rc<Submissions>,
    callers: Callers,
    administration: Administration,
    clients: ClientQueue,
    finished_jobs: FinishedJobs,
    newcomers: Newcomers,
    holds: Rc<Holds>,
    admission: Rc<Admission>,
    slices: Semaphore,
}

/// Why nothing is changed now: what changes something waits for the store, and has a limit.
const TOO_MUCH_WAITS: &str = "nothing is changed now, for too much waits for the state store: try again soon";

// === impl Dispatcher ===

impl Dispatcher {
    /// A dispatcher that keeps at most about `waiting_calls` calls of clients waiting.
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
            newcomers: Newcomers::default(),
            holds: Rc::default(),
            admission,
        });
        dispatcher.hosts_read();
        dispatcher
    }

    /// Jobs that were over before a restart are read by `reader`.
    pub fn read_finished_jobs_by(&self, reader: FinishedJobReader) {
        self.finished_jobs.read_by(reader);
    }

    /// The engine has another list of hosts: their names are resolved, if it matters.
    pub fn hosts_read(&self) {
        self.owner.with_engine(|engine| self.admission.set_list(engine.included_hosts()));
    }

    /// Resolves the names of hosts as they come due. Never ends.
    pub async fn resolve_hosts(self: Rc<Self>) {
        self.admission.clone().resolve().await;
    }

    /// Forgets which groups users belong to.
    pub fn forget_groups(&self) {
        self.callers.forget_groups();
    }

    /// Takes clients' calls, one each turn. Never ends.
    pub async fn serve_clients(self: Rc<Self>) {
        loop {
            let (call, ticket) = match self.clients.next().await {
                Asked::Call(call, ticket) => (call, ticket),
                Asked::Again(ask) => {
                    ask(&self);
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            let long = may_be_long(&call);
            if ticket.is_behind(long) && !ticket.is_gone() {
                let dispatcher = self.clone();
                tokio::task::spawn_local(async move {
                    ticket.caught_up(long).await;
                    dispatcher.clients.push(Asked::Call(call, ticket));
                });
            } else if !ticket.is_gone() {
                self.client_call(call, ticket);
            }
            tokio::task::yield_now().await;
        }
    }

    fn client_call(self: &Rc<Self>, call: Call, ticket: Ticket) {
        match call {
            Call::JobSubmission(call) => self.job_submission(call, ticket),
            Call::AdminOperations(call) => self.admin_operations(call, ticket),
            Call::RefreshUserMappings(call) => self.refresh_user_mappings(call, ticket),
            Call::RefreshAuthorizationPolicy(call) => self.refresh_authorization_policy(call, ticket),
            Call::TaskUmbilical(_) => self.refuse(ticket, administration::not_supported(call.method().name)),
            // Answered before they come here.
            Call::InterTracker(_) | Call::ProtocolVersion { .. } => {}
        }
    }

    /// Hands an event to the engine and answers with its reply once that may be shown.
    fn step(&self, event: Event, ticket: Ticket) {
        if self.owner.is_pressed() {
            return self.refuse(ticket, RemoteError::io(TOO_MUCH_WAITS));
        }
        let (reply, wait_for) = self.owner.step_from(ticket.address(), event);
        self.owner.answer(ticket, answer_of(reply), wait_for);
    }

    /// Answers with what `ask` reads from the engine, once that may be shown. It may be asked anew, when too much waits for
    /// the store to keep the answer.
    fn show<T>(
        self: &Rc<Self>,
        ticket: Ticket,
        ask: impl Fn(&Engine) -> Read<T> + 'static,
        value: impl Fn(T) -> Value + 'static,
    ) {
        self.show_if_allowed(ticket, move |engine| Ok::<_, Refusal>(ask(engine)), value);
    }

    /// As [`Self::show`], where there may be a reason to show nothing.
    fn show_if_allowed<T, E: Into<RemoteError>>(
        self: &Rc<Self>,
        ticket: Ticket,
        ask: impl Fn(&Engine) -> Result<Read<T>, E> + 'static,
        value: impl Fn(T) -> Value + 'static,
    ) {
        self.show_answer(ticket, ask, move |read| Answer::Value(value(read)));
    }

    /// As [`Self::show_if_allowed`], where what is read may be an error too.
    fn show_answer<T, E: Into<RemoteError>>(
        self: &Rc<Self>,
        ticket: Ticket,
        ask: impl Fn(&Engine) -> Result<Read<T>, E> + 'static,
        answer_of: impl Fn(T) -> Answer + 'static,
    ) {
        let (answer, wait_for) = match self.owner.with_engine(&ask) {
            Ok(read) => (answer_of(read.value), read.wait_for),
            Err(error) => (Answer::Error(error.into()), FactNumber::default()),
        };
        // Weak: what the owner holds must not keep those who hold the owner.
        let this = Rc::downgrade(self);
        let ask_again = move |ticket| {
            let Some(this) = this.upgrade() else { return };
            let again = move |this: &Rc<Self>| this.show_answer(ticket, ask, answer_of);
            this.clients.push(Asked::Again(Box::new(again)));
        };
        self.owner.show(ticket, &answer, wait_for, ask_again);
    }

    /// Answers with something that needs no engine.
    fn tell(&self, ticket: Ticket, value: Value) {
        self.owner.answer(ticket, Answer::Value(value), FactNumber::default());
    }

    fn refuse(&self, ticket: Ticket, error: RemoteError) {
        self.owner.answer(ticket, Answer::Error(error), FactNumber::default());
    }
}

impl Service for Dispatcher {
    fn take(self: &Rc<Self>, call: Call, ticket: Ticket) {
        match call {
            Call::InterTracker(call) => self.inter_tracker(call, ticket),
            Call::ProtocolVersion { protocol, .. } => match served_protocol(&protocol) {
                Some(protocol) => self.tell(ticket, Value::Long(protocol.version())),
                None => {
                    self.refuse(ticket, RemoteError::io(format_args!("Unknown protocol to job tracker: {protocol}")))
                }
            },
            call => self.clients.push(Asked::Call(call, ticket)),
        }
    }

    fn tracker_left(&self, connection: u64) {
        self.owner.step(Event::ConnectionClosed { connection });
        self.newcomers.changed(connection);
    }

    fn give_up_held(&self) {
        self.holds.give_up_all();
    }

    fn has_room(&self) -> bool {
        self.clients.has_room()
    }

    async fn room(&self) {
        self.clients.room().await;
    }
}

/// Whether the answer to a call grows with the cluster or with a job.
fn may_be_long(call: &Call) -> bool {
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

/// What a reply says on the wire.
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
        // Never the answer to a call: a submission that goes on, and the market's.
        Reply::Submission(SubmissionReply::ReadFiles | SubmissionReply::WriteSystemDir { .. }) | Reply::Market(_) => {
            return Answer::Error(RemoteError::io("the JobTracker gave an answer to another question"));
        }
    })
}
