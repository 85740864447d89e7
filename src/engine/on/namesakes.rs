//! Live workers that were given the same name: what drains one drains both.

use crate::engine::core::Engine;
use crate::engine::state::{LogLevel, Tracker};
use crate::model::{Now, TrackerId};
use crate::wire::worker_name;

impl Engine {
    /// Logs that another live worker has the name of one that registers.
    pub(super) fn warn_of_namesake(&mut self, id: TrackerId, now: Now) {
        let Some((tracker, other)) = self.trackers.get(id).zip(self.live_namesake(id, now)) else { return };
        let (worker, name, others) = (worker_name(&tracker.name), &tracker.name, &other.name);
        let text = format!(
            "two workers are called {worker}: {others} and now {name}; `jobtracker workers drain` and `resume` mean \
             both: give each a --name of its own"
        );
        self.outbox.log_line(LogLevel::Warning, text);
    }

    /// Another live worker of the same given name.
    pub(super) fn live_namesake(&self, id: TrackerId, now: Now) -> Option<&Tracker> {
        self.trackers.namesakes(id).find(|other| !self.is_silent(other, now))
    }
}
