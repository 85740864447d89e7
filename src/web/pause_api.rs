//! `POST /scheduler/pause`: holds a job or releases it, pauses a queue or resumes it, in the name of a user, who is believed
//! where RPC believes it. Signed changes are operations of `/scheduler`, with the same parameters.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};

use crate::engine::PauseTarget;

use super::owner::{ClusterPart, MarketPresence, Owner};
use super::response::{json_refusal, with_allow};
use super::signed_request::HttpRequest;
use super::start_changes::{believed_fields, change_starts};
use super::state::WebState;

/// The parameters that name a target, and whether it is paused by that.
const PARAMETERS: [(&str, bool); 4] =
    [("holdJob", true), ("releaseJob", false), ("pauseQueue", true), ("resumeQueue", false)];

/// A change and who asks for it.
struct Wanted {
    target: PauseTarget,
    is_on: bool,
    user: String,
}

/// Handles `/scheduler/pause`.
pub(super) async fn pause<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    if request.method != Method::POST {
        let message = "a job is held and a queue is paused by POST, or by a signed request at /scheduler";
        return with_allow(json_refusal(StatusCode::METHOD_NOT_ALLOWED, message), "POST");
    }
    let Wanted { target, is_on, user } = match read(&request, state.owner.market_presence()) {
        Ok(wanted) => wanted,
        Err((status, message)) => return json_refusal(status, &message),
    };
    let body = match &target {
        PauseTarget::Job(job) => serde_json::json!({ "job": job, "is_held": is_on }),
        PauseTarget::Queue(queue) => serde_json::json!({ "queue": &**queue, "is_paused": is_on }),
    };
    change_starts(&state, ClusterPart::Work(target), is_on, user, |_| Some(body)).await
}

fn read(request: &HttpRequest, market: MarketPresence) -> Result<Wanted, (StatusCode, String)> {
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
        None => Ok(Wanted { target, is_on, user }),
    }
}
