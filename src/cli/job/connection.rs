//! Common options of all `job` commands: JobTracker, signer, output form.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::market_command::MarketArguments;
use crate::cli::market_text::Form;
use crate::cli::server_address::server_address;
use crate::client::job::JobTrackerClient;
use crate::client::job::configuration::JobConfiguration;
use crate::client::job::log_access::LogAccess;
use crate::client::job::view::JobLine;
use crate::client::job::watch::{CostSource, ReadSigner};
use crate::client::market::{MarketClient, Signer};
use crate::config::HostPort;

use super::error::JobCommandError;

/// HTTP port of a JobTracker.
const WEB_PORT: u16 = 50030;

/// Options of all `job` commands: JobTracker, signer, output form.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConnectionArguments {
    /// RPC address of the JobTracker, host:port; default: the address in --conf, else 127.0.0.1:8021
    #[arg(long, value_name = "ADDRESS")]
    pub(super) jobtracker: Option<String>,
    /// Conf folder of the cluster
    #[arg(long, value_name = "DIR")]
    pub(super) conf: Option<PathBuf>,
    /// HTTP address, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
}

/// A JobTracker and the configuration for it.
pub(super) struct Connection {
    pub(super) configuration: JobConfiguration,
    pub(super) jobtracker: JobTrackerClient,
}

// === impl ConnectionArguments ===

impl ConnectionArguments {
    /// The JobTracker, with `overrides` of the configuration, `key=value`.
    pub(super) fn connection(&self, overrides: &[String]) -> Result<Connection, JobCommandError> {
        let user = self.market.signer.user()?;
        let configuration = JobConfiguration::load(self.conf.as_deref(), overrides, &user)?;
        let address = configuration.jobtracker(self.jobtracker.as_deref())?;
        let web = self.market_at(&configuration, &address);
        let jobtracker = JobTrackerClient::new(address, user).with_web(web, self.signer()?);
        Ok(Connection { configuration, jobtracker })
    }

    /// The JobTracker.
    pub(super) fn jobtracker(&self) -> Result<JobTrackerClient, JobCommandError> {
        Ok(self.connection(&[])?.jobtracker)
    }

    pub(super) fn form(&self) -> Form {
        self.market.form()
    }

    /// The signer, if a key is found.
    pub(super) fn signer(&self) -> Result<Option<Signer>, JobCommandError> {
        Ok(self.market.signer_if_any()?)
    }

    /// Source of a job's costs: `--server`, else the JobTracker's own web address.
    pub(super) fn costs(&self, job: &JobLine) -> Result<CostSource, JobCommandError> {
        Ok(CostSource { market: self.market_of(job), signer: self.signers()?, wall_ms: crate::clock::wall_ms })
    }

    /// The signer, read again each time it is asked for.
    fn signers(&self) -> Result<Arc<ReadSigner>, JobCommandError> {
        self.signer()?;
        let arguments = self.clone();
        Ok(Arc::new(move || arguments.signer().ok().flatten()))
    }

    /// How the logs of a job are read.
    pub(super) fn log_access(&self, job: &JobLine) -> Result<LogAccess, JobCommandError> {
        let user = self.market.signer.user()?;
        Ok(LogAccess { server: self.market_of(job), signer: self.signer()?, user })
    }

    /// `--server`, else the JobTracker's own web address.
    pub(super) fn market_of(&self, job: &JobLine) -> MarketClient {
        let reported = HostPort::parse(&job.url).map(|address| address.to_string());
        let server = self.market.server.as_deref().map(|given| server_address(Some(given)));
        let server = server.or(reported).unwrap_or_else(|| server_address(None));
        MarketClient::new(server)
    }

    /// The market before there is a job: `--server`, else from the conf folder, `/etc/hadoop_server`, or at the JobTracker's host.
    pub(super) fn market(&self, connection: &Connection) -> MarketClient {
        self.market_at(&connection.configuration, connection.jobtracker.address())
    }

    fn market_at(&self, configuration: &JobConfiguration, jobtracker: &HostPort) -> MarketClient {
        let beside = HostPort { port: WEB_PORT, ..jobtracker.clone() };
        let given = self.market.server.as_deref();
        let configured = configuration.web(jobtracker).filter(|_| given.is_none());
        let found = configured.unwrap_or_else(|| server_address(given));
        let is_default = given.is_none() && found == server_address_default();
        MarketClient::new(if is_default { beside.to_string() } else { found })
    }
}

/// The default of [`server_address`].
fn server_address_default() -> String {
    format!("127.0.0.1:{WEB_PORT}")
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
        let signers = ConnectionArguments { market, ..ConnectionArguments::default() }.signers().unwrap();
        let is_key = |key: &str| signers().is_some_and(|signer| signer.key == Key::new(key));
        assert!(is_key("old"));
        std::fs::write(&key_file, "new\n").unwrap();
        assert!(is_key("new"));
        std::fs::remove_file(&key_file).unwrap();
        assert!(signers().is_none());
    }
}
