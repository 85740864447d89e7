//! `/logs/`: the end of the daemon's own log, where that is a file.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::log::end_of_log;

use super::super::identify::stranger;
use super::super::owner::{MarketPresence, Owner};
use super::super::response::{TEXT, fresh, text};
use super::super::state::WebState;
use super::access::check_administrators;
use super::request::{Asked, Refused};

/// As much of the log as is shown, bytes.
const SHOWN_BYTES: u64 = 1 << 20;
/// Said where there is no file.
const NO_FILE: &str =
    "the log of this daemon is no file that it may read; where systemd runs it, use `journalctl -u jobtracker`";

/// Said where the log may name amounts and rates that are private.
const PRIVATE: &str = "the log names what is private in this market; read it on this machine, or set jobtracker.market.visibility = public";

/// Answers `/logs/`.
pub(super) async fn logs<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    match answered(&state, request).await {
        Ok(response) | Err(response) => *response,
    }
}

async fn answered<O: Owner>(state: &WebState<O>, request: Request) -> Result<Refused, Refused> {
    let asked = Asked::of(request).await?;
    check_administrators(state, asked.user()).await?;
    if state.owner.market_presence() != MarketPresence::Absent && !stranger(state).sees_all_money() {
        return Err(Box::new(text(StatusCode::FORBIDDEN, PRIVATE)));
    }
    let end = tokio::task::spawn_blocking(|| end_of_log(SHOWN_BYTES)).await.ok().flatten();
    Ok(Box::new(match end {
        Some(end) => fresh(StatusCode::OK, TEXT, end),
        None => text(StatusCode::NOT_FOUND, NO_FILE),
    }))
}
