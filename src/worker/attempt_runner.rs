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
pub(crate) struct AttemptRunner {
    pub(crate) jobs: Arc<LocalizedJobs>,
    pub(crate) map_completions: Arc<MapCompletionPoller>,
    /// Receive standard error and the reasons of failures.
    pub(crate) logs: AttemptLogs,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) supervisor: Option<PathBuf>,
    pub(crate) memory_monitor: Arc<MemoryMonitor>,
    pub(crate) limits_memory: bool,
    pub(crate) memory_interval: Duration,
    pub(crate) hang_monitor: Arc<HangMonitor>,
    /// Time limit for reading a job's files while its own limit is not known; `None`: no limit.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) health: Arc<NodeHealth>,
    pub(crate) events: UnboundedSender<AttemptMessage>,
}
