//! Registration of trackers, their connections, what each heartbeat reports of the tracker itself, and the graylist.

use std::sync::Arc;

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{
    ClusterSize, ConnectionStatus, Effect, Fact, HeartbeatSender, InheritedTrackerConnection, LogLevel, Presence,
    Refusal, ReportedCounts, Tracker, TrackerConnection, TrackerRecovery,
};
use crate::mapreduce::NodeInfo;
use crate::model::{AttemptState, DEFAULT_RACK, JobId, Kind, Now, PerKind, TrackerId};
use crate::scheduler::HostId;
use crate::wire::limits::{HEALTH_REPORT_BYTES, HOST_NAME_BYTES, TRACKER_ERROR_BYTES, cut, excerpt, is_node_name};
use crate::wire::{
    HealthStatus, HeartbeatRequest, Phase, TaskStatus, TaskTrackerStatus, runs_streaming_only, worker_name,
};

/// How the report begins of a tracker that stops since its version or build is another one than the JobTracker's (all lines of
/// Hadoop 1).
const INCOMPATIBLE: &str = "Shutting down. Incompatible ";

impl Engine {
    /// Refuses trackers on hosts that are not admitted, and a second tracker under the name of one that is alive.
    pub(super) fn refuse_tracker(
        &mut self,
        id: Option<TrackerId>,
        request: &HeartbeatRequest,
        connection: u64,
        now: Now,
    ) -> Option<Refusal> {
        let (name, host) = (&request.status.name, &request.status.host);
        if let Some(text) = name_refusal(name, host) {
            self.outbox.log_line(LogLevel::Warning, text.clone());
            return Some(Refusal::DisallowedTracker(text));
        }
        if !self.config.hosts.admits(host) {
            // 1.2.1 names the tracker in this text.
            return Some(Refusal::DisallowedTracker(format!(
                "Tasktracker denied communication with jobtracker: {name}"
            )));
        }
        let tracker = self.trackers.get(id?)?;
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        let has_called = silent_ms <= self.longest_silence_ms();
        let alive = self.trackers.is_connected(tracker) && has_called;
        if request.initial_contact && tracker.connection != connection && alive {
            let text = format!(
                "another TaskTracker named {name} is alive on host {}: its last heartbeat came {silent_ms} ms ago; \
                 give this one a name of its own (slave.host.name, mapred.task.tracker.report.address)",
                tracker.host
            );
            self.outbox.log_line(LogLevel::Warning, format!("refused a TaskTracker on host {host}: {text}"));
            return Some(Refusal::DisallowedTracker(text));
        }
        None
    }

    /// Whether one more tracker may register.
    pub(super) fn has_room_for_trackers(&self) -> bool {
        self.trackers.len() < self.config.limits.max_trackers
    }

    /// Registers a tracker, in the default rack until its rack is resolved.
    pub(super) fn register(&mut self, status: &TaskTrackerStatus) -> TrackerId {
        let name: Arc<str> = (&*status.name).into();
        self.outbox.log_line(LogLevel::Info, format!("{name} registered"));
        let http = format!("http://{}:{}", status.host, status.http_port);
        self.enter_tracker(name, &status.host, http, TrackerRecovery::Complete)
    }

    /// Adds a tracker without slots.
    pub(super) fn enter_tracker(
        &mut self,
        name: Arc<str>,
        host: &str,
        http: String,
        recovery: TrackerRecovery,
    ) -> TrackerId {
        let host: Arc<str> = host.into();
        let topology = self.cluster.scheduler.topology_mut();
        let host_id = topology.intern_host(&host, DEFAULT_RACK);
        topology.hold_for_node(host_id);
        let id = self.cluster.scheduler.add_node(host_id, PerKind::default());
        let topology = self.cluster.scheduler.topology();
        let (rack, near) = (topology.rack_of(host_id), topology.shared_near(host_id));
        // Splits may have named the host before, when its rack could not be resolved. The first tracker on a host
        // requests its rack for all of them.
        if topology.rack_name(rack) == DEFAULT_RACK && self.cluster.nodes.on_host(host_id) == 0 {
            self.ask_for_rack(&host);
        }
        let streaming_only = runs_streaming_only(&name);
        self.cluster.scheduler.set_streaming_only(id, streaming_only);
        let http = http.into();
        let info =
            NodeInfo { name: name.clone(), host: host_id, rack, near, http, streaming_only, free_disk_bytes: None };
        self.cluster.nodes.insert(id, info);
        self.cluster.nodes.set_slots(id, PerKind::default());
        let is_drained = self.trackers.drains.get(worker_name(&name)).is_some();
        self.trackers.insert(Tracker { is_drained, ..Tracker::new(id, name, host, recovery) });
        id
    }

    /// Asks for the rack of a host. Its nodes get no containers before the answer.
    pub(super) fn ask_for_rack(&mut self, host: &Arc<str>) {
        self.trackers.unresolved_hosts.insert(Arc::clone(host));
        self.outbox.request(Effect::ResolveRack { host: Arc::clone(host) });
    }

    pub(super) fn update_status(
        &mut self,
        id: TrackerId,
        request: &HeartbeatRequest,
        sender: HeartbeatSender,
        now: Now,
    ) {
        let status = &request.status;
        let most = self.config.limits.max_tracker_slots;
        let slots = |count: i32| u32::try_from(count).unwrap_or(0).min(most);
        let mut busy = PerKind::default();
        for report in status.tasks.iter().filter(|report| holds_slot(report)) {
            let busy: &mut u32 = &mut busy[report.attempt.task.kind];
            *busy = busy.saturating_add(slots(report.num_slots));
        }
        self.trackers.connect(id, sender, now);
        if !status.tasks.is_empty() {
            self.trackers.mark_run(id);
        }
        self.trackers.set_busy(id, busy, &mut self.outbox.violations);
        let Some(tracker) = self.trackers.get_mut(id) else { return };
        tracker.last_seen_mono_ms = now.mono_ms;
        tracker.http_port = status.http_port;
        tracker.reported = reported_counts(status);
        let reported = PerKind::new(slots(status.max_map_slots), slots(status.max_reduce_slots));
        let claimed = PerKind::new(status.max_map_slots, status.max_reduce_slots);
        let claims_more = Kind::ALL.into_iter().any(|kind| i64::from(claimed[kind]) > i64::from(most));
        let is_news = claims_more && !std::mem::replace(&mut tracker.claims_too_many_slots, claims_more);
        tracker.reported_slots = reported;
        let counted = if status.health.healthy && !tracker.is_drained { reported } else { PerKind::default() };
        let room_bytes = u64::try_from(status.resources.available_space_bytes).ok();
        self.cluster.nodes.set_free_disk(id, room_bytes);
        self.cluster.scheduler.set_disk_room(id, room_bytes);
        let is_builtin = runs_streaming_only(&tracker.name);
        update_complaint(&mut tracker.complaint, &status.health, is_builtin);
        if is_builtin {
            update_beat_digest(&mut tracker.beat_digest, &status.health);
        }
        let is_changed = tracker.slots != counted || tracker.healthy != status.health.healthy;
        tracker.healthy = status.health.healthy;
        let has_free = Kind::ALL.iter().any(|kind| tracker.free()[*kind] > 0);
        tracker.refuses_work = has_free && !request.accept_new_tasks;
        if is_news {
            let text = format!(
                "{} claims {} map slots and {} reduce slots; it gets tasks for at most {most} of a kind \
                 (jobtracker.tracker.max-slots)",
                tracker.name, claimed.map, claimed.reduce
            );
            self.outbox.log_line(LogLevel::Warning, text);
        }
        if is_changed {
            self.cluster.nodes.set_healthy(id, status.health.healthy);
            self.count_slots(id, counted, now);
        }
    }

    /// Changes the slots of a tracker that count.
    pub(super) fn count_slots(&mut self, id: TrackerId, slots: PerKind<u32>, now: Now) {
        let Some(tracker) = self.trackers.get_mut(id) else { return };
        tracker.slots = slots;
        self.cluster.scheduler.set_slots(id, slots);
        self.cluster.nodes.set_slots(id, slots);
        let presence = Presence { tracker: tracker.name.clone(), host: tracker.host.clone(), slots };
        if self.trackers.presences.come(&presence) {
            self.outbox.record(Fact::TrackerCame { presence, at_ms: now.wall_ms });
        }
        self.rounds.close_resumed_interval(&self.trackers.presences);
    }

    /// The relation of the tracker of that name to a connection. Its own one is that of its last heartbeat, while it is open; the
    /// edge decides whether another may replace it before it sends a heartbeat to the engine.
    pub(crate) fn connection_status(&self, tracker: &str, connection: u64, now: Now) -> ConnectionStatus {
        let Some(tracker) = self.trackers.named(tracker) else { return ConnectionStatus::Absent };
        if tracker.connection == connection {
            return ConnectionStatus::Own;
        }
        if !self.trackers.is_connected(tracker) {
            return ConnectionStatus::Absent;
        }
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        ConnectionStatus::Elsewhere(TrackerConnection {
            connection: tracker.connection,
            last_seen_mono_ms: tracker.last_seen_mono_ms,
            is_silent: silent_ms > self.longest_silence_ms(),
            is_sure: tracker.is_sure(self.config.tracker_expiry_ms, now),
        })
    }

    /// The host of a registered tracker; none for an unknown one.
    pub(crate) fn host_of_tracker(&self, tracker: &str) -> Option<Arc<str>> {
        self.trackers.named(tracker).map(|tracker| tracker.host.clone())
    }

    /// All open connections of trackers, to hand over to another process.
    pub(crate) fn tracker_connections(&self, now: Now) -> impl Iterator<Item = InheritedTrackerConnection> {
        let open = self.trackers.iter().filter(|tracker| self.trackers.is_connected(tracker));
        open.map(move |tracker| InheritedTrackerConnection {
            tracker: tracker.name.clone(),
            connection: tracker.connection,
            is_sure: tracker.is_sure(self.config.tracker_expiry_ms, now),
        })
    }

    /// Restores the connections of registered trackers; unknown ones must register again anyway.
    pub(super) fn on_connections_inherited(
        &mut self,
        connections: Vec<InheritedTrackerConnection>,
        now: Now,
    ) -> (Reply, Wait) {
        for InheritedTrackerConnection { tracker, connection, is_sure } in connections {
            if let Some(id) = self.trackers.id_of(&tracker) {
                self.trackers.inherit_connection(id, connection, is_sure, now);
            }
        }
        (Reply::Done, Wait::Nothing)
    }

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

/// Stores the report of the health script while the tracker is unhealthy, and what a built-in worker lacks; empty otherwise.
fn update_complaint(complaint: &mut String, health: &HealthStatus, is_builtin: bool) {
    let report = match (health.lack(), health.healthy) {
        (lack, _) if is_builtin && !lack.is_empty() => lack,
        (_, true) => "",
        (_, false) => &*health.report,
    };
    let report = cut(report, HEALTH_REPORT_BYTES);
    if complaint != report {
        report.clone_into(complaint);
    }
}

/// Keeps what a built-in worker says of the secret of its beats.
fn update_beat_digest(known: &mut Option<Arc<str>>, health: &HealthStatus) {
    if let Some(digest) = health.beat_digest().filter(|digest| known.as_deref() != Some(*digest)) {
        *known = Some(Arc::from(digest));
    }
}

/// The refusal of names that no stock tracker has; none for valid ones.
fn name_refusal(name: &str, host: &str) -> Option<String> {
    let (what, bad) = match (is_node_name(name), is_node_name(host)) {
        (true, true) => return None,
        (false, _) => ("name", name),
        (true, false) => ("host", host),
    };
    Some(format!(
        "Tasktracker denied communication with jobtracker: its {what} is {:?}; expected 1 to {HOST_NAME_BYTES} bytes of \
         printable ASCII without blanks",
        excerpt(bad)
    ))
}

fn reported_counts(status: &TaskTrackerStatus) -> ReportedCounts {
    let mut running = PerKind::default();
    for report in &status.tasks {
        let running: &mut u32 = &mut running[report.attempt.task.kind];
        *running += u32::from(holds_slot(report));
    }
    ReportedCounts {
        attempts: u32::try_from(status.tasks.len()).unwrap_or(u32::MAX),
        running,
        task_failures: status.task_failures,
        dir_failures: status.dir_failures,
        health_ms: status.health.last_reported_ms,
    }
}

/// Whether a reported attempt holds a slot of its tracker. An attempt in COMMIT_PENDING does too: 1.2.1 does not count
/// it, so it assigns tasks that have to queue.
pub(super) fn holds_slot(report: &TaskStatus) -> bool {
    match report.state {
        AttemptState::Running | AttemptState::Unassigned | AttemptState::CommitPending => true,
        AttemptState::FailedUnclean | AttemptState::KilledUnclean => report.phase == Phase::Cleanup,
        AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed => false,
    }
}

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
