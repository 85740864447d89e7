//! Calls of trackers. Only a heartbeat from another connection than its tracker's own waits, while its sender is checked.

use std::rc::Rc;

use crate::engine::{ConnectionStatus, Engine, Event, HeartbeatAnswer, Refusal, Reply};
use crate::ipc::{CallAnswer, PendingCall};
use crate::model::FactNumber;
use crate::server::admission::Admitted;
use crate::server::answer::answer_of;
use crate::wire::HeartbeatRequest;
use crate::wire::limits::is_node_name;
use crate::wire::protocol::{InterTrackerCall, Value};

use super::dispatcher::Dispatcher;
use super::tracker_claims::{ClaimDecision, NameClaim, PROBE_TIMEOUT_MS, decide, shown};

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
            Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => CallAnswer::Value(Value::Heartbeat(response)),
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

    /// Holds a heartbeat from another connection than its tracker's own until its sender is known: another host, or the tracker itself
    /// after a network failure. A stock tracker that is refused exits, one without an answer waits. So it is held until
    /// - the own connection closes, or its peer's kernel answers nothing for 5 s: the claimant is the tracker;
    /// - the tracker sends on its own connection, or its peer's kernel answers there and its last heartbeat is recent: the claimant is
    ///   another host, and is refused.
    ///
    /// It stays held while neither is known, and while the own connection may be another host's. No other heartbeat waits for it.
    pub(super) async fn decide_claim(self: Rc<Self>, request: HeartbeatRequest, pending: PendingCall) {
        let hold = self.held_heartbeats.hold(&pending);
        let tracker = request.status.name.to_string();
        let mut claim: Option<(u64, u64, Rc<NameClaim>)> = None;
        loop {
            // A heartbeat from a closed connection must not count: no event would report that connection as closed.
            if pending.has_left() {
                return;
            }
            if hold.is_dropped() {
                return pending.close_connection();
            }
            let now = self.owner.clock().now();
            let own =
                match self.owner.with_engine(|engine| engine.connection_status(&tracker, pending.connection(), now)) {
                    ConnectionStatus::Own | ConnectionStatus::Absent => return self.take_heartbeat(request, pending),
                    ConnectionStatus::Elsewhere(own) => own,
                };
            if claim.as_ref().is_none_or(|(connection, _, _)| *connection != own.connection) {
                let Some(found) = self.tracker_claims.find_or_start(own.connection, &pending) else {
                    // It has closed, and the event is about to reach the engine.
                    tokio::task::yield_now().await;
                    continue;
                };
                claim = Some((own.connection, now.mono_ms, found));
            }
            let Some((_, began_ms, claim)) = &claim else { return };
            let timeout_ms = PROBE_TIMEOUT_MS + self.owner.with_engine(|engine| engine.longest_interval_ms());
            let until_ms = match decide(&own, *began_ms, now.mono_ms, timeout_ms, &claim.probe) {
                ClaimDecision::Tracker => {
                    claim.log(&tracker, &pending, "the peer there does not answer, so the claimant is the tracker");
                    claim.probe.close();
                    now.mono_ms + timeout_ms
                }
                // The engine itself refuses it, unless the own connection is silent for too long.
                ClaimDecision::OtherHost if request.initial_contact && own.is_sure => {
                    return self.take_heartbeat(request, pending);
                }
                ClaimDecision::OtherHost if own.is_sure && !own.is_silent => {
                    claim.log(&tracker, &pending, "refused because that connection is alive");
                    return self.refuse_claim(&tracker, pending);
                }
                ClaimDecision::OtherHost => {
                    let outcome = "not served while that connection is open because either may be the tracker; set \
                                   jobtracker.trackers.admit = listed to distinguish them by address";
                    claim.log(&tracker, &pending, outcome);
                    now.mono_ms + timeout_ms
                }
                ClaimDecision::Undecided(until_ms) => until_ms,
            };
            tokio::select! {
                () = claim.changed.notified() => {}
                () = hold.dropped() => {}
                () = pending.connection_changed() => {}
                () = tokio::time::sleep_until(self.owner.clock().instant(until_ms)) => {}
            }
        }
    }

    /// Refuses a heartbeat from an address that its host does not have; holds it while that is unknown.
    pub(super) async fn check_host(self: Rc<Self>, request: HeartbeatRequest, pending: PendingCall) {
        let hold = self.held_heartbeats.hold(&pending);
        let (tracker, host, address) = (&request.status.name, &request.status.host, pending.address());
        let deadline_ms = self.owner.clock().mono_ms() + RESOLVE_TIMEOUT_MS;
        loop {
            if pending.has_left() {
                return;
            }
            let is_late = self.owner.clock().mono_ms() >= deadline_ms;
            // Nor may a host send for another host's tracker.
            let registered = self.owner.with_engine(|engine| engine.host_of_tracker(tracker));
            let other = registered.filter(|registered| **registered != **host);
            let is_of_other =
                other.is_some_and(|other| self.admission.admits(&other, address) == Admitted::WrongAddress);
            let why = match self.admission.admits(host, address) {
                Admitted::Yes if !is_of_other => {
                    drop(hold);
                    return self.decide_claim(request, pending).await;
                }
                // It retries, and is not refused before anything is known.
                Admitted::Unknown if is_late || hold.is_dropped() => return pending.close_connection(),
                Admitted::Unknown => {
                    tokio::select! {
                        () = self.admission.changed() => {}
                        () = hold.dropped() => {}
                        () = pending.connection_changed() => {}
                        () = tokio::time::sleep_until(self.owner.clock().instant(deadline_ms)) => {}
                    }
                    continue;
                }
                Admitted::Yes => "a tracker of that name is registered from another host",
                Admitted::NotListed => "its host is not in mapred.hosts",
                Admitted::WrongAddress => "its host does not have that address",
            };
            // The text of 1.2.1, with the reason.
            let text = format!(
                "Tasktracker denied communication with jobtracker: {} of host {} at {address}: {why} \
                 (jobtracker.trackers.admit = listed)",
                shown(tracker),
                shown(host)
            );
            if self.admission.can_log() {
                tracing::warn!("{text}");
            }
            let answer = answer_of(Reply::Refused(Refusal::DisallowedTracker(text)));
            return self.owner.answer(pending, answer, FactNumber::default());
        }
    }

    fn refuse_claim(&self, tracker: &str, pending: PendingCall) {
        let text = format!(
            "TaskTracker {} is already connected and served on another connection; give each TaskTracker a unique name \
             (slave.host.name, mapred.task.tracker.report.address)",
            shown(tracker)
        );
        let answer = answer_of(Reply::Refused(Refusal::DisallowedTracker(text)));
        self.owner.answer(pending, answer, FactNumber::default());
    }
}

/// Maximum time that a heartbeat is held until the addresses of its host are known, ms.
const RESOLVE_TIMEOUT_MS: u64 = 10_000;
