//! The routes: which handler answers which path, and the handlers of health and style.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::routing::{any, get};
use tokio::time::timeout;

use crate::http::require_served_name;

use super::cluster_view::views_complaint;
use super::daemon_status::daemon_status;
use super::log_ticket::log_ticket;
use super::owner::{HEALTHY, Owner};
use super::state::WebState;
use super::what_if::order_quote;
use super::work_metrics::{RequestTimes, count_request};
use super::worker_health::WorkerHealth;
use super::{
    api, applications, believed_caller, deadline_api, metrics, page_login, pages, read_api, report, response,
    scheduler_api, sign_in, start_changes, stock, tasks_api, upload, workers_api,
};

/// `/readyz` waits this long for what is known of the workers.
const WORKERS_TIMEOUT: Duration = Duration::from_secs(2);

/// Answered under any host name: health checks may use the address of a proxy.
const ANY_NAME: &[&str] = &["/healthz"];

/// All paths. They are exact: a trailing slash makes another path.
pub(super) fn routes<O: Owner>(state: Arc<WebState<O>>) -> Router {
    let names = state.names.clone();
    let router = Router::new()
        .route("/metrics", get(metrics::metrics::<O>))
        .route("/healthz", get(healthz::<O>))
        .route("/readyz", get(readyz::<O>))
        .merge(pages::routes::<O>())
        .merge(api::routes(&state));
    let router = match state.owner.is_live() {
        true => router.merge(live_routes::<O>()).merge(pages::live_routes::<O>()),
        false => router,
    };
    let applications = if state.owner.is_live() { applications::routes(&state) } else { Router::new() };
    let router = router
        .layer(from_fn_with_state(state.clone(), page_login::identify_page_user::<O>))
        .layer(from_fn_with_state(state.clone(), believed_caller::check_names::<O>))
        .merge(applications)
        .fallback(pages::no_such_page::<O>)
        .with_state(state);
    require_served_name(router, names, ANY_NAME)
        .layer(from_fn(applications::refuse_names_by_problems))
        .layer(map_response(async |answer| response::guarded(answer)))
        .layer(from_fn_with_state(RequestTimes::default(), count_request))
}

/// What asks a JobTracker that runs, or changes something.
fn live_routes<O: Owner>() -> Router<Arc<WebState<O>>> {
    Router::new()
        .route("/scheduler", any(scheduler_api::scheduler::<O>))
        .route("/scheduler/deadline", any(deadline_api::deadline::<O>))
        .route("/scheduler/explain", any(scheduler_api::explain::<O>))
        .route("/scheduler/logticket", any(log_ticket::<O>))
        .route("/scheduler/quote", any(order_quote::<O>))
        .route("/scheduler/history", any(scheduler_api::history::<O>))
        .route("/scheduler/pause", any(start_changes::pause::<O>))
        .route("/scheduler/queues", any(scheduler_api::queue_status::<O>))
        .route("/scheduler/read", any(read_api::read::<O>))
        .route("/scheduler/jobs", any(tasks_api::job_times::<O>))
        .route("/scheduler/tasks", any(tasks_api::tasks::<O>))
        .route("/scheduler/workers", any(workers_api::workers::<O>))
        .route("/scheduler/report", any(report::report::<O>))
        .route("/scheduler/statement", any(scheduler_api::statement::<O>))
        .route("/session", any(sign_in::begin::<O>))
        .route("/session/end", any(sign_in::end::<O>))
        .route("/status", get(daemon_status::<O>))
        .route("/scheduler/upload", any(upload::upload::<O>))
        .route("/jobfile", get(upload::job_file::<O>))
        .merge(stock::routes::<O>())
}

/// 200 while the owner's thread runs; for supervisors that restart the daemon.
async fn healthz<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let health = state.owner.health();
    match health.is_alive {
        true => response::text(StatusCode::OK, "ok"),
        false => response::text(StatusCode::SERVICE_UNAVAILABLE, health.text),
    }
}

/// 200 while jobs can be submitted and run, else the reason; for load balancers.
async fn readyz<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let health = state.owner.health();
    if !(health.is_alive && health.is_ready) {
        return response::text(StatusCode::SERVICE_UNAVAILABLE, health.text);
    }
    // Graver complaints come first; an owner that is late must not make a load balancer wait.
    let workers = match health.text == HEALTHY {
        true => timeout(WORKERS_TIMEOUT, state.owner.overview()).await,
        false => return response::text(StatusCode::OK, health.text),
    };
    let complaint = workers.ok().and_then(Result::ok).and_then(|overview| {
        WorkerHealth::complaint_of(&overview).or_else(|| views_complaint(&state.owner.health(), &overview))
    });
    let text = complaint.map_or(health.text, |complaint| format!("{HEALTHY}, but {complaint}"));
    response::text(StatusCode::OK, text)
}
