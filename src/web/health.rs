//! `/healthz` for who restarts the daemon, `/readyz` for who sends it work.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};

use super::response::text;
use super::{Owner, WebState};

/// 200 while the owner's thread runs.
pub(super) async fn alive<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let health = state.owner.health();
    if health.is_alive { text(StatusCode::OK, "ok") } else { text(StatusCode::SERVICE_UNAVAILABLE, health.text) }
}

/// 200 while jobs can be submitted and run, else the reason why not.
pub(super) async fn ready<O: Owner>(State(state): State<Arc<WebState<O>>>) -> Response<Body> {
    let health = state.owner.health();
    let is_ready = health.is_alive && health.is_ready;
    text(if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, health.text)
}
