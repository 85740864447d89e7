//! How long delegation tokens last.

/// How long delegation tokens and the keys that sign them last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegationSettings {
    /// A key signs no further token after this time, ms (`mapreduce.cluster.delegation.key.update-interval`).
    pub(crate) key_update_ms: u64,
    /// A token ends this long after it was issued, ms (`mapreduce.cluster.delegation.token.max-lifetime`).
    pub(crate) max_lifetime_ms: u64,
    /// A token ends this long after it was issued or renewed, ms (`mapreduce.cluster.delegation.token.renew-interval`).
    pub(crate) renew_interval_ms: u64,
}

/// Those of 1.2.1.
impl Default for DelegationSettings {
    fn default() -> Self {
        const DAY_MS: u64 = 86_400_000;
        Self { key_update_ms: DAY_MS, max_lifetime_ms: 7 * DAY_MS, renew_interval_ms: DAY_MS }
    }
}
