//! The start page: the cluster, its queues, jobs and trackers, from one snapshot.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use axum::http::{HeaderValue, Response, StatusCode};
use tokio::time::timeout;

use super::response::{HTML, fresh, text};
use super::start_page_rows::{JobRow, Part, QueueRow, TrackerRow};
use super::time_text::{moment, span};
use super::{Health, Owner, OwnerGone, WebState};
use crate::engine::{JobOverview, Overview};
use crate::market::answer::short_host;
use crate::scheduler::PerKind;
use crate::wire::RunState;

/// Rows of a table at most. The rest is counted.
const MAX_ROWS: usize = 1000;
/// The page needs its style and nothing else, so nothing else may be smuggled in.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers `/` and `/jobtracker.jsp`.
pub(super) async fn start_page<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let Ok(Ok(overview)) = timeout(super::ANSWER_PATIENCE, state.owner.overview()).await else {
        return text(StatusCode::SERVICE_UNAVAILABLE, OwnerGone);
    };
    let page = StartPage::new(&overview, state.owner.health(), short_host(&state.host), state.has_market);
    match page.render() {
        Ok(html) => {
            let mut response = fresh(StatusCode::OK, HTML, html);
            let headers = response.headers_mut();
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            response
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

/// What the template shows.
#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    host: &'a str,
    overview: &'a Overview,
    health: Health,
    has_market: bool,
    started: String,
    uptime: String,
    at: String,
    maps: Part,
    reduces: Part,
    waiting: PerKind<u64>,
    healthy_trackers: usize,
    preparing_jobs: usize,
    running_jobs: usize,
    queues: Rows<QueueRow>,
    jobs: Rows<JobRow>,
    trackers: Rows<TrackerRow>,
}

/// The rows of a table and how many there are besides.
struct Rows<R> {
    rows: Vec<R>,
    left_out: usize,
}

// === impl StartPage ===

impl<'a> StartPage<'a> {
    fn new(overview: &'a Overview, health: Health, host: &'a str, has_market: bool) -> Self {
        let (maps, reduces) = Part::pair(overview.running, overview.slots);
        StartPage {
            host,
            overview,
            health,
            has_market,
            started: moment(overview.start_ms),
            uptime: span(overview.at_ms.saturating_sub(overview.start_ms)),
            at: moment(overview.at_ms),
            maps,
            reduces,
            waiting: overview.waiting,
            healthy_trackers: overview.trackers.iter().filter(|tracker| tracker.healthy).count(),
            preparing_jobs: jobs_in(overview, RunState::Prep),
            running_jobs: jobs_in(overview, RunState::Running),
            queues: Rows::new(&overview.queues, QueueRow::new),
            jobs: Rows::new(&overview.jobs, |job: &JobOverview| JobRow::new(job, overview.at_ms)),
            trackers: Rows::new(&overview.trackers, TrackerRow::new),
        }
    }
}

fn jobs_in(overview: &Overview, state: RunState) -> usize {
    overview.jobs.iter().filter(|job| job.state == state).count()
}

// === impl Rows ===

impl<R> Rows<R> {
    fn new<T>(all: &[T], row: impl Fn(&T) -> R) -> Self {
        Rows { rows: all.iter().take(MAX_ROWS).map(row).collect(), left_out: all.len().saturating_sub(MAX_ROWS) }
    }
}
