//! What the threads of all attempts share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::attempt_logs::AttemptLogs;
use super::attempt_table::AttemptMessage;
use super::hang_monitor::HangMonitor;
use super::localized_jobs::LocalizedJobs;
use super::map_completion_poller::MapCompletionPoller;
use super::memory_monitor::MemoryMonitor;
use super::node_health::NodeHealth;

#[derive(Debug)]
pub struct AttemptRunner {
    pub jobs: Arc<LocalizedJobs>,
    pub map_completions: Arc<MapCompletionPoller>,
    /// Receive standard error and the reasons of failures.
    pub logs: AttemptLogs,
    pub environment: BTreeMap<String, String>,
    pub supervisor: Option<PathBuf>,
    pub memory_monitor: Arc<MemoryMonitor>,
    pub limits_memory: bool,
    /// Between two measurements of memory.
    pub memory_interval: Duration,
    pub hang_monitor: Arc<HangMonitor>,
    /// Time limit for reading a job's files while its own limit is not known; `None`: no limit.
    pub time_limit: Option<Duration>,
    pub health: Arc<NodeHealth>,
    pub events: UnboundedSender<AttemptMessage>,
}
