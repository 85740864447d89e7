//! Changes of what starts, in the name of a user who is believed: workers that drain, jobs that are held, queues that are paused.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};
use serde_json::Value;

use crate::engine::{Caller, PauseTarget};
use crate::market::Answer;

use super::believed_caller::{check_believable, take_user};
use super::job_changes::{in_time, status_of};
use super::owner::{ClusterPart, MarketPresence, Owner};
use super::request_body::form_fields;
use super::response::{JSON, fresh, json, json_refusal, with_allow};
use super::signed_request::{HttpRequest, status_of_refusal};
use super::state::WebState;

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
    let changed = match in_time(state.owner.change_starts(part, is_on, caller)).await {
        Err((status, message)) => return json_refusal(status, &message),
        Ok(Err(refusal)) => return json_refusal(status_of(&refusal), &refusal.to_string()),
        Ok(Ok(Err(error))) => return json_refusal(status_of_refusal(error.class()), &error.to_string()),
        Ok(Ok(Ok(answer))) => shown(answer),
    };
    match changed {
        Some(body) => fresh(StatusCode::OK, JSON, json(&body)),
        None => json_refusal(StatusCode::INTERNAL_SERVER_ERROR, "the server gave an unexpected answer"),
    }
}

/// The parameters that name a target, and whether it is paused by that.
const PARAMETERS: [(&str, bool); 4] =
    [("holdJob", true), ("releaseJob", false), ("pauseQueue", true), ("resumeQueue", false)];

pub(super) async fn pause<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    if request.method != Method::POST {
        let message = "a job is held and a queue is paused by POST, or by a signed request at /scheduler";
        return with_allow(json_refusal(StatusCode::METHOD_NOT_ALLOWED, message), "POST");
    }
    let (target, is_on, user) = match read(&request, state.owner.market_presence()) {
        Ok(wanted) => wanted,
        Err((status, message)) => return json_refusal(status, &message),
    };
    let body = match &target {
        PauseTarget::Job(job) => serde_json::json!({ "job": job, "is_held": is_on }),
        PauseTarget::Queue(queue) => serde_json::json!({ "queue": &**queue, "is_paused": is_on }),
    };
    change_starts(&state, ClusterPart::Work(target), is_on, user, |_| Some(body)).await
}

fn read(request: &HttpRequest, market: MarketPresence) -> Result<(PauseTarget, bool, String), (StatusCode, String)> {
    let bad = |message: String| (StatusCode::BAD_REQUEST, message);
    let (mut fields, user) = believed_fields(request, market)?;
    let mut named = PARAMETERS.into_iter().filter_map(|(name, is_on)| Some((name, is_on, fields.remove(name)?)));
    let expected = || bad("expected one of holdJob, releaseJob, pauseQueue, resumeQueue".to_owned());
    let (name, is_on, value) = named.next().ok_or_else(expected)?;
    let target = match name {
        "holdJob" | "releaseJob" => {
            let job = value.parse().map_err(|_| bad(format!("{name}: {value:?} is not the id of a job")))?;
            PauseTarget::Job(job)
        }
        _ => PauseTarget::Queue(value.into()),
    };
    match fields.keys().next() {
        Some(unknown) => Err(bad(format!("{unknown:?} is not a parameter of this change"))),
        None => Ok((target, is_on, user)),
    }
}
