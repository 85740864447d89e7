//! The start page: the cluster, its queues, jobs and trackers, from one snapshot.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};

use crate::api::PolicyName;
use crate::engine::{ClusterSnapshot, JobSnapshot};
use crate::market::answer::short_host;
use crate::model::PerKind;

use super::cluster_view::ClusterView;
use super::owner::{Health, MarketPresence, Owner};
use super::response::{HTML, fresh, text};
use super::rows::Rows;
use super::start_page_rows::{JobRow, Part, PoolRow, QueueRow, TrackerRow};
use super::state::WebState;
use super::time_text::{format_duration, format_time};
use super::worker_health::WorkerHealth;

/// Answers `/`.
pub(super) async fn start_page<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let view = match ClusterView::of(&state).await {
        Ok(view) => view,
        Err(why) => return text(StatusCode::SERVICE_UNAVAILABLE, why),
    };
    let page = StartPage::new(&view, state.owner.health(), &state);
    match page.render() {
        Ok(html) => view.aged(fresh(StatusCode::OK, HTML, html)),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

/// The input of the template.
#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    host: &'a str,
    overview: &'a ClusterSnapshot,
    /// Its age, if it is not fresh.
    age: Option<String>,
    health: Health,
    is_market_ruling: bool,
    shows_money: bool,
    started: String,
    uptime: String,
    at: String,
    maps: Part,
    reduces: Part,
    waiting: PerKind<u64>,
    healthy_trackers: usize,
    worker_complaint: Option<String>,
    queues: Rows<QueueRow>,
    pools: Rows<PoolRow>,
    /// Whether `/scheduler` is a page for people.
    has_scheduler_page: bool,
    jobs: Rows<JobRow>,
    trackers: Rows<TrackerRow>,
}

// === impl StartPage ===

impl<'a> StartPage<'a> {
    fn new<O: Owner>(view: &'a ClusterView, health: Health, state: &'a WebState<O>) -> Self {
        let overview = &*view.overview;
        let is_market_ruling = state.owner.market_presence() == MarketPresence::Ruling;
        let (maps, reduces) = Part::pair(overview.running, overview.slots);
        let worker_health = WorkerHealth::of(overview);
        let pools = overview.report.groups.iter().filter_map(|group| Some((group, group.pool.as_ref()?)));
        StartPage {
            host: short_host(&state.host),
            overview,
            age: view.old.as_ref().map(|(age_s, _)| format_duration(age_s.saturating_mul(1_000))),
            health,
            is_market_ruling,
            shows_money: is_market_ruling && state.shows_money,
            started: format_time(overview.start_ms),
            uptime: format_duration(overview.at_ms.saturating_sub(overview.start_ms)),
            at: format_time(overview.at_ms),
            maps,
            reduces,
            waiting: overview.waiting,
            healthy_trackers: worker_health.healthy,
            worker_complaint: WorkerHealth::complaint_of(overview),
            queues: Rows::new(&overview.queues, QueueRow::new),
            pools: Rows::new(pools, |(group, pool)| PoolRow::new(group, pool)),
            has_scheduler_page: matches!(overview.report.policy, PolicyName::Capacity | PolicyName::Fair),
            jobs: Rows::new(&overview.jobs, |job: &JobSnapshot| JobRow::new(job, overview.at_ms))
                .of(overview.known_jobs),
            trackers: Rows::new(&overview.trackers, TrackerRow::new),
        }
    }
}
