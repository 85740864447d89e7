//! How `job` commands reach the JobTracker, and how they fail: common options and errors.

use std::process::ExitCode;
use std::sync::Arc;

use crate::cli::exit_code::{DENIED, HasExitCode, UNREACHABLE, WRONG_USAGE};
use crate::cli::market_command::{MarketArguments, MarketCommandError};
use crate::cli::market_text::OutputForm;
use crate::cli::place::{FoundAddress, PlaceError};
use crate::cli::signer::SignerError;
use crate::cli::time_text::with_shown_times;
use crate::cli::values::UserFilter;
use crate::client::job::configuration::JobConfiguration;
use crate::client::job::logs::LogAccess;
use crate::client::job::view::JobLine;
use crate::client::job::watch::{JobCostSource, ReadSigner};
use crate::client::job::{JobClientError, JobTrackerClient};
use crate::client::market::{MarketClient, Signer};
use crate::config::{ConfigError, HostPort};

/// Options of all `job` commands: JobTracker, signer, output form.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConnectionArguments {
    /// JobTracker, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

pub(super) struct JobTrackerConnection {
    pub(super) configuration: JobConfiguration,
    pub(super) jobtracker: JobTrackerClient,
    /// Its web server, before there is a job that names it.
    pub(super) market: MarketClient,
}

impl ConnectionArguments {
    /// As asked by a command that a user filters.
    pub(super) fn of_filter(&self, filter: &UserFilter) -> Self {
        Self { market: self.market.of_filter(filter) }
    }

    /// As asked by this user, if another option does not name one.
    pub(super) fn of_user(&self, user: Option<&str>) -> Self {
        Self { market: self.market.of_user(user) }
    }

    /// The JobTracker, with `overrides` of the configuration, `key=value`.
    pub(super) async fn connection(&self, overrides: &[String]) -> Result<JobTrackerConnection, JobCommandError> {
        let user = self.market.signer.user()?;
        let place = self.market.place.find(overrides)?;
        let configuration = JobConfiguration::load(place.conf.as_deref(), overrides, &user)?;
        let FoundAddress { address, origin } = place.rpc().await?;
        let market = place.http().market();
        let jobtracker = JobTrackerClient::new(address, user).found(origin.note());
        let jobtracker = jobtracker.with_web(market.clone(), self.signer()?);
        Ok(JobTrackerConnection { configuration, jobtracker, market })
    }

    pub(super) async fn jobtracker(&self) -> Result<JobTrackerClient, JobCommandError> {
        Ok(self.connection(&[]).await?.jobtracker)
    }

    pub(super) fn form(&self) -> OutputForm {
        self.market.form()
    }

    pub(super) fn signer(&self) -> Result<Option<Signer>, JobCommandError> {
        Ok(self.market.signer_if_any()?)
    }

    /// Source of a job's costs: the web server that is named, else the JobTracker's own web address.
    pub(super) fn costs(&self, job: &JobLine) -> Result<JobCostSource, JobCommandError> {
        Ok(JobCostSource { market: self.market_of(job)?, signer: self.signers()?, wall_ms: crate::clock::wall_ms })
    }

    /// The signer, read again each time it is asked for.
    fn signers(&self) -> Result<Arc<ReadSigner>, JobCommandError> {
        self.signer()?;
        let arguments = self.clone();
        Ok(Arc::new(move || arguments.signer().ok().flatten()))
    }

    pub(super) fn log_access(&self, job: &JobLine) -> Result<LogAccess, JobCommandError> {
        let user = self.market.signer.user()?;
        Ok(LogAccess { server: self.market_of(job)?, signer: self.signer()?, user })
    }

    /// The web server that is named, else the JobTracker's own web address.
    pub(super) fn market_of(&self, job: &JobLine) -> Result<MarketClient, JobCommandError> {
        let place = self.market.place.find(&[])?;
        let reported = || HostPort::parse(&job.url).map(|address| MarketClient::new(address.to_string()));
        let named = place.named_http().map(FoundAddress::market);
        Ok(named.or_else(reported).unwrap_or_else(|| place.http().market()))
    }
}

/// The text to print and the exit code.
pub(super) type Outcome = Result<(String, ExitCode), JobCommandError>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum JobCommandError {
    #[error("{0}")]
    Place(#[from] PlaceError),
    #[error("{0}")]
    Signer(#[from] SignerError),
    /// The JobTracker refuses or does not answer, or a file is missing.
    #[error("{}", with_shown_times(&.0.to_string()))]
    Client(#[from] JobClientError),
    #[error("{0}")]
    Configuration(#[from] ConfigError),
    #[error("{}", with_shown_times(&.0.to_string()))]
    Market(#[from] MarketCommandError),
    #[error("{0}")]
    Argument(String),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl HasExitCode for JobCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Client(JobClientError::Denied(_)) => DENIED,
            Self::Client(
                JobClientError::Unreachable { .. }
                | JobClientError::Log { .. }
                | JobClientError::NoWay { .. }
                | JobClientError::NotHandedOver { .. },
            )
            | Self::System(_) => UNREACHABLE,
            Self::Place(error) => error.exit_code(),
            Self::Market(error) => error.exit_code(),
            Self::Signer(error) => error.exit_code(),
            Self::Client(_) | Self::Configuration(_) | Self::Argument(_) => WRONG_USAGE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::signer::SignerArguments;
    use crate::market::Key;

    #[test]
    fn a_key_that_is_replaced_counts_from_the_next_request_on() {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("key");
        std::fs::write(&key_file, "old\n").unwrap();
        let signer = SignerArguments { user: Some("alice".into()), key_file: Some(key_file.clone()) };
        let market = MarketArguments { signer, ..MarketArguments::default() };
        let signers = ConnectionArguments { market }.signers().unwrap();
        let is_key = |key: &str| signers().is_some_and(|signer| signer.key == Key::new(key));
        assert!(is_key("old"));
        std::fs::write(&key_file, "new\n").unwrap();
        assert!(is_key("new"));
        std::fs::remove_file(&key_file).unwrap();
        assert!(signers().is_none());
    }
}
