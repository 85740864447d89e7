//! What is known of the costs of jobs.

/// What is known of costs, each by itself: of one job that has run, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct KnownCosts {
    /// Of one MB of input in a map, microseconds.
    pub(crate) map_us_per_mb: Option<u64>,
    /// Of one MB of map output in a reduce, microseconds.
    pub(crate) reduce_us_per_mb: Option<u64>,
    /// Of moving one MB of map output to a reduce, microseconds.
    pub(crate) copy_us_per_mb: Option<u64>,
    /// Map output by map input, millionths.
    pub(crate) filter_millionths: Option<u64>,
}

impl KnownCosts {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
