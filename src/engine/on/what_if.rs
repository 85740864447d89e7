//! Questions about deadlines: what admission would say of a job that is not submitted.

use crate::api::WhatIfAnswer;
use crate::engine::core::Engine;
use crate::model::Now;
use crate::scheduler::constraint::{
    DeadlineSpec, InputVolume, JobClass, JobEstimate, JobWork, Model, Overrun, TimedWork, WhatIf,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlineQuestion {
    /// Its deadline and what it states of its costs.
    pub deadline: DeadlineSpec,
    /// What its maps read.
    pub input: InputVolume,
    /// Whether it has as many maps as that; else the input may be cut as fine as the deadline needs, where the model allows.
    pub are_maps_known: bool,
    pub reduces: u32,
    /// The jobs whose costs are believed of it where it states nothing; none: the configured costs are.
    pub class: Option<JobClass>,
}

impl Engine {
    /// The work of a job that might be submitted.
    pub(super) fn asked_work(&self, question: &DeadlineQuestion) -> JobWork {
        let config = self.deadline_config();
        let learned = |class| self.jobs.cost_histories.learned(class, &config.history);
        let history = question.class.as_ref().map(learned).unwrap_or_default();
        let believed = JobEstimate { history, ..JobEstimate::default() }.costs(&config.default_costs);
        question.deadline.work(&question.input, question.reduces, &believed)
    }

    /// What admission would say of a job now; none unless the constraint scheduler rules. Changes nothing.
    pub(crate) fn what_if(&self, question: &DeadlineQuestion, now: Now) -> Option<WhatIfAnswer> {
        let config = self.config.policy.constraint()?;
        let DeadlineQuestion { deadline, are_maps_known, reduces, .. } = question;
        let mut work = self.asked_work(question);
        if !are_maps_known && config.model == Model::Fluid && work.maps > 0 {
            work.maps = u32::MAX;
        }
        let arrival_us = now.wall_ms.saturating_mul(1_000);
        let timed = TimedWork { work, arrival_us, now_us: arrival_us, deadline_us: deadline.due_us(now.wall_ms) };
        let WhatIf { assessment, earliest } = self.cluster.scheduler.what_if(&timed)?;
        let plan = assessment.verdict.as_ref().ok();
        let overrun =
            plan.filter(|_| *are_maps_known).and_then(|plan| Overrun::of_plan(&work, config, plan, timed.deadline_us));
        Some(WhatIfAnswer {
            schedulable: assessment.verdict.is_ok(),
            reason: assessment.verdict.err().map(|rejection| rejection.to_string()),
            min_maps: plan.map(|plan| plan.maps).or(assessment.needed_maps),
            free_maps: assessment.free_maps,
            promised_until_ms: assessment.promised_until_us.map(|until_us| until_us.div_euclid(1_000)),
            planned_start_ms: plan.map(|plan| plan.start_us.saturating_sub(arrival_us).div_euclid(1_000)),
            reduces: *reduces,
            free_reduces: assessment.free_reduces,
            reduce_start_limit_ms: assessment.latest_reduce_start.us.div_euclid(1_000),
            // As short a time as is taken, never a shorter one.
            earliest_deadline_ms: earliest.map(|earliest| -(-earliest.us).div_euclid(1_000)),
            late_by_ms: overrun.map(|overrun| -(-overrun.late_us()).div_euclid(1_000)),
        })
    }
}
