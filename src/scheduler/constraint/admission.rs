//! The test that a new deadline has to pass: one function for submissions, changed deadlines and questions.

use std::fmt;

use crate::model::PerKind;

use super::job_work::JobWork;
use super::ledger::Ledger;
use super::model::Model;

/// The earliest deadline of a rejection is printed with one decimal, rounded up, and a job that asks for a second more
/// is admitted: until then the slots must stay free.
const ROOM_US: u64 = 1_100_000;

/// A job and its times, microseconds since any common start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedWork {
    /// What it has to do.
    pub work: JobWork,
    /// When it was submitted.
    pub arrival_us: i64,
    /// Now, the arrival or later.
    pub now_us: i64,
    /// Its deadline.
    pub deadline_us: i64,
}

/// Slots of the cluster that deadlines may count on: all of its live trackers, less those that other jobs hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotSupply(pub PerKind<u64>);

/// What keeps the deadline of an admitted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPlan {
    /// Least maps at a time.
    pub maps: u32,
    /// When all its reduces must have started.
    pub latest_reduce_start_us: i64,
}

/// The test of a deadline with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The least maps at a time that keep it; none: no number does.
    pub needed_maps: Option<u32>,
    /// Map slots without a promise, now.
    pub free_maps: u64,
    /// All reduces of the job.
    pub needed_reduces: u32,
    /// Reduce slots without a promise while they run.
    pub free_reduces: u64,
    /// When all its reduces must have started, after its arrival.
    pub latest_reduce_start: Seconds,
    /// What keeps it, or why it is not taken.
    pub verdict: Result<JobPlan, DeadlineRejection>,
}

/// What would be said of a deadline now, and the earliest that would be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhatIf {
    /// The test.
    pub assessment: Assessment,
    /// The earliest deadline after the arrival that would be taken; none: no deadline would.
    pub earliest: Option<Seconds>,
}

/// Why a deadline is not taken. Times are counted from the arrival; the text has them in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeadlineRejection {
    /// It has passed.
    #[error("deadline lies in the past")]
    InThePast,
    /// There is no time for a map.
    #[error("deadline {deadline} s is shorter than copy and reduce alone ({least} s)")]
    TooShort {
        /// The deadline.
        deadline: Seconds,
        /// What copy and reduce take.
        least: Seconds,
    },
    /// There are too few map slots now.
    #[error("deadline {deadline} s needs {needed} map slots, {free} free{}", EarliestDeadline(*.earliest))]
    Maps {
        /// The deadline.
        deadline: Seconds,
        /// The least maps at a time that keep it.
        needed: u32,
        /// Map slots without a promise.
        free: u64,
        /// The earliest deadline that is taken now; none: no deadline is.
        earliest: Option<Seconds>,
    },
    /// There are too few reduce slots when its reduces must start.
    #[error(
        "deadline {deadline} s needs {needed} reduce slots at {at} s after submission, {free} free then{}",
        EarliestDeadline(*.earliest)
    )]
    Reduces {
        /// The deadline.
        deadline: Seconds,
        /// Its reduces.
        needed: u32,
        /// When they must start.
        at: Seconds,
        /// Reduce slots without a promise then.
        free: u64,
        /// The earliest deadline that is taken now; none: no deadline is.
        earliest: Option<Seconds>,
    },
}

/// A duration in microseconds, printed as seconds with one decimal, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds {
    /// Microseconds.
    pub us: i64,
}

struct EarliestDeadline(Option<Seconds>);

// === impl Seconds ===

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TENTH_US: i64 = 100_000;
        let tenths = self.us.div_euclid(TENTH_US) + i64::from(self.us.rem_euclid(TENTH_US) > 0);
        let sign = if tenths < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{}", tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10)
    }
}

impl fmt::Display for EarliestDeadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(earliest) => write!(f, "; earliest feasible deadline now {earliest} s"),
            None => Ok(()),
        }
    }
}

// === impl TimedWork ===

impl TimedWork {
    fn since_arrival(&self, at_us: i64) -> Seconds {
        Seconds { us: at_us.saturating_sub(self.arrival_us) }
    }
}

/// Whether the slots that no other job was promised keep the deadline of a job.
///
/// # Errors
/// Why they do not, with the earliest deadline that they would keep.
pub fn admit(job: &TimedWork, model: Model, ledger: &Ledger, supply: SlotSupply) -> Result<JobPlan, DeadlineRejection> {
    assess(job, model, ledger, supply).verdict
}

/// The same, with the numbers that decide it.
pub fn assess(job: &TimedWork, model: Model, ledger: &Ledger, supply: SlotSupply) -> Assessment {
    let latest_us = model.latest_reduce_start_us(&job.work, job.deadline_us);
    let mut assessment = Assessment {
        needed_maps: model.least_maps(&job.work, job.now_us, latest_us),
        free_maps: supply.0.map.saturating_sub(ledger.maps()),
        needed_reduces: job.work.reduces,
        free_reduces: supply.0.reduce.saturating_sub(ledger.most_reduces(latest_us, job.deadline_us)),
        latest_reduce_start: job.since_arrival(latest_us),
        verdict: Err(DeadlineRejection::InThePast),
    };
    if job.deadline_us > job.now_us {
        let earliest = || earliest_deadline_us(job, model, ledger, supply).map(|at_us| job.since_arrival(at_us));
        assessment.verdict = assessment.judge(job, latest_us, earliest);
    }
    assessment
}

/// The same for a question: with the earliest deadline whatever the verdict.
pub fn what_if(job: &TimedWork, model: Model, ledger: &Ledger, supply: SlotSupply) -> WhatIf {
    let earliest = earliest_deadline_us(job, model, ledger, supply).map(|at_us| job.since_arrival(at_us));
    WhatIf { assessment: assess(job, model, ledger, supply), earliest }
}

// === impl Assessment ===

impl Assessment {
    fn judge(
        &self,
        job: &TimedWork,
        latest_us: i64,
        earliest: impl FnOnce() -> Option<Seconds>,
    ) -> Result<JobPlan, DeadlineRejection> {
        let deadline = job.since_arrival(job.deadline_us);
        let Some(maps) = self.needed_maps else {
            // In whole tasks there may be time, but not for a map.
            let least = Seconds { us: job.deadline_us.saturating_sub(latest_us) };
            return Err(DeadlineRejection::TooShort { deadline, least });
        };
        let (free_maps, free_reduces, needed) = (self.free_maps, self.free_reduces, self.needed_reduces);
        if u64::from(maps) > free_maps {
            return Err(DeadlineRejection::Maps { deadline, needed: maps, free: free_maps, earliest: earliest() });
        }
        if u64::from(needed) > free_reduces {
            let at = self.latest_reduce_start;
            return Err(DeadlineRejection::Reduces { deadline, needed, at, free: free_reduces, earliest: earliest() });
        }
        Ok(JobPlan { maps, latest_reduce_start_us: latest_us })
    }
}

/// The earliest deadline that [`admit`] takes, as it does any within a second after it; none where it takes none.
pub fn earliest_deadline_us(job: &TimedWork, model: Model, ledger: &Ledger, supply: SlotSupply) -> Option<i64> {
    let free_maps = supply.0.map.saturating_sub(ledger.maps());
    let free_maps = u32::try_from(free_maps).unwrap_or(u32::MAX);
    let by_maps_us = model.earliest_deadline_us(&job.work, job.now_us, free_maps)?;
    // A microsecond for the rounding of shares.
    let by_maps_us = by_maps_us.saturating_add(1).max(job.now_us.saturating_add(1));
    let most_promised = supply.0.reduce.checked_sub(job.work.reduces.into())?;
    let latest_us = model.latest_reduce_start_us(&job.work, by_maps_us);
    let during_us = by_maps_us.abs_diff(latest_us).saturating_add(ROOM_US);
    let free_from_us = ledger.earliest_reduces(most_promised, latest_us, during_us);
    Some(by_maps_us.saturating_add(free_from_us.saturating_sub(latest_us)))
}
