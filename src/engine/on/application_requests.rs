//! Requests about applications, and beats of workers about their containers.

use crate::engine::core::{ApplicationRequest, BeatRefusal, BeatReply, Engine, Reply, Wait, WorkerBeatEvent};
use crate::engine::state::ApplicationRefusal;
use crate::model::Now;

// === impl Engine: applications ===

impl Engine {
    pub(super) fn on_application_request(&mut self, _request: ApplicationRequest, _now: Now) -> (Reply, Wait) {
        let refusal = ApplicationRefusal::Unavailable("containers are switched off".to_owned());
        (Reply::Application(Err(refusal)), Wait::Nothing)
    }

    pub(super) fn on_worker_beat(&mut self, _beat: WorkerBeatEvent, _now: Now) -> (Reply, Wait) {
        (Reply::Beat(BeatReply::Refused(BeatRefusal::SwitchedOff)), Wait::Nothing)
    }
}
