//! What the policy notes of one heartbeat, and which jobs it skipped: their waits for near slots grow until the next one.

use crate::model::PerKind;
use crate::scheduler::AppId;

#[derive(Debug, Default)]
pub(super) struct HeartbeatNotes {
    /// Tasks on the node before it.
    pub(super) in_use: PerKind<u32>,
    /// Jobs asked for a map in vain.
    missed: Vec<AppId>,
    /// Jobs that launched a map.
    launched: Vec<AppId>,
}

impl HeartbeatNotes {
    pub(super) fn note_launch(&mut self, job: AppId) {
        self.launched.push(job);
    }

    pub(super) fn note_miss(&mut self, job: AppId) {
        self.missed.push(job);
    }

    /// Ends the heartbeat; returns the jobs that were asked for a map and launched none.
    pub(super) fn take_skipped(&mut self) -> Vec<AppId> {
        let launched = std::mem::take(&mut self.launched);
        self.missed.drain(..).filter(|job| !launched.contains(job)).collect()
    }
}
