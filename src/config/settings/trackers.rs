//! Heartbeats, admission, topology and faults of trackers, and the version and build that they compare with their own.

use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Origin};
use crate::config::keys;
use crate::model::PartsPerMillion;

/// 1.2.1's rate for a value below 1 a second.
const HEARTBEATS_FALLBACK: u32 = 100;
/// Below this factor 1.2.1 uses 1.
const LEAST_SCALING: PartsPerMillion = PartsPerMillion(10_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatSettings {
    pub(crate) min_interval_ms: u64,
    /// Configured heartbeats a second over all trackers, from 1; `None`: the interval depends on the load.
    pub(crate) heartbeats_in_second: Option<u32>,
    /// Factor on the interval that follows from the rate.
    pub(crate) scaling: PartsPerMillion,
    /// Time without a heartbeat after which a tracker is lost, ms.
    pub(crate) expiry_interval_ms: u64,
}

impl HeartbeatSettings {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let rate = match configuration.checked(&keys::HEARTBEATS_IN_SECOND)? {
            Some(_) => configuration.limit(&keys::HEARTBEATS_IN_SECOND, 1)?.or(Some(HEARTBEATS_FALLBACK)),
            None => None,
        };
        let scaling = configuration.ratio(&keys::HEARTBEATS_SCALING)?;
        Ok(HeartbeatSettings {
            min_interval_ms: configuration.number(&keys::HEARTBEAT_INTERVAL_MIN)?,
            heartbeats_in_second: rate,
            scaling: if scaling < LEAST_SCALING { PartsPerMillion::ONE } else { scaling },
            expiry_interval_ms: configuration.number(&keys::TRACKER_EXPIRY_INTERVAL)?,
        })
    }
}

/// Which trackers are served (`jobtracker.trackers.admit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmittedTrackers {
    /// All whose own host names `mapred.hosts` and `mapred.hosts.exclude` allow.
    All,
    /// Those of hosts in `mapred.hosts`, connected from an address of their host.
    Listed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrackerSettings {
    pub(crate) admitted: AdmittedTrackers,
    /// File of the hosts admitted; `None`: all.
    pub(crate) hosts_file: Option<PathBuf>,
    pub(crate) hosts_exclude_file: Option<PathBuf>,
    /// Program that prints racks; `None`: one rack for all.
    pub(crate) topology_script: Option<PathBuf>,
    /// Maximum number of hosts given to one run of it.
    pub(crate) topology_script_arguments: usize,
    pub(crate) locality_levels: usize,
    /// When faults put a host on the graylist.
    pub(crate) faults: FaultSettings,
    pub(crate) map_slots: u32,
    pub(crate) reduce_slots: u32,
}

impl TrackerSettings {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let hosts_file = configuration.local_path(&keys::HOSTS)?;
        Ok(TrackerSettings {
            admitted: admitted(configuration, hosts_file.is_some())?,
            hosts_file,
            hosts_exclude_file: configuration.local_path(&keys::HOSTS_EXCLUDE)?,
            topology_script: configuration.local_path(&keys::TOPOLOGY_SCRIPT)?,
            topology_script_arguments: configuration.number(&keys::TOPOLOGY_SCRIPT_ARGUMENTS)?,
            locality_levels: configuration.number(&keys::TASK_CACHE_LEVELS)?,
            faults: FaultSettings::from_configuration(configuration)?,
            map_slots: configuration.number(&keys::MAP_SLOTS)?,
            reduce_slots: configuration.number(&keys::REDUCE_SLOTS)?,
        })
    }
}

/// `listed` requires a host list.
fn admitted(configuration: &Configuration, has_list: bool) -> Result<AdmittedTrackers, ConfigError> {
    let setting = configuration.required(&keys::TRACKERS_ADMIT)?;
    match setting.value.trim() {
        "listed" if has_list => Ok(AdmittedTrackers::Listed),
        "listed" => Err(setting.bad_value("all, or a file of host names in mapred.hosts")),
        _ => Ok(AdmittedTrackers::All),
    }
}

/// When faults put a host on the graylist (1.2.1 `JobTracker.FaultyTrackersInfo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultSettings {
    /// Number of faults that put a host on the graylist, from 1.
    pub(crate) threshold: u32,
    /// Time after which a fault is forgotten, minutes.
    pub(crate) window_min: u32,
    /// Step in which faults are forgotten, minutes.
    pub(crate) bucket_min: u32,
    /// Minimum excess over the average of all trackers, as a share of it.
    pub(crate) excess_over_average: PartsPerMillion,
}

impl FaultSettings {
    fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        Ok(FaultSettings {
            threshold: configuration.number(&keys::MAX_TRACKER_BLACKLISTS)?,
            window_min: configuration.number(&keys::FAULT_WINDOW)?,
            bucket_min: configuration.number(&keys::FAULT_BUCKET)?,
            excess_over_average: configuration.ratio(&keys::AVERAGE_BLACKLIST_THRESHOLD)?,
        })
    }
}

pub(super) fn version_and_build(configuration: &Configuration) -> Result<(String, String), ConfigError> {
    let (version, build) = (configuration.required(&keys::VERSION)?, configuration.required(&keys::BUILD_VERSION)?);
    let of_build = build.value.split_whitespace().next().unwrap_or_default();
    if of_build == version.value.trim() {
        return Ok((version.value.trim().to_owned(), build.value));
    }
    // The value that is written is the mistake.
    let (culprit, expected) = match version.origin {
        Origin::Default => {
            (&build, format!("a build of jobtracker.version = {:?} ({})", version.value, version.origin))
        }
        _ => (&version, format!("{of_build:?}, with which jobtracker.build-version ({}) begins", build.origin)),
    };
    Err(culprit.bad_value(format!("{expected}; for trackers of another build set both keys as their log prints them")))
}

#[cfg(test)]
mod tests {
    use crate::config::settings::test_options;

    use super::*;

    #[test]
    fn a_version_and_a_build_that_contradict_each_other_are_an_error() {
        let of = |overrides: &[&str]| {
            version_and_build(&test_options(None, overrides).configuration().unwrap())
                .map_err(|error| error.to_string())
        };
        assert!(of(&[]).is_ok());
        let build =
            "jobtracker.build-version=1.1.2 from 1440782 by hortonfo source checksum c720ddcf4b926991de7467d253a79b8b";
        assert_eq!(of(&["jobtracker.version=1.1.2", build]).unwrap().0, "1.1.2");
        let refused = [&["jobtracker.version=1.1.2"][..], &[build], &["jobtracker.version=1.2.1", build]];
        insta::assert_snapshot!(refused.map(|case| of(case).unwrap_err()).join("\n"), @r#"
        -D: jobtracker.version = "1.1.2": expected "1.2.1", with which jobtracker.build-version (default) begins; for trackers of another build set both keys as their log prints them
        -D: jobtracker.build-version = "1.1.2 from 1440782 by hortonfo source checksum c720ddcf4b926991de7467d253a79b8b": expected a build of jobtracker.version = "1.2.1" (default); for trackers of another build set both keys as their log prints them
        -D: jobtracker.version = "1.2.1": expected "1.1.2", with which jobtracker.build-version (-D) begins; for trackers of another build set both keys as their log prints them
        "#);
        assert!(
            of(&["jobtracker.version=banana"]).unwrap_err().contains("expected a version of Hadoop, such as 1.2.1")
        );
    }
}
