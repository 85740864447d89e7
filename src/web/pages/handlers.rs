//! The handlers of pages: what each reads, and the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, Response, StatusCode};
use tokio::time::timeout;

use crate::api::PriceHistory;
use crate::engine::JobSnapshot;
use crate::market::answer::short_host;
use crate::market::{HistoryPage, ReportKind, ReportRequest, StatementPage};
use crate::model::RunState;

use super::super::owner::{MarketPresence, Owner};
use super::super::response::text;
use super::super::signed_request::HttpRequest;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::asked::{Asked, takes_html};
use super::error::Refused;
use super::job_filter::JobFilter;
use super::overview::{ENDED_MS, OverviewJobs, overview_page};
use super::page::Page;
use super::search::SearchResult;
use super::viewer::View;
use super::{applications, decisions, health, jobs, market, policy, queues, search, workers};

const MOST_JOBS: usize = 5_000;
/// Spans of a price over time.
const POINTS: u32 = 300;

pub(super) type Shared<O> = State<Arc<WebState<O>>>;

/// The answer with a page that is made of the cluster.
pub(super) async fn shown<O: Owner>(
    state: &WebState<O>,
    request: &HttpRequest,
    make: impl AsyncFnOnce(&View, &mut Asked) -> Result<Page, Refused>,
) -> Response<Body> {
    let mut asked = Asked::new(request);
    match View::of(state, request).await {
        Err(refused) => refused.line(),
        Ok(view) => match make(&view, &mut asked).await {
            Ok(page) => view.answer(&page, &asked),
            Err(refused) => view.refuse(&refused, &asked),
        },
    }
}

/// The newest jobs that pass a filter, and how many more there are.
pub(super) async fn jobs_of<O: Owner>(
    state: &WebState<O>,
    filter: JobFilter,
    most: usize,
) -> Result<(Vec<JobSnapshot>, u64), Refused> {
    let found = timeout(ANSWER_TIMEOUT, state.owner.jobs(filter, most)).await;
    found.ok().and_then(Result::ok).ok_or_else(|| Refused::unavailable("the jobs were not read in time".to_owned()))
}

async fn prices_of<O: Owner>(state: &WebState<O>, since_ms: i64) -> Result<PriceHistory, Refused> {
    let page = HistoryPage { since_ms: Some(since_ms), points: POINTS };
    Refused::unless_read(state.owner.price_history(page), "the history was").await
}

fn live() -> JobFilter {
    JobFilter { states: vec![RunState::Prep, RunState::Running], ..JobFilter::default() }
}

pub(super) async fn overview<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let ended = JobFilter { ended_since_ms: Some(view.at_ms() - ENDED_MS), ..JobFilter::default() };
        let jobs = OverviewJobs {
            live: jobs_of(&state, live(), MOST_JOBS).await?,
            ended: jobs_of(&state, ended, MOST_JOBS).await?,
        };
        // A picture that is missing is no reason to show nothing.
        let prices = match view.has_market() {
            true => prices_of(&state, view.at_ms() - ENDED_MS).await.ok(),
            false => None,
        };
        Ok(overview_page(view, short_host(&state.host), &jobs, prices.as_ref()))
    })
    .await
}

pub(super) async fn jobs<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let word = asked.clone().take("state").unwrap_or_default();
        let filter = jobs::job_filter(asked)?;
        let found = jobs_of(&state, filter.clone(), MOST_JOBS).await?;
        Ok(jobs::jobs_page(view, asked, &word, &filter, found))
    })
    .await
}

pub(super) async fn history<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let word = asked.clone().take("state").unwrap_or_else(|| "over".to_owned());
        let mut filter = jobs::job_filter(asked)?;
        if filter.states.is_empty() {
            filter.states = JobFilter::states_of("over").unwrap_or_default();
        }
        let found = jobs_of(&state, filter.clone(), MOST_JOBS).await?;
        Ok(jobs::jobs_page(view, asked, &word, &filter, found))
    })
    .await
}

pub(super) async fn application<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let unknown = |_| Refused::unknown("application", &text, Some("jobtracker app list".to_owned()));
        applications::application_page(view, text.parse().map_err(unknown)?)
    })
    .await
}

pub(super) async fn queues<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, _| Ok(queues::queues_page(view))).await
}

pub(super) async fn queue<O: Owner>(
    State(state): Shared<O>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let filter = JobFilter { queue: Some(name.clone()), ..JobFilter::default() };
        let jobs = jobs_of(&state, filter, MOST_JOBS).await?;
        // A picture that is missing is no reason to show nothing.
        let statement = match name.parse() {
            Ok(queue) if view.shows_money_of(&name) => {
                let read = state.owner.statement(queue, StatementPage::default());
                timeout(ANSWER_TIMEOUT, read).await.ok().and_then(Result::ok).flatten()
            }
            _ => None,
        };
        queues::queue_page(view, &name, jobs, statement.as_ref())
    })
    .await
}

pub(super) async fn market<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        if !view.has_market() {
            let detail = match state.owner.market_presence() {
                MarketPresence::Absent => "There is no market; it belongs to the dynamic policy.",
                _ => "Another policy rules; the market keeps accounts and sells nothing.",
            };
            return Err(Refused::not_now("There is no market now", detail.to_owned()));
        }
        let since_ms = market::price_since(asked, view.at_ms())?;
        market::market_page(view, asked, &prices_of(&state, since_ms).await?, since_ms).await
    })
    .await
}

pub(super) async fn deadlines<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, _| policy::deadlines_page(view)).await
}

pub(super) async fn decisions<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| Ok(decisions::decisions_page(view, asked))).await
}

pub(super) async fn decision<O: Owner>(
    State(state): Shared<O>,
    Path(number): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| decisions::decision_page(view, &number)).await
}

pub(super) async fn policy<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| Ok(policy::policy_page(view, asked))).await
}

pub(super) async fn workers<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, _| Ok(workers::workers_page(view))).await
}

pub(super) async fn worker<O: Owner>(
    State(state): Shared<O>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| workers::worker_page(view, &name, &live_attempts(&state).await?)).await
}

pub(super) async fn slots<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| workers::slots_page(view, asked, &live_attempts(&state).await?)).await
}

async fn live_attempts<O: Owner>(state: &WebState<O>) -> Result<Vec<crate::api::LiveAttempt>, Refused> {
    let live = timeout(ANSWER_TIMEOUT, state.owner.live_attempts()).await;
    live.ok().and_then(Result::ok).ok_or_else(|| Refused::unavailable("the attempts were not read in time".to_owned()))
}

pub(super) async fn users<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |_, _| {
        let (found, more) = jobs_of(&state, JobFilter::default(), MOST_JOBS).await?;
        Ok(jobs::users_page(&found, more))
    })
    .await
}

pub(super) async fn user<O: Owner>(
    State(state): Shared<O>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let filter = JobFilter { user: Some(name.clone()), ..JobFilter::default() };
        jobs::user_page(view, &name, jobs_of(&state, filter, MOST_JOBS).await?)
    })
    .await
}

pub(super) async fn report<O: Owner>(
    State(state): Shared<O>,
    Path(kind): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let wanted = match &*kind {
            "users" => ReportKind::Users,
            "queues" => ReportKind::Queues,
            "jobs" => ReportKind::Jobs,
            other => return Err(Refused::unknown("report of", other, Some("/reports/users".to_owned()))),
        };
        let is_open = state.owner.market_presence() == MarketPresence::Absent;
        let Some(user) = view.report_of(is_open) else { return Ok(health::private_report_page(&kind)) };
        let request = ReportRequest { kind: wanted, user, ..ReportRequest::default() };
        let report = Refused::unless_read(state.owner.report(request), "the report was").await?;
        Ok(health::report_page(&report))
    })
    .await
}

pub(super) async fn health<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, _| Ok(health::health_page(view))).await
}

pub(super) async fn search<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    let mut asked = Asked::new(&request);
    let view = match View::of(&state, &request).await {
        Ok(view) => view,
        Err(refused) => return refused.line(),
    };
    let wanted = asked.take("q").unwrap_or_default();
    let jobs = match jobs_of(&state, JobFilter::default(), MOST_JOBS).await {
        Ok((jobs, _)) => jobs,
        Err(refused) => return view.refuse(&refused, &asked),
    };
    match search::search(&view, wanted.trim(), &jobs) {
        SearchResult::Page(page) => view.answer(&page, &asked),
        SearchResult::Address(address) => led_to(&address),
    }
}

/// Leads a browser to another page.
pub(super) fn led_to(address: &str) -> Response<Body> {
    let mut response = text(StatusCode::SEE_OTHER, address);
    if let Ok(location) = HeaderValue::from_str(address) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// What is not there: a page for browsers, a line of text for others.
pub(crate) async fn no_such_page<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    let line = format!("There is nothing at {}", request.uri.path());
    if !takes_html(&request.headers) {
        return text(StatusCode::NOT_FOUND, line);
    }
    let asked = Asked::default();
    let refused = Refused::not_now(&line, "No page has this address.".to_owned());
    match View::of(&state, &request).await {
        Ok(view) => view.refuse(&refused, &asked),
        Err(_) => text(StatusCode::NOT_FOUND, line),
    }
}
