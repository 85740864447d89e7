//! The file systems that a configuration names, and how NameNodes and DataNodes are asked.

use std::time::Duration;

use crate::fs::FileSystems;
use crate::hdfs::{HdfsOptionError, HdfsOptions};

use super::configuration::Configuration;
use super::error::ConfigError;
use super::keys;
use super::keys::Key;

/// Limits of a daemon's call to a NameNode: below those of its own steps, which wait for it.
const DAEMON_CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const DAEMON_CALL_TIMEOUT: Duration = Duration::from_secs(8);
/// Longest wait for a DataNode that says nothing, so that a step can still use another replica; what is added for each DataNode of a
/// pipeline; and how often all replicas are tried again.
const DAEMON_SOCKET_TIMEOUT: Duration = Duration::from_secs(2);
const DAEMON_SOCKET_TIMEOUT_PER_NODE: Duration = Duration::from_millis(500);
const DAEMON_READ_ROUNDS: u32 = 1;

const CLIENT_KEYS: &[&Key] = &[
    &keys::REPLICATION,
    &keys::BLOCK_SIZE,
    &keys::BYTES_PER_CHECKSUM,
    &keys::WRITE_PACKET_SIZE,
    &keys::UMASK_MODE,
    &keys::UMASK,
    &keys::CONNECT_RETRIES,
    &keys::CONNECTION_MAX_IDLE,
    &keys::SOCKET_TIMEOUT,
    &keys::SOCKET_WRITE_TIMEOUT,
    &keys::USE_DATANODE_HOSTNAME,
    &keys::BLOCK_ACQUIRE_FAILURES,
    &keys::READ_PREFETCH_SIZE,
    &keys::BLOCK_WRITE_RETRIES,
    &keys::FOLLOWING_BLOCK_RETRIES,
    &keys::RETRY_POLICY_ENABLED,
    &keys::RETRY_POLICY_SPEC,
];

impl Configuration {
    /// All file systems, as this user, reached by the values of this configuration.
    #[must_use]
    pub(crate) fn file_systems(&self, user: &str) -> FileSystems {
        FileSystems::new(user, self.hdfs_options())
    }

    /// The same for a daemon, which rather tries again later than waits.
    #[must_use]
    pub(crate) fn daemon_file_systems(&self, user: &str) -> FileSystems {
        let options = self.hdfs_options().map(|options| HdfsOptions {
            connect_retries: 0,
            connect_timeout: DAEMON_CONNECT_TIMEOUT,
            call_timeout: DAEMON_CALL_TIMEOUT,
            socket_timeout: options.socket_timeout.min(DAEMON_SOCKET_TIMEOUT),
            socket_timeout_per_node: DAEMON_SOCKET_TIMEOUT_PER_NODE,
            write_timeout: options.write_timeout.min(HdfsOptions::default().write_timeout),
            read_rounds: options.read_rounds.min(DAEMON_READ_ROUNDS),
            retry_policy: Vec::new(),
            ..options
        });
        FileSystems::new(user, options)
    }

    pub(crate) fn check_hdfs(&self) -> Result<(), ConfigError> {
        for key in CLIENT_KEYS {
            self.checked(key)?;
        }
        let Err(HdfsOptionError { key, value, expected }) = self.hdfs_options() else { return Ok(()) };
        match self.named(key)? {
            Some(setting) => Err(setting.bad_value(expected)),
            None => Err(ConfigError::NotSet { key, expected: format!("{expected}, not {value}") }),
        }
    }

    fn hdfs_options(&self) -> Result<HdfsOptions, HdfsOptionError> {
        HdfsOptions::from_keys(|name| {
            let key = CLIENT_KEYS.iter().find(|key| key.name == name)?;
            self.setting(key).ok().flatten().map(|setting| setting.value)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn values_for_hdfs_are_checked_with_their_place() {
        let refusal = |value: &str| {
            let mut configuration = Configuration::new(BTreeMap::new());
            configuration.add_override(value).unwrap();
            configuration.check_hdfs().unwrap_err().to_string()
        };
        Configuration::new(BTreeMap::new()).check_hdfs().unwrap();
        let refusals =
            ["dfs.replication=0", "dfs.block.size=1000", "dfs.umaskmode=9", "dfs.socket.timeout=soon"].map(refusal);
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        -D: dfs.replication = "0": expected a whole number from 1 to 512
        -D: dfs.block.size = "1000": expected a multiple of io.bytes.per.checksum, 512
        -D: dfs.umaskmode = "9": expected three octal digits such as 022, or symbols such as u=rwx,g=rx,o=
        -D: dfs.socket.timeout = "soon": expected a whole number of ms from 0 to 2147483647
        "#);
    }
}
