//! Registration of trackers, their connections, and what each heartbeat reports of the tracker itself.

use std::sync::Arc;

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{
    ConnectionStatus, Effect, Fact, HeartbeatSender, InheritedTrackerConnection, LogLevel, Presence, Refusal,
    ReportedCounts, Tracker, TrackerConnection, TrackerRecovery,
};
use crate::mapreduce::NodeInfo;
use crate::model::{AttemptState, DEFAULT_RACK, Kind, Now, PerKind, TrackerId};
use crate::wire::limits::{HEALTH_REPORT_BYTES, HOST_NAME_BYTES, cut, excerpt, is_node_name};
use crate::wire::{
    HealthStatus, HeartbeatRequest, Phase, TaskStatus, TaskTrackerStatus, runs_streaming_only, worker_name,
};

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
        self.close_resumed_interval();
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

impl Engine {
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
}
