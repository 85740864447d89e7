//! `/scheduler`: the document's signed requests and their XML.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};

use super::response::{XML, fresh};
use super::signed::{Asked, ask};
use super::{Owner, WebState};
use crate::market::Shape;
use crate::market::answer::{render, render_error, short_host};

/// Answers one request.
pub(super) async fn scheduler<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let error = |status, message: &str| fresh(status, XML, render_error(message, short_host(&state.host)));
    match ask(&state, Asked { method, uri, headers }, Shape::parse, error).await {
        Ok(answer) => fresh(StatusCode::OK, XML, render(&answer, short_host(&state.host))),
        Err(refusal) => *refusal,
    }
}
