//! The items of an application: what became of each.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::{Container, ItemStanding, RequestType};
use crate::views::ApplicationView;

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::Owner;
use super::answer::{Found, lasting};
use super::ask::Ask;
use super::known::known_application;
use super::listing::Listing;

/// Items that are looked at for one answer, which may have fewer rows than asked for then.
const MOST_LOOKED_AT: i64 = 200_000;
/// How far an item is.
const STATES: [&str; 5] = ["WAITING", "RUNNING", "SUCCEEDED", "FAILED", "ENDED"];

/// An item.
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
pub(super) fn items<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
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

fn item_row(
    application: &ApplicationView,
    request: RequestType,
    (item, was_taken): (u32, bool),
    live: Option<&Container>,
) -> ItemRow {
    let trouble = application.trouble(request, item);
    let ends = trouble.map_or(0, |trouble| trouble.failures.saturating_add(trouble.faultless));
    let is_over = application.standing().state.is_over();
    let state = match (live, trouble.map(|trouble| trouble.standing)) {
        (_, Some(ItemStanding::Failed)) => "FAILED",
        (Some(_), _) => "RUNNING",
        (None, Some(ItemStanding::Waits(_) | ItemStanding::Held)) if is_over => "ENDED",
        (None, Some(ItemStanding::Waits(_) | ItemStanding::Held)) => "WAITING",
        (None, None) if !was_taken && !is_over => "WAITING",
        (None, None) if !was_taken => "ENDED",
        (None, None) if application.may_be_cut() => "ENDED",
        (None, None) => "SUCCEEDED",
    };
    ItemRow {
        item,
        state,
        attempts: ends + u32::from(live.is_some() || trouble.is_none() && was_taken),
        exit_status: (state == "SUCCEEDED").then_some(0),
        container: live.map(|container| container.id.to_string()),
    }
}
