//! Trackers: how often they report, which there may be, where they stand.

use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::config::parts_per_million::PartsPerMillion;

/// What 1.2.1 takes for a rate below 1 a second.
const HEARTBEATS_FALLBACK: u32 = 100;
/// Below this 1.2.1 takes the factor for 1.
const LEAST_SCALING: PartsPerMillion = PartsPerMillion(10_000);

/// How often trackers report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatSettings {
    /// Shortest interval told to a tracker, ms.
    pub min_interval_ms: u64,
    /// The rate an admin asked for, over all trackers, from 1; `None`: the interval follows the work.
    pub heartbeats_in_second: Option<u32>,
    /// Factor on the interval that the rate gives.
    pub scaling: PartsPerMillion,
    /// Silence after which a tracker is lost, ms.
    pub expiry_interval_ms: u64,
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
pub enum AdmittedTrackers {
    /// All, but for what `mapred.hosts` and `mapred.hosts.exclude` say of the names they give themselves.
    All,
    /// Those of hosts in `mapred.hosts`, from an address of their host.
    Listed,
}

/// Which trackers there may be and where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackerSettings {
    /// Which are served.
    pub admitted: AdmittedTrackers,
    /// File of the hosts admitted; `None`: all.
    pub hosts_file: Option<PathBuf>,
    /// File of the hosts not admitted.
    pub hosts_exclude_file: Option<PathBuf>,
    /// Program that prints racks; `None`: one rack.
    pub topology_script: Option<PathBuf>,
    /// Hosts given to one run of it.
    pub topology_script_arguments: usize,
    /// Levels of locality.
    pub locality_levels: usize,
    /// When faults put a host on the graylist.
    pub faults: FaultSettings,
    /// Map slots of the built-in tasktracker.
    pub map_slots: u32,
    /// Reduce slots of the built-in tasktracker.
    pub reduce_slots: u32,
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

/// A list is needed where only those in it are served.
fn admitted(configuration: &Configuration, has_list: bool) -> Result<AdmittedTrackers, ConfigError> {
    let setting = configuration.required(&keys::TRACKERS_ADMIT)?;
    match setting.value.trim() {
        "listed" if has_list => Ok(AdmittedTrackers::Listed),
        "listed" => Err(setting.refused("all, or a file of host names in mapred.hosts")),
        _ => Ok(AdmittedTrackers::All),
    }
}

/// When faults put a host on the graylist (1.2.1 `JobTracker.FaultyTrackersInfo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSettings {
    /// Faults that do, from 1.
    pub threshold: u32,
    /// How long a fault counts, minutes.
    pub window_min: u32,
    /// Faults are forgotten in steps of so long, minutes.
    pub bucket_min: u32,
    /// By how much they must exceed the average, as a share of it.
    pub excess_over_average: PartsPerMillion,
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
