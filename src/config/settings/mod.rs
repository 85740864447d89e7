//! The daemon's settings: every value of the cluster, typed and validated once, at start.

mod all_errors;
mod callers;
mod client_addresses;
mod containers;
mod directories;
pub(crate) mod fair;
mod history;
mod limits;
mod market;
mod named_files;
mod queues;
pub(crate) mod reread;
pub(super) mod scheduler;
mod scheduler_keys;
mod trackers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use callers::{JobChangeSettings, NameList, PageLoginSettings, ProxyUser, ProxyUsers};
pub(crate) use client_addresses::ClientAddresses;
pub(crate) use containers::ApplicationKeys;
use containers::container_settings;
pub(crate) use directories::Directories;
pub(crate) use history::HistorySettings;
pub(crate) use limits::{HttpLimits, JobLimits, MemorySettings, RpcSettings, UploadLimits};
pub(crate) use market::{BudgetStoreKind, MarketSettings};
pub use market::{PostgresSettings, SslMode};
pub(crate) use queues::Queues;
#[cfg(test)]
pub(crate) use scheduler::DynamicSettings;
pub use scheduler::{CAPACITY_CLASS, FAIR_CLASS, FIFO_CLASS, SchedulerName};
pub(crate) use scheduler::{CONSTRAINT_CLASS, DYNAMIC_CLASS, SchedulerKind, UnknownScheduler};
pub(crate) use scheduler_keys::scheduler_keys;
pub(crate) use trackers::{AdmittedTrackers, HeartbeatSettings, TrackerSettings};

use client_addresses::{check_ports, http_address, rpc_address};

use crate::fs::FileSystems;
use crate::model::{ContainerSettings, DelegationSettings};
use crate::scheduler::constraint::ConstraintConfig;

use super::conf_folder::add_files;
use super::configuration::Configuration;
use super::environment::{Environment, web_host_names};
use super::error::{ConfigError, Warning};
use super::host_port::HostPort;
use super::service_policy::ServicePolicy;
use super::{contradictions, keys};

/// RPC address without a conf folder.
const STANDALONE_RPC: &str = "127.0.0.1:8021";
/// Web address without a conf folder.
const STANDALONE_HTTP: &str = "127.0.0.1:50030";
/// Web address of a tasktracker without a conf folder.
const STANDALONE_TRACKER_HTTP: &str = "127.0.0.1:50060";

#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The conf folder; `None`: standalone defaults on loopback.
    pub conf_dir: Option<PathBuf>,
    /// `key=value` of each `-D`, in order; the last one of a key applies. They override everything, final values too.
    pub overrides: Vec<String>,
    /// Names for `${…}` besides keys.
    pub environment: Environment,
}

impl LoadOptions {
    /// For this process: the conf folder given, else the one of the environment, else none.
    #[must_use]
    pub(crate) fn of_process(conf_dir: Option<PathBuf>, overrides: Vec<String>) -> Self {
        let environment = Environment::of_process();
        LoadOptions { conf_dir: conf_dir.or_else(|| environment.conf_dir.clone()), overrides, environment }
    }

    /// Layers conf folder and overrides.
    /// Errors: folder or file unreadable, a file that is not a configuration file, an override that is not `key=value`.
    pub(crate) fn configuration(&self) -> Result<Configuration, ConfigError> {
        let (configuration, errors) = self.configuration_with_errors();
        errors.into_iter().next().map_or(Ok(configuration), Err)
    }

    /// The same with all errors; what has none is layered.
    #[must_use]
    pub(crate) fn configuration_with_errors(&self) -> (Configuration, Vec<ConfigError>) {
        let mut errors = Vec::new();
        let mut properties = self.environment.properties.clone();
        let scratch = properties.remove(keys::HADOOP_TMP_DIR.name);
        let has_home = properties.contains_key("user.home");
        let mut configuration = Configuration::new(properties);
        if let Some(folder) = &self.conf_dir {
            errors.extend(add_files(&mut configuration, folder));
        } else {
            configuration.add_standalone_default(&keys::RPC_ADDRESS, STANDALONE_RPC);
            configuration.add_standalone_default(&keys::HTTP_ADDRESS, STANDALONE_HTTP);
            configuration.add_standalone_default(&keys::TRACKER_HTTP_ADDRESS, STANDALONE_TRACKER_HTTP);
            // Not /tmp: the state database holds money.
            let home = has_home.then(|| "${user.home}/.local/state/jobtracker".to_owned());
            if let Some(scratch) = scratch.or(home) {
                configuration.add_standalone_default(&keys::HADOOP_TMP_DIR, &scratch);
            }
        }
        for argument in &self.overrides {
            errors.extend(configuration.add_override(argument).err());
        }
        (configuration, errors)
    }

    /// The same with another scheduler.
    #[must_use]
    pub(crate) fn under(&self, class: &str) -> Self {
        let mut options = self.clone();
        options.overrides.push(format!("{}={class}", keys::TASK_SCHEDULER.name));
        options
    }

    /// The directory of the state database; validates no other value. Errors: as [`Self::configuration`], or the value is not a local path.
    pub(crate) fn state_dir(&self) -> Result<PathBuf, ConfigError> {
        self.configuration()?.required_local_path(&keys::STATE_DIR)
    }

    /// The file of users and keys that a daemon of this configuration reads: that of the market where there is one, else that of
    /// applications where it has one of its own. Validates no other value.
    /// Errors: as [`Self::configuration`], or the value is not a local path.
    pub(crate) fn acl_file(&self) -> Result<PathBuf, ConfigError> {
        let configuration = self.configuration()?;
        let of_market = configuration.required_local_path(&keys::ACL_FILE)?;
        let of_applications = configuration.local_path(&keys::CONTAINERS_ACL_FILE)?;
        let has_market = MarketSettings::is_needed(&configuration)? || MarketSettings::has_acl_file(&configuration);
        Ok(of_applications.filter(|_| !has_market).unwrap_or(of_market))
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// The conf folder; `None` in standalone mode.
    pub(crate) conf_dir: Option<PathBuf>,
    pub(crate) sources: LoadOptions,
    /// The user of the daemon, who may do everything.
    pub(crate) daemon_user: String,
    pub(crate) rpc_address: HostPort,
    pub(crate) http_address: HostPort,
    /// Host names that the web server answers to, besides addresses; `None`: every name.
    pub(crate) web_hosts: Option<BTreeSet<String>>,
    /// Where the web server listens beside its port.
    pub(crate) web_socket: Option<PathBuf>,
    pub(crate) rpc: RpcSettings,
    pub(crate) http: HttpLimits,
    pub(crate) has_private_actions: bool,
    pub(crate) page_login: PageLoginSettings,
    /// Whether the Fair scheduler's page changes jobs by GET, too.
    pub(crate) takes_get_changes: bool,
    /// Whether pages with numbers and the configuration are for administrators.
    pub(crate) are_numbers_for_administrators: bool,
    pub(crate) directories: Directories,
    pub(crate) files: FileSystems,
    pub(crate) history: HistorySettings,
    pub(crate) scheduler: SchedulerKind,
    /// How deadlines are planned while another than the constraint scheduler rules.
    pub(crate) deadlines: ConstraintConfig,
    /// The market; `None`: the scheduler needs none, and there is no ACL file.
    pub(crate) market: Option<MarketSettings>,
    /// Who may submit and change jobs.
    pub(crate) job_changes: JobChangeSettings,
    /// All but the address of this daemon and how many applications stay in memory.
    pub(crate) containers: ContainerSettings,
    /// The file of users, roles and keys of applications; none: that of the market.
    pub(crate) containers_acl_file: Option<PathBuf>,
    pub(crate) queues: Queues,
    pub(crate) proxy_users: ProxyUsers,
    /// Who may use which protocol; none: service-level authorization is off.
    pub(crate) service_policy: Option<ServicePolicy>,
    pub(crate) heartbeat: HeartbeatSettings,
    pub(crate) trackers: TrackerSettings,
    pub(crate) delegation: DelegationSettings,
    pub(crate) job_limits: JobLimits,
    pub(crate) uploads: UploadLimits,
    pub(crate) memory: MemorySettings,
    /// The version reported to trackers, e.g. `1.2.1`.
    pub(crate) version: String,
    /// The build reported to trackers; must equal theirs byte for byte.
    pub(crate) build_version: String,
    /// Whole days for which the ledger keeps every movement.
    pub(crate) ledger_detail_days: u32,
    /// Maximum number of finished jobs in the state database; 0: no limit.
    pub(crate) state_finished_jobs: u64,
    /// Maximum age of finished jobs in the state database, in whole days; 0: no limit.
    pub(crate) state_finished_job_days: u32,
    pub(crate) restart_recover: bool,
    /// Time after a start for which kills by disconnected clients are not executed, ms; 0: off (`jobtracker.restart.hold-client-kills-ms`).
    pub(crate) hold_client_kills_ms: u64,
    /// Hosts that job-end notifications may call (`jobtracker.end-notification.targets`).
    pub(crate) end_notification_targets: Vec<String>,
    /// The cluster's values, below each job.xml.
    pub(crate) configuration: Arc<Configuration>,
}

impl Settings {
    /// Reads the conf folder, validates every value and checks the files that values name.
    pub fn load(options: &LoadOptions) -> Result<(Settings, Vec<Warning>), ConfigError> {
        let configuration = options.configuration()?;
        let (mut settings, mut warnings) = Settings::from_configuration(configuration, options.conf_dir.clone())?;
        settings.sources = options.clone();
        warnings.extend(named_files::check_named_files(
            &settings.configuration,
            &settings.trackers,
            &settings.scheduler,
            settings.market.as_ref(),
            settings.job_changes.are_signed,
            (&settings.containers, settings.containers_acl_file.as_deref()),
        )?);
        Ok((settings, warnings))
    }

    /// Validates every value. Reads nothing from the disk but this machine's names in `/etc/hosts` and the own file of
    /// the scheduler; looks whether there is an ACL file.
    pub(crate) fn from_configuration(
        configuration: Configuration,
        conf_dir: Option<PathBuf>,
    ) -> Result<(Settings, Vec<Warning>), ConfigError> {
        let rpc_address = rpc_address(&configuration)?;
        check_unkept_values(&configuration)?;
        let queues = Queues::from_configuration(&configuration)?;
        let job_changes = JobChangeSettings::from_configuration(&configuration)?;
        let (scheduler, of_scheduler) =
            SchedulerKind::from_configuration(&configuration, conf_dir.as_deref(), &queues)?;
        let (version, build_version) = trackers::version_and_build(&configuration)?;
        let daemon_user = configuration.property("user.name").unwrap_or_default().to_owned();
        let settings = Settings {
            sources: LoadOptions { conf_dir: conf_dir.clone(), ..LoadOptions::default() },
            rpc_address,
            http_address: http_address(&configuration)?,
            web_hosts: web_host_names(&configuration)?,
            web_socket: configuration.socket_path(&keys::WEB_SOCKET)?,
            rpc: RpcSettings::from_configuration(&configuration)?,
            http: HttpLimits::from_configuration(&configuration)?,
            directories: Directories::from_configuration(&configuration)?,
            files: configuration.daemon_file_systems(&daemon_user),
            daemon_user,
            history: HistorySettings::from_configuration(&configuration)?,
            deadlines: scheduler::constraint_config(&configuration)?,
            market: MarketSettings::find(&configuration, &scheduler, job_changes.are_signed)?,
            scheduler,
            containers: container_settings(&configuration)?,
            containers_acl_file: configuration.local_path(&keys::CONTAINERS_ACL_FILE)?,
            job_changes,
            queues,
            proxy_users: callers::proxy_users(&configuration)?,
            service_policy: ServicePolicy::read(configuration.clone(), conf_dir.as_deref())?,
            conf_dir,
            heartbeat: HeartbeatSettings::from_configuration(&configuration)?,
            trackers: TrackerSettings::from_configuration(&configuration)?,
            delegation: delegation(&configuration)?,
            job_limits: JobLimits::from_configuration(&configuration)?,
            uploads: UploadLimits::from_configuration(&configuration)?,
            memory: MemorySettings::from_configuration(&configuration)?,
            version,
            build_version,
            ledger_detail_days: configuration.number(&keys::LEDGER_DETAIL_DAYS)?,
            state_finished_jobs: configuration.number(&keys::STATE_FINISHED_JOBS)?,
            state_finished_job_days: configuration.number(&keys::STATE_FINISHED_JOB_DAYS)?,
            has_private_actions: configuration.flag(&keys::PRIVATE_ACTIONS)?,
            page_login: PageLoginSettings::from_configuration(&configuration)?,
            takes_get_changes: configuration.flag(&keys::WEB_GET_CHANGES)?,
            are_numbers_for_administrators: configuration.flag(&keys::INSTRUMENTATION_ADMINS)?,
            restart_recover: configuration.flag(&keys::RESTART_RECOVER)?,
            hold_client_kills_ms: configuration.number(&keys::HOLD_CLIENT_KILLS)?,
            end_notification_targets: configuration.list(&keys::END_NOTIFICATION_TARGETS)?,
            configuration: Arc::new(configuration),
        };
        let mut warnings = settings.configuration.warnings();
        warnings.extend(of_scheduler);
        warnings.extend(settings.directories.warning(&settings.configuration)?);
        warnings.extend(contradictions::of_jobtracker(&settings.configuration, settings.market.is_some()));
        Ok((settings, warnings))
    }

    #[must_use]
    pub(crate) fn application_keys(&self) -> ApplicationKeys {
        if !self.containers.is_enabled {
            return ApplicationKeys::Off;
        }
        let of_market = || self.market.as_ref().map(|market| market.acl_file.clone());
        let file = self.containers_acl_file.clone().or_else(of_market);
        file.map_or(ApplicationKeys::Loopback, ApplicationKeys::File)
    }
}

/// Checks values of which no setting is made here.
fn check_unkept_values(configuration: &Configuration) -> Result<(), ConfigError> {
    check_ports(configuration)?;
    // Its kind refuses what is not supported.
    configuration.required(&keys::SECURITY_AUTHENTICATION)?;
    // A bad value for all jobs should fail the start, not the first submission.
    for key in keys::JOB {
        configuration.checked(key)?;
    }
    Ok(())
}

fn delegation(configuration: &Configuration) -> Result<DelegationSettings, ConfigError> {
    Ok(DelegationSettings {
        key_update_ms: configuration.number(&keys::DELEGATION_KEY_INTERVAL)?,
        max_lifetime_ms: configuration.number(&keys::DELEGATION_MAX_LIFETIME)?,
        renew_interval_ms: configuration.number(&keys::DELEGATION_RENEW_INTERVAL)?,
    })
}

/// A folder and overrides in an environment that does not depend on the machine.
#[cfg(test)]
pub(crate) fn test_options(folder: Option<&std::path::Path>, overrides: &[&str]) -> LoadOptions {
    let properties = [("user.name", "h1"), ("user.home", "/home/h1"), ("java.io.tmpdir", "/tmp")];
    LoadOptions {
        conf_dir: folder.map(std::path::Path::to_owned),
        overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
        environment: Environment {
            properties: properties.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            conf_dir: None,
        },
    }
}

#[cfg(test)]
#[path = "../tests/settings.rs"]
mod tests;
