//! What one container is and has on this machine: all that the code which runs it needs to know.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::api::ContainerLaunch;
use crate::supervisor::command::CommandGroup;

use super::resource_cache::SharedFiles;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContainerOrder {
    pub launch: ContainerLaunch,
    /// A folder of its own that is there, below which everything lies that is made for it, but for its logs.
    pub folder: PathBuf,
    /// The folder of files that containers of its user share; none: each has its own.
    pub shared_files: Option<SharedFiles>,
    /// The worker's environment, with the `HOME` of the container.
    pub environment: BTreeMap<String, String>,
    /// The worker's `host:web port`.
    pub node_id: String,
    pub log_limit_bytes: u64,
    pub memory_interval: Duration,
    /// The control group that its command starts in, where this process starts it there.
    pub group: Option<CommandGroup>,
    /// Whether what it uses beyond its memory is found by looking at its processes: no control group limits it.
    pub watches_memory: bool,
}

impl ContainerOrder {
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// The file with its application's secret, if it gets one.
    pub(crate) fn secret_file(&self) -> PathBuf {
        self.folder.join("secret")
    }

    /// When its time is over, if it is limited and begins now: with its files.
    pub(crate) fn time_limit_from(&self, now: Instant) -> Option<Instant> {
        let limit_ms = self.launch.context.time_limit_ms?;
        now.checked_add(Duration::from_millis(limit_ms))
    }

    pub(crate) fn memory_limit_bytes(&self) -> u64 {
        u64::from(self.launch.capability.memory_mb) << 20
    }
}
