//! The workers, for administrators: a page of them at a time (between two pages the owner processes other events), reports on
//! nodes as applications see them, and draining: a drained worker gets no new tasks, keeps what runs on it and serves what
//! it has, until it is resumed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::{ClusterInfo, NodeKind, NodeReport, NodeState};
use crate::api::{WorkerState, WorkerStatus};
use crate::engine::core::{Engine, Read, Reply, Wait};
use crate::engine::state::{Caller, Drain, Fact, LogLevel, MAX_DRAINS, Refusal, Tracker};
use crate::mapreduce::Attempt;
use crate::market::{Answer, MarketError, Operation};
use crate::model::{Now, PerKind, TrackerId};
use crate::wire::{runs_streaming_only, worker_name};

use super::long_read::{SLICE_ITEMS, SLICE_LOOKS};
use super::worker_beats::node_id;

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

    /// Drains a worker, or resumes it, in the name of a caller who is believed: administrators of the cluster may. Slots of a
    /// drained one count as little as those of an unhealthy tracker.
    pub(super) fn on_drain_worker(&mut self, worker: &str, is_on: bool, caller: &Caller, now: Now) -> (Reply, Wait) {
        if !self.is_administrator(caller) {
            let text = format!("{} is not authorized to drain or resume workers", caller.user);
            return (Reply::Refused(Refusal::AccessDenied(text)), Wait::Nothing);
        }
        let answer = self.drain_worker(worker, is_on, &caller.user, now);
        (Reply::Market(answer), Wait::All)
    }

    /// Performs what the market permits of drains; passes other answers through.
    pub(super) fn perform_drain(&mut self, answer: Answer, now: Now) -> Result<Answer, MarketError> {
        match answer {
            Answer::Permitted(Operation::Drain { worker, is_on, by }) => self.drain_worker(&worker, is_on, &by, now),
            other => Ok(other),
        }
    }

    pub(crate) fn drained_workers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.trackers.drains.iter().map(|drain| &drain.worker)
    }

    /// Drains or resumes a worker; no change if it is so already.
    fn drain_worker(&mut self, named: &str, is_on: bool, user: &str, now: Now) -> Result<Answer, MarketError> {
        // A worker with a name of its own is known by that, even if it is named by its tracker.
        let worker: Arc<str> = worker_name(named).into();
        let is_drained = self.trackers.drains.get(&worker).is_some();
        let mut expected = self.trackers.names().chain(self.trackers.presences.names());
        let is_known = is_drained || expected.any(|tracker| worker_name(tracker) == &*worker);
        drop(expected);
        if !is_known {
            return Err(MarketError::UnknownWorker(named.chars().take(256).collect()));
        }
        if is_on && !is_drained {
            if self.trackers.drains.is_full() {
                return Err(MarketError::TooManyDrains(MAX_DRAINS));
            }
            let drain = Drain { worker: worker.clone(), user: user.into(), since_ms: now.wall_ms };
            self.trackers.drains.add(drain.clone());
            self.outbox.record(Fact::WorkerDrained(drain));
            self.outbox.log_line(LogLevel::Info, format!("{user} drains {worker}: it gets no new tasks"));
        } else if !is_on && self.trackers.drains.remove(&worker) {
            self.outbox.record(Fact::WorkerResumed { worker: worker.clone() });
            self.outbox.log_line(LogLevel::Info, format!("{user} resumes {worker}"));
        }
        self.apply_drain(&worker, is_on, now);
        let used = self.trackers_of(&worker).map(|tracker| self.slots_in_use(tracker));
        let used = used.map(|used| u64::from(used.map) + u64::from(used.reduce)).sum();
        Ok(Answer::Worker { used, worker: worker.to_string(), is_draining: is_on })
    }

    /// Counts the slots of a worker, or counts them no more.
    fn apply_drain(&mut self, worker: &str, is_on: bool, now: Now) {
        let ids: Vec<TrackerId> = self.trackers_of(worker).map(|tracker| tracker.id).collect();
        for id in ids {
            let Some(tracker) = self.trackers.get_mut(id) else { continue };
            tracker.is_drained = is_on;
            let counts = tracker.healthy && !is_on;
            let slots = if counts { tracker.reported_slots } else { PerKind::default() };
            if tracker.slots != slots {
                self.count_slots(id, slots, now);
            }
        }
    }

    fn trackers_of(&self, worker: &str) -> impl Iterator<Item = &Tracker> {
        self.trackers.iter().filter(move |tracker| worker_name(&tracker.name) == worker)
    }

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
