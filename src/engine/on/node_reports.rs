//! Reports on nodes and on the cluster, as applications see them.

use crate::api::applications::{ClusterInfo, NodeKind, NodeReport, NodeState};
use crate::engine::core::Engine;
use crate::engine::state::Tracker;
use crate::model::{Now, PerKind};
use crate::wire::runs_streaming_only;

use super::worker_beats::node_id;

impl Engine {
    /// All nodes, by id.
    pub(super) fn node_reports(&self, now: Now) -> Vec<NodeReport> {
        let mut nodes: Vec<NodeReport> = self.trackers.iter().map(|tracker| self.node_report(tracker, now)).collect();
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        nodes
    }

    fn node_report(&self, tracker: &Tracker, now: Now) -> NodeReport {
        let scheduler = &self.cluster.scheduler;
        let rack = self.cluster.nodes.get(tracker.id).map(|info| scheduler.topology().rack_name(info.rack));
        let worker = self.applications.worker(&tracker.name);
        let of_worker = worker.and_then(|worker| worker.complaint.as_deref());
        let is_well = tracker.healthy && of_worker.is_none();
        let measured = self.applications.use_on(&tracker.name);
        let declared = worker.map(|worker| worker.capability).unwrap_or_default();
        let room = scheduler.room_on(tracker.id).unwrap_or_default();
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        let id = node_id(tracker);
        let PerKind { map, reduce } = tracker.reported_slots;
        NodeReport {
            rack: rack.unwrap_or_default().to_owned(),
            state: match (self.is_silent(tracker, now) || tracker.address.is_none(), is_well) {
                (true, _) => NodeState::Lost,
                (false, false) => NodeState::Unhealthy,
                (false, true) => NodeState::Running,
            },
            node_host_name: tracker.host.to_string(),
            node_http_address: id.clone(),
            id,
            last_health_update: now.wall_ms.saturating_sub_unsigned(silent_ms),
            health_report: of_worker.unwrap_or(&tracker.complaint).to_owned(),
            num_containers: self.applications.containers_on(&tracker.name),
            used_memory_mb: u64::from(declared.memory_mb.saturating_sub(room.memory_mb)),
            avail_memory_mb: u64::from(room.memory_mb),
            live_memory_mb: measured.memory_mb,
            live_cpu_ms: measured.cpu_ms,
            used_virtual_cores: u64::from(declared.vcores.saturating_sub(room.vcores)),
            available_virtual_cores: u64::from(room.vcores),
            kind: if runs_streaming_only(&tracker.name) { NodeKind::Builtin } else { NodeKind::Stock },
            map_slots: map,
            reduce_slots: reduce,
            slots: declared.whole_slots(self.applications.settings.slot),
        }
    }

    pub(super) fn cluster_info(&self, now: Now) -> ClusterInfo {
        let settings = &self.applications.settings;
        let start_ms = self.applications.start_ms();
        ClusterInfo {
            id: start_ms,
            started_on: start_ms,
            state: "STARTED".to_owned(),
            time: now.wall_ms,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scheduler_name: self.config.choice.class.clone(),
            minimum: settings.minimum,
            maximum: settings.maximum,
            slot: settings.slot,
        }
    }
}
