//! What a tasktracker runs on: its values of the conf folder, typed and checked once, at start.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{ConfigError, Configuration, HostPort, host_name, keys, web_host_names};
use crate::model::PerKind;

/// Everything a tasktracker is told from outside.
#[derive(Clone, Debug)]
pub struct TaskTrackerSettings {
    /// The JobTracker.
    pub jobtracker: HostPort,
    /// The user in whose name it is called, and who runs all commands.
    pub user: String,
    /// What this host is called to others.
    pub host: String,
    /// Where map output and logs are served; port 0: any.
    pub http_address: HostPort,
    /// Host names that the web answers to, beside addresses; `None`: every name.
    pub web_hosts: Option<BTreeSet<String>>,
    /// Attempts at a time.
    pub slots: PerKind<u32>,
    /// Scratch folders, one on each disk.
    pub local_folders: Vec<PathBuf>,
    /// Where logs of tasks lie; `None`: in the scratch folder.
    pub log_folder: Option<PathBuf>,
    /// Most bytes of a log of standard error.
    pub log_limit_bytes: Option<u64>,
    /// So long logs of tasks are kept, hours.
    pub log_retain_hours: u64,
    /// With less room no tasks are asked for, bytes.
    pub least_room_bytes: u64,
    /// Whether attempts may take no more memory than their jobs ask for: the slots' memory is set (1.2.1
    /// `TaskTracker.initializeMemoryManagement`).
    pub limits_memory: bool,
    /// Between two looks at the memory of attempts.
    pub memory_interval: Duration,
    /// What job.xml files are laid over.
    pub configuration: Configuration,
}

// === impl TaskTrackerSettings ===

impl TaskTrackerSettings {
    /// Checks every value.
    ///
    /// # Errors
    /// The first [`ConfigError`].
    pub fn read(configuration: Configuration) -> Result<Self, ConfigError> {
        // Streaming jobs of a cluster on HDFS have their files there.
        configuration.file_uri(&keys::DEFAULT_FILE_SYSTEM)?;
        let http_address = configuration.address(&keys::TRACKER_HTTP_ADDRESS)?;
        let host = match configuration.text(&keys::SLAVE_HOST_NAME)? {
            Some(host) => host,
            None if http_address.is_loopback() => "localhost".to_owned(),
            None => host_name(),
        };
        let mut web_hosts = web_host_names(&configuration)?;
        // Reduces fetch under the name that the JobTracker knows.
        web_hosts.iter_mut().for_each(|names| names.extend([host.clone()]));
        let user = configuration.property("user.name").unwrap_or("nobody").to_owned();
        Ok(Self {
            jobtracker: configuration.address(&keys::RPC_ADDRESS)?,
            user,
            host,
            http_address,
            web_hosts,
            slots: PerKind::new(configuration.number(&keys::MAP_SLOTS)?, configuration.number(&keys::REDUCE_SLOTS)?),
            local_folders: configuration.local_paths(&keys::LOCAL_DIR)?,
            log_folder: configuration.local_path(&keys::HADOOP_LOG_DIR)?,
            log_limit_bytes: configuration.limit::<u64>(&keys::USERLOG_LIMIT, 1)?.map(|limit_kb| limit_kb << 10),
            log_retain_hours: configuration.number(&keys::USERLOG_RETAIN)?,
            least_room_bytes: configuration.number(&keys::LOCAL_SPACE_START)?,
            limits_memory: configuration.limit::<u64>(&keys::MAP_SLOT_MEMORY, 1)?.is_some()
                && configuration.limit::<u64>(&keys::REDUCE_SLOT_MEMORY, 1)?.is_some(),
            memory_interval: Duration::from_millis(configuration.number(&keys::MEMORY_INTERVAL)?),
            configuration,
        })
    }
}
