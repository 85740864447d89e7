//! Who asks, and what a read of a job means for a page.

use axum::http::StatusCode;
use tokio::time::timeout;

use crate::engine::Caller;

use super::super::owner::{Owner, OwnerGone};
use super::super::response::text;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::answer;
use super::owner::StockRead;
use super::request::Refused;

/// What 1.2.1 says where only administrators may look, and no user is named.
const NO_USER: &str = "Unauthenticated users are not authorized to access this page.";

/// Numbers and configuration: for all, or for administrators.
///
/// # Errors
/// 401 where they are for administrators: a request names no user.
pub fn check_instrumentation<O: Owner>(state: &WebState<O>) -> Result<(), Refused> {
    refuse_if(state.stock.are_numbers_for_administrators)
}

/// The log: for all, or for administrators.
///
/// # Errors
/// As [`check_instrumentation`].
pub(super) fn check_administrators<O: Owner>(state: &WebState<O>) -> Result<(), Refused> {
    refuse_if(state.stock.is_authorization_on)
}

fn refuse_if(is_for_administrators: bool) -> Result<(), Refused> {
    if is_for_administrators { Err(Box::new(text(StatusCode::UNAUTHORIZED, NO_USER))) } else { Ok(()) }
}

/// The viewer of a job's page; none while access lists are off: then all may see it.
///
/// # Errors
/// 401 to a request that names no user, while they are on.
pub(super) fn viewer<O: Owner>(state: &WebState<O>) -> Result<Option<Caller>, Refused> {
    match state.stock.are_acls_on {
        false => Ok(None),
        true => Err(Box::new(text(StatusCode::UNAUTHORIZED, "Null user"))),
    }
}

/// What a read of a job found; none: the job is unknown.
///
/// # Errors
/// What to answer to a viewer that access lists keep out, and when no answer comes.
pub(super) async fn found<T>(
    read: impl Future<Output = StockRead<T>>,
    user: &str,
    job: impl std::fmt::Display,
) -> Result<Option<T>, Refused> {
    match timeout(ANSWER_TIMEOUT, read).await {
        Ok(Ok(Ok(found))) => Ok(found),
        Ok(Ok(Err(refusal))) => Err(Box::new(answer::denied(user, &format!("view {job}"), &refusal))),
        Ok(Err(OwnerGone)) | Err(_) => Err(Box::new(text(StatusCode::SERVICE_UNAVAILABLE, OwnerGone))),
    }
}
