//! `/scheduler/statement`: the history of a queue as JSON, signed as the document's requests are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::time::timeout;

use super::response::json;
use super::signed::{Asked, answer_json, mismatch};
use super::{Owner, WebState};
use crate::market::{Answer, Shape, StatementPage};

/// Answers one request: the market says who may see which queue, the ledger is read beside it.
pub(super) async fn statement<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let query = uri.query().unwrap_or_default().to_owned();
    let asked = Asked { method, uri, headers };
    answer_json(&state, asked, Shape::parse_statement, |answer| read(&state, answer, &query)).await
}

async fn read<O: Owner>(state: &WebState<O>, answer: Answer, query: &str) -> Result<String, (StatusCode, String)> {
    let Answer::Statement(queue) = answer else {
        return Err(mismatch());
    };
    let page = StatementPage::parse(query).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let unavailable = |message: String| (StatusCode::SERVICE_UNAVAILABLE, message);
    let read = timeout(super::ANSWER_PATIENCE, state.owner.statement(queue.clone(), page)).await;
    let read = read.map_err(|_| unavailable("the ledger was not read in time".to_owned()))?;
    let found = read.map_err(|error| unavailable(error.to_string()))?;
    found.map(|statement| json(&statement)).ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no queue {queue}")))
}
