//! Maps calls to events and reads. A tracker's calls are handled at once; clients' calls wait in one queue, of which
//! one is handled per turn of the loop, so that heartbeats always go first.

mod administration;
mod container_beats;
mod dispatcher;
mod finished_jobs;
mod held_beats;
mod held_heartbeats;
mod inter_tracker;
mod job_submission;
mod rate_limited;
mod tracker_claims;

use std::rc::Rc;

use crate::engine::Event;
use crate::ipc::{ConnectionCheck, Introduced, PendingCall, RemoteError, Service, served_protocol};
use crate::wire::protocol::{Call, Protocol, Value};

pub(crate) use dispatcher::Dispatcher;
use dispatcher::QueuedCall;

impl Dispatcher {
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
