//! Changes of jobs and attempts by the forms of these pages: by POST alone, from the page itself, and only where they are
//! switched on (`webinterface.private.actions`) and need no signature.

use askama::Template;
use axum::body::Body;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, Response, StatusCode};

use crate::engine::Caller;
use crate::model::{AttemptId, JobId};

use super::super::job_changes::{check_form, make_change};
use super::super::owner::{JobChange, MarketPresence, Owner};
use super::super::response::text;
use super::super::state::WebState;
use super::request::{EarlyAnswer, PageRequest};

const MOST_JOBS: usize = 1_000;

/// Changes that a request may make.
pub(super) struct Changes<'a, O> {
    state: &'a WebState<O>,
    caller: Caller,
}

impl<'a, O: Owner> Changes<'a, O> {
    pub(super) fn of(state: &'a WebState<O>, asked: &PageRequest) -> Result<Self, EarlyAnswer> {
        if state.owner.market_presence() == MarketPresence::Ruling {
            let refusal = "while the market rules pages change nothing; use `jobtracker job` with your key";
            return Err(text(StatusCode::UNAUTHORIZED, refusal).into());
        }
        check_form(state.job_forms, asked.headers(), asked.user())?;
        Ok(Self { state, caller: Caller::named(asked.user()) })
    }

    /// Changes a job.
    pub(super) async fn make(&self, id: JobId, change: JobChange) -> Result<(), EarlyAnswer> {
        let made = make_change(self.state, id, change, self.caller.clone()).await;
        made.map_err(|(status, why)| text(status, why).into())
    }

    /// Changes several jobs in the same way; one that refuses keeps none of the others from it, as in 1.2.1.
    /// Ids that are none change nothing; else the first refusal of a job is answered.
    pub(super) async fn make_all(&self, jobs: &[&str], change: &JobChange) -> Result<(), EarlyAnswer> {
        if jobs.len() > MOST_JOBS {
            let refusal = format!("jobCheckBox: {} jobs, at most {MOST_JOBS} are changed at once", jobs.len());
            return Err(text(StatusCode::BAD_REQUEST, refusal).into());
        }
        let parsed = jobs.iter().map(|job| job.parse::<JobId>());
        let ids = parsed.collect::<Result<Vec<_>, _>>();
        let ids = ids.map_err(|error| text(StatusCode::BAD_REQUEST, format_args!("jobCheckBox: {error}")))?;
        let mut refused = None;
        for id in ids {
            match self.make(id, change.clone()).await {
                Ok(()) => {}
                // Nor would the next be answered.
                Err(refusal) if refusal.0.status() == StatusCode::SERVICE_UNAVAILABLE => return Err(refusal),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

/// Leads to a page of ours after a change.
pub(super) fn go_back(page: &str) -> Response<Body> {
    let mut found = text(StatusCode::FOUND, page);
    if let Ok(page) = HeaderValue::from_str(page) {
        found.headers_mut().insert(LOCATION, page);
    }
    found
}

#[derive(Template)]
#[template(path = "stock/confirm.html")]
pub(super) struct Confirm {
    verb: &'static str,
    id: String,
    address: String,
    action: String,
    /// Of the button.
    name: &'static str,
    label: &'static str,
}

impl Confirm {
    pub(super) fn kill_job(id: JobId) -> Self {
        Confirm {
            verb: "kill",
            id: id.to_string(),
            address: format!("jobdetails.jsp?jobid={id}"),
            action: "kill".to_owned(),
            name: "kill",
            label: "Kill",
        }
    }

    /// Whether an attempt is to be killed, or to fail.
    pub(super) fn end_attempt(id: AttemptId, action: &str) -> Self {
        Confirm {
            verb: "kill/fail",
            id: id.to_string(),
            address: format!("taskdetails.jsp?attemptid={id}"),
            action: action.to_owned(),
            name: "Kill/Fail",
            label: "Kill/Fail",
        }
    }
}
