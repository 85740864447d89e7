//! History files of finished jobs, and for how long such jobs are answered from the state database.

use std::collections::BTreeSet;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::config::keys::Key;
use crate::fs::{FileUri, NameNodeAddress};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistorySettings {
    /// The history folder (`hadoop.job.history.location`).
    pub(crate) folder: FileUri,
    /// The done folder (`mapred.job.tracker.history.completed.location`).
    pub(crate) done: FileUri,
    /// NameNodes that copies for users are written to.
    pub(crate) copy_namenodes: BTreeSet<NameNodeAddress>,
    /// Size of the blocks of a history file on HDFS, bytes.
    pub(crate) block_bytes: u64,
    pub(crate) max_age_ms: i64,
    pub(crate) cleaner_interval_ms: i64,
    /// Time after the end of a job for which it is answered from the database when memory no longer has it, ms; none: never.
    pub(crate) answered_for_ms: Option<i64>,
}

impl HistorySettings {
    /// The value of `hadoop.job.history.user.location` for no copy.
    pub(crate) const NO_COPY: &str = "none";

    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let not_set = |key: &Key| ConfigError::NotSet { key: key.name, expected: key.kind.to_string() };
        let below = |folder: &FileUri, name: &str, key| folder.join(name).map_err(|_| not_set(key));
        let folder = match configuration.setting(&keys::HISTORY_LOCATION)? {
            Some(_) => configuration.file_uri(&keys::HISTORY_LOCATION)?,
            None => {
                let above = match configuration.local_path(&keys::HADOOP_LOG_DIR)? {
                    Some(logs) => logs,
                    None => configuration.required_local_path(&keys::STATE_DIR)?,
                };
                let above = FileUri::parse(&above.to_string_lossy()).map_err(|_| not_set(&keys::HISTORY_LOCATION))?;
                below(&above, "history", &keys::HISTORY_LOCATION)?
            }
        };
        let done = match configuration.setting(&keys::HISTORY_DONE_LOCATION)? {
            Some(_) => configuration.file_uri(&keys::HISTORY_DONE_LOCATION)?,
            None => below(&folder, "done", &keys::HISTORY_DONE_LOCATION)?,
        };
        let hours: i64 = configuration.number(&keys::COMPLETED_STORE_HOURS)?;
        let is_active = configuration.flag(&keys::COMPLETED_STORE_ACTIVE)? && hours > 0;
        Ok(HistorySettings {
            copy_namenodes: copy_namenodes(configuration, [&folder, &done])?,
            folder,
            block_bytes: block_bytes(configuration, &done)?,
            done,
            max_age_ms: configuration.number(&keys::HISTORY_MAX_AGE)?,
            cleaner_interval_ms: configuration.number(&keys::HISTORY_CLEANER_INTERVAL)?,
            answered_for_ms: is_active.then(|| hours * 3_600_000),
        })
    }
}

fn copy_namenodes(
    configuration: &Configuration,
    history: [&FileUri; 2],
) -> Result<BTreeSet<NameNodeAddress>, ConfigError> {
    if configuration.setting(&keys::HISTORY_COPY_NAMENODES)?.is_some() {
        let bad = |name: &str| {
            let setting = configuration.required(&keys::HISTORY_COPY_NAMENODES);
            setting.map(|setting| setting.bad_value(format!("NameNodes as host:port or hdfs: URIs, not {name:?}")))
        };
        let names = configuration.list(&keys::HISTORY_COPY_NAMENODES)?;
        let address = |name: &String| match FileUri::of_default(name).ok().and_then(|uri| uri.namenode().cloned()) {
            Some(address) => Ok(address),
            None => Err(bad(name).unwrap_or_else(|error| error)),
        };
        return names.iter().map(address).collect();
    }
    let default = configuration.required(&keys::DEFAULT_FILE_SYSTEM)?;
    let default = FileUri::of_default(default.value.trim()).ok();
    let staging = configuration.file_uri(&keys::STAGING_ROOT_DIR)?;
    let known = history.into_iter().chain(&default).chain([&staging]);
    Ok(known.filter_map(|uri| uri.namenode().cloned()).collect())
}

fn block_bytes(configuration: &Configuration, done: &FileUri) -> Result<u64, ConfigError> {
    let bytes: u64 = configuration.number(&keys::HISTORY_BLOCK_SIZE)?;
    let chunk_bytes: u64 = configuration.number(&keys::BYTES_PER_CHECKSUM)?;
    if done.namenode().is_none() || bytes.is_multiple_of(chunk_bytes) {
        return Ok(bytes);
    }
    let expected = format!("a multiple of {}, {chunk_bytes}", keys::BYTES_PER_CHECKSUM.name);
    Err(configuration.required(&keys::HISTORY_BLOCK_SIZE)?.bad_value(expected))
}

#[cfg(test)]
mod tests {
    use super::super::test_options;
    use super::*;

    #[test]
    fn blocks_of_histories_on_hdfs_hold_whole_checksums() {
        let read = |overrides: &[&str]| {
            let configuration = test_options(None, overrides).configuration().unwrap();
            HistorySettings::from_configuration(&configuration).map(|settings| settings.block_bytes)
        };
        let (size, done) = (
            "mapred.jobtracker.job.history.block.size=1000",
            "mapred.job.tracker.history.completed.location=hdfs://n/done",
        );
        assert_eq!(read(&[]).unwrap(), 3 << 20, "that of 1.2.1");
        assert_eq!(read(&["mapreduce.jobtracker.jobhistory.block.size=1024", done]).unwrap(), 1024);
        assert_eq!(read(&[size]).unwrap(), 1000, "files of this machine have no blocks");
        let refused = read(&[size, done]).unwrap_err().to_string();
        assert!(
            refused.contains("history.block.size = \"1000\": expected a multiple of io.bytes.per.checksum, 512"),
            "{refused}"
        );
    }
}
