//! The settings of the market.

/// How long and how often signatures are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketConfig {
    /// Furthest a timestamp may lie from the server's clock, either way
    /// (`mapred.priority-scheduler.signature-window`).
    pub signature_window_ms: u64,
    /// How often one signature is good for a job (`mapred.dynamic-scheduler.job-signature-uses`).
    pub job_signature_uses: u32,
    /// How long after its timestamp a job's signature may be used once more
    /// (`mapred.dynamic-scheduler.job-signature-window`).
    pub job_signature_window_ms: u64,
}

impl Default for MarketConfig {
    fn default() -> Self {
        MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 }
    }
}
