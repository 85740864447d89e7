//! Checks at start that the files named by values exist.

use std::path::Path;

use crate::config::conf_folder::reason;
use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Warning};
use crate::config::keys;
use crate::config::keys::Key;
use crate::fs::open_named_by_conf;

use super::{MarketSettings, SchedulerKind, TrackerSettings};

/// Checks each named file.
pub(super) fn check_named_files(
    configuration: &Configuration,
    trackers: &TrackerSettings,
    scheduler: &SchedulerKind,
    market: Option<&MarketSettings>,
    are_changes_signed: bool,
) -> Result<Vec<Warning>, ConfigError> {
    // Without a hosts file Hadoop continues and admits every host; this daemon does not start.
    check_readable(configuration, &keys::HOSTS, trackers.hosts_file.as_deref(), "a readable file of host names")?;
    check_readable(
        configuration,
        &keys::HOSTS_EXCLUDE,
        trackers.hosts_exclude_file.as_deref(),
        "a readable file of host names",
    )?;
    check_readable(configuration, &keys::TOPOLOGY_SCRIPT, trackers.topology_script.as_deref(), "a program")?;
    let Some(market) = market else { return Ok(Vec::new()) };
    check_readable(
        configuration,
        &keys::ACL_FILE,
        Some(&market.acl_file),
        match are_changes_signed && !matches!(scheduler, SchedulerKind::Dynamic(_)) {
            true => {
                "a readable file with a line `USER ROLE KEY` for each user, which jobtracker.job-changes = signed needs"
            }
            false => "a readable file with a line `USER ROLE KEY` for each user, such as `root admin SECRET`",
        },
    )?;
    // After the first start the state database has the money, and a missing image is written again.
    if market.budget_file.exists() {
        check_readable(
            configuration,
            &keys::BUDGET_FILE,
            Some(&market.budget_file),
            "a readable file of queues and budgets",
        )?;
        return Ok(Vec::new());
    }
    // A market that does not rule may begin without accounts.
    if !matches!(scheduler, SchedulerKind::Dynamic(_)) {
        return Ok(Vec::new());
    }
    let origin = configuration.required(&keys::BUDGET_FILE)?.origin;
    Ok(vec![Warning::NoBudgetFile { file: market.budget_file.clone(), origin }])
}

fn check_readable(
    configuration: &Configuration,
    key: &Key,
    path: Option<&Path>,
    expected: &'static str,
) -> Result<(), ConfigError> {
    let Some(path) = path else { return Ok(()) };
    let Err(error) = open_named_by_conf(path) else { return Ok(()) };
    let reason = reason(&error);
    let setting = configuration.required(key)?;
    Err(ConfigError::NamedFile { key: key.name, origin: setting.origin, value: setting.value, reason, expected })
}
