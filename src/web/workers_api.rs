//! `/scheduler/workers`: GET lists the workers, POST drains or resumes one in the name of a user, who is believed where RPC
//! believes it. Signed changes are operations of `/scheduler`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};
use tokio::time::timeout;

use crate::market::Answer;

use super::owner::{ClusterPart, MarketPresence, Owner, OwnerGone};
use super::response::{JSON, fresh, json, json_refusal};
use super::signed_request::{HttpRequest, check_method};
use super::start_changes::{believed_fields, change_starts};
use super::state::{ANSWER_TIMEOUT, WebState};

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
    let (worker, is_on, user) = match read(request, state.owner.market_presence()) {
        Ok(wanted) => wanted,
        Err((status, message)) => return json_refusal(status, &message),
    };
    let shown = |answer| match answer {
        Answer::Worker { worker, is_draining, used } => {
            Some(serde_json::json!({ "worker": worker, "is_draining": is_draining, "used": used }))
        }
        _ => None,
    };
    change_starts(state, ClusterPart::Worker(worker), is_on, user, shown).await
}

fn read(request: &HttpRequest, market: MarketPresence) -> Result<(String, bool, String), (StatusCode, String)> {
    let bad = |message: &str| (StatusCode::BAD_REQUEST, message.to_owned());
    let (mut fields, user) = believed_fields(request, market)?;
    let (worker, is_on) = match (fields.remove("drain"), fields.remove("resume")) {
        (Some(worker), None) => (worker, true),
        (None, Some(worker)) => (worker, false),
        _ => return Err(bad("expected either drain=NAME or resume=NAME")),
    };
    match fields.keys().next() {
        Some(unknown) => Err(bad(&format!("{unknown:?} is not a parameter of a worker"))),
        None => Ok((worker, is_on, user)),
    }
}
