//! Changes of what starts, in the name of a user who is believed: workers that drain, jobs that are held, queues that are paused.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use crate::engine::Caller;
use crate::market::Answer;

use super::believed_caller::{check_believable, take_user};
use super::form_body::form_fields;
use super::job_changes::status_of;
use super::owner::{ClusterPart, MarketPresence, Owner, OwnerGone};
use super::response::{JSON, fresh, json, json_refusal};
use super::signed_request::{HttpRequest, status_of_refusal};
use super::state::{ANSWER_TIMEOUT, WebState};

/// The parameters of a request whose user is believed, without that user, and the user.
pub(super) fn believed_fields(
    request: &HttpRequest,
    market: MarketPresence,
) -> Result<(BTreeMap<String, String>, String), (StatusCode, String)> {
    check_believable(request, market)?;
    let malformed = || "the query is not URL-encoded text with each parameter once".to_owned();
    let mut fields = form_fields(request.uri.query().unwrap_or_default().as_bytes())
        .ok_or_else(|| (StatusCode::BAD_REQUEST, malformed()))?;
    let user = take_user(&mut fields)?;
    Ok((fields, user))
}

/// Makes a change; what was changed is answered as `shown` has it, none: the engine has answered something else.
pub(super) async fn change_starts<O: Owner>(
    state: &WebState<O>,
    part: ClusterPart,
    is_on: bool,
    user: String,
    shown: impl FnOnce(Answer) -> Option<Value>,
) -> Response<Body> {
    let caller = Caller::named(Arc::from(user));
    let changed = match timeout(ANSWER_TIMEOUT, state.owner.change_starts(part, is_on, caller)).await {
        Err(_) => {
            let late = "no answer in time; the change may have been made";
            return json_refusal(StatusCode::SERVICE_UNAVAILABLE, late);
        }
        Ok(Err(OwnerGone)) => return json_refusal(StatusCode::SERVICE_UNAVAILABLE, &OwnerGone.to_string()),
        Ok(Ok(Err(refusal))) => return json_refusal(status_of(&refusal), &refusal.to_string()),
        Ok(Ok(Ok(Err(error)))) => return json_refusal(status_of_refusal(error.class()), &error.to_string()),
        Ok(Ok(Ok(Ok(answer)))) => shown(answer),
    };
    match changed {
        Some(body) => fresh(StatusCode::OK, JSON, json(&body)),
        None => json_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the server gave an unexpected answer"),
    }
}
