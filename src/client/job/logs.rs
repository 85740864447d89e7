//! Fetches logs of attempts from the trackers that ran them (1.2.1 `TaskLogServlet`).

use hyper::StatusCode;
use serde::Serialize;

use crate::client::http_request::{get, get_bytes};
use crate::model::{AttemptId, JobId};

use super::error::JobClientError;
use super::jobtracker::JobTrackerClient;
use super::view::AttemptLine;

/// The logs of each attempt.
pub const LOGS: [&str; 3] = ["stdout", "stderr", "syslog"];

/// The logs of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptLog {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its final status, in Hadoop's spelling.
    pub status: &'static str,
    /// Address of the tracker.
    pub tracker: String,
    /// Names and texts of non-empty logs.
    pub logs: Vec<(&'static str, String)>,
    /// Why the logs cannot be read, if those of other attempts can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The failed attempts of a job, or all ended ones.
///
/// # Errors
/// [`JobClientError`]
pub async fn list_ended_attempts(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    all: bool,
) -> Result<Vec<AttemptLine>, JobClientError> {
    let mut attempts = jobtracker.events(job, 0, u32::MAX).await?;
    attempts.retain(|event| all || event.has_failed());
    Ok(attempts)
}

/// An ended attempt.
///
/// # Errors
/// [`JobClientError::UnknownAttempt`] among others.
pub async fn attempt(jobtracker: &mut JobTrackerClient, attempt: AttemptId) -> Result<AttemptLine, JobClientError> {
    // An unknown job has no events; this call reports that it is unknown.
    jobtracker.job(attempt.task.job).await?;
    let events = jobtracker.events(attempt.task.job, 0, u32::MAX).await?;
    let last = events.into_iter().rev().find(|event| event.attempt == attempt);
    last.ok_or(JobClientError::UnknownAttempt(attempt))
}

/// Fetches the logs of an attempt.
///
/// # Errors
/// [`JobClientError::Log`]
pub async fn fetch(attempt: &AttemptLine, wanted: &[&'static str]) -> Result<AttemptLog, JobClientError> {
    let server = attempt.tracker.strip_prefix("http://").unwrap_or(&attempt.tracker);
    let mut logs = Vec::new();
    for log in wanted {
        let path = format!("/tasklog?attemptid={}&plaintext=true&filter={log}", attempt.attempt);
        let answer = get(server, &path, None).await;
        let answer = answer.map_err(|error| JobClientError::of_log(&error, attempt.attempt, server))?;
        match answer.status {
            StatusCode::OK if answer.body.is_empty() => {}
            StatusCode::OK => logs.push((*log, answer.body)),
            // Answers of a tracker without the log.
            StatusCode::GONE | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => {}
            status => {
                let reason = format!("status {status}");
                return Err(JobClientError::Log { attempt: attempt.attempt, tracker: server.to_owned(), reason });
            }
        }
    }
    let AttemptLine { attempt, status, tracker, .. } = attempt;
    Ok(AttemptLog { attempt: *attempt, status, tracker: tracker.clone(), logs, error: None })
}

/// Fetches the logs of several attempts. An unreachable tracker affects only its own logs.
///
/// # Errors
/// The first [`JobClientError::Log`], if no log can be read.
pub async fn fetch_all(attempts: &[AttemptLine], wanted: &[&'static str]) -> Result<Vec<AttemptLog>, JobClientError> {
    let mut all = Vec::with_capacity(attempts.len());
    let mut first_error = None;
    for attempt in attempts {
        match fetch(attempt, wanted).await {
            Ok(log) => all.push(log),
            Err(error) => {
                let AttemptLine { attempt, status, tracker, .. } = attempt;
                let (tracker, text) = (tracker.clone(), error.to_string());
                all.push(AttemptLog { attempt: *attempt, status, tracker, logs: Vec::new(), error: Some(text) });
                first_error = first_error.or(Some(error));
            }
        }
    }
    match first_error {
        Some(error) if all.iter().all(|log| log.error.is_some()) => Err(error),
        _ => Ok(all),
    }
}

/// The rest of a log from an offset on, also of an attempt that runs; empty if its worker has none.
///
/// # Errors
/// [`JobClientError::Log`]
pub async fn fetch_from(
    attempt: AttemptId,
    tracker: &str,
    log: &'static str,
    from_bytes: u64,
) -> Result<Vec<u8>, JobClientError> {
    let server = tracker.strip_prefix("http://").unwrap_or(tracker);
    let path = format!("/tasklog?attemptid={attempt}&plaintext=true&filter={log}&start={from_bytes}&end=-1");
    match get_bytes(server, &path).await.map_err(|error| JobClientError::of_log(&error, attempt, server))? {
        (StatusCode::OK, part) => Ok(part),
        // Answers of a tracker without the log.
        (StatusCode::GONE | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST, _) => Ok(Vec::new()),
        (status, _) => {
            let (tracker, reason) = (server.to_owned(), format!("status {status}"));
            Err(JobClientError::Log { attempt, tracker, reason })
        }
    }
}
