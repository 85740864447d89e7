//! Applications and their containers.

use serde_json::Value;
use tokio::time::timeout;

use crate::views::container_row;

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::Owner;
use super::super::state::ANSWER_TIMEOUT;
use super::answer::{Content, lasting};
use super::ask::{Ask, found as stored_found, known_application};
use super::listing::Listing;
use super::work::{SORTS, WorkFilter, application_row, cost_of_application, work_of_application};

const STATES: [&str; 5] = ["ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"];
const CONTAINER_STATES: [&str; 5] = ["ALLOCATED", "ACQUIRED", "LAUNCHING", "RUNNING", "COMPLETE"];

pub(super) fn applications<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &SORTS);
    let filter = WorkFilter::read(&mut parameters, &STATES);
    parameters.end()?;
    let rows = ask.shown.views.applications().filter_map(|application| {
        let work = work_of_application(application);
        filter.passes(work).then(|| (work.place(listing.sort(), application.id().to_string()), application))
    });
    Ok(listing.page(rows, |application| application_row(ask, application)))
}

pub(super) fn application<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let application = known_application(ask)?;
    if !ask.viewer.sees_parts_of(&application.submitted().user) {
        return Ok(Content::One(application_row(ask, &application)));
    }
    let cost = cost_of_application(ask, &application);
    Ok(Content::one(&application.status(cost, ask.web.container_slot)))
}

/// Answers `/applications/{application-id}/containers`, by number.
pub(super) async fn containers<O: Owner>(
    ask: &Ask<'_, O>,
    mut parameters: QueryParameters,
) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    let expected = format!("one of {}", CONTAINER_STATES.join(", "));
    let one_of = |text: &str| CONTAINER_STATES.into_iter().find(|state| *state == text);
    let states = parameters.parsed_all("state", &expected, one_of);
    let failed_only = parameters.parsed("failed", "true", |text| (text == "true").then_some(())).is_some();
    parameters.end()?;
    let application = known_application(ask)?;
    ask.check_parts_of(&application.submitted().user)?;
    let after = listing.after_number().map_or(0, |after| after.max(0).unsigned_abs());
    let shows = |state: &str| states.is_empty() || states.contains(&state);
    // One more shows whether others follow.
    let most = if shows("COMPLETE") { listing.limit() + 1 } else { 0 };
    let read = ask.web.owner.complete_containers(application.id(), after, failed_only, most);
    let complete = stored_found(timeout(ANSWER_TIMEOUT, read).await)?;
    // Beyond the end of what was read, others may be complete.
    let last = complete.last().map(|last| last.id.number).filter(|_| complete.len() == most);
    let is_before_end = |number: u64| last.is_none_or(|last| number <= last);
    let live = application
        .live()
        .filter(|container| !failed_only && shows(container.state.name()) && is_before_end(container.id.number));
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut rows: Vec<(i64, Value)> =
        complete.iter().chain(live).map(|found| (number(found.id.number), lasting(&container_row(found)))).collect();
    // What ended since the views were taken is in both: as it is on the disk comes first.
    rows.sort_by_key(|(number, _)| *number);
    rows.dedup_by_key(|(number, _)| *number);
    Ok(listing.page_in_order(rows.into_iter(), Value::clone))
}
