//! Settings of a tasktracker, typed and checked once, at start.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{ConfigError, Configuration, HostPort, host_name, keys, web_host_names};
use crate::model::PerKind;

use super::containers::WorkerContainerSettings;
use super::run_as::{Privileges, RunAs};

#[derive(Clone, Debug)]
pub(crate) struct TaskTrackerSettings {
    pub(crate) jobtracker: HostPort,
    /// The user of this process and of its calls to the JobTracker.
    pub(crate) user: String,
    pub(crate) run_as: RunAs,
    /// The name of this host for others.
    pub(crate) host: String,
    /// The name by which administrators know it; none: the name of its tracker.
    pub(crate) name: Option<String>,
    /// The address that serves map output and logs; port 0: any.
    pub(crate) http_address: HostPort,
    /// Host names that the web answers to, beside addresses; `None`: every name.
    pub(crate) web_hosts: Option<BTreeSet<String>>,
    pub(crate) slots: PerKind<u32>,
    /// Scratch folders, one on each disk.
    pub(crate) local_folders: Vec<PathBuf>,
    /// The folder of task logs; `None`: in the scratch folder.
    pub(crate) log_folder: Option<PathBuf>,
    /// Limit of a log of standard error.
    pub(crate) log_limit_bytes: Option<u64>,
    /// Whether logs are shown for tickets of the JobTracker only (`mapred.acls.enabled`).
    pub(crate) needs_log_tickets: bool,
    pub(crate) log_retain_hours: u64,
    /// With less free disk space no tasks are requested.
    pub(crate) min_free_bytes: u64,
    /// Whether attempts are limited to the memory that their jobs request: the slots' memory is set (1.2.1
    /// `TaskTracker.initializeMemoryManagement`).
    pub(crate) limits_memory: bool,
    /// Between two measurements of the attempts' memory.
    pub(crate) memory_interval: Duration,
    /// Containers; none: they are switched off.
    pub(crate) containers: Option<WorkerContainerSettings>,
    /// The cluster's configuration, below each job.xml.
    pub(crate) configuration: Configuration,
}

impl TaskTrackerSettings {
    /// Checks every value, for a worker of this process's user.
    pub(crate) fn read(configuration: Configuration, has_conf_folder: bool) -> Result<Self, ConfigError> {
        // Streaming jobs of a cluster on HDFS have their files there.
        configuration.file_uri(&keys::DEFAULT_FILE_SYSTEM)?;
        configuration.check_hdfs()?;
        let http_address = configuration.address(&keys::TRACKER_HTTP_ADDRESS)?;
        let jobtracker = configuration.address(&keys::RPC_ADDRESS)?;
        check_port(&configuration, &http_address, &jobtracker)?;
        let host = match configuration.setting(&keys::SLAVE_HOST_NAME)?.filter(|host| !host.value.is_empty()) {
            Some(host) if !is_host(&host.value) => return Err(host.bad_value("a host name or address")),
            Some(host) => host.value,
            None if http_address.is_loopback() => "localhost".to_owned(),
            None => host_name(),
        };
        let mut web_hosts = web_host_names(&configuration)?;
        // Reduces fetch under the name that the JobTracker knows.
        web_hosts.iter_mut().for_each(|names| names.extend([host.clone()]));
        let user = configuration.property("user.name").unwrap_or("nobody").to_owned();
        let run_as = RunAs::read(&configuration, has_conf_folder, Privileges::of_process())?;
        let slots = PerKind::new(configuration.number(&keys::MAP_SLOTS)?, configuration.number(&keys::REDUCE_SLOTS)?);
        Ok(Self {
            jobtracker,
            user,
            run_as,
            host,
            name: None,
            http_address,
            web_hosts,
            slots,
            containers: WorkerContainerSettings::read(&configuration, slots)?,
            local_folders: configuration.local_paths(&keys::LOCAL_DIR)?,
            log_folder: configuration.local_path(&keys::HADOOP_LOG_DIR)?,
            log_limit_bytes: configuration.limit::<u64>(&keys::USERLOG_LIMIT, 1)?.map(|limit_kb| limit_kb << 10),
            needs_log_tickets: configuration.flag(&keys::ACLS_ENABLED)?,
            log_retain_hours: configuration.number(&keys::USERLOG_RETAIN)?,
            min_free_bytes: configuration.number(&keys::LOCAL_SPACE_START)?,
            limits_memory: configuration.limit::<u64>(&keys::MAP_SLOT_MEMORY, 1)?.is_some()
                && configuration.limit::<u64>(&keys::REDUCE_SLOT_MEMORY, 1)?.is_some(),
            memory_interval: Duration::from_millis(configuration.number(&keys::MEMORY_INTERVAL)?),
            configuration,
        })
    }
}

/// Whether a text can be the name or the address of a host.
fn is_host(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Beside a JobTracker on this machine its port is taken.
fn check_port(configuration: &Configuration, http: &HostPort, jobtracker: &HostPort) -> Result<(), ConfigError> {
    let is_of_here = jobtracker.is_loopback() || jobtracker.host == host_name() || jobtracker.host == http.host;
    if http.port == 0 || http.port != jobtracker.port || !is_of_here {
        return Ok(());
    }
    let expected = format!("another port than that of {} = {jobtracker}", keys::RPC_ADDRESS.name);
    Err(configuration.required(&keys::TRACKER_HTTP_ADDRESS)?.bad_value(expected))
}
