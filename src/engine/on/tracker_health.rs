//! Health of trackers: the graylist, and errors that trackers report of themselves.

use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::{ClusterSize, LogLevel};
use crate::model::{JobId, Now};
use crate::scheduler::HostId;
use crate::wire::HeartbeatRequest;
use crate::wire::limits::{TRACKER_ERROR_BYTES, cut, excerpt};

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

/// How the report begins of a tracker that stops since its version or build is another one than the JobTracker's (all lines of
/// Hadoop 1).
const INCOMPATIBLE: &str = "Shutting down. Incompatible ";

pub(super) fn tracker_error_line(tracker: &str, class: Option<&str>, message: &str) -> String {
    let [class, text] = [class.unwrap_or("no class"), message].map(|text| cut(text, TRACKER_ERROR_BYTES));
    let advice = advice(message).unwrap_or_default();
    format!("{} reports {class}: {text}{advice}", excerpt(tracker))
}

/// How to admit a tracker of another build.
fn advice(message: &str) -> Option<String> {
    let rest = message.strip_prefix(INCOMPATIBLE)?;
    let builds = [("TaskTracker version '", "' and build '", "' and JobTracker"), ("", "TaskTracker's: ", "\n")];
    let build = builds.into_iter().find_map(|(begin, before, after)| {
        let build = rest.split_once(begin)?.1.split_once(before)?.1;
        Some(build.split_once(after).map_or(build, |(build, _)| build).trim())
    })?;
    let build = cut(build, TRACKER_ERROR_BYTES);
    let version = build.split_whitespace().next()?;
    Some(format!(
        "; this TaskTracker is of another build and has stopped: to admit its like, set jobtracker.version = {version} and \
         jobtracker.build-version = {build}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_tracker_of_another_build_has_both_builds_and_the_keys_that_admit_it() {
        let of_1_2 = "Shutting down. Incompatible version or build version.TaskTracker version '1.1.2' and build '1.1.2 from \
            1440782 by hortonfo source checksum c720' and JobTracker version '1.2.1' and build '1.2.1 from 1503152 by mattf \
            source checksum 6923 and hadoop.relaxed.worker.version.check is not enabled";
        let line = tracker_error_line("tracker_h", None, of_1_2);
        assert!(line.contains("'1.2.1 from 1503152 by mattf source checksum 6923"), "{line}");
        let advice = "set jobtracker.version = 1.1.2 and jobtracker.build-version = 1.1.2 from 1440782 by hortonfo source \
            checksum c720";
        assert!(line.ends_with(advice), "{line}");
        let of_1_0 = "Shutting down. Incompatible buildVersion.\nJobTracker's: 1.2.1 from a by b source checksum c\n\
            TaskTracker's: 1.0.4 from 1393290 by hortonfo source checksum fe2b";
        assert!(
            tracker_error_line("t", None, of_1_0)
                .ends_with("build-version = 1.0.4 from 1393290 by hortonfo source checksum fe2b")
        );
        assert_eq!(tracker_error_line("t", Some("java.io.IOException"), "disk"), "t reports java.io.IOException: disk");
        for hostile in
            ["Shutting down. Incompatible ", "Shutting down. Incompatible TaskTracker's: ", &"x".repeat(5_000)]
        {
            assert!(!tracker_error_line("t", None, hostile).contains("set jobtracker"));
        }
    }
}
