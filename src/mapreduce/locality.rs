//! How far maps run from their input (1.2.1 `JobInProgress.getMatchingLevelForNodes`).

use crate::scheduler::{HostId, Level, RackId};

use super::job::{Job, TaskKey};

impl Job {
    /// How far a host is from the nearest input of a map: 0 on it, 1 in its rack, then the groups of racks above (1.2.1
    /// `JobInProgress.getMatchingLevelForNodes`); none beyond the levels of locality.
    fn levels_apart(&self, key: TaskKey, host: HostId, near: &[RackId]) -> Option<usize> {
        let place = self.preferred_hosts_of(key);
        if place.contains(&host) {
            return Some(0);
        }
        let apart = |there: &[RackId]| {
            let shared = near.iter().zip(1..).filter_map(|(group, up)| {
                let down = there.iter().position(|other| other == group)?;
                Some((down + 1).max(up))
            });
            shared.min()
        };
        place.iter().filter_map(|host| apart(self.racks.get(host)?)).min()
    }

    /// The level of a host, near which these racks and groups are, for the input of a map.
    pub(super) fn level(&self, key: TaskKey, host: HostId, near: &[RackId]) -> Level {
        match self.levels_apart(key, host, near) {
            Some(0) => Level::Node,
            Some(_) => Level::Rack,
            None => Level::Any,
        }
    }

    /// Counts the locality of a launched map.
    pub(super) fn count_locality(&mut self, key: TaskKey, host: HostId, near: &[RackId]) {
        match self.levels_apart(key, host, near) {
            Some(0) => self.counts.node_local_maps += 1,
            Some(1) => self.counts.rack_local_maps += 1,
            Some(_) => self.counts.other_local_maps += 1,
            None => {}
        }
    }
}
