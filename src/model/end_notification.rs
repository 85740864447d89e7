//! The call that announces the end of a job.

/// The URL to call when a job has ended, and how often to retry (1.2.1 `JobEndNotifier`).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndNotification {
    /// The URL, with `$jobId` and `$jobStatus` not yet filled in.
    pub url: String,
    /// Further calls when one fails: `job.end.retry.attempts`.
    pub retries: u32,
    /// Pause between calls, ms: `job.end.retry.interval`.
    pub retry_interval_ms: u64,
    /// Timeout of one call, ms: `mapreduce.job.end-notification.timeout`.
    pub timeout_ms: u64,
}
