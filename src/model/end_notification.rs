//! The call that announces the end of a job.

/// The URL to call when a job has ended, and how often to retry (1.2.1 `JobEndNotifier`).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndNotification {
    /// The URL, with `$jobId` and `$jobStatus` not yet filled in.
    pub(crate) url: String,
    /// Further calls when one fails: `job.end.retry.attempts`.
    pub(crate) retries: u32,
    /// Pause between calls, ms: `job.end.retry.interval`.
    pub(crate) retry_interval_ms: u64,
    /// Timeout of one call, ms: `mapreduce.job.end-notification.timeout`.
    pub(crate) timeout_ms: u64,
}
