//! What a job that is not submitted would get: `POST /scheduler?whatif` asks the constraint scheduler whether it would accept it, signed `GET /scheduler/quote` what an order would buy.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use tokio::time::timeout;

use crate::api::WhatIfAnswer;
use crate::http::RequestPlace;
use crate::market::{Answer, Operation, ParsedQuery};

use super::deadline_question::{QuestionError, read_question};
use super::identify::viewer_of_page;
use super::owner::{Owner, OwnerGone};
use super::pages::{deadline_answer, is_of_browser};
use super::request_body::{form_fields, is_form, read_small};
use super::response::{JSON, fresh, json, json_refusal, with_allow};
use super::signed_request::{HttpRequest, answer_json, status_of_refusal, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

/// Largest body, bytes: sixteen short fields.
const MAX_BYTES: usize = 4 << 10;

/// Whether a query asks this; it may name who asks.
pub(super) fn is_what_if(query: &str) -> bool {
    let (asked, rest) = query.split_once('&').unwrap_or((query, "user.name="));
    matches!(asked, "whatif" | "whatif=") && rest.starts_with("user.name=")
}

/// Answers a question: a JSON object, or the fields of a form. A browser gets a page.
pub(super) async fn what_if<O: Owner>(
    state: &WebState<O>,
    request: &HttpRequest,
    body: Body,
    place: Option<&RequestPlace>,
) -> Response<Body> {
    if request.method != Method::POST {
        let message = format!("{} is not allowed here; POST the question", request.method);
        return with_allow(json_refusal(StatusCode::METHOD_NOT_ALLOWED, &message), "POST");
    }
    let asked = read_fields(&request.headers, body, place).await;
    let (fields, answered) = match asked {
        Ok(fields) => {
            let answered = answer(state, request, &fields).await;
            (fields, answered)
        }
        Err(refusal) => (BTreeMap::new(), Err(refusal)),
    };
    if is_of_browser(&request.headers) {
        return deadline_answer(state, request, &fields, answered).await;
    }
    match answered {
        Ok(answer) => fresh(StatusCode::OK, JSON, json(&answer)),
        Err((status, why)) => json_refusal(status, &why),
    }
}

async fn read_fields(
    headers: &HeaderMap,
    body: Body,
    place: Option<&RequestPlace>,
) -> Result<BTreeMap<String, String>, (StatusCode, String)> {
    let Some(bytes) = read_small(body, MAX_BYTES, place).await else {
        let why = format!("expected a whole question of at most {MAX_BYTES} bytes");
        return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
    };
    fields(headers, &bytes).map_err(malformed)
}

fn malformed(error: QuestionError) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, error.to_string())
}

/// The answer; else a status, and why there is none.
async fn answer<O: Owner>(
    state: &WebState<O>,
    request: &HttpRequest,
    fields: &BTreeMap<String, String>,
) -> Result<WhatIfAnswer, (StatusCode, String)> {
    let mut question = read_question(fields).map_err(malformed)?;
    // What jobs of a class have cost is a part of these jobs.
    if let Some(user) = fields.get("user").filter(|_| question.class.is_some())
        && !viewer_of_page(state, request).await.sees_parts_of(user)
    {
        question.class = None;
    }
    match timeout(ANSWER_TIMEOUT, state.owner.what_if(question)).await {
        Ok(Ok(Some(answer))) => Ok(answer),
        Ok(Ok(None)) => {
            let why = "deadlines are kept under the constraint scheduler only, which does not rule";
            Err((StatusCode::NOT_FOUND, why.to_owned()))
        }
        Ok(Err(gone)) => Err((StatusCode::SERVICE_UNAVAILABLE, gone.to_string())),
        Err(_) => Err((StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string())),
    }
}

fn fields(headers: &HeaderMap, bytes: &[u8]) -> Result<BTreeMap<String, String>, QuestionError> {
    if is_form(headers) {
        return form_fields(bytes).ok_or(QuestionError::NoForm);
    }
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(bytes).map_err(|error| QuestionError::NoObject(error.to_string()))?;
    let text = |(name, value): (String, serde_json::Value)| match value {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(text) => Ok(Some((name, text))),
        serde_json::Value::Number(number) => Ok(Some((name, number.to_string()))),
        other => Err(QuestionError::Field { name, value: other.to_string(), expected: "a number or a text" }),
    };
    object.into_iter().filter_map(|member| text(member).transpose()).collect()
}

/// Signed, because the answer shows the queue's bids and orders.
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
    let mut fields = form_fields(query.as_bytes()).ok_or_else(|| malformed(QuestionError::NoForm))?;
    for own in ["order", "queue", "timestamp"] {
        fields.remove(own);
    }
    // The jobs of a queue are those of the user of its name, also where an administrator signs.
    fields.insert("user".to_owned(), queue.to_string());
    let question = read_question(&fields).map_err(malformed)?;
    let gone = || (StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string());
    let answer = timeout(ANSWER_TIMEOUT, state.owner.quote_order(queue, max_rate, question)).await;
    match answer.map_err(|_| gone())?.map_err(|_| gone())? {
        Ok(quote) => Ok(json(&quote)),
        Err(refusal) => Err((status_of_refusal(refusal.class()), refusal.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_may_name_who_asks() {
        for query in ["whatif", "whatif=", "whatif&user.name=alice", "whatif=&user.name="] {
            assert!(is_what_if(query), "{query}");
        }
        for query in ["", "whatif&", "whatif&setSpending=1", "whatif=1", "user.name=alice&whatif", "whatifs"] {
            assert!(!is_what_if(query), "{query}");
        }
    }
}
