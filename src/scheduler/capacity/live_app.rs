//! What the policy counts of one app.

use crate::model::PerKind;
use crate::scheduler::app::App;
use crate::scheduler::hold::{Hold, LocalityEnd};
use crate::scheduler::view::View;
use crate::scheduler::{GroupId, Level};

use super::queue_slots::AppHolding;
use super::{LocalityWait, WaitFactor};

#[derive(Debug)]
pub(super) struct LiveApp {
    pub(super) queue: GroupId,
    /// The part of the queue that belongs to its user.
    pub(super) user: GroupId,
    pub(super) slots_per_task: PerKind<u32>,
    /// As counted in its queue.
    pub(super) holding: PerKind<AppHolding>,
    /// Reservations that this heartbeat turned into tasks; they count until it ends.
    pub(super) used_reservations: PerKind<u32>,
    /// Whether its user counts as active because of it.
    pub(super) is_active: PerKind<bool>,
    pub(super) unfinished_maps: u32,
    pub(super) wait: LocalityWait,
    /// Hosts with a tracker when it began; none where it had begun before this policy.
    pub(super) cluster_hosts: Option<u64>,
    /// Most distinct hosts that held the input of its maps, until it was asked for one.
    pub(super) split_hosts: u64,
    /// Fixed when it is first asked for a map.
    pub(super) wait_factor: Option<WaitFactor>,
}

impl LiveApp {
    /// The part of the cluster's hosts that must have passed it over before it gets a far map.
    pub(super) fn wait_factor(&self, app: &App, view: &View<'_>) -> WaitFactor {
        let cluster_hosts = self.cluster_hosts.unwrap_or(view.totals.hosts);
        let computed = || WaitFactor::new(app.locality_wait_millionths, self.split_hosts, cluster_hosts);
        self.wait_factor.unwrap_or_else(computed)
    }

    /// Its wait for maps near their input.
    pub(super) fn far_wait(&self, app: &App, view: &View<'_>) -> Option<Hold> {
        let waits = app.tables.map.waiting() > 0 && self.slots_per_task.map == 1;
        let trackers = view.totals.nodes;
        let left = self.wait.opportunities_left(self.unfinished_maps, trackers, self.wait_factor(app, view));
        let hold = Hold::Locality { farthest: Level::Rack, until: LocalityEnd::AfterOffers(left) };
        (waits && left > 0).then_some(hold)
    }
}
