//! `/scheduler/queues`: how queues stand at this moment, as JSON, signed as the document's requests are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};

use super::response::{JSON, fresh, json, json_refusal};
use super::signed::{Asked, ask};
use super::{Owner, WebState};
use crate::market::{Answer, Shape, Standings};

/// Answers one request.
pub(super) async fn standings<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    match ask(&state, Asked { method, uri, headers }, Shape::parse_standings, json_refusal).await {
        Err(refusal) => *refusal,
        Ok(Answer::Standings(queues)) => fresh(StatusCode::OK, JSON, json(&Standings { queues })),
        Ok(_) => json_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the market answers something else"),
    }
}
