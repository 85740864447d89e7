//! Counters, completion events and configuration of a job: what `state.db` and its history have.

use serde::Serialize;
use tokio::time::timeout;

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::{Owner, OwnerGone};
use super::super::state::ANSWER_TIMEOUT;
use super::answer::{Found, lasting};
use super::ask::Ask;
use super::known::known_job;
use super::listing::Listing;
use super::stored::found;

/// A value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ConfRow {
    key: String,
    /// `<redacted>` of what is secret.
    value: String,
}

/// Answers `/jobs/{job}/counters`: by group and name.
pub(super) async fn counters<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    let counters = found(timeout(ANSWER_TIMEOUT, ask.web.owner.job_counters(job.id())).await)?;
    Ok(listing.page_in_order((0..).zip(counters.unwrap_or_default()), lasting))
}

/// Answers `/jobs/{job}/events`: by number.
pub(super) async fn events<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    let after = listing.after_number().and_then(|after| usize::try_from(after).ok());
    let first = after.map_or(0, |after| after.saturating_add(1));
    let read = ask.web.owner.job_events(job.id(), first, listing.limit() + 1);
    let events = found(timeout(ANSWER_TIMEOUT, read).await)?;
    Ok(listing.page_in_order(events.into_iter().map(|event| (event.number.into(), event)), lasting))
}

/// Answers `/jobs/{job}/conf`: by key.
pub(super) async fn conf<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    // Without a viewer the owner is not asked: who may see it was judged above.
    let read = timeout(ANSWER_TIMEOUT, ask.web.owner.stock_conf(job.id(), None)).await;
    let conf = read.unwrap_or(Err(OwnerGone))?.ok().flatten().unwrap_or_default();
    let rows = conf.into_iter().map(|(key, value)| ConfRow { key, value });
    Ok(listing.page_in_order((0..).zip(rows), lasting))
}
