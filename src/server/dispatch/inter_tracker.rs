//! What trackers ask. Nothing here waits, and a heartbeat is refused only when its tracker is not admitted.

use std::rc::Rc;

use crate::engine::{ConnectionStatus, Engine, Event, HeartbeatAnswer, Refusal, Reply};
use crate::ipc::{Answer, Ticket};
use crate::wire::HeartbeatRequest;
use crate::wire::limits::is_node_name;
use crate::wire::protocol::{InterTrackerCall, Value};

use super::{Dispatcher, answer_of};

impl Dispatcher {
    pub(super) fn inter_tracker(self: &Rc<Self>, call: InterTrackerCall, ticket: Ticket) {
        match call {
            InterTrackerCall::Heartbeat { request } => self.heartbeat(*request, ticket),
            InterTrackerCall::GetTaskCompletionEvents { job, from, max } => {
                if !ticket.is_behind(true) {
                    return self.completion_events(job, from, max, ticket);
                }
                let this = self.clone();
                tokio::task::spawn_local(async move {
                    ticket.caught_up(true).await;
                    this.completion_events(job, from, max, ticket);
                });
            }
            InterTrackerCall::ReportTaskTrackerError { tracker, error_class, message } => {
                let (tracker, message) = (tracker.unwrap_or_default(), message.unwrap_or_default());
                self.step(Event::TrackerError { tracker, class: error_class, message }, ticket);
            }
            InterTrackerCall::GetFilesystemName => self.tell(ticket, self.advertised.file_system()),
            InterTrackerCall::GetSystemDir => self.system_dir(ticket),
            InterTrackerCall::GetBuildVersion => self.tell(ticket, self.advertised.build_version()),
            InterTrackerCall::GetReleaseVersion => self.tell(ticket, self.advertised.version()),
        }
    }

    fn heartbeat(self: &Rc<Self>, request: HeartbeatRequest, ticket: Ticket) {
        if ![&request.status.name, &request.status.host].into_iter().all(|name| is_node_name(name)) {
            // The engine refuses it; nobody else looks at such names.
            return self.take_heartbeat(request, ticket);
        }
        let now = self.owner.clock().now();
        let ask = |engine: &Engine| engine.connection_status(&request.status.name, ticket.connection(), now);
        match self.owner.with_engine(ask) {
            ConnectionStatus::Own => self.take_heartbeat(request, ticket),
            ConnectionStatus::Absent | ConnectionStatus::Elsewhere(_) if self.admission.is_listed() => {
                drop(tokio::task::spawn_local(self.clone().judge_host(request, ticket)));
            }
            ConnectionStatus::Absent => self.take_heartbeat(request, ticket),
            ConnectionStatus::Elsewhere(_) => {
                drop(tokio::task::spawn_local(self.clone().judge_newcomer(request, ticket)))
            }
        }
    }

    /// Takes a heartbeat whose sender is the tracker that it names.
    pub(super) fn take_heartbeat(&self, request: HeartbeatRequest, ticket: Ticket) {
        let connection = ticket.connection();
        self.step_heartbeat(request, ticket);
        self.newcomers.changed(connection);
    }

    fn step_heartbeat(&self, request: HeartbeatRequest, ticket: Ticket) {
        let event = Event::Heartbeat { request, connection: ticket.connection() };
        let (reply, wait_for) = self.owner.step_from(ticket.address(), event);
        let answer = match reply {
            Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => Answer::Value(Value::Heartbeat(response)),
            Reply::Refused(refusal) if !matches!(refusal, Refusal::DisallowedTracker(_)) => {
                // The tracker would come back at once, and again. It gets no answer and stays quiet; somebody looks.
                tracing::error!("the engine refused a heartbeat, which stays unanswered: {refusal}");
                return;
            }
            reply => answer_of(reply),
        };
        self.owner.answer(ticket, answer, wait_for);
    }
}
