//! What the configuration says of these pages.

/// What the configuration says of these pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StockSettings {
    /// Host of the JobTracker's address (`mapred.job.tracker`); cut at the first dot where it is shown.
    pub host: String,
    /// Whether access lists of jobs are enforced (`mapred.acls.enabled`).
    pub are_acls_on: bool,
}
