//! Fetches logs of attempts from the trackers that ran them (1.2.1 `TaskLogServlet`).

use hyper::StatusCode;
use serde::Serialize;

use crate::api::LogTicket;
use crate::client::http_request::get_bytes;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::model::{AttemptId, JobId};

use super::error::JobClientError;
use super::jobtracker::JobTrackerClient;
use super::view::JobEvent;

/// The logs of each attempt.
pub(crate) const LOGS: [&str; 3] = ["stdout", "stderr", "syslog"];

/// The logs of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AttemptLog {
    pub(crate) attempt: AttemptId,
    /// Its final status, in Hadoop's spelling.
    pub(crate) status: &'static str,
    pub(crate) tracker: String,
    /// Names and texts of non-empty logs.
    pub(crate) logs: Vec<(&'static str, String)>,
    /// Why the logs cannot be read, if those of other attempts can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The failed attempts of a job, or all ended ones.
pub(crate) async fn list_ended_attempts(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    all: bool,
) -> Result<Vec<JobEvent>, JobClientError> {
    let mut attempts = jobtracker.events(job, 0, u32::MAX).await?;
    attempts.retain(|event| all || event.has_failed());
    Ok(attempts)
}

/// An ended attempt.
pub(crate) async fn attempt(jobtracker: &mut JobTrackerClient, attempt: AttemptId) -> Result<JobEvent, JobClientError> {
    // An unknown job has no events; this call reports that it is unknown.
    jobtracker.job(attempt.task.job).await?;
    let events = jobtracker.events(attempt.task.job, 0, u32::MAX).await?;
    let last = events.into_iter().rev().find(|event| event.attempt == attempt);
    last.ok_or(JobClientError::UnknownAttempt(attempt))
}

/// The logs of one attempt at its tracker, which may want a ticket.
#[derive(Debug)]
pub(crate) struct LogReader<'a> {
    attempt: AttemptId,
    server: String,
    access: &'a LogAccess,
    /// Parameters of the last ticket; empty while none was wanted.
    ticket: String,
}

impl<'a> LogReader<'a> {
    /// Of an attempt at its tracker's address.
    pub(crate) fn new(attempt: AttemptId, tracker: &str, access: &'a LogAccess) -> Self {
        let server = tracker.strip_prefix("http://").unwrap_or(tracker).to_owned();
        Self { attempt, server, access, ticket: String::new() }
    }

    /// A log from an offset on, also of an attempt that runs; empty if its worker has none.
    pub(crate) async fn read_from(&mut self, log: &'static str, from_bytes: u64) -> Result<Vec<u8>, JobClientError> {
        let attempt = self.attempt;
        let range = if from_bytes == 0 { String::new() } else { format!("&start={from_bytes}&end=-1") };
        let path = format!("/tasklog?attemptid={attempt}&plaintext=true&filter={log}{range}");
        let (mut status, mut body) = self.get(&path).await?;
        if status == StatusCode::FORBIDDEN {
            // It wants a ticket, or the last one has expired.
            self.ticket = match self.access.parameters(attempt).await {
                Ok(ticket) => ticket,
                Err(error) => return Err(no_ticket(error, attempt, &self.server)),
            };
            (status, body) = self.get(&path).await?;
        }
        match status {
            StatusCode::OK => Ok(body),
            // Answers of a tracker without the log.
            StatusCode::GONE | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => Ok(Vec::new()),
            status => {
                let text = String::from_utf8_lossy(&body);
                let words = text.lines().next().filter(|_| status == StatusCode::FORBIDDEN);
                let reason = words.map_or_else(|| format!("status {status}"), str::to_owned);
                Err(JobClientError::Log { attempt, tracker: self.server.clone(), reason })
            }
        }
    }

    async fn get(&self, path: &str) -> Result<(StatusCode, Vec<u8>), JobClientError> {
        let answer = get_bytes(&self.server, &format!("{path}{}", self.ticket)).await;
        answer.map_err(|error| JobClientError::of_log(&error, self.attempt, &self.server))
    }
}

pub(crate) async fn fetch(
    attempt: &JobEvent,
    wanted: &[&'static str],
    access: &LogAccess,
) -> Result<AttemptLog, JobClientError> {
    let mut reader = LogReader::new(attempt.attempt, &attempt.tracker, access);
    let mut logs = Vec::new();
    for log in wanted {
        let text = reader.read_from(log, 0).await?;
        if !text.is_empty() {
            logs.push((*log, String::from_utf8_lossy(&text).into_owned()));
        }
    }
    let JobEvent { attempt, status, tracker, .. } = attempt;
    Ok(AttemptLog { attempt: *attempt, status, tracker: tracker.clone(), logs, error: None })
}

/// Why the JobTracker gave no ticket.
fn no_ticket(error: MarketClientError, attempt: AttemptId, server: &str) -> JobClientError {
    match error {
        MarketClientError::Denied { reason } => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            JobClientError::Denied(format!("the logs of {attempt}: access denied{reason}"))
        }
        error => JobClientError::Log { attempt, tracker: server.to_owned(), reason: format!("no ticket: {error}") },
    }
}

/// Fetches the logs of several attempts. An unreachable tracker affects only its own logs.
/// Errors: the first [`JobClientError::Log`], if no log can be read.
pub(crate) async fn fetch_all(
    attempts: &[JobEvent],
    wanted: &[&'static str],
    access: &LogAccess,
) -> Result<Vec<AttemptLog>, JobClientError> {
    let mut all = Vec::with_capacity(attempts.len());
    let mut first_error = None;
    for attempt in attempts {
        match fetch(attempt, wanted, access).await {
            Ok(log) => all.push(log),
            Err(error) => {
                let JobEvent { attempt, status, tracker, .. } = attempt;
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

/// Who asks which JobTracker for tickets.
#[derive(Clone, Debug)]
pub(crate) struct LogAccess {
    pub(crate) server: MarketClient,
    pub(crate) signer: Option<Signer>,
    /// The user, who is believed where the JobTracker has no keys.
    pub(crate) user: String,
}

impl LogAccess {
    /// What a request for the logs of an attempt has beside its other parameters.
    pub(super) async fn parameters(&self, attempt: AttemptId) -> Result<String, MarketClientError> {
        let LogTicket { expires_ms, ticket, .. } =
            self.server.log_ticket(attempt, self.signer.as_ref(), &self.user).await?;
        Ok(format!("&expires={expires_ms}&ticket={ticket}"))
    }
}
