//! `/scheduler/logticket`: a ticket that opens the logs of an attempt at its worker, for who may see the job.
//!
//! Signed, or in the name of a user where names are believed.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};
use tokio::time::timeout;

use crate::engine::Refusal;
use crate::market::{Answer, JobRequest, Operation, ParsedQuery};
use crate::model::AttemptId;

use super::believed_caller::{check_believable, take_user};
use super::owner::{MarketPresence, Owner, OwnerGone};
use super::request_body::form_fields;
use super::response::{JSON, fresh, json, json_refusal, with_allow};
use super::signed_request::{HttpRequest, answer_json, unexpected_answer};
use super::state::{ANSWER_TIMEOUT, WebState};

/// Handles `/scheduler/logticket`.
pub(super) async fn log_ticket<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    request: HttpRequest,
) -> Response<Body> {
    let query = request.uri.query().unwrap_or_default();
    let fields = form_fields(query.as_bytes()).unwrap_or_default();
    if !fields.contains_key("user.name") {
        let read = async |answer| match answer {
            Answer::Permitted(Operation::OfJob(JobRequest::LogTicket(attempt))) => made(&state, attempt).await,
            _ => Err(unexpected_answer()),
        };
        return answer_json(&state, request, ParsedQuery::parse_log_ticket, read).await;
    }
    let wanted = read_believed(&request, fields, state.owner.market_presence());
    let answer = match wanted {
        Ok((attempt, user)) => believed(&state, attempt, user.into()).await,
        Err(refusal) => Err(refusal),
    };
    match answer {
        Ok(ticket) => fresh(StatusCode::OK, JSON, ticket),
        Err((status @ StatusCode::METHOD_NOT_ALLOWED, message)) => with_allow(json_refusal(status, &message), "POST"),
        Err((status, message)) => json_refusal(status, &message),
    }
}

fn read_believed(
    request: &HttpRequest,
    mut fields: BTreeMap<String, String>,
    market: MarketPresence,
) -> Result<(AttemptId, String), (StatusCode, String)> {
    if request.method != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "an unsigned request for a ticket is sent by POST".to_owned()));
    }
    check_believable(request, market)?;
    let user = take_user(&mut fields)?;
    let attempt = fields.remove("attempt").unwrap_or_default();
    let bad = |message| (StatusCode::BAD_REQUEST, message);
    if let Some(unknown) = fields.keys().next() {
        return Err(bad(format!("{unknown:?} is not a parameter of a ticket")));
    }
    let id = attempt.parse().map_err(|_| bad(format!("attempt: {attempt:?} is not the id of an attempt")))?;
    Ok((id, user))
}

async fn believed<O: Owner>(
    state: &WebState<O>,
    attempt: AttemptId,
    user: Arc<str>,
) -> Result<String, (StatusCode, String)> {
    let gone = || (StatusCode::SERVICE_UNAVAILABLE, OwnerGone.to_string());
    match timeout(ANSWER_TIMEOUT, state.owner.check_view_logs(attempt, user)).await {
        Err(_) | Ok(Err(OwnerGone)) => Err(gone()),
        Ok(Ok(Err(Refusal::AccessDenied(text)))) => Err((StatusCode::FORBIDDEN, text)),
        Ok(Ok(Err(unknown))) => Err((StatusCode::NOT_FOUND, unknown.to_string())),
        Ok(Ok(Ok(()))) => made(state, attempt).await,
    }
}

/// The ticket, for a caller who may have it.
async fn made<O: Owner>(state: &WebState<O>, attempt: AttemptId) -> Result<String, (StatusCode, String)> {
    match state.owner.log_ticket(attempt).await {
        Ok(Some(ticket)) => Ok(json(&ticket)),
        Ok(None) => {
            let message = format!("there is no key for the logs of {attempt}: its job ended under an older jobtracker");
            Err((StatusCode::NOT_FOUND, message))
        }
        Err(error) => Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}
