//! The daemon at a glance: `/status`.

use hyper::StatusCode;

use crate::api::DaemonStatus;

use super::http_request::get;

#[derive(Debug, thiserror::Error)]
#[error("no JobTracker of this program answers at {server}: {reason}")]
pub(crate) struct StatusError {
    /// `host:port`.
    pub(crate) server: String,
    pub(crate) reason: String,
}

/// Asks the daemon at `server`, `host:port`.
pub(crate) async fn daemon_status(server: &str) -> Result<DaemonStatus, StatusError> {
    let failed = |reason: String| StatusError { server: server.to_owned(), reason };
    let answer = get(server, "/status", None).await.map_err(|error| failed(error.to_string()))?;
    if answer.status != StatusCode::OK {
        return Err(failed(format!("{}: {}", answer.status, answer.body.lines().next().unwrap_or_default())));
    }
    serde_json::from_str(&answer.body).map_err(|error| failed(format!("invalid answer: {error}")))
}
