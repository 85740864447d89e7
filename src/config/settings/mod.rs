//! What the daemon runs on: every value of the cluster, typed and checked once, at start.

mod directories;
mod limits;
mod named_files;
mod queues;
pub mod reread;
mod scheduler;
mod trackers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub use directories::Directories;
pub use limits::{HttpLimits, JobLimits, MemorySettings, RpcSettings};
pub use queues::{QueueSettings, QueueState, Queues};
pub use scheduler::{BudgetStoreKind, DYNAMIC_CLASS, DynamicSettings, FIFO_CLASS, FifoSettings, SchedulerKind};
pub use trackers::{AdmittedTrackers, FaultSettings, HeartbeatSettings, TrackerSettings};

use super::conf_folder::add_conf_folder;
use super::configuration::Configuration;
use super::environment::Environment;
use super::error::{ConfigError, Warning};
use super::host_port::HostPort;
use super::web_hosts::web_host_names;
use super::{contradictions, keys};

/// RPC address without a conf folder.
const STANDALONE_RPC: &str = "127.0.0.1:8021";
/// Web address without a conf folder.
const STANDALONE_HTTP: &str = "127.0.0.1:50030";
/// Where a tasktracker without a conf folder serves map output.
const STANDALONE_TRACKER_HTTP: &str = "127.0.0.1:50060";

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The conf folder; `None`: standalone defaults on loopback.
    pub conf_dir: Option<PathBuf>,
    /// `key=value` of each `-D`, in order; the last one of a key counts. They win over everything, final values too.
    pub overrides: Vec<String>,
    /// What `${…}` finds beside keys.
    pub environment: Environment,
}

impl LoadOptions {
    /// For this process: the conf folder given, else the one of `HADOOP_CONF_DIR`, else none.
    #[must_use]
    pub fn of_process(conf_dir: Option<PathBuf>, overrides: Vec<String>) -> Self {
        let environment = Environment::of_process();
        LoadOptions { conf_dir: conf_dir.or_else(|| environment.conf_dir.clone()), overrides, environment }
    }

    /// Lays conf folder and overrides over each other.
    ///
    /// # Errors
    /// Folder or file unreadable, a file that is no configuration file, an override that is not `key=value`.
    pub fn configuration(&self) -> Result<Configuration, ConfigError> {
        let mut properties = self.environment.properties.clone();
        let scratch = properties.remove(keys::HADOOP_TMP_DIR.name);
        let has_home = properties.contains_key("user.home");
        let mut configuration = Configuration::new(properties);
        if let Some(folder) = &self.conf_dir {
            add_conf_folder(&mut configuration, folder)?;
        } else {
            configuration.add_standalone_default(&keys::RPC_ADDRESS, STANDALONE_RPC);
            configuration.add_standalone_default(&keys::HTTP_ADDRESS, STANDALONE_HTTP);
            configuration.add_standalone_default(&keys::TRACKER_HTTP_ADDRESS, STANDALONE_TRACKER_HTTP);
            // Not /tmp: money lies here.
            let home = has_home.then(|| "${user.home}/.local/state/jobtracker".to_owned());
            if let Some(scratch) = scratch.or(home) {
                configuration.add_standalone_default(&keys::HADOOP_TMP_DIR, &scratch);
            }
        }
        for argument in &self.overrides {
            configuration.add_override(argument)?;
        }
        Ok(configuration)
    }

    /// The folder of the state database, whatever else is set.
    ///
    /// # Errors
    /// As [`Self::configuration`], or no local path stands there.
    pub fn state_dir(&self) -> Result<PathBuf, ConfigError> {
        self.configuration()?.required_local_path(&keys::STATE_DIR)
    }
}

/// Everything the daemon is told from outside.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The conf folder; `None` in standalone mode.
    pub conf_dir: Option<PathBuf>,
    /// Where all of this was read, for [`reread`].
    pub sources: LoadOptions,
    /// The user of the daemon, who may do everything.
    pub daemon_user: String,
    /// Where RPC is served.
    pub rpc_address: HostPort,
    /// Where the web is served.
    pub http_address: HostPort,
    /// Host names that the web answers to, beside addresses; `None`: every name.
    pub web_hosts: Option<BTreeSet<String>>,
    /// Limits of RPC.
    pub rpc: RpcSettings,
    /// Limits of the web.
    pub http: HttpLimits,
    /// Where things lie.
    pub directories: Directories,
    /// Who hands out slots, and on what terms.
    pub scheduler: SchedulerKind,
    /// Queues and access lists.
    pub queues: Queues,
    /// How often trackers report.
    pub heartbeat: HeartbeatSettings,
    /// Which trackers there may be and where they stand.
    pub trackers: TrackerSettings,
    /// What one job may be.
    pub job_limits: JobLimits,
    /// Memory of slots.
    pub memory: MemorySettings,
    /// The version told to trackers, e.g. `1.2.1`.
    pub version: String,
    /// The build told to trackers; theirs must be the same, byte for byte.
    pub build_version: String,
    /// Whole days for which the ledger keeps every movement.
    pub ledger_detail_days: u32,
    /// Most finished jobs on the disk; 0: no limit.
    pub state_finished_jobs: u64,
    /// Whole days for which a finished job stays on the disk; 0: no limit.
    pub state_finished_job_days: u32,
    /// Whether jobs of before a restart go on.
    pub restart_recover: bool,
    /// So long after a start kills by cut-off clients are held back, ms; 0: never
    /// (`jobtracker.restart.hold-client-kills-ms`).
    pub hold_client_kills_ms: u64,
    /// Hosts that jobs may have called at their end (`jobtracker.end-notification.targets`).
    pub end_notification_targets: Vec<String>,
    /// What job.xml files are laid over.
    pub configuration: Arc<Configuration>,
}

impl Settings {
    /// Reads the conf folder, checks every value and the files that values name.
    ///
    /// # Errors
    /// The first [`ConfigError`].
    pub fn load(options: &LoadOptions) -> Result<(Settings, Vec<Warning>), ConfigError> {
        let configuration = options.configuration()?;
        let (mut settings, mut warnings) = Settings::from_configuration(configuration, options.conf_dir.clone())?;
        settings.sources = options.clone();
        warnings.extend(named_files::check(&settings)?);
        Ok((settings, warnings))
    }

    /// Checks every value, without looking at the disk, but for the names that this machine has in `/etc/hosts`.
    ///
    /// # Errors
    /// The first [`ConfigError`].
    pub fn from_configuration(
        configuration: Configuration,
        conf_dir: Option<PathBuf>,
    ) -> Result<(Settings, Vec<Warning>), ConfigError> {
        let rpc_address = rpc_address(&configuration)?;
        // Refused by their kind when they ask for what is not built.
        configuration.required(&keys::SECURITY_AUTHENTICATION)?;
        configuration.required(&keys::SECURITY_AUTHORIZATION)?;
        // What the cluster sets for all jobs is wrong at start, not at the first submission.
        for key in keys::JOB {
            configuration.checked(key)?;
        }
        let settings = Settings {
            sources: LoadOptions { conf_dir: conf_dir.clone(), ..LoadOptions::default() },
            conf_dir,
            daemon_user: configuration.property("user.name").unwrap_or_default().to_owned(),
            rpc_address,
            http_address: http_address(&configuration)?,
            web_hosts: web_host_names(&configuration)?,
            rpc: RpcSettings::from_configuration(&configuration)?,
            http: HttpLimits::from_configuration(&configuration)?,
            directories: Directories::from_configuration(&configuration)?,
            scheduler: SchedulerKind::from_configuration(&configuration)?,
            queues: Queues::from_configuration(&configuration)?,
            heartbeat: HeartbeatSettings::from_configuration(&configuration)?,
            trackers: TrackerSettings::from_configuration(&configuration)?,
            job_limits: JobLimits::from_configuration(&configuration)?,
            memory: MemorySettings::from_configuration(&configuration)?,
            version: configuration.required(&keys::VERSION)?.value,
            build_version: configuration.required(&keys::BUILD_VERSION)?.value,
            ledger_detail_days: configuration.number(&keys::LEDGER_DETAIL_DAYS)?,
            state_finished_jobs: configuration.number(&keys::STATE_FINISHED_JOBS)?,
            state_finished_job_days: configuration.number(&keys::STATE_FINISHED_JOB_DAYS)?,
            restart_recover: configuration.flag(&keys::RESTART_RECOVER)?,
            hold_client_kills_ms: configuration.number(&keys::HOLD_CLIENT_KILLS)?,
            end_notification_targets: configuration.list(&keys::END_NOTIFICATION_TARGETS)?,
            configuration: Arc::new(configuration),
        };
        let mut warnings = settings.configuration.warnings();
        warnings.extend(settings.directories.warning(&settings.configuration)?);
        warnings.extend(contradictions::of_jobtracker(&settings.configuration));
        Ok((settings, warnings))
    }
}

/// With `local`, Hadoop runs jobs inside the client; a JobTracker has nowhere to listen then.
fn rpc_address(configuration: &Configuration) -> Result<HostPort, ConfigError> {
    let key = &keys::RPC_ADDRESS;
    match configuration.setting(key)? {
        Some(setting) if setting.value.trim() == "local" => {
            Err(setting.refused("host:port, for a JobTracker cannot be local"))
        }
        _ => configuration.address(key),
    }
}

/// The deprecated pair replaces the parts it sets (1.2.1 `NetUtils.getServerAddress`).
fn http_address(configuration: &Configuration) -> Result<HostPort, ConfigError> {
    let mut address = configuration.address(&keys::HTTP_ADDRESS)?;
    if configuration.checked(&keys::HTTP_PORT)?.is_some() {
        address.port = configuration.number(&keys::HTTP_PORT)?;
    }
    if let Some(host) = configuration.setting(&keys::HTTP_BIND_ADDRESS)?.filter(|host| !host.value.trim().is_empty()) {
        address = HostPort::parse(&format!("{}:{}", host.value.trim(), address.port))
            .ok_or_else(|| host.refused("a host name or address"))?;
    }
    Ok(address)
}

#[cfg(test)]
#[path = "../tests/settings.rs"]
mod tests;
