//! The deadline of a job as pages show it, each cost with its source.

use crate::api::{CostSource, CostUnit, ExactDecimal, JobDeadline, Sourced, TaskCost};
use crate::engine::core::{Engine, PolicyConfig};
use crate::mapreduce::Job;
use crate::model::{Now, PartsPerMillion};
use crate::scheduler::constraint::{DeadlineDetail, StatedCost};

/// The ratio 1, in millionths.
const ONE: u64 = 1_000_000;

impl Engine {
    /// Of a job whose deadline the ruling policy keeps.
    pub(super) fn report_deadline(&self, job: &Job, detail: &DeadlineDetail, now: Now) -> Option<JobDeadline> {
        let PolicyConfig::Constraint(config) = &self.config.policy else { return None };
        let (stated, history) = (job.deadline()?, &job.estimate.history);
        let believed = job.estimate.costs(&config.default_costs);
        let by = |known: Option<u64>| if known.is_some() { CostSource::History } else { CostSource::System };
        let maps_by = match job.estimate.first_maps_us_per_mb.filter(|_| history.map_us_per_mb.is_none()) {
            Some(_) => CostSource::Tasks,
            None => by(history.map_us_per_mb),
        };
        let deadline_at_ms = detail.due_us.div_euclid(1_000);
        Some(JobDeadline {
            deadline_at_ms,
            left_ms: deadline_at_ms.saturating_sub(now.wall_ms),
            min_maps: detail.minimum.map,
            min_reduces: detail.minimum.reduce,
            planned_start_ms: detail.planned_start_us.map(|start_us| start_us.div_euclid(1_000)),
            reduce_start_limit_ms: detail.latest_reduce_start_us.div_euclid(1_000).saturating_sub(job.submit_ms),
            map_cost: match job.estimate.slowest_map_us {
                Some(us) => TaskCost { ms: millis(us), of: CostUnit::Task, source: CostSource::Tasks },
                None => task_cost(stated.map, believed.map_us_per_mb, maps_by),
            },
            reduce_cost: task_cost(stated.reduce, believed.reduce_us_per_mb, by(history.reduce_us_per_mb)),
            copy_ms_per_mb: sourced(
                stated.copy_us_per_mb.map(millis),
                millis(believed.copy_us_per_mb),
                by(history.copy_us_per_mb),
            ),
            filter_ratio: sourced(
                stated.filter_millionths.map(decimal),
                decimal(believed.filter_millionths),
                by(history.filter_millionths),
            ),
        })
    }
}

fn task_cost(stated: Option<StatedCost>, believed_us_per_mb: u64, believed_by: CostSource) -> TaskCost {
    let source = if stated.is_some() { CostSource::Job } else { believed_by };
    let (ms, of) = match stated.unwrap_or(StatedCost::UsPerMb(believed_us_per_mb)) {
        StatedCost::UsPerMb(us_per_mb) => (millis(us_per_mb), CostUnit::Mb),
        StatedCost::TaskMs(ms) => (decimal(ms.saturating_mul(ONE)), CostUnit::Task),
    };
    TaskCost { ms, of, source }
}

fn sourced(stated: Option<ExactDecimal>, believed: ExactDecimal, believed_by: CostSource) -> Sourced {
    match stated {
        Some(value) => Sourced { value, source: CostSource::Job },
        None => Sourced { value: believed, source: believed_by },
    }
}

/// Microseconds as milliseconds.
fn millis(us: u64) -> ExactDecimal {
    decimal(us.saturating_mul(1_000))
}

fn decimal(millionths: u64) -> ExactDecimal {
    ExactDecimal(PartsPerMillion(millionths))
}
