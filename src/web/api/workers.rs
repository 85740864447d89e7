//! Workers and racks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::api::{WorkerState, WorkerStatus};
use crate::engine::{Drain, TrackerSnapshot};
use crate::model::PerKind;
use crate::views::Shown;

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::Owner;
use super::address::part;
use super::answer::{Content, lasting};
use super::ask::Ask;
use super::listing::{Listing, RowPlace, SortKey};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct RackRow {
    rack: String,
    workers: u64,
    /// Workers in each state that is none of the best.
    silent: u64,
    draining: u64,
    unhealthy: u64,
    slots: PerKind<u32>,
    used: PerKind<u32>,
    containers: u64,
}

/// Answers `/workers`: those that are there, by name, with drained ones that are not connected.
pub(super) fn workers<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["worker", "rack", "state"]);
    let states = WorkerState::ALL.map(WorkerState::name);
    let expected = format!("one of {}", states.join(", "));
    let wanted = parameters.parsed_all("state", &expected, |text| states.into_iter().find(|state| *state == text));
    let racks = parameters.take_all("rack");
    let name = parameters.take("name").map(|name| name.to_lowercase());
    parameters.end()?;
    let all = all_workers(&ask.shown);
    let passing = all.iter().filter(|worker| {
        (wanted.is_empty() || wanted.contains(&worker.state.name()))
            && (racks.is_empty() || worker.rack.as_ref().is_some_and(|rack| racks.contains(rack)))
            && name.as_ref().is_none_or(|name| worker.worker.to_lowercase().contains(name))
    });
    let rows = passing.map(|worker| {
        let key = match listing.sort() {
            "rack" => worker.rack.clone().unwrap_or_default(),
            "state" => worker.state.name().to_owned(),
            _ => worker.worker.clone(),
        };
        let id = worker.tracker.clone().unwrap_or_else(|| worker.worker.clone());
        (RowPlace(SortKey::Text(key), id), worker)
    });
    Ok(listing.page(rows, lasting))
}

/// Answers `/workers/{worker}`: by its name, or by that of its tracker.
pub(super) fn worker<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let name = ask.parts.get(part::WORKER);
    let all = all_workers(&ask.shown);
    let is_it = |worker: &&WorkerStatus| worker.worker == name || worker.tracker.as_deref() == Some(name);
    let unknown = || {
        let detail = format!("there is no worker {name:?}");
        Problem::new(ProblemName::NoSuchWorker, detail).with_try("/api/v1/workers")
    };
    all.iter().find(is_it).map(Content::one).ok_or_else(unknown)
}

pub(super) fn racks<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["rack"]);
    parameters.end()?;
    let mut racks: BTreeMap<String, RackRow> = BTreeMap::new();
    for worker in all_workers(&ask.shown) {
        let Some(name) = worker.rack else { continue };
        let rack = racks.entry(name.clone()).or_insert_with(|| RackRow { rack: name, ..RackRow::default() });
        rack.workers += 1;
        match worker.state {
            WorkerState::Silent => rack.silent += 1,
            WorkerState::Draining => rack.draining += 1,
            WorkerState::Unhealthy => rack.unhealthy += 1,
            WorkerState::Ok | WorkerState::Graylisted | WorkerState::Short | WorkerState::Absent => {}
        }
        rack.slots.map = rack.slots.map.saturating_add(worker.slots.map);
        rack.slots.reduce = rack.slots.reduce.saturating_add(worker.slots.reduce);
        rack.used.map = rack.used.map.saturating_add(worker.used.map);
        rack.used.reduce = rack.used.reduce.saturating_add(worker.used.reduce);
        rack.containers += worker.containers;
    }
    let rows = racks.into_iter().map(|(name, rack)| (RowPlace(SortKey::Text(name), String::new()), rack));
    Ok(listing.page(rows, lasting))
}

/// All workers: the members of `jobtracker workers list`, but for when a connection began.
fn all_workers(shown: &Shown) -> Vec<WorkerStatus> {
    let drains: BTreeMap<&str, &Drain> = shown.views.drains().map(|drain| (&*drain.worker, drain)).collect();
    let containers = shown.views.containers_by_tracker();
    let at_ms = shown.overview.at_ms;
    let status = |tracker: &TrackerSnapshot| {
        let drain = drains.get(tracker.worker.as_str());
        WorkerStatus {
            worker: tracker.worker.clone(),
            state: state_of(tracker),
            is_draining: tracker.is_draining,
            drained_by: drain.map(|drain| drain.user.to_string()),
            drained_since_ms: drain.map(|drain| drain.since_ms),
            tracker: Some(tracker.name.clone()),
            host: Some(tracker.host.clone()),
            rack: Some(tracker.rack.clone()),
            http: Some(format!("http://{}:{}", tracker.host, tracker.http_port)),
            slots: tracker.listed_slots,
            used: tracker.running,
            containers: containers.get(tracker.name.as_str()).copied().unwrap_or(0),
            since_ms: None,
            last_seen_ms: Some(at_ms.saturating_sub_unsigned(tracker.silent_ms)),
            complaints: tracker.complaints.clone(),
        }
    };
    let connected: Vec<&str> = shown.overview.trackers.iter().map(|tracker| tracker.worker.as_str()).collect();
    let absent = drains.values().filter(|drain| !connected.contains(&&*drain.worker));
    shown.overview.trackers.iter().map(status).chain(absent.map(|drain| drain.absent_worker())).collect()
}

fn state_of(tracker: &TrackerSnapshot) -> WorkerState {
    match tracker {
        _ if tracker.is_silent => WorkerState::Silent,
        _ if tracker.is_draining => WorkerState::Draining,
        _ if !tracker.healthy => WorkerState::Unhealthy,
        _ if tracker.graylisted => WorkerState::Graylisted,
        _ if tracker.is_short => WorkerState::Short,
        _ => WorkerState::Ok,
    }
}
