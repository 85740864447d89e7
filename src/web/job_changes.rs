//! Changes of jobs by the forms of a page: who may, and what the owner answers.

use axum::body::Body;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use tokio::time::timeout;

use crate::engine::{Caller, Refusal};
use crate::model::JobId;

use super::owner::{JobChange, Owner, OwnerGone};
use super::page_user::PageUser;
use super::response::{text, with_allow};
use super::same_site::is_from_own_page;
use super::signed_request::HttpRequest;
use super::state::{ANSWER_TIMEOUT, JobForms, WebState};

/// Changes a job in the name of the user who asks, or of none, and leads back to the page.
pub(super) async fn change_job<O: Owner>(
    state: &WebState<O>,
    request: &HttpRequest,
    job: &str,
    change: JobChange,
    page: &'static str,
) -> Response<Body> {
    if request.method == Method::HEAD {
        let refusal = text(StatusCode::METHOD_NOT_ALLOWED, "HEAD must not change anything; use POST");
        return with_allow(refusal, "GET, POST, OPTIONS");
    }
    let user = request.user.as_ref().map_or("", |PageUser(user)| user);
    if let Err(refusal) = check_form(state.job_forms, &request.headers, user) {
        return *refusal;
    }
    let Ok(id) = job.parse() else {
        return text(StatusCode::BAD_REQUEST, format_args!("jobid: {job:?} is not the id of a job"));
    };
    match make_change(state, id, change, Caller::named(user)).await {
        Err((status, why)) => text(status, why),
        Ok(()) => {
            let mut found = text(StatusCode::FOUND, page);
            found.headers_mut().insert(LOCATION, HeaderValue::from_static(page));
            found
        }
    }
}

/// Changes a job, or says why not.
pub(super) async fn make_change<O: Owner>(
    state: &WebState<O>,
    job: JobId,
    change: JobChange,
    caller: Caller,
) -> Result<(), (StatusCode, String)> {
    let made = in_time(state.owner.change_job(job, change, caller)).await?;
    made.map_err(|refusal| (status_of(&refusal), refusal.to_string()))
}

/// What the owner answers to a change, if it answers in time.
pub(super) async fn in_time<T>(made: impl Future<Output = Result<T, OwnerGone>>) -> Result<T, (StatusCode, String)> {
    let unavailable = |why: String| (StatusCode::SERVICE_UNAVAILABLE, why);
    let late = |_| unavailable("no answer in time; the change may have been made".to_owned());
    timeout(ANSWER_TIMEOUT, made).await.map_err(late)?.map_err(|gone| unavailable(gone.to_string()))
}

/// Refuses a form of a user, or of none, that may change no job: switched off, or one that a page of another site may have sent.
pub(super) fn check_form(job_forms: JobForms, headers: &HeaderMap, user: &str) -> Result<(), Box<Response<Body>>> {
    let (status, why) = match job_forms {
        JobForms::Off => (StatusCode::FORBIDDEN, "webinterface.private.actions is false: pages change nothing"),
        JobForms::ForNamed if user.is_empty() => {
            (StatusCode::UNAUTHORIZED, "Null user: mapred.acls.enabled is true, and the request names no user")
        }
        JobForms::Signed => (
            StatusCode::UNAUTHORIZED,
            "jobtracker.job-changes is signed: pages change nothing; use `jobtracker job` with your key",
        ),
        JobForms::ForAll | JobForms::ForNamed if !is_from_own_page(headers) => {
            (StatusCode::FORBIDDEN, "a page of another site must not change jobs here")
        }
        JobForms::ForAll | JobForms::ForNamed => return Ok(()),
    };
    Err(Box::new(text(status, why)))
}

pub(super) fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::AccessDenied(_) => StatusCode::FORBIDDEN,
        Refusal::SafeMode(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}
