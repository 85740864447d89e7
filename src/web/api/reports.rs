//! Reports, and the jobs and applications of the past, from `state.db`.

use serde_json::Value;
use tokio::time::timeout;

use crate::api::{Report, ReportRow, ReportSubject};
use crate::market::{ReportFilter, ReportKind, ReportRequest};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::{MarketPresence, Owner};
use super::super::state::ANSWER_TIMEOUT;
use super::super::viewer::Viewer;
use super::address::part;
use super::answer::{Content, lasting};
use super::ask::{Ask, found};
use super::listing::Listing;

/// States of the past, as reports have them.
const STATES: [&str; 6] = ["PREP", "ACCEPTED", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"];

/// Answers `/reports/{report}`: the members of `jobtracker report`. Rows of what has not ended count as if it did now.
pub(super) async fn report<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let name = ask.parts.get(part::REPORT);
    let kind = ReportKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let detail = format!("there is no report {name:?}; expected users, queues or jobs");
        Problem::new(ProblemName::NoSuchAddress, detail)
    })?;
    let mut wanted = range(&mut parameters, kind);
    wanted.by_month = parameters.parsed("by", "month", |text| (text == "month").then_some(())).is_some();
    wanted.after = parameters.whole("from", 0..=u64::MAX);
    parameters.end()?;
    let report = read(ask, wanted).await?;
    let mut shown = lasting(&report);
    shown["rows"] = rows(ask, &report).into();
    Ok(Content::One(shown))
}

/// Answers `/history/jobs`: jobs and applications that have ended or not, in the order in which they were accepted.
pub(super) async fn history<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    let mut wanted = range(&mut parameters, ReportKind::Jobs);
    parameters.end()?;
    wanted.after = listing.after_number().map(|after| after.max(0).unsigned_abs());
    wanted.most = Some(listing.limit());
    let mut report = read(ask, wanted).await?;
    report.rows.retain(|row| row.subject.name() != ReportSubject::OTHER);
    let items = rows(ask, &report);
    Ok(listing.part(items, report.next.and_then(|next| i64::try_from(next).ok())))
}

fn range(parameters: &mut QueryParameters, kind: ReportKind) -> ReportRequest {
    let expected = format!("one of {}", STATES.join(", "));
    let state = |text: &str| STATES.into_iter().find(|state| *state == text).map(str::to_owned);
    let is_of_work = kind == ReportKind::Jobs;
    ReportRequest {
        kind,
        since_ms: parameters.whole("since", 0..=i64::MAX.unsigned_abs()),
        until_ms: parameters.whole("until", 0..=i64::MAX.unsigned_abs()),
        filter: ReportFilter {
            user: parameters.take("user"),
            queue: is_of_work.then(|| parameters.take("queue")).flatten(),
            state: is_of_work.then(|| parameters.parsed("state", &expected, state)).flatten(),
        },
        ..ReportRequest::default()
    }
}

async fn read<O: Owner>(ask: &Ask<'_, O>, wanted: ReportRequest) -> Result<Report, Problem> {
    found(timeout(ANSWER_TIMEOUT, ask.web.owner.report(wanted)).await)
}

/// The rows; without charges that are not shown, and without rows of nothing else.
fn rows<O: Owner>(ask: &Ask<'_, O>, report: &Report) -> Vec<Value> {
    // Without a market nothing was paid.
    let sees_all = ask.viewer.sees_all_money() || ask.web.owner.market_presence() == MarketPresence::Absent;
    let shown = report.rows.iter().filter(|row| sees_all || row.subject.name() != ReportSubject::OTHER);
    shown
        .map(|row| {
            let is_shown = sees_all || is_of_viewer(&ask.viewer, row);
            let mut row = lasting(row);
            if let Some(members) = row.as_object_mut().filter(|_| !is_shown) {
                members.remove("charged");
            }
            row
        })
        .collect()
}

/// Whether a row is of what is the viewer's own.
fn is_of_viewer(viewer: &Viewer, row: &ReportRow) -> bool {
    match (&row.subject, &row.work) {
        (_, Some(work)) => viewer.sees_cost_of(&work.user, &work.queue),
        (ReportSubject::User(name) | ReportSubject::Queue(name), None) => viewer.sees_money_of(name),
        _ => false,
    }
}
