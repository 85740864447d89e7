//! Containers that any application asks for.

use std::fmt;
use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::model::Capability;

use super::MarketSettings;

/// One slot's memory where no key says more, MB.
const SLOT_MEMORY_MB: u32 = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerSettings {
    pub(crate) is_enabled: bool,
    /// The file of users, roles and keys; none: that of the market.
    pub(crate) acl_file: Option<PathBuf>,
    pub(crate) minimum: Capability,
    /// The largest container.
    pub(crate) maximum: Capability,
    /// One slot's worth.
    pub(crate) slot: Capability,
    /// Time in which a granted container must be launched, ms.
    pub(crate) launch_expiry_ms: u64,
    /// Longest time between TERM and KILL of a container that its owner did not end, ms.
    pub(crate) max_kill_grace_ms: u64,
    pub(crate) locality_delay: u32,
    pub(crate) max_per_application: u32,
    /// Maximum difference between the timestamp of a signed request and the server's clock, ms.
    pub(crate) signature_window_ms: u64,
}

impl ContainerSettings {
    /// Reads the keys; no file.
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let minimum_mb: u32 = configuration.number(&keys::CONTAINER_MIN_MEMORY)?;
        let maximum_mb: u32 = configuration.number(&keys::CONTAINER_MAX_MEMORY)?;
        if maximum_mb < minimum_mb {
            let setting = configuration.required(&keys::CONTAINER_MAX_MEMORY)?;
            let least = keys::CONTAINER_MIN_MEMORY.name;
            return Err(setting.bad_value(format!("at least the {minimum_mb} MB of {least}")));
        }
        // The key table limits the seconds, so this cannot overflow.
        let window_s: u64 = configuration.number(&keys::SIGNATURE_WINDOW)?;
        let own = configuration.limit(&keys::CONTAINER_SLOT_MEMORY, 1)?;
        let of_maps = configuration.limit(&keys::MAP_SLOT_MEMORY, 1)?;
        Ok(Self {
            is_enabled: configuration.flag(&keys::CONTAINERS_ENABLED)?,
            acl_file: configuration.local_path(&keys::CONTAINERS_ACL_FILE)?,
            minimum: Capability::new(minimum_mb, 1),
            maximum: Capability::new(maximum_mb, configuration.number(&keys::CONTAINER_MAX_VCORES)?),
            slot: Capability::new(own.or(of_maps).unwrap_or(SLOT_MEMORY_MB), 1),
            launch_expiry_ms: configuration.number(&keys::CONTAINER_LAUNCH_EXPIRY)?,
            max_kill_grace_ms: configuration.number(&keys::CONTAINER_MAX_KILL_GRACE)?,
            locality_delay: configuration.number(&keys::CONTAINER_LOCALITY_DELAY)?,
            max_per_application: configuration.number(&keys::CONTAINERS_OF_APPLICATION)?,
            signature_window_ms: window_s.saturating_mul(1_000),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApplicationKeys {
    Off,
    /// They sign with the keys in this file.
    File(PathBuf),
    /// There is no file: they are users of this machine.
    Loopback,
}

impl ApplicationKeys {
    pub(super) fn new(containers: &ContainerSettings, market: Option<&MarketSettings>) -> Self {
        if !containers.is_enabled {
            return Self::Off;
        }
        let file = containers.acl_file.clone().or_else(|| market.map(|market| market.acl_file.clone()));
        file.map_or(Self::Loopback, Self::File)
    }
}

/// The line of the start and of `check-config`.
impl fmt::Display for ApplicationKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => write!(out, "containers: off ({})", keys::CONTAINERS_ENABLED.name),
            Self::File(path) => {
                write!(out, "containers: for applications of the users in {}, who sign their requests", path.display())
            }
            Self::Loopback => write!(
                out,
                "containers: for applications of this machine's users, over loopback alone; a file of keys admits others \
                 ({})",
                keys::CONTAINERS_ACL_FILE.name
            ),
        }
    }
}
