//! What the policy counts of one app.

use crate::model::PerKind;
use crate::scheduler::GroupId;

use super::queue_slots::Holding;
use super::{LocalityWait, WaitFactor};

#[derive(Debug)]
pub(super) struct LiveApp {
    pub(super) queue: GroupId,
    /// The part of the queue that belongs to its user.
    pub(super) user: GroupId,
    pub(super) slots_per_task: PerKind<u32>,
    /// As counted in its queue.
    pub(super) holding: PerKind<Holding>,
    /// Reservations that this heartbeat turned into tasks; they count until it ends.
    pub(super) used_reservations: PerKind<u32>,
    /// Whether its user counts as active because of it.
    pub(super) is_active: PerKind<bool>,
    pub(super) unfinished_maps: u32,
    pub(super) wait: LocalityWait,
    /// Most distinct hosts that held the input of its maps, until it was asked for one.
    pub(super) split_hosts: u64,
    /// Fixed when it is first asked for a map.
    pub(super) wait_factor: Option<WaitFactor>,
}

// === impl LiveApp ===

impl LiveApp {
    /// The part of the cluster's hosts that must have passed it over before it gets a far map.
    pub(super) fn wait_factor(&self, cluster_hosts: u64) -> WaitFactor {
        // `mapreduce.job.locality.wait.factor` of the job counts as 1, its default.
        self.wait_factor.unwrap_or_else(|| WaitFactor::new(1_000_000, self.split_hosts, cluster_hosts))
    }
}
