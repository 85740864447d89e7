//! Room for one more tracker: those that never ran anything give way.

use crate::engine::core::Engine;
use crate::model::{Now, TrackerId};

/// Trackers that are looked at for one that may give way.
const MOST_VICTIMS: usize = 64;

impl Engine {
    /// Whether a tracker may register on a connection. A connection that speaks for many, and at the limit the address that has the most,
    /// loses its oldest tracker that has never run anything.
    pub(super) fn make_room_for_tracker(&mut self, connection: u64, now: Now) -> bool {
        if let Some(id) = self.trackers.fresh.beyond(connection) {
            self.lose_tracker(id, "its connection speaks for too many other names", now);
        }
        if !self.has_room_for_trackers() {
            let runs_nothing = |id: &TrackerId| {
                let name = self.trackers.get(*id).map(|tracker| &tracker.name);
                name.and_then(|name| self.applications.worker(name))
                    .is_none_or(|worker| worker.has.is_empty() && worker.owed.is_empty())
            };
            // One of a few: what containers a worker has is known to its applications alone.
            let victim = self.trackers.fresh.of_greediest().take(MOST_VICTIMS).find(runs_nothing);
            if let Some(id) = victim {
                self.lose_tracker(id, "others need its place, and its address has the most that ran nothing", now);
            }
        }
        self.has_room_for_trackers()
    }
}
