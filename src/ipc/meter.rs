//! What the server counts of its own work, for other threads.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::latency::{Latencies, LatencyCounts};

/// Reads the counts, on any thread.
#[derive(Clone, Debug)]
pub(crate) struct RpcMeter {
    heartbeats: Arc<Latencies>,
    places: Arc<Semaphore>,
    max_connections: usize,
}

impl RpcMeter {
    pub(super) fn new(heartbeats: Arc<Latencies>, places: Arc<Semaphore>, max_connections: usize) -> Self {
        Self { heartbeats, places, max_connections }
    }

    /// Times from the frames of heartbeats to their answers.
    pub(crate) fn heartbeats(&self) -> LatencyCounts {
        self.heartbeats.read()
    }

    /// Connections that hold a place, and the most that may.
    pub(crate) fn connections(&self) -> (u64, u64) {
        let taken = self.max_connections.saturating_sub(self.places.available_permits());
        (taken as u64, self.max_connections as u64)
    }
}
