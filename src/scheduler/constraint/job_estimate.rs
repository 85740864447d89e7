//! What is believed of a job's costs beside what it states.

use super::{Costs, DeadlineSpec, DefaultCosts, KnownCosts};

/// The ratio 1, in millionths.
const ONE: u64 = 1_000_000;

/// What is believed of a job's costs, beside what it states. It stays with the job: jobs that end later change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobEstimate {
    /// By the jobs of its class before it.
    pub(crate) history: KnownCosts,
    /// By its own first maps, where nothing else is known: of one MB of input, microseconds.
    #[serde(default)]
    pub(crate) first_maps_us_per_mb: Option<u64>,
    /// The time of its slowest map once its promise was over and it still ran, whatever else is known, microseconds.
    #[serde(default)]
    pub(crate) slowest_map_us: Option<u64>,
}

impl JobEstimate {
    /// What the job costs where it states nothing.
    pub(crate) fn costs(&self, default: &DefaultCosts) -> Costs {
        let history = &self.history;
        let map = history.map_us_per_mb.or(self.first_maps_us_per_mb);
        Costs {
            map_us_per_mb: map.unwrap_or(default.map_us_per_mb),
            reduce_us_per_mb: history.reduce_us_per_mb.unwrap_or(default.reduce_us_per_mb),
            copy_us_per_mb: history.copy_us_per_mb.unwrap_or(default.copy_us_per_mb),
            filter_millionths: history.filter_millionths.unwrap_or(ONE),
        }
    }

    /// Whether its first maps shall show what maps cost: neither the job nor history says.
    pub(crate) fn awaits_first_maps(&self, stated: &DeadlineSpec) -> bool {
        stated.map.is_none() && self.history.map_us_per_mb.is_none() && self.first_maps_us_per_mb.is_none()
    }
}
