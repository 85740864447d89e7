//! The slots of workers, a cell each: what holds it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::api::LiveAttempt;
use crate::engine::{Container, TrackerSnapshot};
use crate::model::{ApplicationId, AttemptId, Capability, ContainerId, JobId, Kind, PerKind};
use crate::views::Views;

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::Owner;
use super::super::viewer::Viewer;
use super::answer::{Content, lasting};
use super::ask::Ask;
use super::grid::kind_word;
use super::listing::{Listing, RowPlace, SortKey};

/// What the cells of a worker are ordered by; since when they are held unless it is given.
const BY: [&str; 4] = ["queue", "user", "job", "kind"];
const MOST_CELLS: u32 = 1_000;
/// Slots that a container counts as.
const CONTAINER: &str = "container";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct WorkerSlots<'a> {
    worker: &'a str,
    rack: &'a str,
    cells: Vec<SlotCell>,
}

/// A slot, with what holds it; with its kind alone: nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct SlotCell {
    kind: &'static str,
    queue: Option<Arc<str>>,
    user: Option<Arc<str>>,
    /// This and the rest: where parts of its job or application are shown.
    job: Option<JobId>,
    attempt: Option<AttemptId>,
    application: Option<ApplicationId>,
    container: Option<ContainerId>,
    /// When it was launched, or granted.
    since_ms: Option<i64>,
}

impl SlotCell {
    fn of_attempt(live: LiveAttempt, is_open: bool) -> Self {
        let LiveAttempt { attempt, user, queue, launch_ms, .. } = live;
        let cell = Self { kind: kind_word(attempt.task.kind), queue: Some(queue), user: Some(user), ..Self::default() };
        match is_open {
            true => Self { job: Some(attempt.task.job), attempt: Some(attempt), since_ms: Some(launch_ms), ..cell },
            false => cell,
        }
    }

    fn of_container(container: &Container, (user, queue): (Arc<str>, Arc<str>), is_open: bool) -> Self {
        let cell = Self { kind: CONTAINER, queue: Some(queue), user: Some(user), ..Self::default() };
        match is_open {
            true => Self {
                application: Some(container.id.application),
                container: Some(container.id),
                since_ms: Some(container.granted_ms),
                ..cell
            },
            false => cell,
        }
    }

    fn is_free(&self) -> bool {
        self.queue.is_none()
    }
}

/// Answers `/slots`: workers that are connected, each with its attempts by launch, its containers and what is free.
pub(super) async fn slots<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["worker", "rack"]);
    let racks = parameters.take_all("rack");
    let by = parameters.parsed("by", &BY.join(", "), |text| BY.into_iter().find(|known| *known == text));
    parameters.end()?;
    let (views, viewer, slot) = (ask.shown.views.clone(), ask.viewer.clone(), ask.web.container_slot);
    let made = spawn_blocking(move || held_cells(&views, &viewer, slot)).await;
    let held = made.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))?;
    let in_rack = |tracker: &&TrackerSnapshot| racks.is_empty() || racks.contains(&tracker.rack);
    let rows = ask.shown.overview.trackers.iter().filter(in_rack).map(|tracker| {
        let key = if listing.sort() == "rack" { &tracker.rack } else { &tracker.worker };
        (RowPlace(SortKey::Text(key.clone()), tracker.name.clone()), tracker)
    });
    Ok(listing.page(rows, |tracker| {
        let mut cells = held.get(tracker.name.as_str()).cloned().unwrap_or_default();
        order(&mut cells, by);
        add_free(&mut cells, tracker.slots);
        lasting(&WorkerSlots { worker: &tracker.worker, rack: &tracker.rack, cells })
    }))
}

/// The slots that attempts and containers hold, by tracker; each slot is a cell.
fn held_cells(views: &Views, viewer: &Viewer, slot: Capability) -> BTreeMap<Arc<str>, Vec<SlotCell>> {
    let mut held: BTreeMap<Arc<str>, Vec<SlotCell>> = BTreeMap::new();
    let mut add = |tracker: &Arc<str>, cell: SlotCell, slots: u32| {
        let cells = held.entry(tracker.clone()).or_default();
        cells.extend(std::iter::repeat_n(cell, slots.min(MOST_CELLS) as usize));
    };
    for live in views.live_attempts(usize::MAX) {
        let (tracker, slots, is_open) = (live.tracker.clone(), live.slots, viewer.sees_parts_of(&live.user));
        add(&tracker, SlotCell::of_attempt(live, is_open), slots);
    }
    for application in views.applications() {
        let submitted = application.submitted();
        let is_open = viewer.sees_parts_of(&submitted.user);
        for container in application.live() {
            let owner = (submitted.user.clone(), submitted.queue.clone());
            let slots = container.request.capability.slots(slot);
            add(&container.node.tracker, SlotCell::of_container(container, owner, is_open), slots);
        }
    }
    held
}

fn order(cells: &mut [SlotCell], by: Option<&str>) {
    cells.sort_by(|left, right| {
        let of = |cell: &'_ SlotCell| (cell.kind == CONTAINER, cell.since_ms);
        let first = match by {
            Some("queue") => left.queue.cmp(&right.queue),
            Some("user") => left.user.cmp(&right.user),
            Some("job") => (left.job, left.application).cmp(&(right.job, right.application)),
            Some("kind") => left.kind.cmp(right.kind),
            _ => of(left).cmp(&of(right)),
        };
        first.then_with(|| of(left).cmp(&of(right))).then_with(|| left.cmp(right))
    });
}

/// Adds the slots that no attempt holds.
fn add_free(cells: &mut Vec<SlotCell>, slots: PerKind<u32>) {
    for kind in Kind::ALL {
        let held = cells.iter().filter(|cell| cell.kind == kind_word(kind) && !cell.is_free()).count();
        let free = (slots[kind] as usize).saturating_sub(held);
        cells.extend(std::iter::repeat_n(
            SlotCell { kind: kind_word(kind), ..SlotCell::default() },
            free.min(MOST_CELLS as usize),
        ));
    }
}
