//! Trackers of which a new one on the same machine says that it has cleared up after them: killed ones, whose names do not
//! come again since their ports were chosen by the system.

use core::net::IpAddr;

use crate::engine::core::Engine;
use crate::model::{Now, TrackerId};
use crate::wire::HeartbeatRequest;

/// Most names that count in one heartbeat.
const MAX_REPLACED: usize = 16;

impl Engine {
    /// Loses the trackers that the sender has cleared up after. It is believed as far as it could be one of them: on the same
    /// host, from the same address as far as that is known, and only if their connection is gone.
    /// Returns whether there were any.
    pub(super) fn lose_replaced_trackers(
        &mut self,
        request: &HeartbeatRequest,
        address: Option<IpAddr>,
        now: Now,
    ) -> bool {
        let host = &*request.status.host;
        let names = request.replaced_trackers().take(MAX_REPLACED);
        let known = names.filter(|name| **name != *request.status.name).filter_map(|name| self.trackers.named(name));
        let gone = known.filter(|tracker| {
            let is_from_there = tracker.address.is_none() || tracker.address == address;
            !self.trackers.is_connected(tracker) && &*tracker.host == host && is_from_there
        });
        let gone: Vec<TrackerId> = gone.map(|tracker| tracker.id).collect();
        for &id in &gone {
            let why = format!("{} has cleared up after it", request.status.name);
            self.lose_tracker(id, &why, now);
            self.record_job_facts();
        }
        !gone.is_empty()
    }
}
