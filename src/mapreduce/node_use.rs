//! Which trackers a job can use: those that can run it, where few of its attempts failed, with room for output.

use crate::model::{Kind, TrackerId};
use crate::scheduler::{HostId, TaskNeeds};

use super::demand::set_member;
use super::job::slowstart_maps;
use super::node_registry::EligibleHosts;
use super::{HousekeepingQueue, Job, NodeRegistry};

/// Whether and why not a slot of a tracker helps a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeUse {
    Useful,
    /// Its tracker runs only Hadoop Streaming, which this job is not.
    Unsupported,
    /// Too many of the job's attempts failed there.
    Avoided,
    /// Its disk has no room for what a map is expected to write.
    NoRoom,
    /// Every waiting task has failed there.
    FailedThere,
}

impl Job {
    /// Counts an attempt that FAILED on a host, or a tracker there that was lost with attempts of the job.
    pub(crate) fn record_host_failure(
        &mut self,
        host: HostId,
        nodes: &NodeRegistry,
        housekeeping: &mut HousekeepingQueue,
    ) {
        self.flaky_hosts.add(host, nodes.in_service());
        self.list_if_flaky(housekeeping);
    }

    /// Lists it as a job with flaky hosts, or no more.
    pub(super) fn list_if_flaky(&self, housekeeping: &mut HousekeepingQueue) {
        set_member(&mut housekeeping.flaky, self.id, !self.is_over() && self.flaky_hosts().next().is_some());
    }

    /// Counts the same from before a restart.
    pub(super) fn restore_host_failure(&mut self, host: HostId) {
        self.flaky_hosts.restore_failure(host);
    }

    pub(crate) fn is_unsupported_on(&self, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        self.spec.only_stock.is_some() && nodes.get(tracker).is_some_and(|info| info.streaming_only)
    }

    pub(super) fn eligible_hosts<'a>(&self, nodes: &'a NodeRegistry) -> EligibleHosts<'a> {
        nodes.eligible_hosts(self.spec.only_stock.is_some())
    }

    /// Whether the job takes no slots of that kind of a tracker: the tracker cannot run it, or too many of its attempts failed on that
    /// host. Where no other host has such slots the job takes the latter anyway: else it would wait forever.
    pub(crate) fn avoids(&self, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        if self.is_unsupported_on(tracker, nodes) {
            return true;
        }
        let is_flaky = nodes.get(tracker).is_some_and(|info| self.flaky_hosts.avoids(info.host, nodes.in_service()));
        let hosts = self.eligible_hosts(nodes);
        is_flaky && self.flaky_hosts().filter(|host| hosts.offers(*host, kind)).count() < hosts.offering(kind)
    }

    pub(crate) fn flaky_hosts(&self) -> impl Iterator<Item = HostId> {
        self.flaky_hosts.hosts()
    }

    /// What its tasks need of a tracker, for what the scheduler keeps of all trackers: [`Self::can_use`] without what is
    /// there of one moment only.
    pub(crate) fn task_needs(&self, nodes: &NodeRegistry) -> TaskNeeds {
        let hosts = self.eligible_hosts(nodes);
        let trackers = nodes.in_service();
        let avoided: Vec<HostId> = self.flaky_hosts().filter(|host| self.flaky_hosts.avoids(*host, trackers)).collect();
        // Where it has no other hosts it avoids none.
        let has_others =
            |kind: Kind| avoided.iter().filter(|host| hosts.offers(**host, kind)).count() < hosts.offering(kind).max(1);
        TaskNeeds {
            needs_stock: self.spec.only_stock.is_some(),
            room_per_map_bytes: self.output.room_per_map_bytes(),
            avoided: if Kind::ALL.into_iter().all(has_others) { avoided } else { Vec::new() },
        }
    }

    /// Whether a tracker has room for the expected output of a map. A tracker that reports no free space does.
    pub(super) fn has_room_on(&self, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        let needed = self.output.room_per_map_bytes();
        needed == 0 || nodes.get(tracker).and_then(|info| info.free_disk_bytes).is_none_or(|free| free >= needed)
    }

    /// Whether a slot of a tracker would help, by [`Self::can_use`], or why not.
    pub(crate) fn node_use(&self, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> NodeUse {
        if self.can_use(kind, tracker, nodes) {
            NodeUse::Useful
        } else if self.is_unsupported_on(tracker, nodes) {
            NodeUse::Unsupported
        } else if self.avoids(kind, tracker, nodes) {
            NodeUse::Avoided
        } else if kind == Kind::Map && !self.has_room_on(tracker, nodes) {
            NodeUse::NoRoom
        } else {
            NodeUse::FailedThere
        }
    }

    /// Maps that must be done or given up before its reduces may start; none when enough are.
    pub(crate) fn maps_before_reduces(&self) -> Option<u32> {
        (!self.are_reduces_due()).then(|| slowstart_maps(&self.spec))
    }
}
