//! The items of an application: what became of each, as a list and as a grid.

use std::collections::BTreeMap;

use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::engine::{Container, ItemStanding, RequestType};
use crate::views::ApplicationView;

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::Owner;
use super::answer::{Content, lasting};
use super::ask::{Ask, known_application};
use super::grid::{Grid, Runs, cells};
use super::listing::Listing;

/// Items that are looked at for one answer, which may have fewer rows than asked for then.
const MOST_LOOKED_AT: i64 = 200_000;
/// How far an item is.
const STATES: [&str; 5] = ["WAITING", "RUNNING", "SUCCEEDED", "FAILED", "ENDED"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ItemRow {
    item: u32,
    state: &'static str,
    /// Containers that have run it, with the one that does.
    attempts: u32,
    /// How it ended; none unless it ended well.
    exit_status: Option<i32>,
    container: Option<String>,
}

/// Answers `/applications/{application-id}/items`: in the order in which they are written.
pub(super) fn items<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    let expected = format!("one of {}", STATES.join(", "));
    let wanted = parameters.parsed_all("state", &expected, |text| STATES.into_iter().find(|state| *state == text));
    parameters.end()?;
    let application = known_application(ask)?;
    ask.check_parts_of(&application.submitted().user)?;
    let first = listing.after_number().map_or(0, |after| after.saturating_add(1)).max(0);
    let mut rows = Vec::new();
    let mut last = None;
    let mut place: i64 = 0;
    for (request, view) in application.requests() {
        let Some(items) = view.items() else { continue };
        let length = i64::from(items.len());
        let skipped = (first - place).clamp(0, length);
        let at = place + skipped;
        place += length;
        let live = live_items(&application, *request);
        let rest = items.after_first(u32::try_from(skipped).unwrap_or(u32::MAX));
        for (at, item) in (at..).zip(rest.iter()) {
            if rows.len() == listing.limit() || at - first >= MOST_LOOKED_AT {
                return Ok(listing.part(rows, last));
            }
            last = Some(at);
            let was_taken = at - (place - length) < i64::from(view.taken());
            let row = item_row(&application, *request, (item, was_taken), live.get(&item).copied());
            if wanted.is_empty() || wanted.contains(&row.state) {
                rows.push(lasting(&row));
            }
        }
    }
    Ok(listing.part(rows, None))
}

/// The live containers of a type that run items, by item.
fn live_items(application: &ApplicationView, request: RequestType) -> BTreeMap<u32, &Container> {
    let of_type = application.live().filter(|container| container.request == request);
    of_type.filter_map(|container| Some((container.item()?, container))).collect()
}

/// Answers `/applications/{application-id}/grid`: in the order of the list of items.
pub(super) async fn grid<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let cells = cells(&mut parameters);
    parameters.end()?;
    let application = known_application(ask)?;
    ask.check_parts_of(&application.submitted().user)?;
    let made = spawn_blocking(move || Grid::new("item", STATES, item_runs(&application), cells)).await;
    let grid = made.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))?;
    Ok(Content::one(&serde_json::json!({ "grids": [grid] })))
}

fn item_runs(application: &ApplicationView) -> Runs {
    let mut runs = Runs::default();
    for (request, view) in application.requests() {
        let Some(items) = view.items() else { continue };
        let live = live_items(application, *request);
        for (at, item) in (0..).zip(items.iter()) {
            runs.add(place_of_item(application, *request, (item, at < view.taken()), live.contains_key(&item)), 1);
        }
    }
    runs
}

/// The place in [`STATES`] of an item's state.
fn place_of_item(
    application: &ApplicationView,
    request: RequestType,
    (item, was_taken): (u32, bool),
    is_live: bool,
) -> usize {
    let is_over = application.standing().state.is_over();
    let ended = if is_over { 4 } else { 0 };
    match application.trouble(request, item).map(|trouble| trouble.standing) {
        Some(ItemStanding::Failed) => 3,
        _ if is_live => 1,
        Some(ItemStanding::Waits(_) | ItemStanding::Held) => ended,
        None if !was_taken => ended,
        None if application.may_be_cut() => 4,
        None => 2,
    }
}

fn item_row(
    application: &ApplicationView,
    request: RequestType,
    (item, was_taken): (u32, bool),
    live: Option<&Container>,
) -> ItemRow {
    let trouble = application.trouble(request, item);
    let ends = trouble.map_or(0, |trouble| trouble.failures.saturating_add(trouble.faultless));
    let state = STATES[place_of_item(application, request, (item, was_taken), live.is_some())];
    ItemRow {
        item,
        state,
        attempts: ends + u32::from(live.is_some() || trouble.is_none() && was_taken),
        exit_status: (state == "SUCCEEDED").then_some(0),
        container: live.map(|container| container.id.to_string()),
    }
}
