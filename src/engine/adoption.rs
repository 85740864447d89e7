//! Trackers of before a restart come back and are taken on as they are: what they run goes on.
//!
//! A tracker believes any answer to its heartbeat and checks no response id, so nothing need be told it. What it was
//! told last is known: its launches are repeated, byte for byte, if it did not receive them, and never otherwise, for a
//! second launch destroys the attempt that runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::{Job, TaskKey};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, Now};
use crate::scheduler::NodeId;
use crate::wire::{Action, Decode, HeartbeatRequest, HeartbeatResponse, Reader, TaskStatus, TaskTrackerStatus};

use super::engine::{Engine, job_context};
use super::tracker::{Adoption, LastAnswer, LaunchAnswer};
use super::{Effect, HeartbeatAnswer, LogLevel};

/// How far the tracker that calls is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// It was not away.
    Never,
    /// Its report may be as old as the outage.
    First,
    /// Its report is fresh, for the first time.
    Second,
}

/// How a heartbeat is taken.
pub(super) enum Adopted {
    /// The tracker has not received the last answer: here it is again.
    Repeat(HeartbeatAnswer),
    /// It is to be judged.
    Back(Back),
}

// === impl Back ===

impl Back {
    /// The attempts that a report mentions, where it matters which it does not.
    pub(super) fn mentioned(self, reports: &[TaskStatus]) -> BTreeSet<AttemptId> {
        match self {
            Back::Second => reports.iter().map(|report| report.attempt).collect(),
            Back::Never | Back::First => BTreeSet::new(),
        }
    }
}

// === impl Engine: adoption ===

impl Engine {
    /// Takes a tracker on again that is awaited.
    pub(super) fn adopt(&mut self, request: &HeartbeatRequest, connection: u64, now: Now) -> Adopted {
        let status = &request.status;
        if request.initial_contact {
            return Adopted::Back(Back::Never);
        }
        let has_news = self.has_begun_anew();
        let Some(tracker) = self.trackers.get_mut(&*status.name) else {
            return Adopted::Back(self.adopt_unknown(request, now));
        };
        match std::mem::take(&mut tracker.adoption) {
            Adoption::Settled => Adopted::Back(Back::Never),
            // The answer before was lost: it is repeated, and the report is the one that was taken in.
            Adoption::Heard if tracker.response_id != request.response_id => {
                tracker.adoption = Adoption::Heard;
                Adopted::Back(Back::Never)
            }
            Adoption::Heard => Adopted::Back(Back::Second),
            Adoption::Awaited(answer) => {
                tracker.adoption = Adoption::Heard;
                tracker.response_id = request.response_id;
                tracker.reads_events_anew = has_news;
                let name = tracker.name.clone();
                self.log_line(LogLevel::Info, format!("{name} is back"));
                self.correct_place(&name, status);
                match answer.filter(|answer| self.was_not_received(answer, request)) {
                    Some(LaunchAnswer { response_id, body }) => {
                        self.note_status(request, connection, now);
                        if let Some(tracker) = self.trackers.get_mut(&name) {
                            tracker.response_id = response_id;
                            tracker.last_answer = LastAnswer::Encoded(body.clone());
                        }
                        Adopted::Repeat(HeartbeatAnswer::Encoded(body))
                    }
                    None => Adopted::Back(Back::First),
                }
            }
        }
    }

    /// Whether a tracker that sends this has not received that answer: its ids say so, it mentions nothing that the
    /// answer launches, and all of that is still to be done. Ids alone would not do, they begin anew after 65,536.
    fn was_not_received(&self, answer: &LaunchAnswer, request: &HeartbeatRequest) -> bool {
        if request.response_id.wrapping_add(1) != answer.response_id {
            return false;
        }
        let Ok(response) = HeartbeatResponse::decode(&mut Reader::new(&answer.body)) else { return false };
        let launched = response.actions.iter().filter_map(|action| match action {
            Action::LaunchTask(task) => Some((task.status.attempt, task.task_cleanup)),
            _ => None,
        });
        let is_mentioned = |id: AttemptId| request.status.tasks.iter().any(|report| report.attempt == id);
        let is_to_do = |id: AttemptId, is_cleanup: bool| {
            let job = self.jobs.get(id.task.job)?;
            let attempt = job.attempt(job.key_of(id.task)?, id.number)?;
            Some(if is_cleanup { attempt.cleanup_node.is_some() } else { attempt.is_active() })
        };
        let mut launched = launched;
        launched.all(|(id, is_cleanup)| !is_mentioned(id) && is_to_do(id, is_cleanup) == Some(true))
    }

    /// Host and web address of an awaited tracker were guessed from what the store has.
    fn correct_place(&mut self, name: &Arc<str>, status: &TaskTrackerStatus) {
        let Some(tracker) = self.trackers.get_mut(name) else { return };
        let (node, host) = (tracker.node, &*status.host);
        self.nodes.set_http(node, &format!("http://{host}:{}", status.http_port));
        if &*tracker.host == host {
            return;
        }
        tracker.host = host.into();
        let topology = self.scheduler.topology_mut();
        let host_id = topology.intern_host(host, DEFAULT_RACK);
        topology.hold_for_node(host_id);
        let rack = topology.rack_of(host_id);
        if topology.rack_name(rack) == DEFAULT_RACK && self.nodes.on_host(host_id) == 0 {
            self.effects.push(Effect::ResolveRack { host: host.into() });
        }
        if let Some(before) = self.nodes.get(node).map(|info| info.host) {
            self.scheduler.topology_mut().release(before);
        }
        self.scheduler.move_node(node, host_id);
        self.nodes.move_node(node, host_id, rack);
    }

    /// What a tracker was at work on and does not mention in its first fresh report is gone.
    pub(super) fn miss_attempts(&mut self, name: &Arc<str>, node: NodeId, mentioned: &BTreeSet<AttemptId>, now: Now) {
        let Some(tracker) = self.trackers.get(name) else { return };
        let unheard: Vec<AttemptId> = tracker.attempts.difference(mentioned).copied().collect();
        for id in unheard {
            let Some(job) = self.jobs.get_mut(id.task.job) else { continue };
            let Some(key) = job.key_of(id.task) else { continue };
            let Some(attempt) = job.attempt(key, id.number) else { continue };
            if attempt.cleanup_node == Some(node) {
                job.lose_task_cleanup(key, id.number, &mut job_context!(self, now));
            } else if attempt.is_active() && attempt.node == node {
                let why = format!("{name} does not know of it any more after a restart of the JobTracker");
                job.end_without_report(key, id.number, AttemptState::Killed, &why, &mut job_context!(self, now));
            } else {
                continue;
            }
            self.launching.started(id);
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.attempts.remove(&id);
            }
            self.log_line(LogLevel::Warning, format!("{name} has come back without {id}"));
        }
    }
}

/// Mends what an outage has done to a report's diagnostics. Those of before it may have been taken in already. What a
/// failed attempt said while nobody listened is lost: it gets a line that tells people why there is none.
pub(super) fn mend_diagnostics(job: &Job, key: TaskKey, report: &mut TaskStatus, back: Back) {
    let Some(attempt) = job.attempt(key, report.attempt.number).filter(|_| back != Back::Never) else { return };
    // An end was recorded with all that was said.
    let is_known = !attempt.is_active() || attempt.diagnostics.ends_with(&report.diagnostics);
    if back == Back::First && is_known {
        report.diagnostics = Default::default();
    }
    let has_failed = matches!(report.state, AttemptState::Failed | AttemptState::FailedUnclean);
    let says_nothing = attempt.is_active() && attempt.diagnostics.is_empty() && report.diagnostics.is_empty();
    if has_failed && says_nothing {
        report.diagnostics = "It failed while the JobTracker was restarted; what it said of that is lost, its log on \
                              the TaskTracker may tell"
            .into();
    }
}
