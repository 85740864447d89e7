//! `POST /scheduler/deadline`: changes the deadline of a job in the name of a user.
//!
//! The user is believed where RPC believes it, so a request that a page of another site could make is refused: it needs a
//! header that such a page cannot send.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};

use crate::engine::{Caller, DeadlineChange, deadline_change};
use crate::market::DeadlineFields;
use crate::model::JobId;

use super::job_changes::make_change;
use super::owner::{JobChange, MarketPresence, Owner};
use super::response::{JSON, fresh, json, json_refusal, with_allow};
use super::signed_request::HttpRequest;
use super::start_changes::believed_fields;
use super::state::WebState;

pub(super) async fn deadline<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let (job, change, user) = match read(&request, state.owner.market_presence()) {
        Ok(wanted) => wanted,
        Err((StatusCode::METHOD_NOT_ALLOWED, message)) => {
            return with_allow(json_refusal(StatusCode::METHOD_NOT_ALLOWED, &message), "POST");
        }
        Err((status, message)) => return json_refusal(status, &message),
    };
    let caller = Caller::named(Arc::from(user));
    match make_change(&state, job, JobChange::Deadline(change), caller).await {
        Err((status, message)) => json_refusal(status, &message),
        Ok(()) => fresh(StatusCode::OK, JSON, json(&serde_json::json!({ "job": job }))),
    }
}

fn read(
    request: &HttpRequest,
    market: MarketPresence,
) -> Result<(JobId, DeadlineChange, String), (StatusCode, String)> {
    if request.method != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "a deadline is changed by POST".to_owned()));
    }
    let bad = |message: String| (StatusCode::BAD_REQUEST, message);
    let (mut fields, user) = believed_fields(request, market)?;
    let mut take = |name: &str| fields.remove(name);
    let job = take("job").unwrap_or_default();
    let job = job.parse().map_err(|_| bad(format!("job: {job:?} is not the id of a job")))?;
    let is_cleared = take("clear").is_some();
    let due = take("deadline").unwrap_or_default();
    if is_cleared != due.is_empty() {
        return Err(bad("expected either deadline=DURATION|TIME or clear".to_owned()));
    }
    let mut text = |name: &str| take(name).unwrap_or_default();
    let given = DeadlineFields {
        due,
        map_time: text("mapTime"),
        reduce_time: text("reduceTime"),
        filter_ratio: text("filterRatio"),
    };
    if let Some(unknown) = fields.keys().next() {
        return Err(bad(format!("{unknown:?} is not a parameter of a deadline")));
    }
    let change = deadline_change(&given).map_err(|error| bad(error.replace("setDeadline", "deadline")))?;
    Ok((job, change, user))
}
