//! `/scheduler/history`: the price over time for everyone, and for who signs what a queue has paid; as JSON.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::time::timeout;

use super::response::json;
use super::signed::{Asked, answer_json};
use super::{LedgerUnreadable, Owner, WebState};
use crate::market::{Answer, HistoryPage, Operation, Shape};

/// Answers one request.
pub(super) async fn history<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let query = uri.query().unwrap_or_default().to_owned();
    let asked = Asked { method, uri, headers };
    answer_json(&state, asked, Shape::parse_history, |answer| read(&state, answer, &query)).await
}

async fn read<O: Owner>(state: &WebState<O>, answer: Answer, query: &str) -> Result<String, (StatusCode, String)> {
    let page = HistoryPage::parse(query).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let read = async {
        Ok::<_, LedgerUnreadable>(match &answer {
            Answer::Permitted(Operation::PriceHistory) => Some(json(&state.owner.price_history(page).await?)),
            Answer::Permitted(Operation::QueueHistory(queue)) => {
                state.owner.spending_history(queue.clone(), page).await?.map(|history| json(&history))
            }
            _ => None,
        })
    };
    let unavailable = |message: String| (StatusCode::SERVICE_UNAVAILABLE, message);
    let read = timeout(super::ANSWER_PATIENCE, read).await;
    let read = read.map_err(|_| unavailable("the history was not read in time".to_owned()))?;
    let found = read.map_err(|error| unavailable(error.to_string()))?;
    found.ok_or_else(|| (StatusCode::NOT_FOUND, "there is no such queue".to_owned()))
}
