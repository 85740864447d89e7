//! The workers for administrators, a page at a time: between two pages the owner processes other events.

use crate::api::{WorkerState, WorkerStatus};
use crate::engine::core::{Engine, Read};
use crate::engine::state::{Drain, Tracker};
use crate::model::{Now, PerKind};
use crate::wire::worker_name;

use super::long_read::SLICE_ITEMS;

// === impl Engine: workers ===

impl Engine {
    /// Workers whose trackers' names follow `after`, by name; one page of them. The last page has fewer than
    /// [`SLICE_ITEMS`] connected ones, and the drained ones that are not connected.
    pub fn worker_page(&self, after: Option<&str>, now: Now) -> Read<Vec<WorkerStatus>> {
        let trackers = self.trackers.iter_after(after).take(SLICE_ITEMS as usize);
        let mut page: Vec<WorkerStatus> = trackers.map(|tracker| self.worker_status(tracker, now)).collect();
        if page.len() < SLICE_ITEMS as usize {
            let connected: std::collections::BTreeSet<&str> =
                self.trackers.names().map(|tracker| worker_name(tracker)).collect();
            let drains = self.trackers.drains.iter();
            page.extend(drains.filter(|drain| !connected.contains(&*drain.worker)).map(absent));
        }
        Read { value: page, wait_for: self.outbox.last_fact() }
    }

    fn worker_status(&self, tracker: &Tracker, now: Now) -> WorkerStatus {
        let topology = self.cluster.scheduler.topology();
        let info = self.cluster.nodes.get(tracker.id);
        let worker = worker_name(&tracker.name);
        let drain = self.trackers.drains.get(worker);
        let graylisted = self.host_faults.reason(&tracker.host);
        let state = if self.is_silent(tracker, now) {
            WorkerState::Silent
        } else if tracker.is_drained {
            WorkerState::Draining
        } else if !tracker.healthy {
            WorkerState::Unhealthy
        } else if graylisted.is_some() {
            WorkerState::Graylisted
        } else {
            WorkerState::Ok
        };
        let complaints = [Some(tracker.complaint.as_str()), graylisted.as_deref()];
        let complaints: Vec<&str> = complaints.into_iter().flatten().filter(|why| !why.is_empty()).collect();
        // Times of the monotonic clock, as times of day.
        let time_of = |mono_ms: u64| {
            let ago_ms = i64::try_from(now.mono_ms.saturating_sub(mono_ms)).unwrap_or(i64::MAX);
            (mono_ms > 0).then(|| now.wall_ms.saturating_sub(ago_ms))
        };
        WorkerStatus {
            worker: worker.to_owned(),
            state,
            is_draining: tracker.is_drained,
            drained_by: drain.map(|drain| drain.user.to_string()),
            drained_since_ms: drain.map(|drain| drain.since_ms),
            tracker: Some(tracker.name.to_string()),
            host: Some(tracker.host.to_string()),
            rack: info.map(|info| topology.rack_name(info.rack).to_owned()),
            http: info.map(|info| info.http.to_string()),
            slots: tracker.reported_slots,
            used: tracker.busy,
            since_ms: time_of(tracker.connected_mono_ms),
            last_seen_ms: time_of(tracker.last_seen_mono_ms),
            complaints: complaints.join("\n"),
        }
    }
}

fn absent(drain: &Drain) -> WorkerStatus {
    WorkerStatus {
        worker: drain.worker.to_string(),
        state: WorkerState::Absent,
        is_draining: true,
        drained_by: Some(drain.user.to_string()),
        drained_since_ms: Some(drain.since_ms),
        tracker: None,
        host: None,
        rack: None,
        http: None,
        slots: PerKind::default(),
        used: PerKind::default(),
        since_ms: None,
        last_seen_ms: None,
        complaints: String::new(),
    }
}
