//! The market's interval that was open when the last run ended.

use crate::engine::core::Engine;

impl Engine {
    /// It ends where it would have ended without the time in between, once all trackers of that run have come again: before,
    /// there is nothing to sell in the next one.
    pub(super) fn close_resumed_interval(&mut self) {
        if self.rounds.resumed_end_mono_ms.is_some() && self.trackers.presences.have_all_come() {
            let end_mono_ms = self.rounds.resumed_end_mono_ms.take();
            self.rounds.update.bring_forward(end_mono_ms.unwrap_or(u64::MAX));
        }
    }
}
