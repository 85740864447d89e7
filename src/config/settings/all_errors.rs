//! Everything that is wrong with a configuration, where a start names the first.

use std::path::Path;

use crate::config::configuration::Configuration;
use crate::config::environment::web_host_names;
use crate::config::error::ConfigError;
use crate::config::keys;

use super::containers::container_settings;
use super::named_files::{files_of_containers, files_of_market, files_of_trackers};
use super::trackers::version_and_build;
use super::{
    Directories, HeartbeatSettings, HistorySettings, HttpLimits, JobChangeSettings, JobLimits, LoadOptions,
    MarketSettings, MemorySettings, PageLoginSettings, Queues, RpcSettings, SchedulerKind, Settings, TrackerSettings,
    check_ports, http_address, rpc_address, scheduler,
};

/// Errors, each once.
struct Errors(Vec<ConfigError>);

impl Settings {
    /// All errors that keep a JobTracker from starting with this configuration; empty if [`Settings::load`] succeeds.
    #[must_use]
    pub(crate) fn all_errors(options: &LoadOptions) -> Vec<ConfigError> {
        let (configuration, errors) = options.configuration_with_errors();
        let mut errors = Errors(errors);
        errors.of_values(&configuration);
        errors.of_parts(&configuration, options.conf_dir.as_deref());
        errors.retain_own();
        // What is not listed above keeps a start from succeeding, too.
        if errors.0.is_empty() {
            errors.collect(Settings::load(options));
        }
        errors.0
    }
}

impl Errors {
    fn collect<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result
            .map_err(|error| {
                if !self.0.iter().any(|known| known.is_same_value(&error)) {
                    self.0.push(error)
                }
            })
            .ok()
    }

    /// Leaves out what a file that could not be read may set.
    fn retain_own(&mut self) {
        if self.0.iter().any(ConfigError::is_of_file) {
            self.0.retain(|error| !error.may_be_of_missing_value());
        }
    }

    /// Each key by itself.
    fn of_values(&mut self, configuration: &Configuration) {
        self.collect(rpc_address(configuration));
        for key in keys::all().filter(|key| !key.name.contains("<queue>") && key.name != keys::RPC_ADDRESS.name) {
            self.collect(configuration.checked(key));
        }
    }

    /// What the values mean together, and the files that they name.
    fn of_parts(&mut self, configuration: &Configuration, conf_dir: Option<&Path>) {
        self.collect(http_address(configuration));
        self.collect(check_ports(configuration));
        self.collect(web_host_names(configuration));
        self.collect(RpcSettings::from_configuration(configuration));
        self.collect(HttpLimits::from_configuration(configuration));
        self.collect(PageLoginSettings::from_configuration(configuration));
        self.collect(Directories::from_configuration(configuration));
        self.collect(HistorySettings::from_configuration(configuration));
        self.collect(scheduler::constraint_config(configuration));
        self.collect(HeartbeatSettings::from_configuration(configuration));
        self.collect(JobLimits::from_configuration(configuration));
        self.collect(MemorySettings::from_configuration(configuration));
        self.collect(version_and_build(configuration));
        let queues = self.collect(Queues::from_configuration(configuration));
        // Wrong queues must not hide a wrong scheduler.
        let queues = queues.or_else(|| Queues::of_names(configuration).ok());
        let read_scheduler = |queues| SchedulerKind::from_configuration(configuration, conf_dir, &queues);
        let scheduler = queues.and_then(|queues| self.collect(read_scheduler(queues)));
        let job_changes = self.collect(JobChangeSettings::from_configuration(configuration));
        let are_signed = job_changes.is_some_and(|changes| changes.are_signed);
        let is_for_signatures = are_signed
            && scheduler.as_ref().is_some_and(|(scheduler, _)| !matches!(scheduler, SchedulerKind::Dynamic(_)));
        let market = scheduler
            .and_then(|(scheduler, _)| self.collect(MarketSettings::find(configuration, &scheduler, are_signed)));
        let trackers = self.collect(TrackerSettings::from_configuration(configuration));
        let mut of_files = files_of_market(configuration, market.flatten().as_ref(), is_for_signatures);
        of_files.extend(trackers.iter().flat_map(|trackers| files_of_trackers(configuration, trackers)));
        let acl_file = self.collect(configuration.local_path(&keys::CONTAINERS_ACL_FILE));
        let containers = self.collect(container_settings(configuration)).zip(acl_file);
        of_files.extend(
            containers.and_then(|(containers, acl_file)| {
                files_of_containers(configuration, &containers, acl_file.as_deref())
            }),
        );
        for error in of_files {
            self.collect::<()>(Err(error));
        }
    }
}
