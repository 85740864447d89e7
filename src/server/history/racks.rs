//! The racks of the machines that a job ran on, for the lines of its history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::server::rack_resolver::RackResolver;
use crate::store::StoredHistory;

use super::lines::host_of_tracker;

/// Finds racks.
#[derive(Clone)]
pub(super) struct HistoryRacks(pub(super) Arc<RackResolver>);

impl HistoryRacks {
    /// The rack of each host of the job.
    pub(super) async fn of(&self, stored: &StoredHistory) -> BTreeMap<String, String> {
        let hosts: BTreeSet<&str> =
            stored.job.attempts.iter().map(|attempt| host_of_tracker(&attempt.tracker)).collect();
        let mut racks = BTreeMap::new();
        for host in hosts {
            racks.insert(host.to_owned(), self.0.rack_of_tracker(host).await);
        }
        racks
    }
}
