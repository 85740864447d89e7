//! `GET /scheduler/quote`: what a deadline order would buy for a job that is not submitted. Signed, because the answer
//! shows the queue's bids and orders.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use tokio::time::timeout;

use crate::market::{Answer, Operation, ParsedQuery};

use super::deadline_question::{QuestionError, read_question};
use super::owner::{Owner, OwnerGone};
use super::request_body::form_fields;
use super::response::json;
use super::signed_request::{HttpRequest, answer_json, status_of_refusal, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

pub(super) async fn order_quote<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    request: HttpRequest,
) -> Response<Body> {
    let query = request.uri.query().unwrap_or_default().to_owned();
    let read = |answer| read_quote(&state, answer, &query);
    answer_json(&state, request, ParsedQuery::parse_order_quote, read).await
}

async fn read_quote<O: Owner>(
    state: &WebState<O>,
    answer: Answer,
    query: &str,
) -> Result<String, (StatusCode, String)> {
    let Answer::Permitted(Operation::OrderQuote { queue, max_rate }) = answer else {
        return Err(unexpected_answer());
    };
    let bad = |error: QuestionError| (StatusCode::BAD_REQUEST, error.to_string());
    let mut fields = form_fields(query.as_bytes()).ok_or_else(|| bad(QuestionError::NoForm))?;
    for own in ["order", "queue", "timestamp"] {
        fields.remove(own);
    }
    // The jobs of a queue are those of the user of its name, also where an administrator signs.
    fields.insert("user".to_owned(), queue.to_string());
    let question = read_question(&fields).map_err(bad)?;
    let gone = || (StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string());
    let answer = timeout(ANSWER_TIMEOUT, state.owner.quote_order(queue, max_rate, question)).await;
    match answer.map_err(|_| gone())?.map_err(|_| gone())? {
        Ok(quote) => Ok(json(&quote)),
        Err(refusal) => Err((status_of_refusal(refusal.class()), refusal.to_string())),
    }
}
