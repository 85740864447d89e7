//! `/scheduler/queues`: how queues stand at this moment, as JSON, signed as the document's requests are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};

use super::response::json;
use super::signed::{Asked, answer_json, mismatch};
use super::{Owner, WebState};
use crate::market::{Answer, Shape, Standings};

/// Answers one request.
pub(super) async fn standings<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let read = async |answer| match answer {
        Answer::Standings(queues) => Ok(json(&Standings { queues })),
        _ => Err(mismatch()),
    };
    answer_json(&state, Asked { method, uri, headers }, Shape::parse_standings, read).await
}
