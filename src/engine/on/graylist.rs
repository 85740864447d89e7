//! Updates of the graylist by heartbeats and completed jobs.

use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::{ClusterSize, LogLevel};
use crate::model::{JobId, Now};
use crate::scheduler::HostId;
use crate::wire::HeartbeatRequest;

impl Engine {
    /// Updates the faults of a tracker's host at its heartbeat: a restarted tracker clears them, any other drops old
    /// ones.
    pub(super) fn update_host_faults(&mut self, request: &HeartbeatRequest, now: Now) {
        if self.host_faults.is_empty() {
            return;
        }
        let host = &*request.status.host;
        let freed = match request.restarted {
            true => self.host_faults.forget(host),
            false => self.host_faults.expire(host, now.wall_ms, &self.config.limits.faults),
        };
        if freed {
            self.outbox.log_line(LogLevel::Info, format!("{host} is off the graylist"));
        }
    }

    /// Records a fault of each host that a successful job had to avoid.
    pub(super) fn record_host_faults(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let at_ms = job.finish_ms;
        let flaky: Vec<HostId> = job.flaky_hosts().collect();
        for host in flaky {
            let host: Arc<str> = self.cluster.scheduler.topology().host_name(host).into();
            if host.is_empty() {
                // The host has had no tracker for long, and its name is gone.
                continue;
            }
            let cluster = ClusterSize {
                in_service: self.cluster.nodes.in_service(),
                graylisted: self.graylisted_trackers(),
                registered: self.cluster.nodes.len(),
            };
            if self.host_faults.add(&host, at_ms, cluster, &self.config.limits.faults) {
                let reason = self.host_faults.reason(&host).unwrap_or_default();
                self.outbox.log_line(LogLevel::Warning, format!("{host} is on the graylist: {reason}"));
            }
        }
    }

    /// Trackers on hosts of the graylist.
    pub(super) fn graylisted_trackers(&self) -> usize {
        self.host_faults.graylisted().map(|host| self.trackers_on(host)).sum()
    }

    fn trackers_on(&self, host: &str) -> usize {
        self.cluster.scheduler.topology().host(host).map_or(0, |host| self.cluster.nodes.on_host(host))
    }
}
