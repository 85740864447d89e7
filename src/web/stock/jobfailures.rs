//! `/jobfailures.jsp`: the failed and killed attempts of a job. `/jobblacklistedtrackers.jsp`: the hosts that it avoids.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::model::{AttemptState, JobId, PerKind};

use super::super::owner::Owner;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::answer;
use super::data::{FailureFilter, StockAttempt, StockFailures};
use super::request::{PageAnswer, PageRequest};
use super::rows::{Logs, new_job_page, simple_host};

pub(super) async fn jobfailures<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let Some(id) = id else {
        return Ok(answer::heading("Hadoop failures", "/", "Missing 'jobid'!"));
    };
    let host = simple_host(&state.stock.host);
    let viewer = viewer(&state, &asked)?;
    let filter = filter_of(&asked);
    let wanted = filter.as_ref().copied().unwrap_or(FailureFilter { kinds: PerKind::default(), state: None });
    let read = found(state.owner.stock_failures(id, viewer, wanted), asked.user(), id).await?;
    Ok(match read {
        None => answer::bold("Hadoop failures", &new_job_page(id), &format!("Job {id} not found.")),
        Some(failures) => answer::page(StatusCode::OK, &FailuresPage::new(&failures, filter.err(), id, host)),
    })
}

/// Which failures are asked for, or in what words that is none.
fn filter_of(asked: &PageRequest) -> Result<FailureFilter, String> {
    let short = |text: &str| text.chars().take(40).collect::<String>();
    let kinds = match asked.get("kind") {
        Some("map") => PerKind::new(true, false),
        Some("reduce") => PerKind::new(false, true),
        Some("all") | None => PerKind::new(true, true),
        Some(other) => return Err(format!("Kind {} not supported.", short(other))),
    };
    let cause = asked.get("cause").map(str::to_uppercase);
    let state = match cause.as_deref() {
        None => None,
        Some("FAILED") => Some(AttemptState::Failed),
        Some("KILLED") => Some(AttemptState::Killed),
        Some("RUNNING" | "SUCCEEDED" | "UNASSIGNED" | "COMMIT_PENDING" | "FAILED_UNCLEAN" | "KILLED_UNCLEAN") => {
            let cause = asked.get("cause").unwrap_or_default();
            return Err(format!("Cause '{cause}' is not an 'unsuccessful' state."));
        }
        Some(_) => {
            return Err(format!("Cause '{}' not supported.", short(asked.get("cause").unwrap_or_default())));
        }
    };
    Ok(FailureFilter { kinds, state })
}

#[derive(Template)]
#[template(path = "stock/jobfailures.html")]
struct FailuresPage<'a> {
    new_page: String,
    id: JobId,
    host: &'a str,
    /// Why nothing is listed.
    refusal: Option<String>,
    rows: Vec<FailureCells<'a>>,
    is_cut: bool,
}

struct FailureCells<'a> {
    attempt: &'a StockAttempt,
    host: &'a str,
    logs: Option<Logs>,
}

impl<'a> FailuresPage<'a> {
    fn new(failures: &'a StockFailures, refusal: Option<String>, id: JobId, host: &'a str) -> Self {
        let rows = failures.attempts.iter().map(|attempt| FailureCells {
            attempt,
            host: attempt.tracker.host.as_deref().unwrap_or_default(),
            logs: Logs::of(attempt, &attempt.tracker, false),
        });
        FailuresPage { new_page: new_job_page(id), id, host, refusal, rows: rows.collect(), is_cut: failures.is_cut }
    }
}

pub(super) async fn jobblacklistedtrackers<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    request: Request,
) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let Some(id) = id else {
        let words = "Missing 'jobid' for fetching black-listed tasktrackers!";
        return Ok(answer::heading("Hadoop black-listed tasktrackers", "/", words));
    };
    let job = found(state.owner.stock_job(id, viewer(&state, &asked)?), asked.user(), id).await?;
    Ok(match job {
        None => answer::bold("Hadoop black-listed tasktrackers", &new_job_page(id), &format!("Job {id} not found.")),
        Some(job) => answer::page(StatusCode::OK, &Flaky { new_page: new_job_page(id), id, flaky: &job.flaky }),
    })
}

#[derive(Template)]
#[template(path = "stock/jobblacklistedtrackers.html")]
struct Flaky<'a> {
    new_page: String,
    id: JobId,
    flaky: &'a [(String, u32)],
}
