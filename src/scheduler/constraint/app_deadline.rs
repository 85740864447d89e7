//! The deadline of an app, another one for a job that was accepted before, and how they stand.

use std::fmt;

use crate::model::PerKind;

use super::{DeadlineSpec, Due, JobPlan, JobWork, KeySpread, StatedCost};

/// A deadline, with what is to be done until then. Kept with the app: another policy may rule meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppDeadline {
    /// When it is due, epoch microseconds.
    pub due_us: i64,
    /// All of its work, also what is done.
    pub work: JobWork,
    /// What was promised when it was tested last; none: nothing was, or the test is to come.
    pub plan: Option<JobPlan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineChange {
    Clear,
    Set(NewDeadline),
}

/// Another deadline. What it does not state stays as the job stated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewDeadline {
    /// At a time, or so long from now.
    pub(crate) due: Due,
    pub(crate) map_task_ms: Option<u64>,
    pub(crate) reduce_task_ms: Option<u64>,
    /// Map output by map input, millionths.
    pub(crate) filter_millionths: Option<u64>,
}

/// The deadline of a job as it was tested last: at its submission, or when it was changed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ChangedDeadline {
    /// The deadline, at a time; none: it was cleared.
    pub(crate) spec: Option<DeadlineSpec>,
    /// What was promised to keep it; none: nothing was.
    #[serde(default)]
    pub(crate) plan: Option<JobPlan>,
}

impl NewDeadline {
    /// The deadline, at a time; `stated`: what the job stated before.
    pub(crate) fn over(&self, stated: Option<&DeadlineSpec>, now_ms: i64) -> DeadlineSpec {
        let due = match self.due {
            Due::AfterMs(ms) => Due::AtMs(now_ms.saturating_add_unsigned(ms)),
            at @ Due::AtMs(_) => at,
        };
        let task = |ms: Option<u64>| ms.map(StatedCost::TaskMs);
        DeadlineSpec {
            due,
            map: task(self.map_task_ms).or(stated.and_then(|stated| stated.map)),
            reduce: task(self.reduce_task_ms).or(stated.and_then(|stated| stated.reduce)),
            copy_us_per_mb: stated.and_then(|stated| stated.copy_us_per_mb),
            filter_millionths: self.filter_millionths.or(stated.and_then(|stated| stated.filter_millionths)),
            keys: stated.map_or(KeySpread::Uniform, |stated| stated.keys),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeadlineState {
    /// As far as is known.
    OnTime,
    /// What is left needs more slots than it has.
    AtRisk,
    Late,
}

impl fmt::Display for DeadlineState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnTime => "ON_TIME",
            Self::AtRisk => "AT_RISK",
            Self::Late => "LATE",
        })
    }
}

/// A job with a deadline: its plan, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeadlineDetail {
    pub(crate) state: DeadlineState,
    /// Its deadline, epoch microseconds.
    pub(crate) due_us: i64,
    /// The least tasks at a time that keep it.
    pub(crate) minimum: PerKind<u32>,
    /// When its maps start, epoch microseconds; none: they have, or no slots are promised.
    pub(crate) planned_start_us: Option<i64>,
    pub(crate) is_promise_over: bool,
    /// When all its reduces must have started, epoch microseconds.
    pub(crate) latest_reduce_start_us: i64,
}
