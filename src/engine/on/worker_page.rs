//! The workers for administrators, a page at a time: between two pages the owner processes other events.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::{WorkerState, WorkerStatus};
use crate::engine::core::{Engine, Read};
use crate::engine::state::{Drain, Tracker};
use crate::mapreduce::Attempt;
use crate::model::{Now, PerKind};
use crate::wire::worker_name;

use super::long_read::{SLICE_ITEMS, SLICE_LOOKS};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkerPage {
    /// Workers, by the names of their trackers; on the last page also the drained ones that are not connected.
    pub(crate) workers: Vec<WorkerStatus>,
    /// The name of the tracker that the next page follows; none on the last page.
    pub(crate) next: Option<Arc<str>>,
}

impl Engine {
    /// A page of the workers: those whose trackers' names follow `after`, or the first.
    pub(crate) fn worker_page(&self, after: Option<&str>, now: Now) -> Read<WorkerPage> {
        let mut page = WorkerPage { workers: Vec::new(), next: None };
        let mut looks = 0;
        let mut trackers = self.trackers.iter_after(after).peekable();
        while let Some(tracker) = trackers.next() {
            page.workers.push(self.worker_status(tracker, now));
            looks += if tracker.is_drained { tracker.attempts.len() } else { 0 };
            let is_full = page.workers.len() >= SLICE_ITEMS as usize || looks >= SLICE_LOOKS as usize;
            if is_full && trackers.peek().is_some() {
                page.next = Some(tracker.name.clone());
                break;
            }
        }
        if page.next.is_none() {
            let connected: BTreeSet<&str> = self.trackers.names().map(|tracker| worker_name(tracker)).collect();
            let drains = self.trackers.drains.iter();
            page.workers.extend(drains.filter(|drain| !connected.contains(&*drain.worker)).map(Drain::absent_worker));
        }
        Read { value: page, wait_for: self.outbox.last_fact() }
    }

    /// Slots that a tracker's tasks hold: by its last report, or by what it was given since, if that is more.
    pub(super) fn slots_in_use(&self, tracker: &Tracker) -> PerKind<u32> {
        let mut held = PerKind::default();
        for id in &tracker.attempts {
            let Some(job) = self.jobs.get(id.task.job) else { continue };
            let attempt = job.key_of(id.task).and_then(|key| job.attempt(key, id.number));
            let is_there = |attempt: &&Attempt| attempt.cleanup_tracker.unwrap_or(attempt.tracker) == tracker.id;
            if let Some(attempt) = attempt.filter(is_there).filter(|attempt| attempt.holds_slot) {
                let held: &mut u32 = &mut held[id.task.kind];
                *held = held.saturating_add(attempt.slots);
            }
        }
        PerKind::new(held.map.max(tracker.busy.map), held.reduce.max(tracker.busy.reduce))
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
        } else if !tracker.complaint.is_empty() {
            WorkerState::Short
        } else {
            WorkerState::Ok
        };
        let namesake = self.live_namesake(tracker.id, now).map(|other| {
            format!(
                "a worker on host {} has this name, too, and is drained with it: give each a --name of its own",
                other.host
            )
        });
        let complaints = [Some(tracker.complaint.as_str()), graylisted.as_deref(), namesake.as_deref()];
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
            // Who waits until nothing runs there must not overlook what has just been launched.
            used: if tracker.is_drained { self.slots_in_use(tracker) } else { tracker.busy },
            containers: self.applications.containers_on(&tracker.name),
            since_ms: time_of(tracker.connected_mono_ms),
            last_seen_ms: time_of(tracker.last_seen_mono_ms),
            complaints: complaints.join("\n"),
        }
    }
}
