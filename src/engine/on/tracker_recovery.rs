//! Recovery of trackers after a restart: they reconnect without reinitialisation, and their attempts continue.
//!
//! A tracker accepts any answer to its heartbeat and checks no response id, so the restart needs no message to it. The
//! last answer is stored: the engine resends its launches, byte for byte, only if the tracker did not receive them,
//! since a second launch destroys the running attempt.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::core::{Engine, HeartbeatAnswer};
use crate::engine::state::{HeartbeatSender, LastAnswer, LaunchAnswer, LogLevel, ReportFreshness, TrackerRecovery};
use crate::mapreduce::{Job, TaskKey};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, Now, TrackerId};
use crate::wire::{Action, Decode, HeartbeatRequest, HeartbeatResponse, Reader, TaskStatus, TaskTrackerStatus};

pub(super) enum RecoveryStep {
    /// The tracker did not receive the last answer: resend it.
    RepeatAnswer(HeartbeatAnswer),
    Process(ReportFreshness),
}

impl Engine {
    /// Recovers an expected tracker from its heartbeat; no effect on others.
    pub(super) fn recover_tracker(
        &mut self,
        id: TrackerId,
        request: &HeartbeatRequest,
        sender: HeartbeatSender,
        now: Now,
    ) -> RecoveryStep {
        let has_news = self.has_restarted_jobs();
        let Some(tracker) = self.trackers.get_mut(id) else {
            return RecoveryStep::Process(ReportFreshness::NotRecovering);
        };
        match std::mem::take(&mut tracker.recovery) {
            TrackerRecovery::Complete => RecoveryStep::Process(ReportFreshness::NotRecovering),
            // The previous answer was lost: it is resent, and the report has been processed already.
            TrackerRecovery::ReportedOnce if tracker.response_id != request.response_id => {
                tracker.recovery = TrackerRecovery::ReportedOnce;
                RecoveryStep::Process(ReportFreshness::NotRecovering)
            }
            TrackerRecovery::ReportedOnce => RecoveryStep::Process(ReportFreshness::FirstFresh),
            TrackerRecovery::Expected(answer) => {
                tracker.recovery = TrackerRecovery::ReportedOnce;
                tracker.response_id = request.response_id;
                tracker.rereads_events = has_news;
                self.outbox.log_line(LogLevel::Info, format!("{} is back", tracker.name));
                self.update_location(id, &request.status);
                match answer.filter(|answer| self.is_unreceived(answer, request)) {
                    Some(LaunchAnswer { response_id, body }) => {
                        self.update_status(id, request, sender, now);
                        if let Some(tracker) = self.trackers.get_mut(id) {
                            tracker.response_id = response_id;
                            tracker.last_answer = LastAnswer::Encoded(body.clone());
                        }
                        RecoveryStep::RepeatAnswer(HeartbeatAnswer::Encoded(body))
                    }
                    None => RecoveryStep::Process(ReportFreshness::MaybeStale),
                }
            }
        }
    }

    /// Whether the sender of this request did not receive that answer: the response ids differ by one, the report names
    /// no attempt that the answer launches, and all those launches are still pending. Ids alone do not suffice: they
    /// wrap around after 65,536.
    fn is_unreceived(&self, answer: &LaunchAnswer, request: &HeartbeatRequest) -> bool {
        if request.response_id.wrapping_add(1) != answer.response_id {
            return false;
        }
        let Ok(response) = HeartbeatResponse::decode(&mut Reader::new(&answer.body)) else { return false };
        let launched = response.actions.iter().filter_map(|action| match action {
            Action::LaunchTask(task) => Some((task.status.attempt, task.task_cleanup)),
            _ => None,
        });
        let is_reported = |id: AttemptId| request.status.tasks.iter().any(|report| report.attempt == id);
        let is_pending = |id: AttemptId, is_cleanup: bool| {
            let job = self.jobs.get(id.task.job)?;
            let attempt = job.attempt(job.key_of(id.task)?, id.number)?;
            Some(if is_cleanup { attempt.cleanup_tracker.is_some() } else { attempt.is_active() })
        };
        let mut launched = launched;
        launched.all(|(id, is_cleanup)| !is_reported(id) && is_pending(id, is_cleanup) == Some(true))
    }

    /// Replaces host and web address of an expected tracker, which were derived from the store, by the reported ones.
    fn update_location(&mut self, id: TrackerId, status: &TaskTrackerStatus) {
        let Some(tracker) = self.trackers.get_mut(id) else { return };
        let host = &*status.host;
        self.cluster.nodes.set_http(id, &format!("http://{host}:{}", status.http_port));
        if &*tracker.host == host {
            return;
        }
        tracker.host = host.into();
        let topology = self.cluster.scheduler.topology_mut();
        let host_id = topology.intern_host(host, DEFAULT_RACK);
        topology.hold_for_node(host_id);
        let rack = topology.rack_of(host_id);
        if topology.rack_name(rack) == DEFAULT_RACK && self.cluster.nodes.on_host(host_id) == 0 {
            self.ask_for_rack(&Arc::from(host));
        }
        if let Some(before) = self.cluster.nodes.get(id).map(|info| info.host) {
            self.cluster.scheduler.topology_mut().release(before);
        }
        self.cluster.scheduler.move_node(id, host_id);
        self.cluster.nodes.move_tracker(id, host_id, self.cluster.scheduler.topology());
    }

    /// Kills attempts that the tracker ran before the restart and does not name in its first fresh report.
    pub(super) fn kill_missing_attempts(&mut self, tracker_id: TrackerId, reported: &BTreeSet<AttemptId>, now: Now) {
        let Some(tracker) = self.trackers.get_mut(tracker_id) else { return };
        let name = tracker.name.clone();
        let missing: Vec<AttemptId> = tracker.attempts.difference(reported).copied().collect();
        for id in missing {
            let Some(job) = self.jobs.get_mut(id.task.job) else { continue };
            let Some(key) = job.key_of(id.task) else { continue };
            let Some(attempt) = job.attempt(key, id.number) else { continue };
            if attempt.cleanup_tracker == Some(tracker_id) {
                job.on_task_cleanup_lost(key, id.number, &mut self.cluster.job_context(&mut self.outbox, now));
            } else if attempt.is_active() && attempt.tracker == tracker_id {
                let why = format!("{name} does not know of it any more after a restart of the JobTracker");
                job.end_without_report(
                    key,
                    id.number,
                    AttemptState::Killed,
                    &why,
                    &mut self.cluster.job_context(&mut self.outbox, now),
                );
            } else {
                continue;
            }
            self.launching.remove(id);
            tracker.attempts.remove(&id);
            self.outbox.log_line(LogLevel::Warning, format!("{name} reconnected without {id}"));
        }
    }
}

/// Drops diagnostics that were recorded before the outage already. Diagnostics that a failed attempt sent during the
/// outage are lost: a line that explains their absence replaces them.
pub(super) fn deduplicate_diagnostics(job: &Job, key: TaskKey, report: &mut TaskStatus, freshness: ReportFreshness) {
    let Some(attempt) = job.attempt(key, report.attempt.number).filter(|_| freshness != ReportFreshness::NotRecovering)
    else {
        return;
    };
    // A recorded end includes all diagnostics.
    let is_known = !attempt.is_active() || attempt.diagnostics.ends_with(&report.diagnostics);
    if freshness == ReportFreshness::MaybeStale && is_known {
        report.diagnostics = Default::default();
    }
    let has_failed = matches!(report.state, AttemptState::Failed | AttemptState::FailedUnclean);
    let has_no_diagnostics = attempt.is_active() && attempt.diagnostics.is_empty() && report.diagnostics.is_empty();
    if has_failed && has_no_diagnostics {
        report.diagnostics = "It failed while the JobTracker was restarted; what it said of that is lost, its log on \
                              the TaskTracker may tell"
            .into();
    }
}
