//! Waits for what happens to an application, through losses of the server.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::api::applications::ApplicationReport;
use crate::model::ApplicationId;

use super::error::ApplicationClientError;
use super::exchange::ApplicationClient;

/// How long the server may hold an answer back, ms: less than a client waits for any answer.
const WAIT_MS: u64 = 25_000;
/// Time without an answer after which waiting fails.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

/// What a wait says of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionNews {
    /// The server does not answer; why.
    Lost(String),
    /// It answers again.
    Back,
}

impl ApplicationClient {
    /// The application once its version differs from `known`; without `known`, at once.
    ///
    /// # Errors
    /// [`ApplicationClientError`]: the server refuses, or does not answer for ten minutes.
    pub(crate) async fn next_report(
        &self,
        id: ApplicationId,
        known: Option<u64>,
        mut news: impl FnMut(ConnectionNews),
    ) -> Result<ApplicationReport, ApplicationClientError> {
        let call = Self::report_call(id, known.map(|version| (version, WAIT_MS)));
        let mut lost_at = None;
        loop {
            match self.send_once(&call).await {
                Ok(answer) => {
                    if lost_at.take().is_some() {
                        news(ConnectionNews::Back);
                    }
                    let report = self.read_report(&answer)?;
                    if known != Some(report.version) {
                        return Ok(report);
                    }
                    // A server with many waits answers at once.
                    sleep(self.pause).await;
                }
                Err(error) if error.is_passing() => {
                    if lost_at.is_none() {
                        news(ConnectionNews::Lost(error.to_string()));
                    }
                    if lost_at.get_or_insert_with(Instant::now).elapsed() > ANSWER_TIMEOUT {
                        return Err(error);
                    }
                    sleep(self.pause).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
