//! What an administrator can have read anew while the daemon runs. The rest of the conf folder holds from start to stop.

use super::{LoadOptions, Queues, TrackerSettings};
use crate::config::error::{ConfigError, Warning};

/// The queues as the conf folder has them now.
///
/// # Errors
/// The first [`ConfigError`] of the folder, or of a key of queues.
pub fn queues(sources: &LoadOptions) -> Result<(Queues, Vec<Warning>), ConfigError> {
    let configuration = sources.configuration()?;
    Ok((Queues::from_configuration(&configuration)?, configuration.warnings()))
}

/// The names of the lists of hosts as the conf folder has them now.
///
/// # Errors
/// The first [`ConfigError`] of the folder, or of a key of trackers.
pub fn trackers(sources: &LoadOptions) -> Result<TrackerSettings, ConfigError> {
    TrackerSettings::from_configuration(&sources.configuration()?)
}
