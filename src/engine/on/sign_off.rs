//! A tracker signs off: its last heartbeat reports that nothing runs on it any more, so its work starts elsewhere at once, not
//! after the expiry interval. The built-in worker does this when it ends; no stock tracker does.

use crate::engine::core::{Engine, HeartbeatAnswer, Reply, Wait};
use crate::engine::state::ReportFreshness;
use crate::model::Now;
use crate::wire::HeartbeatRequest;

use super::heartbeat::idle_answer;
use super::tracker_loss::Departure;

/// Interval in the answer to a tracker that has signed off, ms; it calls no more.
const LAST_INTERVAL_MS: i32 = 10_000;

impl Engine {
    /// Processes the last reports of a tracker and removes it. Whether it has received the last answer does not matter: it
    /// reports what has ended, and what it does not report is gone with it.
    pub(super) fn on_sign_off(&mut self, request: HeartbeatRequest, connection: u64, now: Now) -> (Reply, Wait) {
        self.tallies.heartbeats += 1;
        let known = self.trackers.id_of(&request.status.name);
        if let Some(refusal) = self.refuse_tracker(known, &request, connection, now) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        let answer = idle_answer(request.response_id.wrapping_add(1), LAST_INTERVAL_MS);
        if let Some(id) = known {
            // Its orders would find nothing there.
            let _ = self.process_reports(id, request.status.tasks, ReportFreshness::NotRecovering, now);
            self.remove_tracker(id, Departure::SignedOff, now);
            if self.record_job_facts() {
                // They made room.
                self.begin_jobs(now);
            }
        }
        // A crash that undid the loss would wait for the tracker; it says it only once.
        (Reply::Heartbeat(HeartbeatAnswer::Fresh(answer)), Wait::All)
    }
}
