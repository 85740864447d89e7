//! Who may submit and change jobs: a caller by its own word, or only one who signs.

use std::net::IpAddr;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;

/// From which callers changes of jobs are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobChangeSettings {
    /// Whether submissions and changes need a signature under every scheduler (`jobtracker.job-changes` = `signed`).
    pub(crate) are_signed: bool,
    /// Names and addresses of hosts whose callers may change jobs without one (`jobtracker.job-changes.hosts`).
    pub(crate) hosts: Vec<String>,
}

impl JobChangeSettings {
    /// Reads both keys; names are not resolved.
    pub(crate) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let hosts = configuration.list(&keys::JOB_CHANGES_HOSTS)?;
        if let Some(setting) = configuration.setting(&keys::JOB_CHANGES_HOSTS)?
            && !hosts.iter().all(|host| is_host(host))
        {
            return Err(setting.bad_value("host names or addresses, without ports, separated by commas"));
        }
        let are_signed = configuration.required(&keys::JOB_CHANGES)?.value.trim() == "signed";
        Ok(Self { are_signed, hosts })
    }
}

/// Whether a text can be the name or the address of a host.
fn is_host(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.parse::<IpAddr>().is_ok() || text.bytes().all(is_name)
}
