//! The properties of a job's configuration that may name its pool.

use crate::config::{ConfigError, Configuration, keys};
use crate::mapreduce::{POOL_PROPERTY, PoolProperties, USUAL_POOL_PROPERTIES};

/// Reads them; `configured`: the one that the ruling scheduler takes pools from, if any.
pub(super) fn pool_properties(
    configuration: &Configuration,
    configured: Option<&str>,
) -> Result<PoolProperties, ConfigError> {
    let named = configuration.text(&keys::JOB_POOL)?.map(|pool| (POOL_PROPERTY.to_owned(), pool));
    let mut properties = PoolProperties(named.into_iter().collect());
    for property in USUAL_POOL_PROPERTIES.into_iter().chain(configured) {
        if let Some(setting) = configuration.named(property)? {
            properties.0.insert(property.to_owned(), setting.value);
        }
    }
    Ok(properties)
}
