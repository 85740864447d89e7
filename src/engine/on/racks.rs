//! Racks of hosts.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::LogLevel;
use crate::mapreduce::{SplitHost, SplitTable};
use crate::model::{DEFAULT_RACK, Now, TrackerId};

/// Most hosts that are named in the log for missing levels.
const MAX_REPORTED_HOSTS: usize = 10_000;

impl Engine {
    /// Moves hosts of splits from the default rack to the rack that the submission resolved. Needed before the job is
    /// added: locality is by host and rack.
    pub(super) fn learn_racks(&mut self, splits: &SplitTable, now: Now) {
        for SplitHost { host, rack } in splits.hosts() {
            let topology = self.cluster.scheduler.topology();
            let known = topology.host(host).map(|id| topology.rack_name(topology.rack_of(id)));
            if known == Some(DEFAULT_RACK) && rack != DEFAULT_RACK {
                self.on_rack_resolved(host, rack, now);
            }
        }
    }

    /// Moves demand and trackers of a host to its resolved rack. Free of cost if the host is there already, however
    /// many trackers share it. Its nodes may take containers from now on.
    pub(super) fn on_rack_resolved(&mut self, host: &str, rack: &str, now: Now) -> (Reply, Wait) {
        let was_awaited = self.trackers.unresolved_hosts.remove(host);
        let topology = self.cluster.scheduler.topology_mut();
        // The host may have been removed since the request.
        let Some(before) = topology.host(host) else { return (Reply::Done, Wait::Nothing) };
        let host_id = topology.move_host(host, rack);
        if host_id != before {
            let here: Vec<_> = self.cluster.nodes.trackers_on(before).collect();
            for tracker in here {
                self.cluster.scheduler.move_node(tracker, host_id);
                self.cluster.nodes.move_tracker(tracker, host_id, self.cluster.scheduler.topology());
                self.applications.move_worker(tracker, rack);
                self.cluster.scheduler.topology_mut().hold_for_node(host_id);
                self.cluster.scheduler.topology_mut().release(before);
            }
            // Removes the host if it has no tracker and never had one.
            self.cluster.scheduler.topology_mut().hold(host_id);
            self.cluster.scheduler.topology_mut().release(host_id);
        }
        if was_awaited {
            self.report_missing_levels(host, rack);
            let here: Vec<TrackerId> = self.cluster.nodes.trackers_on(host_id).collect();
            for tracker in here {
                let may_take = self.may_take_containers(tracker, now);
                self.cluster.scheduler.set_takes_containers(tracker, may_take);
            }
        }
        (Reply::Done, Wait::Nothing)
    }

    /// Logs once that a TaskTracker's host has fewer levels than `mapred.task.cache.levels`. A Java JobTracker stops.
    fn report_missing_levels(&mut self, host: &str, rack: &str) {
        let levels = self.cluster.scheduler.topology().levels();
        let is_known = |known: &BTreeSet<Arc<str>>| known.contains(host) || known.len() >= MAX_REPORTED_HOSTS;
        if levels.are_in(rack) || is_known(&self.trackers.shallow_hosts) {
            return;
        }
        self.trackers.shallow_hosts.insert(host.into());
        let text = format!(
            "host {host} is in {rack}, but mapred.task.cache.levels is {levels}: expected a path of {} names from \
             topology.script.file.name; the host counts as far from all outside {rack}",
            levels.groups()
        );
        self.outbox.log_line(LogLevel::Warning, text);
    }
}
