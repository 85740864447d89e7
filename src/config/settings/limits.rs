//! Limits of connections, frames, jobs, counters and memory.

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::model::{CounterLimits, PerKind};
use crate::scheduler::capacity::SlotMemory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RpcSettings {
    pub(crate) max_frame_bytes: usize,
    pub(crate) max_connections: usize,
    pub(crate) max_calls_in_flight: usize,
    /// Time after which a connection that reads nothing is closed, ms.
    pub(crate) write_timeout_ms: u64,
}

impl RpcSettings {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        Ok(RpcSettings {
            max_frame_bytes: configuration.number(&keys::RPC_MAX_FRAME)?,
            max_connections: configuration.number(&keys::RPC_MAX_CONNECTIONS)?,
            max_calls_in_flight: configuration.number(&keys::RPC_MAX_CALLS)?,
            write_timeout_ms: configuration.number(&keys::RPC_WRITE_TIMEOUT)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HttpLimits {
    pub(crate) header_timeout_ms: u64,
    pub(crate) max_header_bytes: usize,
    pub(crate) max_connections: usize,
    /// How long a read-only session lasts.
    pub(crate) session_s: u32,
}

impl HttpLimits {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        Ok(HttpLimits {
            header_timeout_ms: configuration.number(&keys::HTTP_HEADER_TIMEOUT)?,
            max_header_bytes: configuration.number(&keys::HTTP_MAX_HEADER)?,
            max_connections: configuration.number(&keys::HTTP_MAX_CONNECTIONS)?,
            session_s: configuration.number(&keys::WEB_SESSION)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadLimits {
    pub(crate) job_bytes: u64,
    pub(crate) user_bytes: u64,
    pub(crate) all_bytes: u64,
    /// Room that they leave on the disk.
    pub(crate) keep_free_bytes: u64,
}

impl UploadLimits {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let bytes = |key| configuration.number::<u64>(key).map(|mb| mb << 20);
        Ok(UploadLimits {
            job_bytes: bytes(&keys::UPLOAD_MAX)?,
            user_bytes: bytes(&keys::UPLOAD_MAX_OF_USER)?,
            all_bytes: bytes(&keys::UPLOAD_MAX_OF_ALL)?,
            keep_free_bytes: bytes(&keys::UPLOAD_KEEP_FREE)?,
        })
    }
}

/// Minimum number of finished jobs kept: a client requests its job once more after the end.
const LEAST_FINISHED_JOBS: usize = 100;

/// Limits of jobs. `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobLimits {
    /// Maximum size of job.xml, bytes.
    pub(crate) job_conf_bytes: u64,
    /// Maximum size of `job.splitmetainfo`, bytes.
    pub(crate) split_meta_bytes: Option<u64>,
    pub(crate) max_tasks: Option<u32>,
    pub(crate) max_live_tasks: Option<u64>,
    /// Maximum memory for texts, splits and credentials of all unfinished jobs, bytes.
    pub(crate) max_live_bytes: Option<u64>,
    pub(crate) max_tracker_slots: u32,
    pub(crate) max_split_locations: Option<u32>,
    pub(crate) counters: CounterLimits,
    pub(crate) finished_jobs_kept: usize,
}

impl JobLimits {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        Ok(JobLimits {
            job_conf_bytes: configuration.number(&keys::JOB_CONF_LIMIT)?,
            split_meta_bytes: configuration.limit(&keys::SPLIT_META_LIMIT, 1)?,
            max_tasks: configuration.limit(&keys::MAX_TASKS_PER_JOB, 1)?,
            max_live_tasks: configuration.limit(&keys::MAX_LIVE_TASKS, 1)?,
            max_live_bytes: configuration.limit(&keys::MAX_JOB_BYTES, 1)?,
            max_tracker_slots: configuration.number(&keys::TRACKER_MAX_SLOTS)?,
            max_split_locations: configuration.limit(&keys::MAX_SPLIT_LOCATIONS, 1)?,
            counters: CounterLimits {
                counters: configuration.number(&keys::COUNTERS_MAX)?,
                groups: configuration.number(&keys::COUNTER_GROUPS_MAX)?,
                name_length: configuration.number(&keys::COUNTER_NAME_MAX)?,
                group_name_length: configuration.number(&keys::COUNTER_GROUP_NAME_MAX)?,
            },
            finished_jobs_kept: configuration.limit(&keys::FINISHED_JOBS, 0)?.unwrap_or(0).max(LEAST_FINISHED_JOBS),
        })
    }
}

/// Memory of slots, MB. Requests are checked only if all four are set (1.2.1 `JobTracker.perTaskMemoryConfigurationSetOnJT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemorySettings {
    pub(crate) map_slot_mb: Option<u64>,
    pub(crate) reduce_slot_mb: Option<u64>,
    pub(crate) max_map_mb: Option<u64>,
    pub(crate) max_reduce_mb: Option<u64>,
}

impl MemorySettings {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let mut max_map_mb = configuration.limit(&keys::MAX_MAP_MEMORY, 0)?;
        let mut max_reduce_mb = configuration.limit(&keys::MAX_REDUCE_MEMORY, 0)?;
        // The old key wins over both when it is there at all, even as "unset" (1.2.1 initializeTaskMemoryRelatedConfig).
        if configuration.checked(&keys::MAX_TASK_VIRTUAL_MEMORY)?.is_some() {
            let bytes: Option<u64> = configuration.limit(&keys::MAX_TASK_VIRTUAL_MEMORY, 0)?;
            max_map_mb = bytes.map(|bytes| bytes >> 20);
            max_reduce_mb = max_map_mb;
        }
        Ok(MemorySettings {
            map_slot_mb: configuration.limit(&keys::MAP_SLOT_MEMORY, 0)?,
            reduce_slot_mb: configuration.limit(&keys::REDUCE_SLOT_MEMORY, 0)?,
            max_map_mb,
            max_reduce_mb,
        })
    }

    /// Maximum memory that one map and one reduce may request, MB; `None` if requests are not checked.
    #[must_use]
    pub(crate) fn max_task_mb(&self) -> Option<(u64, u64)> {
        let most = (self.max_map_mb?, self.max_reduce_mb?);
        (self.map_slot_mb.is_some() && self.reduce_slot_mb.is_some()).then_some(most)
    }

    /// Sizes of slots by which the Capacity scheduler counts the slots of a task; `None` if requests are not checked.
    #[must_use]
    pub(crate) fn slot_memory(&self) -> Option<SlotMemory> {
        self.max_task_mb()?;
        Some(SlotMemory::new(PerKind::new(self.map_slot_mb?, self.reduce_slot_mb?)))
    }
}
