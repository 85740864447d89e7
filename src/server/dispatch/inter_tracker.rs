//! Calls of trackers. Nothing here waits, and a heartbeat is refused only if its tracker is not admitted.

use std::rc::Rc;

use crate::engine::{ConnectionStatus, Engine, Event, HeartbeatAnswer, Refusal, Reply};
use crate::ipc::{Answer, PendingCall};
use crate::server::answer::answer_of;
use crate::wire::HeartbeatRequest;
use crate::wire::limits::is_node_name;
use crate::wire::protocol::{InterTrackerCall, Value};

use super::dispatcher::Dispatcher;

impl Dispatcher {
    pub(super) fn inter_tracker(self: &Rc<Self>, call: InterTrackerCall, pending: PendingCall) {
        match call {
            InterTrackerCall::Heartbeat { request } => self.heartbeat(*request, pending),
            InterTrackerCall::GetTaskCompletionEvents { job, from, max } => {
                if !pending.is_behind(true) {
                    return self.completion_events(job, from, max, pending);
                }
                let this = self.clone();
                tokio::task::spawn_local(async move {
                    pending.caught_up(true).await;
                    this.completion_events(job, from, max, pending);
                });
            }
            InterTrackerCall::ReportTaskTrackerError { tracker, error_class, message } => {
                let (tracker, message) = (tracker.unwrap_or_default(), message.unwrap_or_default());
                self.step(Event::TrackerError { tracker, class: error_class, message }, pending);
            }
            InterTrackerCall::GetFilesystemName => self.answer_value(pending, self.advertised.file_system()),
            InterTrackerCall::GetSystemDir => self.system_dir(pending),
            InterTrackerCall::GetBuildVersion => self.answer_value(pending, self.advertised.build_version()),
            InterTrackerCall::GetReleaseVersion => self.answer_value(pending, self.advertised.version()),
        }
    }

    fn heartbeat(self: &Rc<Self>, request: HeartbeatRequest, pending: PendingCall) {
        if ![&request.status.name, &request.status.host].into_iter().all(|name| is_node_name(name)) {
            // The engine refuses it; no other code sees such names.
            return self.take_heartbeat(request, pending);
        }
        let now = self.owner.clock().now();
        let ask = |engine: &Engine| engine.connection_status(&request.status.name, pending.connection(), now);
        match self.owner.with_engine(ask) {
            ConnectionStatus::Own => self.take_heartbeat(request, pending),
            ConnectionStatus::Absent | ConnectionStatus::Elsewhere(_) if self.admission.is_listed() => {
                drop(tokio::task::spawn_local(self.clone().check_host(request, pending)));
            }
            ConnectionStatus::Absent => self.take_heartbeat(request, pending),
            ConnectionStatus::Elsewhere(_) => {
                drop(tokio::task::spawn_local(self.clone().decide_claim(request, pending)))
            }
        }
    }

    /// Passes a heartbeat to the engine once its sender is known to be the tracker that it names.
    pub(super) fn take_heartbeat(&self, request: HeartbeatRequest, pending: PendingCall) {
        let connection = pending.connection();
        self.step_heartbeat(request, pending);
        self.tracker_claims.notify_claimants(connection);
    }

    fn step_heartbeat(&self, request: HeartbeatRequest, pending: PendingCall) {
        let event = Event::Heartbeat { request, connection: pending.connection(), address: Some(pending.address()) };
        let (reply, wait_for) = self.owner.step_from(pending.address(), event);
        let answer = match reply {
            Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => Answer::Value(Value::Heartbeat(response)),
            Reply::Refused(refusal) if !matches!(refusal, Refusal::DisallowedTracker(_)) => {
                // After an error the tracker would retry at once. Without an answer it stays quiet until an operator
                // looks.
                tracing::error!("the engine refused a heartbeat, leaving it unanswered: {refusal}");
                return;
            }
            reply => answer_of(reply),
        };
        self.owner.answer(pending, answer, wait_for);
    }
}
