//! What a unit of input costs a job.

use super::job_work::{InputVolume, JobWork, KeySpread};

/// Bytes of the MB that costs are given for.
const MB: u128 = 1 << 20;
/// The ratio 1, in millionths.
const ONE: u128 = 1_000_000;

/// Costs of a job, in microseconds per MB (2^20 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Of one MB of input in a map.
    pub(crate) map_us_per_mb: u64,
    /// Of one MB of map output in a reduce, the sort included.
    pub(crate) reduce_us_per_mb: u64,
    /// Of moving one MB of map output to a reduce.
    pub(crate) copy_us_per_mb: u64,
    /// Map output by map input, millionths.
    pub(crate) filter_millionths: u64,
}

impl Default for Costs {
    /// Those of jobs of which nothing else is known, unless keys say more (`mapred.constraint-scheduler.map.ms.per.mb`,
    /// `mapred.constraint-scheduler.reduce.ms.per.mb`, `mapred.constraint-scheduler.network.mb.per.sec`, rounded up).
    fn default() -> Self {
        Self {
            map_us_per_mb: 1_000_000,
            reduce_us_per_mb: 500_000,
            copy_us_per_mb: 83_334,
            filter_millionths: 1_000_000,
        }
    }
}

impl Costs {
    /// The work of a job by these costs, each duration rounded up to whole microseconds. A job without reduces neither copies nor reduces.
    pub(crate) fn work(&self, input: &InputVolume, reduces: u32, keys: KeySpread) -> JobWork {
        let of_output = |us_per_mb: u64| match reduces {
            0 => 0,
            _ => duration_us(input.bytes, us_per_mb, self.filter_millionths.into()),
        };
        JobWork {
            maps: input.splits,
            reduces,
            map_us: duration_us(input.bytes, self.map_us_per_mb, ONE),
            longest_map_us: duration_us(input.largest_bytes.into(), self.map_us_per_mb, ONE),
            copy_us: of_output(self.copy_us_per_mb),
            reduce_us: of_output(self.reduce_us_per_mb),
            keys,
        }
    }
}

/// Time for `bytes` times a ratio, rounded up; what no number holds is longer than any deadline.
fn duration_us(bytes: u128, us_per_mb: u64, ratio_millionths: u128) -> u64 {
    let product = bytes.checked_mul(us_per_mb.into()).and_then(|product| product.checked_mul(ratio_millionths));
    product.and_then(|product| u64::try_from(product.div_ceil(MB * ONE)).ok()).unwrap_or(u64::MAX)
}

/// What is known of costs, each by itself: of one job that has run, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct KnownCosts {
    pub(crate) map_us_per_mb: Option<u64>,
    pub(crate) reduce_us_per_mb: Option<u64>,
    pub(crate) copy_us_per_mb: Option<u64>,
    pub(crate) filter_millionths: Option<u64>,
}

impl KnownCosts {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
