//! The test that a new deadline has to pass: one function for submissions, changed deadlines and questions.

use std::fmt;

use crate::model::{PerKind, counted};

use super::free_time::{FreeTime, MapWindow};
use super::job_work::JobWork;
use super::ledger::PromiseLedger;
use super::model::Model;

/// A job and its times, microseconds since any common start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedWork {
    pub work: JobWork,
    pub arrival_us: i64,
    /// Now, the arrival or later.
    pub now_us: i64,
    pub deadline_us: i64,
}

/// Slots of the cluster that deadlines may count on: all of its live trackers, less those that other jobs hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotSupply {
    pub(crate) slots: PerKind<u64>,
    /// Whether a tracker with slots is connected.
    pub(crate) has_workers: bool,
}

/// What keeps the deadline of an admitted job. Times are microseconds since any common start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobPlan {
    /// Least maps at a time.
    pub maps: u32,
    pub start_us: i64,
    /// When all its reduces must have started.
    pub latest_reduce_start_us: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assessment {
    /// The least maps at a time that keep it; none: no number does.
    pub(crate) needed_maps: Option<u32>,
    /// Map slots without a promise from now on, for as long as that number takes.
    pub(crate) free_maps: u64,
    /// Until when no more are; none: for ever.
    pub(crate) promised_until_us: Option<i64>,
    pub(crate) needed_reduces: u32,
    /// Reduce slots without a promise while they run.
    pub(crate) free_reduces: u64,
    /// When all its reduces must have started, after its arrival.
    pub(crate) latest_reduce_start: Seconds,
    pub(crate) verdict: Result<JobPlan, DeadlineRejection>,
}

/// What would be said of a deadline now, and the earliest that would be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WhatIf {
    pub(crate) assessment: Assessment,
    /// The earliest deadline after the arrival that would be taken; none: no deadline would.
    pub(crate) earliest: Option<Seconds>,
}

/// Why a deadline is not taken. Times are counted from the arrival; the text has them in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DeadlineRejection {
    #[error("deadline lies in the past")]
    InThePast,
    #[error("deadline {deadline} s is shorter than copy and reduce alone ({least} s)")]
    TooShort { deadline: Seconds, least: Seconds },
    #[error("deadline {deadline} s cannot be kept: no worker is connected")]
    NoWorker { deadline: Seconds },
    #[error(
        "deadline {deadline} s needs {}, {free} free{}{}",
        counted(*.needed, "map slot"),
        PromisedUntil(*.until_us),
        EarliestDeadline(*.earliest)
    )]
    Maps {
        deadline: Seconds,
        needed: u32,
        free: u64,
        /// Until when no more are, epoch microseconds; none: for ever.
        until_us: Option<i64>,
        /// The earliest deadline that is taken now; none: no deadline is.
        earliest: Option<Seconds>,
    },
    #[error(
        "deadline {deadline} s needs {} at {at} s after submission, {free} free then{}",
        counted(*.needed, "reduce slot"),
        EarliestDeadline(*.earliest)
    )]
    Reduces {
        deadline: Seconds,
        needed: u32,
        at: Seconds,
        /// Reduce slots without a promise then.
        free: u64,
        earliest: Option<Seconds>,
    },
}

/// A duration in microseconds, printed as seconds with one decimal, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seconds {
    pub(crate) us: i64,
}

/// A time of the day in UTC, epoch microseconds, rounded up to a second.
pub(super) struct TimeOfDay(pub(super) i64);

struct EarliestDeadline(Option<Seconds>);

struct PromisedUntil(Option<i64>);

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

impl fmt::Display for PromisedUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(until_us) => write!(f, " until {}", TimeOfDay(until_us)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND_US: i64 = 1_000_000;
        let whole_s = self.0.div_euclid(SECOND_US) + i64::from(self.0.rem_euclid(SECOND_US) > 0);
        let of_day_s = whole_s.rem_euclid(86_400);
        write!(f, "{:02}:{:02}:{:02} UTC", of_day_s / 3_600, of_day_s / 60 % 60, of_day_s % 60)
    }
}

impl TimedWork {
    fn since_arrival(&self, at_us: i64) -> Seconds {
        Seconds { us: at_us.saturating_sub(self.arrival_us) }
    }
}

/// Whether the slots that no other job was promised keep the deadline of a job, now or when promises end.
pub(crate) fn admit(
    job: &TimedWork,
    model: Model,
    ledger: &PromiseLedger,
    supply: SlotSupply,
) -> Result<JobPlan, DeadlineRejection> {
    assess(job, model, ledger, supply).verdict
}

/// The same, with the numbers that decide it.
pub(crate) fn assess(job: &TimedWork, model: Model, ledger: &PromiseLedger, supply: SlotSupply) -> Assessment {
    let test = AdmissionTest::new(job, model, ledger, supply);
    Assessment { verdict: test.verdict(), ..test.numbers() }
}

/// The same for a question: with the earliest deadline whatever the verdict.
pub(crate) fn what_if(job: &TimedWork, model: Model, ledger: &PromiseLedger, supply: SlotSupply) -> WhatIf {
    let test = AdmissionTest::new(job, model, ledger, supply);
    WhatIf { assessment: assess(job, model, ledger, supply), earliest: test.earliest() }
}

struct AdmissionTest<'a> {
    job: &'a TimedWork,
    model: Model,
    ledger: &'a PromiseLedger,
    supply: SlotSupply,
    /// When all its reduces must have started.
    latest_us: i64,
}

impl<'a> AdmissionTest<'a> {
    fn new(job: &'a TimedWork, model: Model, ledger: &'a PromiseLedger, supply: SlotSupply) -> Self {
        let latest_us = model.latest_reduce_start_us(&job.work, job.deadline_us);
        Self { job, model, ledger, supply, latest_us }
    }

    fn free_time(&self) -> FreeTime<'_> {
        let (work, now_us) = (&self.job.work, self.job.now_us);
        FreeTime { model: self.model, work, ledger: self.ledger, slots: self.supply.slots.map, now_us }
    }

    fn needed_maps(&self) -> Option<u32> {
        self.model.least_maps(&self.job.work, self.job.now_us, self.latest_us)
    }

    /// How long so many slots would be in use from now on.
    fn window_us(&self, maps: u32) -> u64 {
        self.model.maps_us(&self.job.work, maps).unwrap_or(0)
    }

    fn numbers(&self) -> Assessment {
        let needed_maps = self.needed_maps();
        let during_us = self.window_us(needed_maps.unwrap_or(1));
        Assessment {
            needed_maps,
            free_maps: self.free_time().free_for(during_us),
            promised_until_us: self.free_time().more_free_at_us(during_us),
            needed_reduces: self.job.work.reduces,
            free_reduces: self.free_reduces(),
            latest_reduce_start: self.job.since_arrival(self.latest_us),
            verdict: Err(DeadlineRejection::InThePast),
        }
    }

    fn free_reduces(&self) -> u64 {
        self.supply.slots.reduce.saturating_sub(self.ledger.most_reduces(self.latest_us, self.job.deadline_us))
    }

    fn verdict(&self) -> Result<JobPlan, DeadlineRejection> {
        let (job, latest_us) = (self.job, self.latest_us);
        let deadline = job.since_arrival(job.deadline_us);
        if job.deadline_us <= job.now_us {
            return Err(DeadlineRejection::InThePast);
        }
        let Some(needed) = self.needed_maps() else {
            // In whole tasks there may be time, but not for a map.
            let least = Seconds { us: job.deadline_us.saturating_sub(latest_us) };
            return Err(DeadlineRejection::TooShort { deadline, least });
        };
        let has_work = job.work.maps > 0 || job.work.reduces > 0;
        if has_work && !self.supply.has_workers {
            return Err(DeadlineRejection::NoWorker { deadline });
        }
        let Some(window) = self.free_time().window_until(latest_us) else {
            let during_us = self.window_us(needed);
            let free = self.free_time().free_for(during_us);
            let until_us = self.free_time().more_free_at_us(during_us);
            return Err(DeadlineRejection::Maps { deadline, needed, free, until_us, earliest: self.earliest() });
        };
        let plan = |window: MapWindow, latest_reduce_start_us: i64| JobPlan {
            maps: window.slots,
            start_us: window.start_us,
            latest_reduce_start_us,
        };
        let (reduces, free) = (job.work.reduces, self.free_reduces());
        if u64::from(reduces) <= free {
            return Ok(plan(window, latest_us));
        }
        // Earlier, once its maps are done.
        for window in [Some(window), self.free_time().first_end()].into_iter().flatten() {
            let from_us = self.reduces_after(window.end_us).filter(|from_us| *from_us <= latest_us);
            if let Some(from_us) = from_us {
                return Ok(plan(window, from_us));
            }
        }
        let at = job.since_arrival(latest_us);
        Err(DeadlineRejection::Reduces { deadline, needed: reduces, at, free, earliest: self.earliest() })
    }

    /// When all its reduces can start at the earliest, with slots until they are done; none: never.
    fn reduces_after(&self, from_us: i64) -> Option<i64> {
        if self.job.work.reduces == 0 {
            return Some(from_us);
        }
        let most = self.supply.slots.reduce.checked_sub(self.job.work.reduces.into())?;
        let from_us = self.ledger.earliest_reduces(most, from_us, self.model.after_maps_us(&self.job.work));
        (from_us < i64::MAX).then_some(from_us)
    }

    /// The earliest deadline that would be taken, as would any later one; none where none would.
    fn earliest(&self) -> Option<Seconds> {
        let from_us = self.reduces_after(self.free_time().first_end()?.end_us)?;
        let due_us = from_us.saturating_add_unsigned(self.model.after_maps_us(&self.job.work));
        // It lies in the future, if a moment.
        let due_us = due_us.max(self.job.now_us.saturating_add(1));
        (due_us < i64::MAX).then(|| self.job.since_arrival(due_us))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Job {name} rejected by the constraint scheduler: {rejection}")]
pub struct RejectedJob {
    pub(crate) name: String,
    pub(crate) rejection: DeadlineRejection,
}
