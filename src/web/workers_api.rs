//! `/scheduler/workers`: GET lists the workers, POST drains or resumes one in the name of a user, who is believed where RPC
//! believes it. Signed changes are operations of `/scheduler`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};
use tokio::time::timeout;

use crate::engine::Caller;
use crate::market::Answer;

use super::believed_caller::{check_believable, take_user};
use super::form_body::form_fields;
use super::job_changes::status_of;
use super::owner::{ClusterPart, MarketPresence, Owner, OwnerGone};
use super::response::{JSON, fresh, json, json_refusal};
use super::signed_request::{HttpRequest, check_method, status_of_refusal};
use super::state::{ANSWER_TIMEOUT, WebState};

/// A change and who asks for it.
struct Wanted {
    worker: String,
    is_on: bool,
    user: String,
}

/// Handles `/scheduler/workers`.
pub(super) async fn workers<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    if request.method == Method::POST {
        return change(&state, &request).await;
    }
    if let Err(refusal) = check_method(&request.method, json_refusal) {
        return *refusal;
    }
    if request.uri.query().is_some_and(|query| !query.is_empty()) {
        let message = "a worker is changed by POST, or by a signed drain=NAME or resume=NAME at /scheduler";
        return json_refusal(StatusCode::BAD_REQUEST, message);
    }
    match timeout(ANSWER_TIMEOUT, state.owner.workers()).await {
        Ok(Ok(workers)) => fresh(StatusCode::OK, JSON, json(&workers)),
        Ok(Err(_)) | Err(_) => json_refusal(StatusCode::SERVICE_UNAVAILABLE, &OwnerGone.to_string()),
    }
}

async fn change<O: Owner>(state: &WebState<O>, request: &HttpRequest) -> Response<Body> {
    let Wanted { worker, is_on, user } = match read(request, state.owner.market_presence()) {
        Ok(wanted) => wanted,
        Err((status, message)) => return json_refusal(status, &message),
    };
    let caller = Caller::named(Arc::from(user));
    match timeout(ANSWER_TIMEOUT, state.owner.change_starts(ClusterPart::Worker(worker), is_on, caller)).await {
        Err(_) => json_refusal(StatusCode::SERVICE_UNAVAILABLE, "no answer in time; the change may have been made"),
        Ok(Err(OwnerGone)) => json_refusal(StatusCode::SERVICE_UNAVAILABLE, &OwnerGone.to_string()),
        Ok(Ok(Err(refusal))) => json_refusal(status_of(&refusal), &refusal.to_string()),
        Ok(Ok(Ok(Err(error)))) => json_refusal(status_of_refusal(error.class()), &error.to_string()),
        Ok(Ok(Ok(Ok(Answer::Worker { worker, is_draining, used })))) => {
            let body = serde_json::json!({ "worker": worker, "is_draining": is_draining, "used": used });
            fresh(StatusCode::OK, JSON, json(&body))
        }
        Ok(Ok(Ok(Ok(_)))) => json_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the server gave an unexpected answer"),
    }
}

fn read(request: &HttpRequest, market: MarketPresence) -> Result<Wanted, (StatusCode, String)> {
    check_believable(request, market)?;
    let bad = |message: &str| (StatusCode::BAD_REQUEST, message.to_owned());
    let mut fields = form_fields(request.uri.query().unwrap_or_default().as_bytes())
        .ok_or_else(|| bad("the query is not URL-encoded text with each parameter once"))?;
    let user = take_user(&mut fields)?;
    let (worker, is_on) = match (fields.remove("drain"), fields.remove("resume")) {
        (Some(worker), None) => (worker, true),
        (None, Some(worker)) => (worker, false),
        _ => return Err(bad("expected either drain=NAME or resume=NAME")),
    };
    match fields.keys().next() {
        Some(unknown) => Err(bad(&format!("{unknown:?} is not a parameter of a worker"))),
        None => Ok(Wanted { worker, is_on, user }),
    }
}
