//! Which JobTracker is asked, by whom, and how the answer is shown: the options that all commands about jobs share.

use std::path::PathBuf;

use super::error::JobCommandError;
use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::Form;
use crate::cli::server_address::server_address;
use crate::client::job::JobTrackerClient;
use crate::client::job::configuration::JobConfiguration;
use crate::client::job::view::JobLine;
use crate::client::job::watch::Costs;
use crate::client::market::{MarketClient, Signer};
use crate::config::HostPort;

/// Where a JobTracker serves HTTP.
const WEB_PORT: u16 = 50030;

/// Where, who and how.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArguments {
    /// RPC address of the JobTracker, host:port; default: what --conf says, else 127.0.0.1:8021
    #[arg(long, value_name = "ADDRESS")]
    pub(super) jobtracker: Option<String>,
    /// Conf folder of the cluster
    #[arg(long, value_name = "DIR")]
    pub(super) conf: Option<PathBuf>,
    /// HTTP, signature, form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

/// A JobTracker to be asked.
pub(super) struct Place {
    pub(super) configuration: JobConfiguration,
    pub(super) jobtracker: JobTrackerClient,
}

// === impl PlaceArguments ===

impl PlaceArguments {
    /// The JobTracker, with `overrides` of the configuration, `key=value`.
    pub(super) fn place(&self, overrides: &[String]) -> Result<Place, JobCommandError> {
        let user = self.market.signer.user()?;
        let configuration = JobConfiguration::load(self.conf.as_deref(), overrides, &user)?;
        let address = configuration.jobtracker(self.jobtracker.as_deref())?;
        Ok(Place { configuration, jobtracker: JobTrackerClient::new(address, user) })
    }

    /// The JobTracker.
    pub(super) fn jobtracker(&self) -> Result<JobTrackerClient, JobCommandError> {
        Ok(self.place(&[])?.jobtracker)
    }

    pub(super) fn form(&self) -> Form {
        self.market.form()
    }

    /// Who signs, if a key is at hand. A key file that is named must be there.
    pub(super) fn signer(&self) -> Result<Option<Signer>, JobCommandError> {
        match self.market.signer() {
            Ok(signer) => Ok(Some(signer)),
            Err(error) if self.market.signer.key_file.is_some() => Err(error.into()),
            Err(_) => Ok(None),
        }
    }

    /// Where costs of a job are told: at `--server`, else where the JobTracker says that its pages are.
    pub(super) fn costs(&self, job: &JobLine) -> Result<Costs, JobCommandError> {
        let told = HostPort::parse(&job.url).map(|address| address.to_string());
        let server = self.market.server.as_deref().map(|given| server_address(Some(given)));
        let server = server.or(told).unwrap_or_else(|| server_address(None));
        Ok(Costs { market: MarketClient::new(server), signer: self.signer()? })
    }

    /// The market before there is a job: at `--server`, else by the conf folder, by `/etc/hadoop_server`, beside the JobTracker.
    pub(super) fn market(&self, place: &Place) -> MarketClient {
        let beside = HostPort { port: WEB_PORT, ..place.jobtracker.address().clone() };
        let given = self.market.server.as_deref();
        let configured = place.configuration.web(place.jobtracker.address()).filter(|_| given.is_none());
        let found = configured.unwrap_or_else(|| server_address(given));
        let is_default = given.is_none() && found == server_address_default();
        MarketClient::new(if is_default { beside.to_string() } else { found })
    }
}

/// What [`server_address`] says when nobody says anything.
fn server_address_default() -> String {
    format!("127.0.0.1:{WEB_PORT}")
}
