//! Which path is answered by whom.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{Response, StatusCode, Uri};
use axum::middleware::map_response;
use axum::response::IntoResponse;
use axum::routing::{any, get};

use super::{
    Owner, WebState, explain, health, history, metrics, response, scheduler, standings, start_page, statement,
};
use crate::http::require_served_name;

/// The style of all pages, part of the binary.
const STYLE: &str = include_str!("../../static/jobtracker.css");

/// Answered under any name: who asks whether the daemon lives may know it by an address of a proxy.
const ANY_NAME: &[&str] = &["/healthz"];

/// All paths. They are exact: no trailing slash is passed over.
pub(super) fn routes<O: Owner>(state: Arc<WebState<O>>) -> Router {
    let names = state.names.clone();
    let router = Router::new()
        .route("/", get(start_page::start_page::<O>))
        // Bookmarks and scripts know the page by its old name.
        .route("/jobtracker.jsp", get(start_page::start_page::<O>))
        .route("/scheduler", any(scheduler::scheduler::<O>))
        .route("/scheduler/explain", any(explain::explain::<O>))
        .route("/scheduler/history", any(history::history::<O>))
        .route("/scheduler/queues", any(standings::standings::<O>))
        .route("/scheduler/statement", any(statement::statement::<O>))
        .route("/metrics", get(metrics::metrics::<O>))
        .route("/healthz", get(health::alive::<O>))
        .route("/readyz", get(health::ready::<O>))
        .route("/static/jobtracker.css", get(style))
        .fallback(unknown_path)
        .with_state(state);
    require_served_name(router, names, ANY_NAME).layer(map_response(async |answer| response::guarded(answer)))
}

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "max-age=300")], STYLE)
}

async fn unknown_path(uri: Uri) -> Response<Body> {
    response::text(StatusCode::NOT_FOUND, format_args!("There is nothing at {}", uri.path()))
}
