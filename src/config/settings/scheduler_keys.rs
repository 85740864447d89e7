//! Which keys count for the scheduler, and where they are set.

use crate::config::capacity_file::keys_set_in_capacity_file;
use crate::config::error::{ConfigError, Origin};
use crate::config::keys;
use crate::config::keys::Key;

use super::{SchedulerKind, Settings};

/// Key, value and place of each key that the scheduler reads and that is set.
/// Errors: a value whose expansion does not end; an own file of the scheduler that has become unreadable.
pub(crate) fn scheduler_keys(settings: &Settings) -> Result<Vec<(String, String, String)>, ConfigError> {
    let own: Vec<&Key> = match &settings.scheduler {
        SchedulerKind::Fifo(_) => vec![&keys::QUEUE_NAMES, &keys::COMPATIBLE, &keys::CAPACITY_PAD],
        SchedulerKind::Capacity(_) => vec![&keys::QUEUE_NAMES, &keys::COMPATIBLE],
        SchedulerKind::Fair(_) => keys::FAIR.iter().chain([&keys::COMPATIBLE]).collect(),
        SchedulerKind::Constraint(_) => keys::CONSTRAINT.iter().collect(),
        SchedulerKind::Dynamic(_) => keys::MARKET.iter().collect(),
    };
    let mut found = Vec::new();
    for key in own {
        if let Some(setting) = settings.configuration.setting(key)?.filter(|setting| is_set(&setting.origin)) {
            found.push((setting.name, setting.value, setting.origin.to_string()));
        }
    }
    if let SchedulerKind::Capacity(_) = &settings.scheduler {
        let folder = settings.conf_dir.as_deref();
        found.extend(keys_set_in_capacity_file(folder, settings.configuration.properties())?);
    }
    Ok(found)
}

fn is_set(origin: &Origin) -> bool {
    matches!(origin, Origin::File { .. } | Origin::CommandLine)
}
