//! The files that values name are there: a daemon that misses one at start says so at start.

use std::path::Path;

use super::{SchedulerKind, Settings};
use crate::config::conf_folder::reason;
use crate::config::error::{ConfigError, Warning};
use crate::config::keys::{self, Key};
use crate::fs::open_named_by_conf;

/// Looks at each named file.
pub(super) fn check(settings: &Settings) -> Result<Vec<Warning>, ConfigError> {
    // Hadoop goes on without a hosts file and then admits everybody; ours does not.
    readable(settings, &keys::HOSTS, settings.trackers.hosts_file.as_deref(), "a readable file of host names")?;
    readable(
        settings,
        &keys::HOSTS_EXCLUDE,
        settings.trackers.hosts_exclude_file.as_deref(),
        "a readable file of host names",
    )?;
    readable(settings, &keys::TOPOLOGY_SCRIPT, settings.trackers.topology_script.as_deref(), "a program")?;
    let SchedulerKind::Dynamic(dynamic) = &settings.scheduler else { return Ok(Vec::new()) };
    readable(
        settings,
        &keys::ACL_FILE,
        Some(&dynamic.acl_file),
        "a readable file with a line `USER ROLE KEY` for each user, such as `root admin SECRET`",
    )?;
    // After the first start the state database has the money, and a lost image is made again.
    if dynamic.budget_file.exists() {
        readable(settings, &keys::BUDGET_FILE, Some(&dynamic.budget_file), "a readable file of queues and budgets")?;
        return Ok(Vec::new());
    }
    let origin = settings.configuration.required(&keys::BUDGET_FILE)?.origin;
    Ok(vec![Warning::NoBudgetFile { file: dynamic.budget_file.clone(), origin }])
}

fn readable(settings: &Settings, key: &Key, path: Option<&Path>, expected: &'static str) -> Result<(), ConfigError> {
    let Some(path) = path else { return Ok(()) };
    let Err(error) = open_named_by_conf(path) else { return Ok(()) };
    let reason = reason(&error);
    let setting = settings.configuration.required(key)?;
    Err(ConfigError::NamedFile { key: key.name, origin: setting.origin, value: setting.value, reason, expected })
}
