//! `POST /scheduler/deadline`: changes the deadline of a job in the name of a user.
//!
//! The user is believed where RPC believes it, so a request that a page of another site could make is refused: it needs a
//! header that such a page cannot send.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};
use tokio::time::timeout;

use crate::engine::{Caller, DeadlineChange, DeadlineFields};
use crate::model::JobId;

use super::believed_caller::{check_believable, take_user};
use super::job_changes::status_of;
use super::owner::{JobChange, MarketPresence, Owner, OwnerGone};
use super::request_body::form_fields;
use super::response::{JSON, fresh, json, json_refusal, with_allow};
use super::signed_request::HttpRequest;
use super::state::{ANSWER_TIMEOUT, WebState};

struct AskedDeadline {
    job: JobId,
    change: DeadlineChange,
    user: String,
}

pub(super) async fn deadline<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    let wanted = match read(&request, state.owner.market_presence()) {
        Ok(wanted) => wanted,
        Err((StatusCode::METHOD_NOT_ALLOWED, message)) => {
            return with_allow(json_refusal(StatusCode::METHOD_NOT_ALLOWED, &message), "POST");
        }
        Err((status, message)) => return json_refusal(status, &message),
    };
    let AskedDeadline { job, change, user } = wanted;
    let caller = Caller::named(Arc::from(user));
    match timeout(ANSWER_TIMEOUT, state.owner.change_job(job, JobChange::Deadline(change), caller)).await {
        Err(_) => json_refusal(StatusCode::SERVICE_UNAVAILABLE, "no answer in time; the change may have been made"),
        Ok(Err(OwnerGone)) => json_refusal(StatusCode::SERVICE_UNAVAILABLE, &OwnerGone.to_string()),
        Ok(Ok(Err(refusal))) => json_refusal(status_of(&refusal), &refusal.to_string()),
        Ok(Ok(Ok(()))) => fresh(StatusCode::OK, JSON, json(&serde_json::json!({ "job": job }))),
    }
}

fn read(request: &HttpRequest, market: MarketPresence) -> Result<AskedDeadline, (StatusCode, String)> {
    if request.method != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "a deadline is changed by POST".to_owned()));
    }
    check_believable(request, market)?;
    let bad = |message: String| (StatusCode::BAD_REQUEST, message);
    let query = request.uri.query().unwrap_or_default();
    let mut fields = form_fields(query.as_bytes())
        .ok_or_else(|| bad("the query is not URL-encoded text with each parameter once".to_owned()))?;
    let user = take_user(&mut fields)?;
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
    let change = given.change().map_err(|error| bad(error.replace("setDeadline", "deadline")))?;
    Ok(AskedDeadline { job, change, user })
}
