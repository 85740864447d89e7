//! What a job says of its deadline, as work until a moment.

use super::{Costs, DeadlineSpec, Due, InputVolume, JobWork, StatedCost};

impl DeadlineSpec {
    /// When the job is due, epoch microseconds; too late for any number is as late as there is.
    pub(crate) fn due_us(&self, submit_ms: i64) -> i64 {
        let due_ms = match self.due {
            Due::AfterMs(ms) => submit_ms.saturating_add_unsigned(ms),
            Due::AtMs(ms) => ms,
        };
        due_ms.saturating_mul(1_000)
    }

    /// The work of the job: by what it states, else by what is believed of it.
    pub(crate) fn work(&self, input: &InputVolume, reduces: u32, believed: &Costs) -> JobWork {
        let per_mb = |stated, believed| match stated {
            Some(StatedCost::UsPerMb(us_per_mb)) => us_per_mb,
            Some(StatedCost::TaskMs(_)) | None => believed,
        };
        let costs = Costs {
            map_us_per_mb: per_mb(self.map, believed.map_us_per_mb),
            reduce_us_per_mb: per_mb(self.reduce, believed.reduce_us_per_mb),
            copy_us_per_mb: self.copy_us_per_mb.unwrap_or(believed.copy_us_per_mb),
            filter_millionths: self.filter_millionths.unwrap_or(believed.filter_millionths),
        };
        let mut work = costs.work(input, reduces, self.keys);
        if let Some(StatedCost::TaskMs(ms)) = self.map {
            work.map_us = tasks_us(ms, work.maps);
            work.longest_map_us = longest_us(work.map_us, input);
        }
        if let Some(StatedCost::TaskMs(ms)) = self.reduce {
            work.reduce_us = tasks_us(ms, reduces);
        }
        work
    }
}

fn tasks_us(task_ms: u64, tasks: u32) -> u64 {
    task_ms.saturating_mul(1_000).saturating_mul(tasks.into())
}

/// The part of the largest split in the time of all; of splits without content an equal one.
fn longest_us(all_us: u64, input: &InputVolume) -> u64 {
    let (part, whole) = match input.bytes {
        0 => (1, u128::from(input.splits.max(1))),
        bytes => (u128::from(input.largest_bytes), bytes),
    };
    // A part of a number that fits.
    u64::try_from((u128::from(all_us) * part).div_ceil(whole)).unwrap_or(u64::MAX)
}
