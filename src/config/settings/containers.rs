//! Containers that any application asks for.

use std::fmt;
use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::model::{Capability, ContainerSettings};

/// One slot's memory where no key says more, MB.
const SLOT_MEMORY_MB: u32 = 1_024;

/// Reads the keys; no file.
pub(super) fn container_settings(configuration: &Configuration) -> Result<ContainerSettings, ConfigError> {
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
    Ok(ContainerSettings {
        is_enabled: configuration.flag(&keys::CONTAINERS_ENABLED)?,
        minimum: Capability::new(minimum_mb, 1),
        maximum: Capability::new(maximum_mb, configuration.number(&keys::CONTAINER_MAX_VCORES)?),
        slot: Capability::new(own.or(of_maps).unwrap_or(SLOT_MEMORY_MB), 1),
        launch_expiry_ms: configuration.number(&keys::CONTAINER_LAUNCH_EXPIRY)?,
        max_kill_grace_ms: configuration.number(&keys::CONTAINER_MAX_KILL_GRACE)?,
        locality_delay: configuration.number(&keys::CONTAINER_LOCALITY_DELAY)?,
        max_per_application: configuration.number(&keys::CONTAINERS_OF_APPLICATION)?,
        signature_window_ms: window_s.saturating_mul(1_000),
        ..ContainerSettings::default()
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApplicationKeys {
    Off,
    /// They sign with the keys in this file.
    File(PathBuf),
    /// There is no file: they are users of this machine.
    Loopback,
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
