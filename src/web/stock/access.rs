//! Who asks, and what a read of a job means for a page.

use axum::http::StatusCode;
use tokio::time::timeout;

use crate::engine::Caller;

use super::super::owner::{Owner, OwnerGone};
use super::super::response::text;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::answer;
use super::owner::StockRead;
use super::request::{EarlyAnswer, PageRequest};

/// What 1.2.1 says where only administrators may look, and no user is named.
const NO_USER: &str = "Unauthenticated users are not authorized to access this page.";

/// Numbers and configuration: for all, or for administrators; `user`: who asks, empty without a name.
pub(crate) async fn check_instrumentation<O: Owner>(state: &WebState<O>, user: &str) -> Result<(), EarlyAnswer> {
    refuse_others(state, state.stock.are_numbers_for_administrators, user).await
}

/// The log: for all, or for administrators.
pub(super) async fn check_administrators<O: Owner>(state: &WebState<O>, user: &str) -> Result<(), EarlyAnswer> {
    refuse_others(state, state.stock.is_authorization_on, user).await
}

async fn refuse_others<O: Owner>(
    state: &WebState<O>,
    is_for_administrators: bool,
    user: &str,
) -> Result<(), EarlyAnswer> {
    if !is_for_administrators {
        return Ok(());
    }
    if user.is_empty() {
        return Err(text(StatusCode::UNAUTHORIZED, NO_USER).into());
    }
    match timeout(ANSWER_TIMEOUT, state.owner.is_administrator(Caller::named(user))).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => {
            let refusal =
                format!("User {user} is unauthorized to access this page. Only superusers can access this page.");
            Err(text(StatusCode::UNAUTHORIZED, refusal).into())
        }
        Ok(Err(OwnerGone)) | Err(_) => Err(text(StatusCode::SERVICE_UNAVAILABLE, OwnerGone).into()),
    }
}

/// The viewer of a job's page; none while access lists are off: then all may see it.
pub(super) fn viewer<O: Owner>(state: &WebState<O>, asked: &PageRequest) -> Result<Option<Caller>, EarlyAnswer> {
    match (state.stock.are_acls_on, asked.user()) {
        (false, _) => Ok(None),
        (true, "") => Err(text(StatusCode::UNAUTHORIZED, "Null user").into()),
        (true, user) => Ok(Some(Caller::named(user))),
    }
}

/// What a read of a job found; none: the job is unknown.
pub(super) async fn found<T>(
    read: impl Future<Output = StockRead<T>>,
    user: &str,
    job: impl std::fmt::Display,
) -> Result<Option<T>, EarlyAnswer> {
    match timeout(ANSWER_TIMEOUT, read).await {
        Ok(Ok(Ok(found))) => Ok(found),
        Ok(Ok(Err(refusal))) => Err(answer::denied(user, &format!("view {job}"), &refusal).into()),
        Ok(Err(OwnerGone)) | Err(_) => Err(text(StatusCode::SERVICE_UNAVAILABLE, OwnerGone).into()),
    }
}
