//! Hosts with a node, counted: several nodes may stand on one host.

use crate::model::{lower, raise};

use super::{HostId, Scheduler};

impl Scheduler {
    pub(super) fn count_node_up(&mut self, host: HostId) {
        let nodes = self.nodes_by_host.entry(host).or_default();
        if *nodes == 0 {
            raise(&mut self.totals.hosts, 1_u32, &mut self.violations);
        }
        raise(nodes, 1_u32, &mut self.violations);
    }

    pub(super) fn count_node_down(&mut self, host: HostId) {
        let Some(nodes) = self.nodes_by_host.get_mut(&host) else { return };
        lower(nodes, 1_u32, &mut self.violations);
        if *nodes == 0 {
            self.nodes_by_host.remove(&host);
            lower(&mut self.totals.hosts, 1_u32, &mut self.violations);
        }
    }
}
