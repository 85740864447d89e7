//! Deadlines under the constraint scheduler, and questions about deadlines: part of `/scheduler?format=json`, and the answer
//! to `/scheduler?whatif`.

use serde::{Deserialize, Serialize};

use crate::model::named;

use super::exact_decimal::ExactDecimal;

/// The deadline of a job, and what it counts on. The job's `state` is `ON_TIME`, `AT_RISK` or `LATE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobDeadline {
    /// When the job must be done, epoch ms.
    pub(crate) deadline_at_ms: i64,
    /// Time until then, ms; negative when it has passed.
    pub(crate) left_ms: i64,
    /// The least maps at a time.
    pub(crate) min_maps: u32,
    /// The least reduces at a time; all of them until its maps are done.
    pub(crate) min_reduces: u32,
    /// When its maps start, epoch ms; none: they have, or no slots are promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) planned_start_ms: Option<i64>,
    /// When all its reduces must have started, ms after its submission.
    pub(crate) reduce_start_limit_ms: i64,
    pub(crate) map_cost: TaskCost,
    pub(crate) reduce_cost: TaskCost,
    /// What moving one MB of map output costs, ms.
    pub(crate) copy_ms_per_mb: Sourced,
    /// Map output by map input.
    pub(crate) filter_ratio: Sourced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCost {
    pub(crate) ms: ExactDecimal,
    /// What takes so long.
    pub(crate) of: CostUnit,
    pub(crate) source: CostSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CostUnit {
    /// One MB of input.
    Mb,
    Task,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sourced {
    pub(crate) value: ExactDecimal,
    pub(crate) source: CostSource,
}

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CostSource {
    Job,
    /// Jobs of the same class before it.
    History,
    /// Its own first maps.
    Tasks,
    System,
}

/// What admission would say of a job. Times are ms after its submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfAnswer {
    /// Whether it would be accepted.
    pub(crate) schedulable: bool,
    /// Why not; null: it would be.
    pub(crate) reason: Option<String>,
    /// The least maps at a time that keep the deadline from its planned start on, or from now on if it would be rejected;
    /// null: no number does.
    pub(crate) min_maps: Option<u32>,
    /// Map slots that are promised to no job from now on, for as long as the least maps at a time would take.
    pub(crate) free_maps: u64,
    /// Until when no more are, epoch ms; absent: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) promised_until_ms: Option<i64>,
    /// When its maps would start; null: it would be rejected.
    pub(crate) planned_start_ms: Option<i64>,
    pub(crate) reduces: u32,
    /// Reduce slots that are promised to no job while its reduces run.
    pub(crate) free_reduces: u64,
    /// When all its reduces must have started.
    pub(crate) reduce_start_limit_ms: i64,
    /// The earliest deadline that would be accepted, rounded up; null: none would.
    pub(crate) earliest_deadline_ms: Option<i64>,
    /// How late the job would end at least although it would be accepted, ms: the fluid model cuts tasks, which take longer than
    /// the deadline leaves; absent: it would not, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) late_by_ms: Option<i64>,
}

named!(CostSource { Job = "job", History = "history", Tasks = "tasks", System = "system" });
