//! Changes of jobs: signed where the user has a key and the server has a market, else by RPC in the user's name.

use crate::cli::signer::{KEY_FILE, KeySource};
use crate::client::job::JobClientError;
use crate::client::job::view::JobLine;
use crate::client::market::{MarketClient, MarketClientError, Signer};

use super::connection::{ConnectionArguments, JobCommandError};

pub(super) enum ChangeWay {
    Signed {
        market: MarketClient,
        /// Who signs.
        signer: Signer,
        /// Where the key is from.
        source: Option<KeySource>,
    },
    /// Calls by RPC; with the reason why they are not signed.
    Believed {
        /// Completes "not signed: ".
        why: String,
    },
}

impl ChangeWay {
    /// The way to the JobTracker that a job is on. Errors: a key file that an option names cannot be read.
    pub(super) async fn of(connection: &ConnectionArguments, job: &JobLine) -> Result<Self, JobCommandError> {
        let source = connection.market.signer.key_source().ok();
        Ok(Self::through(connection.market_of(job)?, connection.signer()?, source).await)
    }

    /// The way to a market with a key, if there are both.
    pub(super) async fn through(market: MarketClient, signer: Option<Signer>, source: Option<KeySource>) -> Self {
        let Some(signer) = signer else {
            return Self::Believed { why: format!("no key in --key-file, $HADOOP_KEY or ~/{KEY_FILE}") };
        };
        // Public, so the answer depends on the server alone.
        match market.request("time").await {
            Ok(_) => Self::Signed { market, signer, source },
            Err(MarketClientError::Refused(_)) => Self::Believed { why: "the JobTracker has no keys".to_owned() },
            Err(error) => Self::Believed { why: error.to_string() },
        }
    }

    /// Sends a change signed; whether it was, else it is to be sent by RPC.
    pub(super) async fn sign(&self, query: &str) -> Result<bool, JobCommandError> {
        let Self::Signed { market, signer, source } = self else { return Ok(false) };
        match market.request_signed(query, signer).await {
            Ok(_) => Ok(true),
            Err(error) => Err(self.explained(signed_error(error, signer, source.as_ref()))),
        }
    }

    /// The error of a call by RPC; one that asks for a signature says why there was none.
    pub(super) fn explained(&self, error: JobCommandError) -> JobCommandError {
        match (error, self) {
            (JobCommandError::Client(JobClientError::Denied(text)), Self::Believed { why })
                if text.contains(SIGNATURES_ONLY) =>
            {
                JobClientError::Denied(format!("{text}; not signed: {why}")).into()
            }
            (error, _) => error,
        }
    }
}

/// In each refusal of an unsigned change.
const SIGNATURES_ONLY: &str = "jobtracker.job-changes is signed";

/// The error of a signed request; a denial says who signed with which key.
pub(super) fn signed_error(error: MarketClientError, signer: &Signer, source: Option<&KeySource>) -> JobCommandError {
    match error {
        MarketClientError::Denied { reason } => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let key = source.map(|source| format!(" with the key in {source}")).unwrap_or_default();
            JobClientError::Denied(format!("access denied{reason}; signed as {}{key}", signer.user)).into()
        }
        error => JobCommandError::Market(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Key;

    #[test]
    fn a_denial_names_the_key_or_why_there_was_none() {
        let signer = Signer { user: "alice".to_owned(), key: Key::new("s3cret") };
        let source = KeySource::Environment("s3cret".to_owned());
        let denied = |reason: Option<&str>| {
            let error = MarketClientError::Denied { reason: reason.map(str::to_owned) };
            signed_error(error, &signer, Some(&source)).to_string()
        };
        assert_eq!(denied(None), "access denied; signed as alice with the key in $HADOOP_KEY");
        assert_eq!(
            denied(Some("it is bob's")),
            "access denied: it is bob's; signed as alice with the key in $HADOOP_KEY"
        );
        let way = ChangeWay::Believed { why: "no key".to_owned() };
        let explained = |text: &str| way.explained(JobClientError::Denied(text.to_owned()).into()).to_string();
        assert_eq!(explained("User bob cannot perform"), "User bob cannot perform");
        let unsigned = "kill is not signed, and jobtracker.job-changes is signed";
        assert_eq!(explained(unsigned), format!("{unsigned}; not signed: no key"));
    }
}
