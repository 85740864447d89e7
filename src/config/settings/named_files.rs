//! Checks at start that the files named by values exist.

use std::path::Path;

use crate::config::conf_folder::reason;
use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Warning};
use crate::config::keys;
use crate::config::keys::Key;
use crate::fs::open_named_by_conf;
use crate::model::ContainerSettings;

use super::{MarketSettings, SchedulerKind, TrackerSettings};

pub(super) fn check_named_files(
    configuration: &Configuration,
    trackers: &TrackerSettings,
    scheduler: &SchedulerKind,
    market: Option<&MarketSettings>,
    are_changes_signed: bool,
    (containers, containers_acl_file): (&ContainerSettings, Option<&Path>),
) -> Result<Vec<Warning>, ConfigError> {
    let is_for_signatures = are_changes_signed && !matches!(scheduler, SchedulerKind::Dynamic(_));
    let errors = files_of_trackers(configuration, trackers).into_iter();
    let errors = errors.chain(files_of_market(configuration, market, is_for_signatures));
    let mut errors = errors.chain(files_of_containers(configuration, containers, containers_acl_file));
    errors.next().map_or(Ok(()), Err)?;
    warn_of_budget_file(configuration, scheduler, market)
}

/// All errors about the files that trackers' keys name.
pub(super) fn files_of_trackers(configuration: &Configuration, trackers: &TrackerSettings) -> Vec<ConfigError> {
    let hosts = "a readable file of host names";
    // Without a hosts file Hadoop continues and admits every host; this daemon does not start.
    let checks = [
        check_readable(configuration, &keys::HOSTS, trackers.hosts_file.as_deref(), hosts),
        check_readable(configuration, &keys::HOSTS_EXCLUDE, trackers.hosts_exclude_file.as_deref(), hosts),
        check_readable(configuration, &keys::TOPOLOGY_SCRIPT, trackers.topology_script.as_deref(), "a program"),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

/// The error about the file of keys of applications, if any.
pub(super) fn files_of_containers(
    configuration: &Configuration,
    containers: &ContainerSettings,
    acl_file: Option<&Path>,
) -> Option<ConfigError> {
    let path = acl_file.filter(|_| containers.is_enabled);
    let expected = "a readable file with a line `USER ROLE KEY` for each user, such as `root admin SECRET`";
    check_readable(configuration, &keys::CONTAINERS_ACL_FILE, path, expected).err()
}

/// All errors about the files of the market. `is_for_signatures`: only signed changes of jobs need them.
pub(super) fn files_of_market(
    configuration: &Configuration,
    market: Option<&MarketSettings>,
    is_for_signatures: bool,
) -> Vec<ConfigError> {
    let Some(market) = market else { return Vec::new() };
    let users = match is_for_signatures {
        true => {
            "a readable file with a line `USER ROLE KEY` for each user, which jobtracker.job-changes = signed needs"
        }
        false => "a readable file with a line `USER ROLE KEY` for each user, such as `root admin SECRET`",
    };
    // After the first start the state database has the money, and a missing image is written again.
    let budget_file = market.image_file().filter(|file| file.exists());
    let checks = [
        check_readable(configuration, &keys::ACL_FILE, Some(&market.acl_file), users),
        check_readable(configuration, &keys::BUDGET_FILE, budget_file, "a readable file of queues and budgets"),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

fn warn_of_budget_file(
    configuration: &Configuration,
    scheduler: &SchedulerKind,
    market: Option<&MarketSettings>,
) -> Result<Vec<Warning>, ConfigError> {
    let Some(file) = market.and_then(MarketSettings::image_file).filter(|file| !file.exists()) else {
        return Ok(Vec::new());
    };
    // A market that does not rule may begin without accounts.
    if !matches!(scheduler, SchedulerKind::Dynamic(_)) {
        return Ok(Vec::new());
    }
    let origin = configuration.required(&keys::BUDGET_FILE)?.origin;
    Ok(vec![Warning::NoBudgetFile { file: file.to_owned(), origin }])
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
