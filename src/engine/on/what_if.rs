//! Questions about deadlines: what admission would say of a job that is not submitted.

use crate::api::WhatIfAnswer;
use crate::engine::core::{Engine, PolicyConfig};
use crate::model::Now;
use crate::scheduler::constraint::{DeadlineSpec, JobEstimate, Model, TimedWork, WhatIf};

/// A job that might be submitted now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlineQuestion {
    /// Its deadline and what it states of its costs.
    pub deadline: DeadlineSpec,
    /// The input of each of its maps, bytes.
    pub splits_bytes: Vec<u64>,
    /// Whether it has as many maps as that; else the input may be cut as fine as the deadline needs, where the model allows.
    pub are_maps_known: bool,
    /// Its reduces.
    pub reduces: u32,
}

// === impl Engine: what-if ===

impl Engine {
    /// What admission would say of a job now; none unless the constraint scheduler rules. Changes nothing.
    pub fn what_if(&self, question: &DeadlineQuestion, now: Now) -> Option<WhatIfAnswer> {
        let PolicyConfig::Constraint(config) = &self.config.policy else { return None };
        let DeadlineQuestion { deadline, splits_bytes, are_maps_known, reduces } = question;
        let mut work = deadline.work(splits_bytes, *reduces, &JobEstimate::default().costs(&config.default_costs));
        if !are_maps_known && config.model == Model::Fluid && work.maps > 0 {
            work.maps = u32::MAX;
        }
        let arrival_us = now.wall_ms.saturating_mul(1_000);
        let timed = TimedWork { work, arrival_us, now_us: arrival_us, deadline_us: deadline.due_us(now.wall_ms) };
        let WhatIf { assessment, earliest } = self.cluster.scheduler.what_if(&timed)?;
        Some(WhatIfAnswer {
            schedulable: assessment.verdict.is_ok(),
            reason: assessment.verdict.err().map(|rejection| rejection.to_string()),
            min_maps: assessment.needed_maps,
            free_maps: assessment.free_maps,
            reduces: *reduces,
            free_reduces: assessment.free_reduces,
            reduce_start_limit_ms: assessment.latest_reduce_start.us.div_euclid(1_000),
            // As short a time as is taken, never a shorter one.
            earliest_deadline_ms: earliest.map(|earliest| -(-earliest.us).div_euclid(1_000)),
        })
    }
}
