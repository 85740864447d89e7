//! The workers of the cluster: listed, drained and resumed.

use crate::api::Workers;
use crate::client::signed_query::escaped;

use super::{MarketClient, MarketClientError, SCHEDULER, Signer};

/// Path of the workers.
const WORKERS: &str = "/scheduler/workers";

// === impl MarketClient: workers ===

impl MarketClient {
    /// All workers.
    ///
    /// # Errors
    /// [`MarketClientError`]
    pub async fn workers(&self) -> Result<Workers, MarketClientError> {
        self.read_json(&self.body_or_error(self.get(WORKERS, None).await?)?)
    }

    /// Drains a worker, or resumes it: signed where there is a market and a signer, else in the name of `user`, who is believed
    /// unless the market rules.
    ///
    /// # Errors
    /// [`MarketClientError`]; [`MarketClientError::Refused`] for an unknown worker.
    pub async fn drain_worker(
        &self,
        worker: &str,
        is_on: bool,
        user: &str,
        signer: Option<&Signer>,
    ) -> Result<(), MarketClientError> {
        let query = format!("{}={}", if is_on { "drain" } else { "resume" }, escaped(worker));
        if let Some(signer) = signer
            && self.request("time").await.is_ok()
        {
            return self.send_signed(SCHEDULER, &query, signer).await.map(drop);
        }
        let path = format!("{WORKERS}?{query}&user.name={}", escaped(user));
        self.send_believed(&path).await.map(drop)
    }
}
