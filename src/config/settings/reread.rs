//! Settings that can be reloaded while the daemon runs. All others apply from start to stop.

use std::collections::BTreeMap;

use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Origin, Warning};
use crate::config::keys::Key;
use crate::config::service_policy::ServicePolicy;
use crate::config::{contradictions, keys};

use super::{
    CONSTRAINT_CLASS, FAIR_CLASS, HeartbeatSettings, LoadOptions, ProxyUsers, Queues, SchedulerKind, TrackerSettings,
};

/// Keys whose new values are applied while the daemon runs.
const REREAD: [&Key; 9] = [
    &keys::JOB_CHANGES_HOSTS,
    &keys::HOSTS,
    &keys::HOSTS_EXCLUDE,
    &keys::QUEUE_NAMES,
    &keys::QUEUE_STATE,
    &keys::QUEUE_ACL_SUBMIT,
    &keys::QUEUE_ACL_ADMINISTER,
    &keys::PROXY_GROUPS,
    &keys::PROXY_HOSTS,
];

/// Queues, and the settings of one scheduler, which may divide them.
#[derive(Clone, Debug)]
pub(crate) struct QueuesAndScheduler {
    pub(crate) queues: Queues,
    /// The scheduler; none of an unknown class.
    pub(crate) scheduler: Option<SchedulerKind>,
    /// Shortest heartbeat interval, ms, from which some settings of schedulers follow.
    pub(crate) heartbeat_interval_ms: u64,
}

/// Re-reads the queues from the conf folder, and the settings and files of the scheduler of a class, whatever class the folder names.
/// Errors: the first [`ConfigError`] of the folder, of a key of queues or of the scheduler.
pub(crate) fn queues_and_scheduler(
    sources: &LoadOptions,
    class: &str,
) -> Result<(QueuesAndScheduler, Vec<Warning>), ConfigError> {
    let configuration = sources.configuration()?;
    let queues = Queues::from_configuration(&configuration)?;
    let found = SchedulerKind::of_class(class, &configuration, sources.conf_dir.as_deref(), &queues)?;
    let (scheduler, of_scheduler) = found.unzip();
    let heartbeat_interval_ms = HeartbeatSettings::from_configuration(&configuration)?.min_interval_ms;
    let mut warnings = configuration.warnings();
    warnings.extend(contradictions::of_queues(&configuration));
    warnings.extend(of_scheduler.into_iter().flatten());
    Ok((QueuesAndScheduler { queues, scheduler, heartbeat_interval_ms }, warnings))
}

/// Re-reads the names of the host lists from the conf folder. Errors: the first [`ConfigError`] of the folder, or of a key of trackers.
pub(crate) fn trackers(sources: &LoadOptions) -> Result<TrackerSettings, ConfigError> {
    TrackerSettings::from_configuration(&sources.configuration()?)
}

/// Re-reads the users that may act for others. Errors: the first [`ConfigError`] of the folder, or of a key of such a user.
pub(crate) fn proxy_users(sources: &LoadOptions) -> Result<(ProxyUsers, Vec<Warning>), ConfigError> {
    let configuration = sources.configuration()?;
    let users = super::callers::proxy_users(&configuration)?;
    Ok((users, contradictions::of_proxy_users(&configuration)))
}

/// Re-reads the lists of service-level authorization; none while that is off.
/// Errors: the first [`ConfigError`] of the folder, of the policy file or of a list.
pub(crate) fn service_policy(sources: &LoadOptions) -> Result<Option<ServicePolicy>, ConfigError> {
    ServicePolicy::read(sources.configuration()?, sources.conf_dir.as_deref())
}

/// Known keys whose values differ from the running ones and apply only after a restart under the scheduler of a class, each with its place.
#[must_use]
pub(crate) fn changes_needing_restart(running: &Configuration, found: &Configuration, class: &str) -> Vec<String> {
    let was: BTreeMap<&str, (&str, &Origin)> = restart_values(running, class).collect();
    let is: BTreeMap<&str, (&str, &Origin)> = restart_values(found, class).collect();
    let set = is.iter().filter(|(name, (value, _))| was.get(*name).is_none_or(|(old, _)| old != value));
    let gone = was.iter().filter(|(name, _)| !is.contains_key(*name));
    let mut changes: Vec<String> = set.map(|(name, (_, origin))| format!("{name} ({origin})")).collect();
    changes.extend(gone.map(|(name, (_, origin))| format!("{name} (removed from {origin})")));
    changes
}

fn restart_values<'a>(
    configuration: &'a Configuration,
    class: &str,
) -> impl Iterator<Item = (&'a str, (&'a str, &'a Origin))> {
    let of_scheduler: &[Key] = match class {
        FAIR_CLASS => keys::FAIR,
        CONSTRAINT_CLASS => keys::CONSTRAINT,
        _ => &[],
    };
    let needs_restart = move |name: &str| {
        let is_spelled = |key: &Key| key.is_spelled(name);
        keys::all().any(is_spelled) && !REREAD.into_iter().chain(of_scheduler).chain(keys::POLICY).any(is_spelled)
    };
    configuration
        .written()
        .filter(move |(name, _, _)| needs_restart(name))
        .map(|(name, value, origin)| (name, (value, origin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(properties: &str) -> Configuration {
        let mut configuration = Configuration::new(BTreeMap::new());
        let text = format!("<configuration>\n{properties}</configuration>");
        configuration.add_file("site.xml", text.as_bytes()).unwrap();
        configuration
    }

    fn property(name: &str, value: &str) -> String {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    }

    #[test]
    fn changes_needing_a_restart_are_named_with_their_places() {
        let running = [
            property("mapred.hosts", "/a"),
            property("mapred.queue.default.state", "running"),
            property("mapred.job.tracker", "a:1"),
            property("mapred.acls.enabled", "true"),
            property("dfs.name.dir", "1"),
        ];
        let found = [
            property("mapred.hosts", "/b"),
            property("mapred.queue.default.state", "stopped"),
            property("mapred.job.tracker", "a:2"),
            property("dfs.name.dir", "2"),
            property("jobtracker.ledger.detail-days", "7"),
        ];
        let (running, found) = (configuration(&running.concat()), configuration(&found.concat()));
        let changes = changes_needing_restart(&running, &found, super::super::FIFO_CLASS);
        assert_eq!(
            changes,
            [
                "jobtracker.ledger.detail-days (site.xml:6)",
                "mapred.job.tracker (site.xml:4)",
                "mapred.acls.enabled (removed from site.xml:5)"
            ]
        );
        assert_eq!(super::changes_needing_restart(&running, &running, FAIR_CLASS), Vec::<String>::new());
    }
}
