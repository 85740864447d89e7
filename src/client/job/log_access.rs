//! How logs are read where workers want a ticket for them: the JobTracker gives it to who may see the job.

use crate::api::LogTicket;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::model::AttemptId;

/// Who asks which JobTracker for tickets.
#[derive(Clone, Debug)]
pub(crate) struct LogAccess {
    /// The JobTracker's web address.
    pub(crate) server: MarketClient,
    /// The signer, if there is a key.
    pub(crate) signer: Option<Signer>,
    /// The user, who is believed where the JobTracker has no keys.
    pub(crate) user: String,
}

impl LogAccess {
    /// What a request for the logs of an attempt has beside its other parameters.
    ///
    /// # Errors
    /// The user may not see the job, or the JobTracker does not answer.
    pub(super) async fn parameters(&self, attempt: AttemptId) -> Result<String, MarketClientError> {
        let LogTicket { expires_ms, ticket, .. } =
            self.server.log_ticket(attempt, self.signer.as_ref(), &self.user).await?;
        Ok(format!("&expires={expires_ms}&ticket={ticket}"))
    }
}
