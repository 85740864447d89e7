//! The configuration of the constraint scheduler (`mapred.constraint-scheduler.*`).

use super::{Costs, InputVolume, JobWork, KeySpread, Model};

/// How costs are learned from jobs that have run (`mapred.constraint-scheduler.history.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    pub(crate) enabled: bool,
    /// Jobs of which a cost must be known before it counts.
    pub(crate) min_samples: u32,
    /// Weight of the last job in the mean, millionths.
    pub(crate) alpha_millionths: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstraintConfig {
    pub model: Model,
    pub strategy: Strategy,
    pub on_missed: OnMissed,
    pub admission: AdmissionRule,
    pub slots: AdmissionSlots,
    /// Whether a job that is at risk gets more slots while some are free.
    pub escalates: bool,
    pub default_costs: Costs,
    pub history: HistoryConfig,
}

/// How many slots a job with a deadline gets (`mapred.constraint-scheduler.strategy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The least that keep its deadline.
    #[default]
    Minimum,
    /// As many as are free.
    All,
    /// So many of each kind.
    Fixed(u32),
}

impl Strategy {
    /// The most tasks of a kind that a job with this minimum runs at a time; none: as many as are free.
    pub(crate) fn most(self, minimum: u32) -> Option<u32> {
        match self {
            Self::Minimum => Some(minimum),
            Self::All => None,
            Self::Fixed(slots) => Some(slots),
        }
    }
}

/// What becomes of a job that misses its deadline (`mapred.constraint-scheduler.on-missed`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissed {
    /// It stands behind the jobs that are in time.
    #[default]
    Demote,
    /// It keeps its place.
    Continue,
    Kill,
}

/// What becomes of a new job whose deadline cannot be kept (`mapred.constraint-scheduler.admission`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionRule {
    #[default]
    Reject,
    /// It is admitted, at risk.
    Warn,
}

/// For how long an admitted job is promised its map slots (`mapred.constraint-scheduler.admission.slots`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionSlots {
    /// While its maps are believed to run, which may begin later.
    #[default]
    Planned,
    /// From now on until its last map ends, as the paper tests it.
    Now,
}

/// What a job.xml says of the job's deadline (`mapred.job.deadline.*`).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeadlineSpec {
    pub(crate) due: Due,
    /// Cost of its maps; none: by history or configuration.
    pub(crate) map: Option<StatedCost>,
    pub(crate) reduce: Option<StatedCost>,
    /// Cost of moving map output, microseconds per MB.
    pub(crate) copy_us_per_mb: Option<u64>,
    /// Map output by map input, millionths.
    pub(crate) filter_millionths: Option<u64>,
    pub(crate) keys: KeySpread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Due {
    /// So long after the submission, ms (`mapred.job.deadline.ms`).
    AfterMs(u64),
    /// At a time, epoch ms (`mapred.job.deadline.at.ms`).
    AtMs(i64),
}

/// A cost as stated, which is above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum StatedCost {
    /// Microseconds per MB (`mapred.job.deadline.map.ms.per.mb`, `mapred.job.deadline.reduce.ms.per.mb`).
    UsPerMb(u64),
    /// The time of one task, ms (`mapred.job.deadline.map.task.ms`, `mapred.job.deadline.reduce.task.ms`).
    TaskMs(u64),
}

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
